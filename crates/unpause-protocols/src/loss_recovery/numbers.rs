//! The packet numbers of a RoCE flow, whatever repairs its losses.
//!
//! # What it does
//!
//! Keeps what every way of repair keeps: at the sender which packets have been sent, which have arrived, and which one
//! is next; at the receiver which one it misses first. A state machine beside it ([`super::go_back_n`],
//! [`super::selective_repeat`]) decides what is sent next; that there is something to send can be asked here.
//!
//! # Source
//!
//! InfiniBand Architecture Specification, 9.7 (reliable connections): packet sequence numbers.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `packets` | packets | - | the flow's size; `u32::MAX` for a flow without end |
//!
//! # Departures
//!
//! Packets are numbered from 0 and never wrap: a flow has less than 2^32.

use crate::state_visitor::{Show, StateVisitor};
use crate::units::Time;

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Packets of the whole flow; cut short when it is stopped.
    pub(super) packets: u32,
    /// The next packet may be sent if its number is below this.
    pub(super) end: u32,
    /// The packet to send next: a new one, or one that was lost.
    pub(super) next: u32,
    /// One more than the highest packet number ever sent.
    pub(super) highest: u32,
    pub(super) unacknowledged: u32,
    /// Packets that may be in flight. Go-back-N has it in `end`.
    pub(super) window: u32,
    pub(super) timer: Time,
}

/// A packet that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its number.
    pub number: u32,
    /// It is the last of the flow.
    pub is_last: bool,
    /// It has been sent before.
    pub again: bool,
}

impl Sender {
    /// A flow of this many packets, `u32::MAX` for one without end.
    pub fn new(packets: u32) -> Self {
        Self {
            packets,
            end: packets,
            next: 0,
            highest: 0,
            unacknowledged: 0,
            window: u32::MAX,
            timer: Time::NEVER,
        }
    }

    /// Nothing new is sent any more.
    #[inline]
    pub fn stop(&mut self) {
        self.packets = self.packets.min(self.highest);
        self.end = self.end.min(self.packets);
    }

    /// The flow gives up: nothing is sent any more, and nothing waited for.
    pub fn abandon(&mut self) {
        self.end_at(self.unacknowledged);
        self.next = self.unacknowledged;
        self.timer = Time::NEVER;
    }

    /// Nobody acknowledges: what has been sent is over.
    pub fn let_go(&mut self) {
        self.unacknowledged = self.highest;
        self.timer = Time::NEVER;
    }

    /// The flow ends before packet `number` from now on, sooner or later than before. Where a window limits what is in
    /// flight, it is opened anew.
    pub fn end_at(&mut self, number: u32) {
        self.packets = number;
        self.end = number;
    }

    /// True if there is a packet to send, and the window lets it go.
    #[inline]
    pub fn has_packet(&self) -> bool {
        self.next < self.end
    }

    /// True if there is a packet to send, whether the window lets it go or not.
    pub fn has_left(&self) -> bool {
        self.next < self.packets
    }

    /// Packets that have never been sent.
    pub fn unsent(&self) -> u32 {
        self.packets - self.highest
    }

    /// Packets from the next one to the last, whether the window lets them go or not.
    pub fn left(&self) -> u32 {
        self.packets.saturating_sub(self.next)
    }

    /// True if an acknowledgement of all packets before `number` acknowledges the whole flow.
    pub fn ends_at(&self, number: u32) -> bool {
        number >= self.packets
    }

    /// True when all that it will ever send has been acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.unacknowledged >= self.packets
    }

    /// Packets before this one have arrived.
    #[inline]
    pub fn unacknowledged(&self) -> u32 {
        self.unacknowledged
    }

    /// Number of the packet sent next: of one lost, while it repairs.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// One more than the highest number of a packet ever sent.
    pub fn highest(&self) -> u32 {
        self.highest
    }

    /// When a timeout is due; [`Time::NEVER`] while nothing is outstanding.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timer
    }

    /// Counts packet `number`, which is sent now.
    #[inline]
    pub(super) fn count(&mut self, number: u32) -> Sent {
        self.next = number + 1;
        let again = number < self.highest;
        self.highest = self.highest.max(self.next);
        Sent {
            number,
            is_last: self.next == self.packets,
            again,
        }
    }

    /// Shows its state under go-back-N, of a flow that has this number.
    pub fn show<L: StateVisitor>(&mut self, flow: u32, visitor: &mut L) {
        let Self {
            packets,
            end,
            next,
            highest,
            unacknowledged,
            window: _,
            timer,
        } = self;
        let is_open = *end == *packets;
        visitor.end(flow, packets);
        visitor.before_end(flow, *next, *packets);
        if is_open {
            *end = *packets;
        } else {
            visitor.before_end(flow, *end, *packets);
            visitor.number(flow, end);
        }
        visitor.number(flow, next);
        visitor.number(flow, highest);
        visitor.number(flow, unacknowledged);
        visitor.time(timer);
    }
}

/// A flow at its receiver.
#[derive(Clone, Debug, Show)]
#[show(pub fn show(flow: u32))]
pub struct Receiver {
    #[show(by = visitor.end(flow, packets))]
    pub(super) packets: u32,
    #[show(by = visitor.before_end(flow, *expected, *packets))]
    #[show(by = visitor.number(flow, expected))]
    pub(super) expected: u32,
    /// The gap has been reported.
    // What comes next depends on how long ago that was.
    #[show(refuse_if = *nak_sent)]
    pub(super) nak_sent: bool,
    #[show(skip = "when that was")]
    pub(super) nak_at: Time,
}

impl Receiver {
    /// A flow of this many packets of which nothing has arrived; `u32::MAX` for one without end.
    pub fn new(packets: u32) -> Self {
        Self {
            packets,
            expected: 0,
            nak_sent: false,
            nak_at: Time::ZERO,
        }
    }

    /// The flow ends before packet `number` from now on.
    pub fn end_at(&mut self, number: u32) {
        self.packets = number;
    }

    /// A packet has arrived of a flow whose packets may come in any order and never twice; true if it is the last one that
    /// was missing.
    pub fn count(&mut self) -> bool {
        self.expected += 1;
        self.expected == self.packets
    }

    /// Packets that have not arrived, if they are [counted](Self::count).
    pub fn missing(&self) -> u32 {
        self.packets - self.expected
    }

    /// True if the flow cannot be complete before packet `number`, or a later one, has arrived.
    pub fn ends_with(&self, number: u32) -> bool {
        number.saturating_add(1) >= self.packets
    }

    /// Packets of the whole flow.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Number of the packet expected next.
    #[inline]
    pub fn expected(&self) -> u32 {
        self.expected
    }
}
