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
    /// Round trip of a full packet's payload through the empty fabric; zero unless the law [reads it](Settings::reads_path).
    pub base_rtt: Time,
    /// Bytes that the slowest link carries in that time; zero likewise.
    pub bandwidth_delay: u64,
    /// Whether switches trim packets for which they have no room.
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
    /// When the packet left.
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
    /// Time of arrival.
    pub now: Time,
    /// Time since its packet or burst was sent, if it measures that. RoCE subtracts the time that sending
    /// took.
    pub rtt: Option<Time>,
    /// Bytes that it acknowledges; for a duplicate ACK, those of the packet that caused it.
    pub bytes: u64,
    /// Whether it echoes a mark.
    pub ce: bool,
    /// All bytes of the flow before this number have arrived, including those of this ACK.
    pub acknowledged: u64,
    /// Number of the next byte to send: the first never sent or, after RoCE has gone back, one to resend. A round
    /// trip is over when `acknowledged` exceeds the value of `sent` at its start.
    pub sent: u64,
    /// Whether the window may grow: it has held the sender back, and no loss is being repaired.
    pub may_grow: bool,
    /// Telemetry of the hops, in order; empty if they write none.
    pub telemetry: &'a [Hop],
    /// PINT's digest of it, if the packet carried a code.
    pub digest: Option<u16>,
}

impl Ack<'_> {
    /// An empty ACK that arrives at `now`: no bytes, no round trip, no mark, no telemetry. The window may grow.
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

/// A sign of congestion to which a law reacts as to a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The first mark of a round trip.
    Mark,
    /// A packet is lost; later ones have arrived.
    Packet,
    /// A switch has trimmed a packet: only its header has arrived.
    Trim {
        /// Bytes of the packet.
        bytes: u32,
        /// Time from sending the packet to its report, as [`Ack::rtt`].
        rtt: Option<Time>,
        /// Whether the last switch before the receiver trimmed it, where no other path would have helped.
        last_hop: bool,
    },
    /// The retransmission timer has expired.
    Timeout {
        /// Whether it had expired before, with nothing acknowledged since.
        again: bool,
        /// The window in force until then in bytes, including what the repair of a loss had added to the law's.
        window: u64,
    },
}

/// Properties of a law that follow from its parameters alone.
pub trait Settings {
    /// Whether packets carry telemetry of switches, and ACKs return it ([`Ack::telemetry`], [`Ack::digest`]).
    fn reads_telemetry(&self) -> bool {
        false
    }
    /// Whether the law reads [`Path::base_rtt`] and [`Path::bandwidth_delay`] of each flow.
    fn reads_path(&self) -> bool {
        false
    }
    /// The lowest rate that [`Mechanism::rate`] returns for a flow on a faster port; `None` if it is always
    /// the port's rate, as with laws that set windows alone.
    fn least_rate(&self) -> Option<Rate> {
        None
    }
}

/// A law of congestion control. Every method but `rate` has a default that does nothing.
///
/// Its owner is the sender of one flow, which also repairs losses: a host's RoCE sender, or for TCP a
/// [`newreno::Sender`](crate::loss_recovery::newreno::Sender) and its owner. It makes these calls in order of time, and obeys
/// what they return:
///
/// | call | when | already true |
/// |---|---|---|
/// | [`on_timer`](Self::on_timer) | [`next_timer`](Self::next_timer) is due | nothing else of that instant or later has been reported |
/// | [`on_ack`](Self::on_ack) | an ACK has arrived, or a NAK with something new | [`Ack::acknowledged`] includes what it acknowledges |
/// | [`on_loss`](Self::on_loss) | packets count as lost, or TCP reacts to a mark | the ACK or NAK that shows it has been passed to `on_ack`; timeouts, and reports of trimmed packets that acknowledge nothing, have none |
/// | [`on_recovered`](Self::on_recovered) | TCP: fast recovery is over, or an idle connection resumes | the ACK that ends the recovery has been passed to `on_ack` |
/// | [`on_notification`](Self::on_notification) | a CNP or CNM takes effect | - |
/// | [`on_sent`](Self::on_sent) | a packet starts | it counts as in flight |
///
/// After each of these calls the RoCE sender asks [`rate`](Self::rate), `next_timer` and [`hears_sent`](Self::hears_sent) again,
/// and, except after `on_sent`, [`window`](Self::window) if there was one at the start. RoCE reports no [`Loss::Mark`] and no
/// recovery. TCP asks for the window before each segment, except in fast recovery, when it uses its own. The simulator's TCP
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
    /// Bytes that may be in flight, at least a packet; `None` if the law sets no window, for the whole flow.
    #[inline]
    fn window(&self) -> Option<u64> {
        None
    }
    /// Window at which slow start ends, in bytes; `u64::MAX` before the first congestion, and without slow start.
    #[inline]
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    /// Whether the law reacts to marks that TCP's ACKs echo; segments are then ECN-capable.
    #[inline]
    fn is_ecn_capable(&self) -> bool {
        false
    }
    /// Size of the bursts that are sent at line rate, paced and measured as one; `None` to pace packets. Never
    /// changes.
    #[inline]
    fn burst_bytes(&self) -> Option<u32> {
        None
    }
    /// For a law that [reads telemetry](Settings::reads_telemetry): the share of packets, drawn at random, that carry
    /// PINT's code instead of hops. The others then carry nothing.
    #[inline]
    fn digests(&self) -> Option<Fraction> {
        None
    }
    /// False if [`Self::on_ack`] never does anything: the owner asks once, and may omit these calls.
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
    /// A loss, with the bytes in flight just before it.
    #[inline]
    fn on_loss(&mut self, _now: Time, _loss: Loss, _in_flight: u64) {}
    /// The loss is repaired. A window above `at_most` bytes would allow a burst.
    #[inline]
    fn on_recovered(&mut self, _at_most: u64) {}
    /// False if [`Self::on_sent`] does nothing until another event is reported.
    #[inline]
    fn hears_sent(&self) -> bool {
        true
    }
    /// The flow has sent `bytes`; `backlogged` if it has more to send.
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

/// Halfway from `current` up to `target`, rounded up so that the target is reached.
pub(super) fn half_way(target: u64, current: u64) -> u64 {
    target.midpoint(current) + ((target ^ current) & 1)
}
