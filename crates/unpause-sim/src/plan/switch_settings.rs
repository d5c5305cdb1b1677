//! The settings of each switch, overrides included.

use unpause_protocols::congestion_point;

use super::Plan;
use crate::config::{Config, PfcThreshold, RedThresholds, SwitchOverride};
use crate::fabric::{NodeId, PRIORITIES};

/// Settings of a switch.
#[derive(Clone, Copy, Debug)]
pub struct SwitchSettings {
    /// Bit c set: class c has PFC.
    pub lossless: u8,
    /// When it sends PAUSE.
    pub threshold: PfcThreshold,
    /// The shift of dynamic thresholds, if it has its own.
    pub shift: Option<i32>,
    /// Packet memory, if it is limited.
    pub buffer_bytes: Option<u64>,
    /// Largest lossy queue.
    pub lossy_queue_bytes: u64,
    /// The queue that PAUSE of each priority stops, if not its own.
    pub pfc_to_queue: Option<[u8; PRIORITIES]>,
}

/// The setting of the last override of a switch that has it.
fn of<T>(
    config: &Config,
    node: NodeId,
    setting: impl Fn(&SwitchOverride) -> Option<T>,
) -> Option<T> {
    let all = config.switch.overrides.iter().rev();
    let own = all.filter(|it| it.switches.contains(&node));
    own.filter_map(setting).next()
}

impl Plan<'_> {
    /// Settings of switch `node`.
    pub fn switch_settings(&self, node: NodeId) -> SwitchSettings {
        let (config, switch) = (self.config, &self.config.switch);
        let priorities = of(config, node, |it| it.lossless);
        let lossless = priorities.map_or(self.classes.lossless, |priorities| {
            let has = |class: &u8| priorities >> self.classes.priority(*class) & 1 == 1;
            let classes = (0..self.classes.count() as u8).filter(has);
            classes.fold(0, |mask, class| mask | 1 << class) & self.classes.lossless
        });
        let threshold = match (of(config, node, |it| it.fixed), switch.pfc.threshold) {
            (Some((xoff_bytes, xon_bytes)), PfcThreshold::Static { .. }) => PfcThreshold::Static {
                xoff_bytes,
                xon_bytes,
            },
            (_, same) => same,
        };
        SwitchSettings {
            lossless,
            threshold,
            shift: of(config, node, |it| it.shift),
            buffer_bytes: of(config, node, |it| it.buffer_bytes).or(switch.buffer_bytes),
            lossy_queue_bytes: of(config, node, |it| it.lossy_queue_bytes)
                .unwrap_or(switch.lossy_queue_bytes),
            pfc_to_queue: of(config, node, |it| it.pfc_to_queue),
        }
    }

    /// The congestion point of a switch's queues: that of the scheme, with the switch's own thresholds.
    pub fn set_thresholds(&self, node: NodeId, point: &mut congestion_point::Config) {
        let Some(RedThresholds { kmin, kmax, pmax }) = of(self.config, node, |it| it.red) else {
            return;
        };
        match point {
            congestion_point::Config::Red(red) => {
                (red.kmin, red.kmax, red.pmax) = (kmin, kmax, pmax);
            }
            congestion_point::Config::Wred(wred) => {
                (wred.kmin, wred.kmax, wred.pmax) = (kmin, kmax, pmax);
            }
            _ => {}
        }
    }
}
