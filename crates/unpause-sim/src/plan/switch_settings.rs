//! The settings of each switch, overrides included.

use unpause_protocols::congestion_point;

use super::Plan;
use crate::config::{PfcThreshold, QueueMarking, RedThresholds, Shaper, SwitchOverride};
use crate::fabric::{NodeId, PRIORITIES, PortId};

/// Settings of a switch.
#[derive(Clone, Copy, Debug)]
pub struct SwitchSettings {
    /// Bit c set: class c has PFC.
    pub lossless: u8,
    /// When it sends PAUSE.
    pub threshold: PfcThreshold,
    /// Packet memory, if it is limited.
    pub buffer_bytes: Option<u64>,
    /// Largest lossy queue.
    pub lossy_queue_bytes: u64,
    /// The queue that PAUSE of each priority stops, if not its own.
    pub pfc_to_queue: Option<[u8; PRIORITIES]>,
    /// The queue of each priority, if not its own.
    pub to_queue: Option<[u8; PRIORITIES]>,
    /// The group of each priority at the ingress, if not its own.
    pub to_group: Option<[u8; PRIORITIES]>,
}

/// The overrides of a switch, in the order of the configuration.
#[derive(Clone, Debug)]
pub struct Overrides<'a> {
    /// The switch.
    pub node: NodeId,
    all: Vec<&'a SwitchOverride>,
}

impl<'a> Overrides<'a> {
    /// True if the switch has no overrides.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The setting of the last one of the whole switch that has it.
    fn of_switch<T>(&self, setting: impl Fn(&SwitchOverride) -> Option<T>) -> Option<T> {
        let whole = self.all.iter().rev().filter(|it| !it.is_of_some());
        whole.filter_map(|it| setting(it)).next()
    }

    /// The value that the last override with this setting gives to a priority at a port.
    pub fn at<T>(
        &self,
        (port, priority): (PortId, u8),
        setting: impl Fn(&SwitchOverride) -> Option<T>,
    ) -> Option<T> {
        let own = self.all.iter().rev();
        let own = own.filter(|it| it.applies(self.node, port, priority));
        own.filter_map(|it| setting(it)).next()
    }

    /// True if ports or priorities of the switch differ in what its memory asks about every packet.
    pub fn differ_within(&self) -> bool {
        let differs = |it: &&SwitchOverride| {
            let within = it.is_of_some() && it.fixed.is_some();
            let maps = it.to_queue.is_some() || it.to_group.is_some();
            within || maps || it.queue_limit.is_some() || it.shaper.is_some()
        };
        self.all.iter().any(differs)
    }

    /// The shaper of a port.
    pub fn port_shaper(&self, port: PortId) -> Option<Shaper> {
        let whole = self.all.iter().rev();
        let whole = whole.filter(|it| it.priorities.is_none() && it.applies(self.node, port, 0));
        whole.filter_map(|it| it.shaper).next()
    }

    /// The shaper of a priority's queue at a port.
    pub fn queue_shaper(&self, (port, priority): (PortId, u8)) -> Option<Shaper> {
        let own = |it: &SwitchOverride| it.shaper.filter(|_| it.priorities.is_some());
        self.at((port, priority), own)
    }

    /// Gives the congestion point of a queue, which is the scheme's, its own thresholds.
    pub fn set_marking(&self, place: (PortId, u8), point: &mut congestion_point::Config) {
        let curve = match self.at(place, |it| it.marking) {
            None => return,
            Some(QueueMarking::Off) => {
                *point = congestion_point::Config::None;
                return;
            }
            Some(QueueMarking::Curve(curve)) => curve,
        };
        let RedThresholds { kmin, kmax, pmax } = curve;
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

impl<'a> Plan<'a> {
    /// Overrides of switch `node`.
    pub fn overrides(&self, node: NodeId) -> Overrides<'a> {
        let all = self.config.switch.overrides.iter();
        let all = all.filter(|it| it.switches.contains(&node)).collect();
        Overrides { node, all }
    }

    /// Every (port, class) of switch `node`, in the order in which it keeps them.
    pub fn places(&self, node: NodeId) -> Vec<(PortId, u8)> {
        let ports = 0..self.ports.transmitters_of(node).len() as PortId;
        let classes = 0..self.classes.count() as u8;
        ports
            .flat_map(|port| classes.clone().map(move |class| (port, class)))
            .collect()
    }

    /// Settings of switch `node`.
    pub fn switch_settings(&self, node: NodeId) -> SwitchSettings {
        let (own, switch) = (self.overrides(node), &self.config.switch);
        let priorities = own.of_switch(|it| it.lossless);
        if self.config.has_lossless_nvlink(node) {
            return self.nvswitch_settings(node);
        }
        let lossless = priorities.map_or(self.classes.lossless, |priorities| {
            let has = |class: &u8| priorities >> self.classes.priority(*class) & 1 == 1;
            let classes = (0..self.classes.count() as u8).filter(has);
            classes.fold(0, |mask, class| mask | 1 << class) & self.classes.lossless
        });
        let threshold = match (own.of_switch(|it| it.fixed), switch.pfc.threshold) {
            (Some((xoff_bytes, xon_bytes)), PfcThreshold::Static { .. }) => PfcThreshold::Static {
                xoff_bytes,
                xon_bytes,
            },
            (_, same) => same,
        };
        SwitchSettings {
            lossless,
            threshold,
            buffer_bytes: own.of_switch(|it| it.buffer_bytes).or(switch.buffer_bytes),
            lossy_queue_bytes: own
                .of_switch(|it| it.lossy_queue_bytes)
                .unwrap_or(switch.lossy_queue_bytes),
            pfc_to_queue: own.of_switch(|it| it.pfc_to_queue),
            to_queue: own.of_switch(|it| it.to_queue),
            to_group: own.of_switch(|it| it.to_group),
        }
    }

    /// Of an NVSwitch that loses nothing, whatever `[switch]` says of Ethernet: as with credits, each port holds two round trips
    /// and is never short of frames.
    fn nvswitch_settings(&self, node: NodeId) -> SwitchSettings {
        let ports = self.ports.transmitters_of(node).iter();
        let most = ports.map(|it| self.round_trip(it.speed, it.delay)).max();
        let round_trip = most.unwrap_or(0);
        let all = (1_u32 << self.classes.count()) - 1;
        SwitchSettings {
            lossless: all as u8 & !(1 << self.classes.control),
            threshold: PfcThreshold::Static {
                xoff_bytes: 2 * round_trip,
                xon_bytes: round_trip,
            },
            buffer_bytes: None,
            lossy_queue_bytes: self.config.switch.lossy_queue_bytes,
            pfc_to_queue: None,
            to_queue: None,
            to_group: None,
        }
    }
}
