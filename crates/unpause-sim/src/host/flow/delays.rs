//! Where the time of a host's flows goes before their packets leave. Used only where causes are recorded.

use std::collections::HashMap;

use unpause_protocols::units::Time;

use crate::outcome::delays::{Departure, Held, Hold, Posting, Rest, Traces, total};
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
    /// The limit or the source of the flow sets that, not its law.
    limited: bool,
    /// It had nothing to send when its last packet left, until `opened`, for that reason.
    closed: Option<Hold>,
    opened: Time,
    held: Held,
    /// Packets sent again so far.
    repeated: u64,
    /// Packets that may end it, sent so far.
    departures: u32,
    /// For how long the link of the NIC had sent frames again by then.
    resent: Time,
    /// It is a connection whose messages are traced.
    has_messages: bool,
}

/// The NIC of a flow, when time of the flow is assigned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line<'a> {
    /// The pauses of the class of the flow that are over.
    pub pauses: Option<&'a HeldBack>,
    /// Since when the class is paused.
    pub paused: Option<Time>,
    /// For how long its link has sent frames again.
    pub resent: Time,
}

impl Line<'_> {
    /// For how long the class was paused from `start` to `end`, which is now.
    fn paused_in(&self, start: Time, end: Time) -> Time {
        let over = self
            .pauses
            .map_or(Time::ZERO, |pauses| pauses.paused_in(start, end));
        let since = self.paused.map_or(end, |since| since.max(start));
        over + end.saturating_sub(since)
    }
}

impl Account {
    /// Assigns the time up to `now`, when perhaps a packet is sent `again`.
    fn assign(&mut self, now: Time, again: bool, line: &Line<'_>) {
        let mut at = self.since;
        if let Some(hold) = self.closed {
            let opened = self.opened.min(now).max(at);
            // An ACK that lets a packet go again says that it was lost.
            let hold = if again && hold == Hold::Window {
                Hold::Nack
            } else {
                hold
            };
            self.held[hold as usize] += opened - at;
            at = opened;
        }
        let allowed = self.allowed.min(now).max(at);
        let hold = if self.limited {
            Hold::Limit
        } else {
            Hold::Rate
        };
        self.held[hold as usize] += allowed - at;
        at = allowed;
        if now > at {
            let paused = line.paused_in(at, now);
            let left = now - at - paused;
            let resent = line.resent.saturating_sub(self.resent).min(left);
            self.held[Hold::Pause as usize] += paused;
            self.held[Hold::Retry as usize] += resent;
            self.held[Hold::Turn as usize] += left - resent;
        }
        self.since = self.since.max(now);
        self.resent = line.resent;
    }

    /// The time until `now`, which is assigned. Packets may leave by several NICs at the same time.
    fn until(&self, now: Time) -> Held {
        let mut held = self.held;
        let over = self.since.saturating_sub(now);
        held[Hold::Send as usize] = held[Hold::Send as usize].saturating_sub(over);
        debug_assert!(
            over > Time::ZERO || total(&held) == now - self.start,
            "each time has one reason"
        );
        held
    }
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
    /// The limit or the source of the flow sets when the next packet may go, not its law.
    pub limited: bool,
}

/// A packet that may turn out to end its flow or a message.
#[derive(Clone, Copy, Debug)]
pub struct Last {
    /// Its bytes on the wire.
    pub wire_bytes: u32,
    /// It was sent again.
    pub again: bool,
    /// The message that it belongs to.
    pub message: u32,
}

impl Delays {
    /// A flow starts.
    pub fn begin(&mut self, now: Time, flow: u32) {
        let account = Account {
            start: now,
            since: now,
            allowed: now,
            limited: false,
            closed: None,
            opened: now,
            held: Held::default(),
            repeated: 0,
            departures: 0,
            resent: Time::ZERO,
            has_messages: false,
        };
        self.flows.insert(flow, account);
    }

