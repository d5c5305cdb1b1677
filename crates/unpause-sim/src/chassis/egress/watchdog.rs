//! The PFC watchdogs of a switch: what each counts, and whether there is a storm.

use unpause_protocols::flow_control::watchdog::{Event, Seen, Watchdog};
use unpause_protocols::units::Time;

use super::Queue;
use crate::chassis::timer::Timer;
use crate::config::{WatchdogAction, WatchdogConfig};
use crate::engine::heap::Entry;
use crate::engine::log::Log;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, NodeKind, PortId};
use crate::link::pause::PauseState;
use crate::outcome::results::StormRecord;
use crate::plan::Plan;

/// Key of the timer of the next poll, after all others of that instant.
const LAST: u32 = u32::MAX;

/// The watchdogs of a switch.
#[derive(Debug)]
pub struct Watchdogs {
    /// Between two polls of the whole switch.
    poll: Time,
    /// By port, then class; none of a lossy class and where no watchdog is wanted.
    places: Vec<Option<Watched>>,
}

/// One (port, lossless class).
#[derive(Debug)]
struct Watched {
    /// Detects storms.
    watchdog: Watchdog,
    /// Its action in a storm.
    action: WatchdogAction,
    /// PFC frames since the last poll.
    frames: u32,
    /// How often it was resumed since then.
    resumed: u32,
    /// Packets sent until the last poll.
    tx_packets: u64,
    /// For how long it had been paused until then.
    held: Time,
    /// The storm that is not over.
    storm: Option<StormRecord>,
}

impl Watchdogs {
    /// Those of switch `id`, if it has any.
    pub fn of(id: NodeId, plan: &Plan<'_>) -> Option<Box<Self>> {
        // Looked at first: most runs have none, and a switch has many places.
        plan.config.switch.watchdogs().next()?;
        if plan.config.fabric.is_nvswitch(id) {
            return None;
        }
        let configs: Vec<_> = plan
            .places(id)
            .into_iter()
            .map(|place| config_at(id, place, plan))
            .collect();
        // All of a switch have the same.
        let poll = configs.iter().flatten().next()?.params.poll;
        let watched = |config: WatchdogConfig| Watched {
            watchdog: Watchdog::new(&config.params),
            action: config.action,
            frames: 0,
            resumed: 0,
            tx_packets: 0,
            held: Time::ZERO,
            storm: None,
        };
        let places = configs
            .into_iter()
            .map(|config| config.map(watched))
            .collect();
        Some(Box::new(Self { poll, places }))
    }

    /// The timer of the poll after `now`.
    pub fn next(&self, now: Time) -> Entry {
        Timer::Poll.entry(now.saturating_add(self.poll), LAST)
    }

    /// The action in a storm at (port, class) `index`.
    pub fn action(&self, index: usize) -> WatchdogAction {
        let watched = self.places[index].as_ref();
        watched.map_or(WatchdogAction::Alert, |watched| watched.action)
    }

    fn watched(&mut self, index: usize) -> Option<&mut Watched> {
        self.places[index].as_mut()
    }

    /// Polls the watchdog of (port, class) `index`, with the queue and the PAUSE that it obeys.
    pub fn poll(&mut self, now: Time, index: usize, queue: &Queue, pause: &PauseState) -> Event {
        let Some(watched) = self.watched(index) else {
            return Event::None;
        };
        let held = pause.total(now);
        let seen = Seen {
            frames: std::mem::take(&mut watched.frames),
            resumed: std::mem::take(&mut watched.resumed),
            paused: pause.is_paused(),
            waits: !queue.packets.is_empty(),
            sent: queue.tx_packets > watched.tx_packets,
            held: held.saturating_sub(watched.held),
        };
        watched.tx_packets = queue.tx_packets;
        watched.held = held;
        watched.watchdog.on_poll(&seen)
    }

    /// A storm has been detected at (port, class) `index`, which has been paused since `began`.
    pub fn begin(
        &mut self,
        (began, now): (Time, Time),
        index: usize,
        (node, port, priority): (NodeId, PortId, u8),
    ) {
        if let Some(watched) = self.watched(index) {
            let action = watched.action;
            watched.storm = Some(StormRecord {
                node,
                port,
                priority,
                action,
                began,
                detected: now,
                restored: None,
                dropped_packets: 0,
                dropped_bytes: 0,
                dropped_data_packets: 0,
                input_dropped_packets: 0,
            });
        }
    }

    /// The storm at (port, class) `index` is over; returns its record.
    pub fn end(&mut self, now: Time, index: usize) -> Option<StormRecord> {
        let storm = self.watched(index)?.storm.take()?;
        Some(StormRecord {
            restored: Some(now),
            ..storm
        })
    }

    /// Counts a packet dropped in a storm at (port, class) `index`: it has come in by that port, or was to leave by it.
    pub fn count_drop(&mut self, index: usize, packet: &Packet, at_input: bool) {
        let storm = self
            .watched(index)
            .and_then(|watched| watched.storm.as_mut());
        if let Some(storm) = storm {
            storm.dropped_packets += 1;
            storm.dropped_bytes += u64::from(packet.bytes);
            storm.dropped_data_packets += u64::from(packet.kind.is_data());
            storm.input_dropped_packets += u64::from(at_input);
        }
    }

    /// True if PFC of (port, class) `index` is off.
    pub fn masks(&self, index: usize) -> bool {
        let watched = self.places[index].as_ref();
        watched.is_some_and(|it| it.action != WatchdogAction::Alert && it.storm.is_some())
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
        log.storms
            .extend(open.filter_map(|watched| watched.storm.take()));
    }
}

/// The watchdog of (port, class) `place` of switch `id`, if it has one.
fn config_at(id: NodeId, place: (PortId, u8), plan: &Plan<'_>) -> Option<WatchdogConfig> {
    let (port, class) = place;
    let (own, place) = (plan.overrides(id), (port, plan.classes.priority(class)));
    let is_off = own.at(place, |it| it.pfc) == Some(false);
    if is_off || plan.switch_settings(id).lossless >> class & 1 == 0 {
        return None;
    }
    let config = own
        .at(place, |it| it.watchdog)
        .or(plan.config.switch.watchdog)?;
    let peer = plan.ports.transmitters_of(id)[usize::from(port)].peer;
    let to_host = plan.config.fabric.nodes[peer as usize] == NodeKind::Host;
    (to_host || !config.hosts_only).then_some(config)
}
