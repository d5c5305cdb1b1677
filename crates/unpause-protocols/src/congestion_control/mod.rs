//! How the sender of a flow sets its rate and its window.
//!
//! One state machine per flow: a law. What it says, its owner honours: packets leave no faster than
//! [`Mechanism::rate`], and no more bytes are in flight than [`Mechanism::window`]. A law that sets one of
//! them leaves the other open. It hears of losses from [`crate::loss_recovery`], which repairs them and
//! knows no law.

use rand_core::Rng;

use crate::dispatch::mechanisms;
use crate::loss_recovery::echo;
use crate::notification::Notification;
use crate::units::{Rate, Time};

pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod ecn_tcp;
pub mod newreno;
pub mod pcn;
pub mod qcn;
pub mod swift;
pub mod timely;

/// What a flow knows of its way before it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Rate of the sender's port.
    pub line_rate: Rate,
    /// Bytes of a full packet, as ACKs and the window count them.
    pub packet_bytes: u32,
    /// The window that the transport starts with, in bytes; `u64::MAX` if it leaves that to the law.
    pub initial_window: u64,
}

impl Path {
    /// A path on which the law alone says how a flow starts.
    pub const fn new(line_rate: Rate, packet_bytes: u32) -> Self {
        Self {
            line_rate,
            packet_bytes,
            initial_window: u64::MAX,
        }
    }
}

/// What a switch on the way has written into a packet as it left (in-band network telemetry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// An acknowledgement, as the law is told of it.
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
    /// The first byte never sent. A round trip is over when `acknowledged` is beyond what this was at its
    /// start.
    pub sent: u64,
    /// The window may grow: it has held the sender back, and no loss is being repaired.
    pub may_grow: bool,
    /// What the hops have written into the packet, in order; empty where they write nothing.
    pub telemetry: &'a [Hop],
}

/// How the network said that it is overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// By a mark, the first of a round trip: to be answered like a loss.
    Mark,
    /// By a lost packet; later ones have arrived.
    Packet,
    /// By silence: the retransmission timer has run out.
    Timeout {
        /// It had before, and nothing was acknowledged since.
        again: bool,
        /// The window in force until then, in bytes, with what the repair of a loss had added to the law's.
        window: u64,
    },
}

/// A law of congestion control: everything but its construction and its rate has a default that does
/// nothing.
pub trait Mechanism {
    /// The rate at which the flow may send now; line rate if only its window holds it back.
    fn rate(&self) -> Rate;
    /// Bytes that may be in flight, at least a packet; `None`: any number.
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
    /// `Some`: send bursts of so many bytes at line rate, pace and measure per burst; `None`: per packet.
    #[inline]
    fn burst_bytes(&self) -> Option<u32> {
        None
    }
    /// An ACK has arrived.
    #[inline]
    fn on_ack(&mut self, _ack: &Ack<'_>) {}
    /// A notification has arrived; those of other mechanisms are ignored.
    #[inline]
    fn on_notification<R: Rng>(&mut self, _now: Time, _notification: &Notification, _rng: &mut R) {}
    /// There was a loss while so many bytes were in flight. What an ACK says of it, [`Self::on_ack`] has
    /// told before.
    #[inline]
    fn on_loss(&mut self, _now: Time, _loss: Loss, _in_flight: u64) {}
    /// A lost packet is repaired. A window above `at_most` bytes would let a burst go.
    #[inline]
    fn on_recovered(&mut self, _at_most: u64) {}
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
pub struct LineRate(Rate);

impl Mechanism for LineRate {
    #[inline]
    fn rate(&self) -> Rate {
        self.0
    }
}

mechanisms! {
    ($)
    /// The congestion control of one flow.
    CongestionControl:
    /// No reaction: always line rate.
    None(LineRate),
    /// PCN: down to the receive rate at once, up faster and faster.
    Pcn(pcn::Pcn),
    /// QCN: 802.1Qau's rate limiter.
    Qcn(qcn::Qcn),
    /// DCQCN: a cut by a running estimate of congestion, then QCN's recovery.
    Dcqcn(dcqcn::Dcqcn),
    /// TIMELY: the gradient of the round-trip time.
    Timely(timely::Timely),
    /// Swift: a window that keeps the delay at a target, below a packet by its rate.
    Swift(swift::Swift),
    /// NewReno: halves the window at a loss.
    NewReno(newreno::NewReno),
    /// ECN TCP: halves it at a mark, too.
    EcnTcp(ecn_tcp::EcnTcp),
    /// CUBIC: a window that grows with the time since the last loss.
    Cubic(cubic::Cubic),
    /// DCTCP: cuts it by half the share of marked bytes.
    Dctcp(dctcp::Dctcp),
}

impl Config {
    /// How a TCP receiver must echo marks.
    pub fn echo(&self) -> echo::Mode {
        match self {
            Self::Dctcp(_) => echo::Mode::PerPacket,
            _ => echo::Mode::UntilCwr,
        }
    }
}

impl CongestionControl {
    /// A flow that starts on `path`.
    pub fn new(config: &Config, path: &Path) -> Self {
        build!(config, LineRate(path.line_rate), path)
    }
}

impl Mechanism for CongestionControl {
    #[inline]
    fn rate(&self) -> Rate {
        dispatch!(self, it => it.rate())
    }
    #[inline]
    fn window(&self) -> Option<u64> {
        dispatch!(self, it => it.window())
    }
    #[inline]
    fn ssthresh(&self) -> u64 {
        dispatch!(self, it => it.ssthresh())
    }
    #[inline]
    fn is_ecn_capable(&self) -> bool {
        dispatch!(self, it => it.is_ecn_capable())
    }
    #[inline]
    fn burst_bytes(&self) -> Option<u32> {
        dispatch!(self, it => it.burst_bytes())
    }
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        dispatch!(self, it => it.on_ack(ack))
    }
    #[inline]
    fn on_notification<R: Rng>(&mut self, now: Time, notification: &Notification, rng: &mut R) {
        dispatch!(self, it => it.on_notification(now, notification, rng))
    }
    #[inline]
    fn on_loss(&mut self, now: Time, loss: Loss, in_flight: u64) {
        dispatch!(self, it => it.on_loss(now, loss, in_flight))
    }
    #[inline]
    fn on_recovered(&mut self, at_most: u64) {
        dispatch!(self, it => it.on_recovered(at_most))
    }
    #[inline]
    fn on_sent<R: Rng>(&mut self, now: Time, bytes: u32, backlogged: bool, rng: &mut R) {
        dispatch!(self, it => it.on_sent(now, bytes, backlogged, rng))
    }
    #[inline]
    fn on_timer<R: Rng>(&mut self, now: Time, rng: &mut R) {
        dispatch!(self, it => it.on_timer(now, rng))
    }
    #[inline]
    fn next_timer(&self) -> Time {
        dispatch!(self, it => it.next_timer())
    }
}

/// The shortest period a timer may have, so that it always moves on.
const SHORTEST_PERIOD: Time = Time::from_ns(1);

/// A timer called later than so many periods makes up for this many only, and starts afresh.
const MOST_PERIODS_LATE: u32 = 1 << 20;

/// Half way from `current` up to `target`, rounded up so that the target is reached.
fn half_way(target: u64, current: u64) -> u64 {
    target.midpoint(current) + ((target ^ current) & 1)
}
