//! The interface of congestion control: events in, rate and window out.

use rand_core::Rng;

use crate::notification::Notification;
use crate::units::{Fraction, Rate, Time};

/// The path of a flow, as known before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Rate of the sender's port.
    pub line_rate: Rate,
    /// Bytes of a full packet, as ACKs and the window count them.
    pub packet_bytes: u32,
    /// The window that the transport starts with, in bytes; `u64::MAX` if it leaves that to the law.
    pub initial_window: u64,
    /// Payload of a full packet.
    pub payload_bytes: u32,
    /// Round trip of a full packet's payload through the empty fabric; zero if nobody asked.
    pub base_rtt: Time,
    /// Bytes that the slowest link carries in that time; zero if nobody asked.
    pub bandwidth_delay: u64,
    /// Switches trim packets for which there is no room.
    pub trims: bool,
}

impl Path {
    /// A path on which the law alone says how a flow starts.
    pub const fn new(line_rate: Rate, packet_bytes: u32) -> Self {
        Self {
            line_rate,
            packet_bytes,
            initial_window: u64::MAX,
            payload_bytes: packet_bytes,
            base_rtt: Time::ZERO,
            bandwidth_delay: 0,
            trims: false,
        }
    }
}

/// In-band telemetry that a switch on the path wrote into a packet when it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hop {
    /// When.
    pub time: Time,
    /// Bytes that the port had sent until then.
    pub tx_bytes: u64,
    /// Bytes in its queue.
    pub queue_bytes: u64,
    /// Rate of its link.
    pub rate: Rate,
}

/// An acknowledgement, as reported to the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// When it came.
    pub now: Time,
    /// How long after its packet or burst was sent, if it measures that. RoCE takes the time off that
    /// sending itself took.
    pub rtt: Option<Time>,
    /// Bytes that it acknowledges; of a duplicate, those of the packet that caused it.
    pub bytes: u64,
    /// It tells of a mark.
    pub ce: bool,
    /// All bytes of the flow before this one have arrived, these included.
    pub acknowledged: u64,
    /// The byte sent next: the first never sent, or of RoCE, after going back, one that is sent again. A round
    /// trip is over when `acknowledged` is beyond what this was at its start.
    pub sent: u64,
    /// The window may grow: it has held the sender back, and no loss is being repaired.
    pub may_grow: bool,
    /// Telemetry of the hops, in order; empty if they write none.
    pub telemetry: &'a [Hop],
    /// PINT's digest of it, if the packet carried a code.
    pub digest: Option<u16>,
}

impl Ack<'_> {
    /// An ACK that has come at `now` and says nothing: it acknowledges no bytes, measures no round trip, tells of no
    /// mark, and brings nothing that switches have written. The window may grow.
    pub const fn at(now: Time) -> Self {
        Self {
            now,
            rtt: None,
            bytes: 0,
            ce: false,
            acknowledged: 0,
            sent: 0,
            may_grow: true,
            telemetry: &[],
            digest: None,
        }
    }
}

/// How the network said that it is overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// By a mark, the first of a round trip: to be answered like a loss.
    Mark,
    /// By a lost packet; later ones have arrived.
    Packet,
    /// By a packet of which only the header has arrived: a switch has trimmed it.
    Trim {
        /// Bytes of the packet.
        bytes: u32,
        /// How long after the packet was sent the report of it came, as [`Ack::rtt`].
        rtt: Option<Time>,
        /// The switch before the receiver has trimmed it: no other path would have helped.
        last_hop: bool,
    },
    /// By silence: the retransmission timer has run out.
    Timeout {
        /// It had before, and nothing was acknowledged since.
        again: bool,
        /// The window in force until then, in bytes, with what the repair of a loss had added to the law's.
        window: u64,
    },
}

/// Properties of a law that follow from its parameters alone.
pub trait Settings {
    /// True if packets are to carry what switches write into them ([`Ack::telemetry`], [`Ack::digest`]), and ACKs to
    /// bring that back.
    fn reads_telemetry(&self) -> bool {
        false
    }
    /// True if it reads [`Path::base_rtt`] and [`Path::bandwidth_delay`] of each flow.
    fn reads_path(&self) -> bool {
        false
    }
    /// The lowest rate that [`Mechanism::rate`] returns for a flow on a faster port; `None` if it is always
    /// the port's rate, as with laws that set windows alone.
    fn least_rate(&self) -> Option<Rate> {
        None
    }
}

