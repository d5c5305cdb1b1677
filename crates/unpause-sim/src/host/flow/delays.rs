//! Where the time of a host's flows goes before their packets leave. Used only where causes are recorded.

use std::collections::HashMap;

use unpause_protocols::units::Time;

use crate::outcome::delays::{Departure, Held, Hold, total};
use crate::outcome::held_back::HeldBack;

/// The accounts of the flows that a host sends, by flow.
///
/// The senders [begin](Self::begin) an account with the flow. [`Self::before_send`] assigns the time since the last packet had left,
/// [`Self::after_send`] that of the packet itself. In between, [`Self::on_change`] follows what may let the flow send again.
#[derive(Debug, Default)]
pub struct Delays {
    flows: HashMap<u32, Account>,
    /// The reason if the next change lets a flow send again that had nothing to send.
    pub cause: Option<Hold>,
}

/// The account of a flow.
#[derive(Clone, Copy, Debug)]
struct Account {
    start: Time,
    /// Time up to here is assigned.
    since: Time,
    /// The rate limiter allows the next packet then.
    allowed: Time,
    /// It had nothing to send when its last packet left, until `opened`, for that reason.
    closed: Option<Hold>,
    opened: Time,
    held: Held,
    /// Packets sent again so far.
    repeated: u64,
    /// Packets that may end it, sent so far.
    departures: u32,
}

/// A flow after it has sent a packet.
#[derive(Clone, Copy, Debug)]
pub struct After {
    /// The packet was sent again.
    pub again: bool,
    /// There is another packet that may be sent.
    pub has_packet: bool,
    /// There is another packet to be sent.
    pub has_left: bool,
}

impl Delays {
    /// A flow starts.
    pub fn begin(&mut self, now: Time, flow: u32) {
        let account = Account {
            start: now,
            since: now,
            allowed: now,
            closed: None,
            opened: now,
            held: Held::default(),
            repeated: 0,
            departures: 0,
        };
        self.flows.insert(flow, account);
    }

    /// A flow has nothing to send until its connection is open.
    pub fn wait(&mut self, flow: u32) {
        if let Some(account) = self.flows.get_mut(&flow) {
            account.closed = Some(Hold::Window);
            account.opened = Time::NEVER;
        }
    }

    /// A flow is over.
    pub fn end(&mut self, flow: u32) {
        self.flows.remove(&flow);
    }

    /// The rate, the window or the packets of a flow may have changed: whether it has a packet to send now, and when its rate limiter
    /// allows it if that takes effect at once.
    pub fn on_change(&mut self, now: Time, flow: u32, has_packet: bool, allowed: Option<Time>) {
        let cause = self.cause.take();
        let Some(account) = self.flows.get_mut(&flow) else {
            return;
        };
        if account.closed.is_some() && has_packet && account.opened.is_never() {
            account.opened = now;
            account.closed = Some(cause.unwrap_or(Hold::Window));
        } else if account.closed.is_some() && !has_packet {
            account.opened = Time::NEVER;
        }
        if let Some(allowed) = allowed
            && account.allowed > now
        {
            account.allowed = allowed;
        }
    }

    /// A packet of a flow leaves, which has sent `repeated` packets again so far: assigns the time since the last one. `pauses` are
    /// those of its class at the NIC. Answers whether this packet is sent again.
    pub fn before_send(
        &mut self,
        now: Time,
        (flow, repeated): (u32, u64),
        pauses: Option<&HeldBack>,
    ) -> bool {
        let Some(account) = self.flows.get_mut(&flow) else {
            return false;
        };
        let again = repeated > std::mem::replace(&mut account.repeated, repeated);
        let mut at = account.since;
        if let Some(hold) = account.closed.take() {
            let opened = account.opened.min(now).max(at);
            // An ACK that lets a packet go again says that it was lost.
            let hold = if again && hold == Hold::Window {
                Hold::Nack
            } else {
                hold
            };
            account.held[hold as usize] += opened - at;
            at = opened;
        }
        let allowed = account.allowed.min(now).max(at);
        account.held[Hold::Rate as usize] += allowed - at;
        at = allowed;
        if now > at {
            let paused = pauses.map_or(Time::ZERO, |pauses| pauses.paused_in(at, now));
            account.held[Hold::Pause as usize] += paused;
            account.held[Hold::Turn as usize] += now - at - paused;
        }
        account.since = account.since.max(now);
        again
    }

    /// The record of the packet of `wire_bytes` that leaves at `now`, if it may turn out to end its flow.
    pub fn departure(
        &mut self,
        now: Time,
        flow: u32,
        (wire_bytes, again): (u32, bool),
    ) -> Option<Departure> {
        let account = self.flows.get_mut(&flow)?;
        let number = (account.departures % 128) as u8;
        account.departures += 1;
        let mut held = account.held;
        // Packets may leave by several NICs at the same time.
        let over = account.since - now;
        held[Hold::Send as usize] = held[Hold::Send as usize].saturating_sub(over);
        debug_assert!(
            over > Time::ZERO || total(&held) == now - account.start,
            "each time has one reason"
        );
        Some(Departure {
            flow,
            number,
            at: now,
            wire_bytes,
            again,
            held,
        })
    }

    /// The packet leaves until `free`. The rate limiter allows the next one at `allowed`.
    pub fn after_send(&mut self, flow: u32, free: Time, allowed: Time, after: After) {
        let Some(account) = self.flows.get_mut(&flow) else {
            return;
        };
        let kind = if after.again {
            Hold::Resend
        } else {
            Hold::Send
        };
        let free = free.max(account.since);
        account.held[kind as usize] += free - account.since;
        account.since = free;
        account.allowed = allowed;
        if !after.has_packet {
            account.closed = Some(if after.has_left {
                Hold::Window
            } else {
                Hold::Timeout
            });
            account.opened = Time::NEVER;
        }
    }
}
