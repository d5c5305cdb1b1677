//! PFC at a transmitter: which of its classes are paused, since when and for how long in total; frames that take effect later.
//!
//! A class obeys PAUSE at once, but PAUSE holds nothing before the frame in transmission at that moment, of whichever
//! class, has left: until then the port could not have sent anyway. Paused time counts from there, so what a class
//! sends and what it is held add up to no more than the time.

use std::collections::VecDeque;

use unpause_protocols::flow_control::pfc::{Change, Egress};
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use crate::engine::log::Log;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId};
use crate::outcome::results::PauseRecord;
use crate::plan::Plan;

/// One (egress port, class).
#[derive(Clone, Debug, Show)]
pub struct PauseState {
    #[show(nested)]
    pfc: Egress,
    /// When the pause in force, or the last one, took effect.
    #[show(time)]
    obeyed: Time,
    /// From when it holds: when the frame in transmission had left.
    #[show(time)]
    since: Time,
    #[show(total)]
    total: Time,
    /// Of its entries among the timers, the one due then counts.
    #[show(time)]
    timer_at: Time,
}

impl Default for PauseState {
    fn default() -> Self {
        Self {
            pfc: Egress::new(),
            obeyed: Time::ZERO,
            since: Time::ZERO,
            total: Time::ZERO,
            timer_at: Time::NEVER,
        }
    }
}

/// Where a [`PauseState`] is, for the records.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Node.
    pub node: NodeId,
    /// Port.
    pub port: PortId,
    /// Priority.
    pub priority: u8,
    /// Keep a record of each PAUSE.
    pub record: bool,
}

impl Place {
    /// That of `class` at `port` of `node`.
    pub fn of((node, port): (NodeId, PortId), class: u8, plan: &Plan<'_>) -> Self {
        Self {
            node,
            port,
            priority: plan.classes.priority(class),
            // What waits for credits is not paused.
            record: plan.config.probes.pauses && plan.config.switch.cbfc.is_none(),
        }
    }
}

impl PauseState {
    /// A PFC frame takes effect at a port that is busy until `busy`; `pause` is zero for XON.
    pub fn on_frame(
        &mut self,
        now: Time,
        pause: Time,
        busy: Time,
        place: Place,
        log: &mut Log,
    ) -> Change {
        let change = self.pfc.on_frame(now, pause);
        if change == Change::Paused {
            self.obeyed = now;
            self.since = now.max(busy);
        }
        self.note(now, change, place, log);
        change
    }
    /// The pause time may have run out.
    pub fn on_timer(&mut self, now: Time, place: Place, log: &mut Log) -> Change {
        let change = self.pfc.on_timer(now);
        self.note(now, change, place, log);
        change
    }
    /// When a timer is to be set for the pause time to run out, if none is that runs out earlier.
    pub fn arm(&mut self) -> Option<Time> {
        let due = self.pfc.next_timer();
        let arms = due < self.timer_at;
        self.timer_at = self.timer_at.min(due);
        arms.then_some(due)
    }
    /// A timer has run out: true if it is the one that counts. Then another is to be [set](Self::arm).
    pub fn takes_timer(&mut self, now: Time) -> bool {
        let counts = self.timer_at == now;
        if counts {
            self.timer_at = Time::NEVER;
        }
        counts
    }
    /// Paused time up to `now`.
    pub fn total(&self, now: Time) -> Time {
        if self.pfc.is_paused() {
            self.total + now.saturating_sub(self.since)
        } else {
            self.total
        }
    }
    /// True during a pause.
    pub fn is_paused(&self) -> bool {
        self.pfc.is_paused()
    }
    /// From when the pause in force holds the class: past `now` while the frame in transmission when it took effect still
    /// leaves.
    pub fn held_since(&self) -> Option<Time> {
        self.pfc.is_paused().then_some(self.since)
    }
    /// When the pause in force took effect.
    pub fn obeyed_since(&self) -> Option<Time> {
        self.pfc.is_paused().then_some(self.obeyed)
    }
    /// Records a PAUSE that is still in force at the end of the run.
    pub fn finish(&mut self, now: Time, place: Place, log: &mut Log) {
        if self.pfc.is_paused() {
            self.note(now, Change::Resumed, place, log);
            self.since = now;
        }
    }

    fn note(&mut self, now: Time, change: Change, place: Place, log: &mut Log) {
        if change != Change::Resumed {
            return;
        }
        self.total += now.saturating_sub(self.since);
        if place.record {
            log.pauses.push(PauseRecord {
                node: place.node,
                port: place.port,
                priority: place.priority,
                obeyed: self.obeyed,
                start: self.since.min(now),
                end: now,
            });
        }
    }
}

/// PFC frames that a transmitter has received and not yet obeyed.
#[derive(Clone, Debug, Show)]
pub struct PendingPauses {
    #[show(same = waiting.len())]
    #[show(by = waiting.iter_mut().for_each(|it| it.show(visitor)))]
    waiting: VecDeque<PendingPause>,
    #[show(earliest)]
    next: Time,
}

impl Default for PendingPauses {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            next: Time::NEVER,
        }
    }
}

/// A PFC frame to obey.
#[derive(Clone, Copy, Debug, Show)]
pub struct PendingPause {
    /// From when.
    #[show(time)]
    pub time: Time,
    /// At which port.
    #[show(same)]
    pub port: PortId,
    /// Bit p set: it speaks of priority p.
    #[show(same)]
    pub priorities: u8,
    /// For how long; zero is XON.
    #[show(same)]
    pub pause: Time,
}

impl PendingPause {
    /// A PFC frame that has arrived at `port`.
    pub fn new(now: Time, port: PortId, frame: &Packet, plan: &Plan<'_>) -> Self {
        Self {
            time: now + plan.config.switch.pfc.reaction,
            port,
            priorities: frame.aux as u8,
            pause: Time::from_ps(frame.stamp),
        }
    }
    /// XON for all priorities of `port`, where PFC restarts.
    pub fn resume_all(now: Time, port: PortId) -> Self {
        Self {
            time: now,
            port,
            priorities: u8::MAX,
            pause: Time::ZERO,
        }
    }
}

impl PendingPauses {
    /// Adds a frame that has just arrived, or returns it if it takes effect at once. The reaction time of a node is constant, so
    /// frames stay in order.
    pub fn delay(&mut self, now: Time, reaction: PendingPause) -> Option<PendingPause> {
        if reaction.time == now {
            return Some(reaction);
        }
        self.next = self.next.min(reaction.time);
        self.waiting.push_back(reaction);
        None
    }
    /// Forgets those of a port.
    pub fn forget(&mut self, port: PortId) {
        self.waiting.retain(|frame| frame.port != port);
        let next = self.waiting.front();
        self.next = next.map_or(Time::NEVER, |reaction| reaction.time);
    }
    /// When to obey the next one.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.next
    }
    /// Takes the next one.
    pub fn pop(&mut self) -> Option<PendingPause> {
        let first = self.waiting.pop_front();
        let next = self.waiting.front();
        self.next = next.map_or(Time::NEVER, |reaction| reaction.time);
        first
    }
}
