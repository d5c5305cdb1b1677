//! The interface of congestion points: events in, verdicts out.

use rand_core::Rng;

use crate::notification::QcnFeedback;
use crate::state_visitor::Show;
use crate::units::Time;

/// The properties of a packet that a congestion point reads.
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

/// The decision about the current packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Forward it unchanged.
    Pass,
    /// Set Congestion Experienced.
    MarkCe,
    /// Drop it.
    Drop,
    /// Forward it unchanged, and send this to its source or, with [`super::qcn::Mode::selection`], to that of another
    /// packet in the buffer.
    Notify(QcnFeedback),
    /// Write the telemetry of this port into it, if the packet carries telemetry.
    Record,
}

/// Events that need not be reported to a congestion point: with or without them, it gives the same verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indifference {
    /// A packet that finds its queue empty and leaves at once. It passes.
    pub to_alone: bool,
    /// Packets that join the queue. They pass.
    pub to_enqueue: bool,
    /// Packets that join a queue in which others wait. They pass.
    pub to_enqueue_behind: bool,
    /// Packets that leave fewer bytes than this behind. They pass.
    pub to_dequeue_below: u64,
}

impl Indifference {
    /// Every event.
    pub const TO_ALL: Self = Self {
        to_alone: true,
        to_enqueue: true,
        to_enqueue_behind: true,
        to_dequeue_below: u64::MAX,
    };
}

/// A congestion point. Every method has a default that does nothing.
///
/// Its owner is a port of a switch, which has one for each priority. For each packet it makes two calls:
///
/// 1. [`on_enqueue`](Self::on_enqueue) when the switch has admitted the packet, before the queue stores it. After
///    [`Verdict::Drop`] the packet is not reported again. [`Verdict::Record`] has no effect here.
/// 2. [`on_dequeue`](Self::on_dequeue) when the port is free and the packet has been taken out of the queue, before it is sent.
///    After `Drop` the port takes its next packet. A packet that finds the port free passes both calls in one instant.
///
/// A call may be omitted where [`indifference`](Self::indifference) allows that. Packets that are lost with their link, or dropped by
/// a PFC watchdog, leave the queue without `on_dequeue`.
///
/// Between packets the owner reports when its queue may not transmit ([`on_pause`](Self::on_pause)) and when it may again
/// ([`on_resume`](Self::on_resume)): by PFC, or because a link with credits has none left. There are no timers.
///
/// The owner follows the verdict unchecked: return [`Verdict::MarkCe`] only if [`Packet::ect`] is true. Calls that
/// `indifference` allows to omit must change no verdict, and no order of calls, times or sizes may overflow or panic
/// (`tests/properties/congestion.rs` checks all three).
///
/// Where a mechanism watches inputs ([`super::qcn::Mode::at_input`]), there is one for each (ingress port, priority) instead. Its
/// owner calls only `on_enqueue`, with the bytes that the ingress holds and no packets, and only [`Verdict::Notify`] has an effect.
pub trait Mechanism: Show {
    /// Events that need not be reported to it. Never changes.
    fn indifference(&self) -> Indifference {
        Indifference::default()
    }
    /// A packet joins the queue; `queue` includes it.
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
    /// A packet has been taken for transmission; `queue` excludes it, and [`Packet::enqueued_at`] is when it joined.
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
    /// The peer's PAUSE has taken effect on this queue, or it has no credits.
    fn on_pause(&mut self, _now: Time) {}
    /// The queue may transmit again: XON, a PAUSE that ran out, or new credits.
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
