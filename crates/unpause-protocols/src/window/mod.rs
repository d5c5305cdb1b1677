//! How a window-based sender adjusts, and what it sends when.
//!
//! One state machine per connection. It owns the window, the retransmission timer and the order of
//! segments; its owner has the bytes and the network. Bytes of the flow are numbered from 0 and never
//! wrap. The owner
//!
//! - calls [`Window::next_segment`] after everything it reports, until the answer is `None`, and sends
//!   what it is given: asking for a segment is sending it. It may stop asking, when its network card is
//!   full say, and go on later; an ACK or a timer in between changes what comes next, not whether it is
//!   right;
//! - reports every ACK by [`Window::on_ack`]: the first byte that the receiver lacks, the ECE flag, and
//!   the round-trip time if it measured one. Which ACKs are duplicates the machine knows itself, so pure
//!   ACKs only: one that also brings data or news of the receiver's buffer must not be reported unless
//!   it acknowledges something;
//! - calls [`Window::on_timer`] when [`Window::next_timer`] is due, before it reports anything else that
//!   happens then or later;
//! - calls [`Window::on_write`] when the application has written more to a connection already under way;
//! - gives up when [`Window::has_given_up`].
//!
//! The handshake is the owner's; [`Window::on_rtt`] takes its round-trip time. The receiver's side of
//! ECN is [`echo::Echo`].

use crate::dispatch::mechanisms;
use crate::units::Time;

pub mod dctcp;
pub mod echo;
pub mod ecn_tcp;
pub mod newreno;
pub mod rto;

/// An acknowledgement, as its sender is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The first byte that the receiver lacks: all before it have arrived.
    pub number: u64,
    /// The ECE flag.
    pub ece: bool,
    /// Time since the segment that caused it was sent, if known. Without it a doubled timeout stays
    /// doubled.
    pub rtt: Option<Time>,
}

/// A segment to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of its first byte.
    pub start: u64,
    /// Bytes of the flow in it.
    pub bytes: u32,
    /// Its first byte has been sent before.
    pub retransmission: bool,
    /// It is ECN-capable.
    pub ect: bool,
    /// It bears the CWR flag.
    pub cwr: bool,
}

impl Segment {
    /// Number of the byte after its last.
    pub const fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes as u64)
    }
}

/// What a sender is going through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing unusual.
    Open,
    /// Duplicate ACKs have come, too few to tell a loss from reordering.
    Disorder,
    /// It has cut its window because of marks, and waits for the ACK of the segment that said so.
    Cwr,
    /// It repairs a loss told by duplicate ACKs.
    Recovery,
    /// It starts over after a timeout.
    Loss,
}

/// A window-based sender.
pub trait Mechanism {
    /// An ACK has arrived.
    fn on_ack(&mut self, now: Time, ack: &Ack);
    /// A round-trip time has been measured otherwise than by an ACK of data.
    fn on_rtt(&mut self, rtt: Time);
    /// The application has written more.
    fn on_write(&mut self);
    /// Handles a timeout that is due at or before `now`.
    fn on_timer(&mut self, now: Time);
    /// When to call [`Mechanism::on_timer`]; [`Time::NEVER`] while nothing is outstanding.
    fn next_timer(&self) -> Time;
    /// What to send now, given that the application has written all bytes before `written`.
    fn next_segment(&mut self, now: Time, written: u64) -> Option<Segment>;
    /// Where the segment starts that [`Mechanism::next_segment`] would answer now; `None` if none.
    fn next_start(&self, written: u64) -> Option<u64>;
    /// The congestion window in bytes.
    fn cwnd(&self) -> u64;
    /// The slow start threshold in bytes; `u64::MAX` before the first congestion.
    fn ssthresh(&self) -> u64;
    /// What the sender is going through.
    fn state(&self) -> State;
    /// The first byte not acknowledged.
    fn acknowledged(&self) -> u64;
    /// Bytes sent and neither acknowledged nor given up as lost by a timeout.
    fn in_flight(&self) -> u64;
    /// The retransmission timeout as it stands, doubled as often as it has run out.
    fn rto(&self) -> Time;
    /// Timeouts since the last progress.
    fn timeouts(&self) -> u32;
    /// True after one timeout more than there are retries: nothing is sent any more.
    fn has_given_up(&self) -> bool;
}