    /// A flow has nothing to send until its connection is open, for that reason.
    pub fn wait(&mut self, flow: u32, reason: Hold) {
        if let Some(account) = self.flows.get_mut(&flow) {
            account.closed = Some(reason);
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
            let usual = match account.closed {
                Some(Hold::Open) => Hold::Open,
                _ => Hold::Window,
            };
            account.closed = Some(cause.unwrap_or(usual));
        } else if account.closed.is_some() && !has_packet {
            account.opened = Time::NEVER;
            if cause == Some(Hold::Timeout) && now > account.since {
                account.held[Hold::Timeout as usize] += now - account.since;
                account.since = now;
            }
        }
        if let Some(allowed) = allowed
            && account.allowed > now
        {
            account.allowed = allowed;
        }
    }

    /// A packet of a flow leaves by `line`, which has sent `repeated` packets again so far: assigns the time since the last one.
    /// Answers whether this packet is sent again.
    pub fn before_send(
        &mut self,
        now: Time,
        (flow, repeated): (u32, u64),
        line: &Line<'_>,
    ) -> bool {
        let Some(account) = self.flows.get_mut(&flow) else {
            return false;
        };
        let again = repeated > std::mem::replace(&mut account.repeated, repeated);
        account.assign(now, again, line);
        account.closed = None;
        again
    }

    /// Whether the flow is a connection whose messages are traced.
    pub fn has_messages(&self, flow: u32) -> bool {
        self.flows.get(&flow).is_some_and(|it| it.has_messages)
    }

    /// A message is posted on a connection.
    pub fn post(
        &mut self,
        now: Time,
        (flow, message): (u32, u32),
        line: &Line<'_>,
        traces: &mut Traces,
    ) {
        let Some(account) = self.flows.get_mut(&flow) else {
            return;
        };
        account.assign(now, false, line);
        account.has_messages = true;
        let held = traces.keep(&account.until(now));
        traces.postings.push(Posting {
            flow,
            message,
            held,
        });
    }

    /// Records the packet that leaves at `now`, as it may turn out to end its flow or a message. Answers its number.
    pub fn depart(&mut self, now: Time, flow: u32, last: Last, traces: &mut Traces) -> Option<u8> {
        let account = self.flows.get_mut(&flow)?;
        let number = (account.departures % 128) as u8;
        account.departures += 1;
        let held = traces.keep(&account.until(now));
        traces.departures.push(Departure {
            at: now,
            flow,
            message: last.message,
            wire_bytes: last.wire_bytes,
            held,
            number,
            again: last.again,
        });
        Some(number)
    }

    /// The run is over, with a flow that has not ended.
    pub fn finish(&mut self, now: Time, flow: u32, line: &Line<'_>, traces: &mut Traces) {
        if let Some(mut account) = self.flows.remove(&flow) {
            let is_over = account.closed == Some(Hold::Timeout) && account.opened.is_never();
            let sent = is_over.then(|| account.since.min(now));
            if sent.is_none() {
                account.assign(now, false, line);
            }
            let held = traces.keep(&account.until(sent.unwrap_or(now)));
            traces.rests.push(Rest { flow, sent, held });
        }
    }

    /// The same for flows that have been given up.
    pub fn finish_others(&mut self, now: Time, traces: &mut Traces) {
        let mut flows: Vec<u32> = self.flows.keys().copied().collect();
        flows.sort_unstable();
        for flow in flows {
            if let Some(account) = self.flows.get_mut(&flow) {
                account.closed = Some(Hold::Timeout);
                account.opened = Time::NEVER;
            }
            self.finish(now, flow, &Line::default(), traces);
        }
    }

    /// The packet leaves until `free`; for `resent` of that its link sent other frames again. The rate limiter allows the next one at
    /// `allowed`.
    pub fn after_send(
        &mut self,
        flow: u32,
        (free, resent): (Time, Time),
        allowed: Time,
        after: After,
    ) {
        let Some(account) = self.flows.get_mut(&flow) else {
            return;
        };
        let kind = if after.again {
            Hold::Resend
        } else {
            Hold::Send
        };
        let free = free.max(account.since);
        let takes = free - account.since;
        let retry = resent.saturating_sub(account.resent).min(takes);
        account.held[Hold::Retry as usize] += retry;
        account.held[kind as usize] += takes - retry;
        account.since = free;
        account.resent = account.resent.max(resent);
        account.allowed = allowed;
        account.limited = after.limited;
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
