//! The pulls of a receiving host.
//!
//! The owner keeps a [`Flow`] for each flow that the host receives, and lends them to the pacer by their numbers.

use super::sender::UNIT_BYTES;
use crate::units::{Fraction, Rate, Time};

/// Units of a pull.
pub const PULL_UNITS: u64 = 64;

/// Units whose time a pull takes that grants none.
const EMPTY_PULL_UNITS: u64 = 4;

/// Lists of flows.
const ACTIVE: usize = 0;
const IDLE: usize = 1;

/// No flow.
const NONE: u32 = u32::MAX;

/// A flow at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Units since the start of the flow.
    granted: u64,
    wanted: u64,
    /// Units of slow pulls that it may have unused.
    most_slow: u64,
    /// Of each list: whether it is there, and which flow is behind it.
    listed: [bool; 2],
    next: [u32; 2],
    ended: bool,
}

impl Flow {
    /// One that has asked for nothing. Slow pulls grant it up to `most` bytes.
    pub const fn new(most: u64) -> Self {
        Self {
            granted: 0,
            wanted: 0,
            most_slow: most / UNIT_BYTES,
            listed: [false; 2],
            next: [NONE; 2],
            ended: false,
        }
    }
    /// Units granted since the start.
    pub fn granted(&self) -> u64 {
        self.granted
    }
    /// Units asked for since the start.
    pub fn wanted(&self) -> u64 {
        self.wanted
    }
    /// It needs no more pulls. The owner keeps it while the pacer [lists](Self::is_listed) it.
    pub fn end(&mut self) {
        self.ended = true;
    }
    /// True if the pacer has its number.
    pub fn is_listed(&self) -> bool {
        self.listed != [false; 2]
    }
}

/// Where the owner keeps a host's flows.
pub trait Flows {
    /// The flow of this number, below [`u32::MAX`].
    fn flow(&mut self, number: u32) -> &mut Flow;
}

impl Flows for [Flow] {
    fn flow(&mut self, number: u32) -> &mut Flow {
        &mut self[number as usize]
    }
}

/// A pull to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The flow whose sender is to get it.
    pub flow: u32,
    /// Units granted to it since its start.
    pub granted: u64,
    /// Nobody asked for it.
    pub slow: bool,
}

/// First in, first out.
#[derive(Clone, Copy, Debug)]
struct List {
    which: usize,
    first: u32,
    last: u32,
}

impl List {
    const fn new(which: usize) -> Self {
        Self {
            which,
            first: NONE,
            last: NONE,
        }
    }
    fn push(&mut self, flows: &mut (impl Flows + ?Sized), number: u32) {
        let flow = flows.flow(number);
        if flow.listed[self.which] {
            return;
        }
        flow.listed[self.which] = true;
        flow.next[self.which] = NONE;
        if self.first == NONE {
            self.first = number;
        } else {
            flows.flow(self.last).next[self.which] = number;
        }
        self.last = number;
    }
    /// The first that has not ended.
    fn pop(&mut self, flows: &mut (impl Flows + ?Sized)) -> Option<u32> {
        while self.first != NONE {
            let number = self.first;
            let flow = flows.flow(number);
            flow.listed[self.which] = false;
            self.first = flow.next[self.which];
            if !flow.ended {
                return Some(number);
            }
        }
        None
    }
}

/// The pacer of a host.
#[derive(Clone, Debug)]
pub struct Pacer {
    line_rate: Rate,
    share: Fraction,
    /// Flows that want more than they were granted.
    active: List,
    /// Flows that have what they wanted.
    idle: List,
    due: Time,
}

impl Pacer {
    /// A host without flows, with a link of this rate.
    pub fn new(line_rate: Rate) -> Self {
        Self {
            line_rate,
            share: Fraction::ONE,
            active: List::new(ACTIVE),
            idle: List::new(IDLE),
            due: Time::NEVER,
        }
    }

    /// Sets the share of the pacer's rate (0.99 of the link's) that [oversubscription](super::oversubscribed) or
    /// another bound allows, from the next pull on.
    pub fn set_share(&mut self, share: Fraction) {
        self.share = share;
    }

    /// A packet of the flow, whole or trimmed, has brought this pull target.
    pub fn on_target(
        &mut self,
        flows: &mut (impl Flows + ?Sized),
        number: u32,
        now: Time,
        target: u64,
    ) {
        let flow = flows.flow(number);
        if target > flow.wanted {
            flow.wanted = target;
            self.request(flows, number, now);
        }
    }

    /// A trimmed packet of the flow has come, or a request to send: after its pull target, the flow has to be asked.
    pub fn on_trim(&mut self, flows: &mut (impl Flows + ?Sized), number: u32, now: Time) {
        self.request(flows, number, now);
    }

    fn request(&mut self, flows: &mut (impl Flows + ?Sized), number: u32, now: Time) {
        self.active.push(flows, number);
        if self.due.is_never() {
            self.due = now;
        }
    }

    /// When to call [`Self::on_timer`]; [`Time::NEVER`] if the pacer has stopped.
    pub fn next_timer(&self) -> Time {
        self.due
    }

    /// The pull that is due at or before `now`; `None` if none is, or if no flow needs any: then the pacer stops.
    pub fn on_timer(&mut self, flows: &mut (impl Flows + ?Sized), now: Time) -> Option<Pull> {
        if now < self.due {
            return None;
        }
        let (pull, units) = match self.active.pop(flows) {
            Some(number) => self.grant(flows, number),
            None => match self.idle.pop(flows) {
                Some(number) => self.grant_unasked(flows, number),
                None => {
                    self.due = Time::NEVER;
                    return None;
                }
            },
        };
        self.due = now.saturating_add(self.time_for(units));
        Some(pull)
    }

    /// To the one whose turn it is, no more than it wants.
    fn grant(&mut self, flows: &mut (impl Flows + ?Sized), number: u32) -> (Pull, u64) {
        let flow = flows.flow(number);
        let units = flow.wanted.saturating_sub(flow.granted).min(PULL_UNITS);
        flow.granted += units;
        let pull = Pull {
            flow: number,
            granted: flow.granted,
            slow: false,
        };
        if flow.wanted > flow.granted {
            self.active.push(flows, number);
        } else {
            self.idle.push(flows, number);
        }
        let taken = if units == 0 { EMPTY_PULL_UNITS } else { units };
        (pull, taken)
    }

    /// To one that has not asked, up to the most that it may have unused.
    fn grant_unasked(&mut self, flows: &mut (impl Flows + ?Sized), number: u32) -> (Pull, u64) {
        let flow = flows.flow(number);
        flow.granted = flow.granted.saturating_add(PULL_UNITS);
        let pull = Pull {
            flow: number,
            granted: flow.granted,
            slow: true,
        };
        if flow.granted.saturating_sub(flow.wanted) < flow.most_slow {
            self.idle.push(flows, number);
        }
        (pull, PULL_UNITS)
    }

    /// How long the units last at the pacer's rate.
    fn time_for(&self, units: u64) -> Time {
        let bits = u128::from(units * UNIT_BYTES * 8);
        let rate = u128::from(self.line_rate.as_bps()) * 99 * u128::from(self.share.as_q32());
        // 64 units · 2^11 bits · 10^14 · 2^32 is below 2^98.
        let ps = (bits * 100_000_000_000_000) << 32;
        if rate == 0 {
            return Time::NEVER;
        }
        Time::from_ps(u64::try_from(ps.div_ceil(rate)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