mechanisms! {
    ($)
    /// The sender's side of one connection.
    Window: always,
    /// NewReno: halves the window at a loss.
    NewReno(newreno::NewReno),
    /// ECN TCP: halves it at a mark, too.
    EcnTcp(ecn_tcp::EcnTcp),
    /// DCTCP: cuts it by half the share of marked bytes.
    Dctcp(dctcp::Dctcp),
}

impl Default for Config {
    fn default() -> Self {
        Self::Dctcp(dctcp::Params::default())
    }
}

impl Config {
    /// How the receiver must echo marks.
    pub fn echo(&self) -> echo::Mode {
        match self {
            Self::NewReno(_) | Self::EcnTcp(_) => echo::Mode::UntilCwr,
            Self::Dctcp(_) => echo::Mode::PerPacket,
        }
    }

    /// Parameters of the TCP below.
    pub fn tcp(&self) -> &newreno::Params {
        match self {
            Self::NewReno(tcp) => tcp,
            Self::EcnTcp(params) => &params.tcp,
            Self::Dctcp(params) => &params.tcp,
        }
    }

    /// The same, to be changed.
    pub fn tcp_mut(&mut self) -> &mut newreno::Params {
        match self {
            Self::NewReno(tcp) => tcp,
            Self::EcnTcp(params) => &mut params.tcp,
            Self::Dctcp(params) => &mut params.tcp,
        }
    }
}

impl Window {
    /// A connection just established.
    pub fn new(config: &Config) -> Self {
        build!(config)
    }
    /// An ACK has arrived.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        dispatch!(self, it => it.on_ack(now, ack))
    }
    /// A round-trip time has been measured otherwise than by an ACK of data.
    pub fn on_rtt(&mut self, rtt: Time) {
        dispatch!(self, it => it.on_rtt(rtt))
    }
    /// The application has written more.
    pub fn on_write(&mut self) {
        dispatch!(self, it => it.on_write())
    }
    /// Handles a timeout that is due at or before `now`.
    pub fn on_timer(&mut self, now: Time) {
        dispatch!(self, it => it.on_timer(now))
    }
    /// When to call [`Self::on_timer`]; [`Time::NEVER`] while nothing is outstanding.
    #[inline]
    pub fn next_timer(&self) -> Time {
        dispatch!(self, it => it.next_timer())
    }
    /// What to send now, given that the application has written all bytes before `written`.
    #[inline]
    pub fn next_segment(&mut self, now: Time, written: u64) -> Option<Segment> {
        dispatch!(self, it => it.next_segment(now, written))
    }
    /// Where the segment starts that [`Self::next_segment`] would answer now; `None` if none.
    #[inline]
    pub fn next_start(&self, written: u64) -> Option<u64> {
        dispatch!(self, it => it.next_start(written))
    }
    /// The congestion window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        dispatch!(self, it => it.cwnd())
    }
    /// The slow start threshold in bytes; `u64::MAX` before the first congestion.
    pub fn ssthresh(&self) -> u64 {
        dispatch!(self, it => it.ssthresh())
    }
    /// What the sender is going through.
    pub fn state(&self) -> State {
        dispatch!(self, it => it.state())
    }
    /// The first byte not acknowledged.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        dispatch!(self, it => it.acknowledged())
    }
    /// Bytes sent and neither acknowledged nor given up as lost by a timeout.
    pub fn in_flight(&self) -> u64 {
        dispatch!(self, it => it.in_flight())
    }
    /// The retransmission timeout as it stands, doubled as often as it has run out.
    pub fn rto(&self) -> Time {
        dispatch!(self, it => it.rto())
    }
    /// Timeouts since the last progress.
    pub fn timeouts(&self) -> u32 {
        dispatch!(self, it => it.timeouts())
    }
    /// True after one timeout more than there are retries: nothing is sent any more.
    pub fn has_given_up(&self) -> bool {
        dispatch!(self, it => it.has_given_up())
    }
}
