//! What every congestion point is: what it is told, and what it answers.

use rand_core::Rng;

use crate::ledger::Show;
use crate::notification::QcnFeedback;
use crate::units::Time;

/// What a congestion point needs to know of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Size in bytes, as the queue counts it.
    pub bytes: u32,
    /// True when the packet may be marked: its ECN field is not Not-ECT.
    pub ect: bool,
    /// When it entered this queue.
    pub enqueued_at: Time,
}

/// The queue of one (egress port, priority).
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Bytes waiting.
    pub bytes: u64,
    /// Packets waiting.
    pub packets: u32,
}

/// What to do with the packet at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Pass,
    /// Set Congestion Experienced.
    MarkCe,
    /// Drop it.
    Drop,
    /// Leave it as it is, and send this to its source; or, if the mechanism says so
    /// ([`super::qcn::Mode::selection`]), to that of another packet in the buffer.
    Notify(QcnFeedback),
    /// Write into it what it needs to know of this port, if it asks for that.
    Record,
}

/// Events that need not be reported to a congestion point: with or without them, it gives the same verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indifference {
    /// To a packet that finds its queue empty and leaves at once. It passes.
    pub to_alone: bool,
    /// To packets that join the queue. They pass.
    pub to_enqueue: bool,
    /// To those of them that find others waiting.
    pub to_enqueue_behind: bool,
    /// To packets that leave fewer bytes than this behind. They pass.
    pub to_dequeue_below: u64,
}

impl Indifference {
    /// To everything.
    pub const TO_ALL: Self = Self {
        to_alone: true,
        to_enqueue: true,
        to_enqueue_behind: true,
        to_dequeue_below: u64::MAX,
    };
}

/// A congestion point: everything but its construction has a default that does nothing.
pub trait Mechanism: Show {
    /// Events that need not be reported to it, now and later.
    fn indifference(&self) -> Indifference {
        Indifference::default()
    }
    /// A packet has joined the queue; `queue` includes it.
    #[inline]
    fn on_enqueue<R: Rng>(
        &mut self,
        _now: Time,
        _packet: &Packet,
        _queue: Queue,
        _rng: &mut R,
    ) -> Verdict {
        Verdict::Pass
    }
    /// A packet has been taken for transmission; `queue` is what stays behind.
    #[inline]
    fn on_dequeue<R: Rng>(
        &mut self,
        _now: Time,
        _packet: &Packet,
        _queue: Queue,
        _rng: &mut R,
    ) -> Verdict {
        Verdict::Pass
    }
    /// The peer's PAUSE has taken effect on this queue.
    fn on_pause(&mut self, _now: Time) {}
    /// The queue may transmit again: XON, or a PAUSE that ran out.
    fn on_resume(&mut self, _now: Time, _queue: Queue) {}
}

/// A queue without congestion management.
#[derive(Clone, Copy, Debug, Default, Show)]
pub struct PassAll;

impl Mechanism for PassAll {
    fn indifference(&self) -> Indifference {
        Indifference::TO_ALL
    }
}
