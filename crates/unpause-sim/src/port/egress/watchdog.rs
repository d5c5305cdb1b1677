//! The PFC watchdogs of a switch: what each counts, and whether there is a storm.

use unpause_protocols::flow_control::watchdog::Watchdog;
use unpause_protocols::units::Time;

use crate::config::{WatchdogAction, WatchdogConfig};
use crate::engine::heap::Entry;
use crate::engine::log::Log;
use crate::fabric::{NodeId, NodeKind};
use crate::outcome::results::StormRecord;
use crate::plan::Plan;

/// Payload of the timer of the next look.
pub const LOOK: u32 = 3;
/// Its key, after all others of that instant.
const LAST: u32 = u32::MAX;

/// The watchdogs of a switch.
#[derive(Debug)]
pub struct Watchdogs {
    config: WatchdogConfig,
    /// By port, then class; none of a lossy class and where no watchdog is wanted.
    places: Vec<Option<Watched>>,
}

/// One (port, lossless class).
#[derive(Debug)]
pub struct Watched {
    /// Finds storms.
    pub watchdog: Watchdog,
    /// PFC frames since the last look.
    pub frames: u32,
    /// How often it went on since then.
    pub resumed: u32,
    /// Packets sent until the last look.
    pub tx_packets: u64,
    /// For how long it had been paused until then.
    pub held: Time,
    /// The storm that is not over.
    pub storm: Option<StormRecord>,
}

impl Watchdogs {
    /// Those of switch `id`, if it has any.
    pub fn of(id: NodeId, plan: &Plan<'_>) -> Option<Box<Self>> {
        let config = plan.config.switch.watchdog?;
        if plan.config.fabric.is_nvswitch(id) {
            return None;
        }
        let nodes = &plan.config.fabric.nodes;
        let lossless = plan.switch_settings(id).lossless;
        let ports = plan.ports.transmitters_of(id).iter();
        let has_one =
            ports.map(|it| !config.hosts_only || nodes[it.peer as usize] == NodeKind::Host);
        let classes =
            has_one.flat_map(|has| (0..plan.classes.count() as u8).map(move |it| (has, it)));
        let watched = |(has_one, class)| {
            (has_one && lossless >> class & 1 == 1).then(|| Watched {
                watchdog: Watchdog::new(&config.params),
                frames: 0,
                resumed: 0,
                tx_packets: 0,
                held: Time::ZERO,
                storm: None,
            })
        };
        let places = classes.map(watched).collect();
        Some(Box::new(Self { config, places }))
    }

    /// The timer of the look after `now`.
    pub fn next(&self, now: Time) -> Entry {
        Entry::new(now.saturating_add(self.config.params.poll), LAST, LOOK)
    }

    /// What they do in a storm.
    pub fn action(&self) -> WatchdogAction {
        self.config.action
    }

    /// The one of (port, class) `index`.
    pub fn watched(&mut self, index: usize) -> Option<&mut Watched> {
        self.places[index].as_mut()
    }

    fn is_stormed(&self, index: usize) -> bool {
        let watched = self.places[index].as_ref();
        watched.is_some_and(|it| it.storm.is_some())
    }

    /// True if PFC of (port, class) `index` is off.
    pub fn masks(&self, index: usize) -> bool {
        self.config.action != WatchdogAction::Alert && self.is_stormed(index)
    }

    /// A PFC frame has come that speaks of (port, class) `index`.
    pub fn note_frame(&mut self, index: usize) {
        if let Some(watched) = self.watched(index) {
            watched.frames = watched.frames.saturating_add(1);
        }
    }

    /// (Port, class) `index` continues after a pause.
    pub fn note_resumed(&mut self, index: usize) {
        if let Some(watched) = self.watched(index) {
            watched.resumed = watched.resumed.saturating_add(1);
        }
    }

    /// Storms that are not over at the end of the run.
    pub fn finish(&mut self, log: &mut Log) {
        let open = self.places.iter_mut().flatten();
        log.storms.extend(open.filter_map(|it| it.storm.take()));
    }
}