/// A law of congestion control: everything but its construction and its rate has a default that does
/// nothing.
///
/// Its owner is the sender of one flow, which also repairs losses: a host's RoCE sender, or for TCP a
/// [`newreno::Sender`](crate::loss_recovery::newreno::Sender) and its owner. It makes these calls in order of time, and obeys
/// the answers:
///
/// | call | when | already true |
/// |---|---|---|
/// | [`on_timer`](Self::on_timer) | [`next_timer`](Self::next_timer) is due | nothing else of that instant or later has been reported |
/// | [`on_ack`](Self::on_ack) | an ACK has come, or a NAK that says something new | [`Ack::acknowledged`] includes what it acknowledges |
/// | [`on_loss`](Self::on_loss) | packets count as lost, or TCP answers a mark | the ACK or NAK that shows it has been passed to `on_ack`; a timeout has none, nor has the report of a trimmed packet that acknowledges nothing |
/// | [`on_recovered`](Self::on_recovered) | TCP: fast recovery is over, or a connection that was idle starts again | the ACK that ends the recovery has been passed to `on_ack` |
/// | [`on_notification`](Self::on_notification) | a CNP or CNM takes effect | - |
/// | [`on_sent`](Self::on_sent) | a packet starts | it counts as in flight |
///
/// After each of these calls the RoCE sender asks [`rate`](Self::rate), `next_timer` and [`hears_sent`](Self::hears_sent) again,
/// and, except after `on_sent`, [`window`](Self::window) if there was one at the start. RoCE reports no [`Loss::Mark`] and no
/// recovery. TCP asks for the window before each segment, except in fast recovery, when it counts by itself. The simulator's TCP
/// asks for the rate after each segment, runs no timers of laws and passes no notifications.
///
/// What a law owes its owner, in any order of calls and with any parameters (`tests/properties/laws.rs` checks it):
///
/// - A flow starts at line rate, unless the law's source says otherwise.
/// - The rate is at most [`Path::line_rate`], and at least [`Settings::least_rate`] or line rate, whichever is less.
///   Window and slow-start threshold ([`ssthresh`](Self::ssthresh)) have at least one packet.
/// - `on_timer` moves [`next_timer`](Self::next_timer) to a later time, or stops it.
/// - A call that the law declines ([`hears_acks`](Self::hears_acks), `hears_sent`) changes neither its state nor the
///   random stream.
/// - Notifications of other mechanisms change nothing.
/// - Times may be far apart or [`Time::NEVER`], and numbers may have any value: nothing overflows or panics.
///
/// Bytes are those that [`Path::packet_bytes`] counts. For RoCE these are frames with framing, and ACKs acknowledge whole packets
/// of this size; for TCP they are the payload. Bytes in flight at a loss are those just before it, without what its ACK or
/// NAK acknowledges.
pub trait Mechanism {
    /// The rate at which the flow may send now; line rate if only its window holds it back.
    fn rate(&self) -> Rate;
    /// Bytes that may be in flight, at least a packet; `None`: any number, for the whole flow.
    #[inline]
    fn window(&self) -> Option<u64> {
        None
    }
    /// Where slow start ends, in bytes; `u64::MAX` before the first congestion, or if there is none.
    #[inline]
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    /// True if it answers marks that TCP's ACKs echo: its segments are ECN-capable.
    #[inline]
    fn is_ecn_capable(&self) -> bool {
        false
    }
    /// `Some`: send bursts of this many bytes at line rate, pace and measure per burst; `None`: per packet.
    /// Never changes.
    #[inline]
    fn burst_bytes(&self) -> Option<u32> {
        None
    }
    /// Of a law that [reads telemetry](Settings::reads_telemetry): this share of its packets, drawn at random, carry
    /// PINT's code instead, and the others nothing.
    #[inline]
    fn digests(&self) -> Option<Fraction> {
        None
    }
    /// False if [`Self::on_ack`] does nothing, ever: the owner asks once and may leave these calls out.
    #[inline]
    fn hears_acks(&self) -> bool {
        true
    }
    /// An ACK has arrived.
    #[inline]
    fn on_ack(&mut self, _ack: &Ack<'_>) {}
    /// A notification has arrived; those of other mechanisms are ignored.
    #[inline]
    fn on_notification<R: Rng>(&mut self, _now: Time, _notification: &Notification, _rng: &mut R) {}
    /// There was a loss while this many bytes were in flight.
    #[inline]
    fn on_loss(&mut self, _now: Time, _loss: Loss, _in_flight: u64) {}
    /// A lost packet is repaired. A window above `at_most` bytes would let a burst go.
    #[inline]
    fn on_recovered(&mut self, _at_most: u64) {}
    /// False if [`Self::on_sent`] does nothing until it is told something else.
    #[inline]
    fn hears_sent(&self) -> bool {
        true
    }
    /// The flow has sent `bytes`; `backlogged` when it has more to send.
    #[inline]
    fn on_sent<R: Rng>(&mut self, _now: Time, _bytes: u32, _backlogged: bool, _rng: &mut R) {}
    /// Runs every timer due at or before `now`.
    #[inline]
    fn on_timer<R: Rng>(&mut self, _now: Time, _rng: &mut R) {}
    /// When to call [`Mechanism::on_timer`]; [`Time::NEVER`] when no timer runs.
    #[inline]
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
}

/// A sender that always sends at line rate.
#[derive(Clone, Copy, Debug)]
pub struct LineRate(pub(super) Rate);

impl Mechanism for LineRate {
    #[inline]
    fn rate(&self) -> Rate {
        self.0
    }
    #[inline]
    fn hears_acks(&self) -> bool {
        false
    }
    #[inline]
    fn hears_sent(&self) -> bool {
        false
    }
}

/// Half way from `current` up to `target`, rounded up so that the target is reached.
pub(super) fn half_way(target: u64, current: u64) -> u64 {
    target.midpoint(current) + ((target ^ current) & 1)
}
