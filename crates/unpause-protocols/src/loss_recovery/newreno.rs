//! NewReno: how a TCP sender repairs losses, and what it sends when.
//!
//! # What it does
//!
//! Limited transmit, fast retransmit and fast recovery with partial ACKs, retransmission timeouts with
//! go-back-N, and for ECN the bookkeeping of one cut per round trip. How large the window is, a law of
//! [`crate::congestion_control`] says; while a loss is repaired, the window is counted here.
//!
//! A [`Sender`] owns the law, the retransmission timer and the order of segments; its owner has the bytes
//! and the network. Bytes of the flow are numbered from 0 and never wrap. The owner
//!
//! - calls [`Sender::next_segment`] after everything it reports, until the answer is `None`, and sends
//!   what it is given: asking for a segment is sending it. It may stop asking, when its network card is
//!   full say, and go on later; an ACK or a timer in between changes what comes next, not whether it is
//!   right;
//! - reports every ACK by [`Sender::on_ack`]: the first byte that the receiver lacks, the ECE flag, and
//!   the round-trip time if it measured one. Which ACKs are duplicates the machine knows itself, so pure
//!   ACKs only: one that also brings data or news of the receiver's buffer must not be reported unless
//!   it acknowledges something;
//! - calls [`Sender::on_timer`] when [`Sender::next_timer`] is due, before it reports anything else that
//!   happens then or later;
//! - calls [`Sender::on_write`] when the application has written more to a connection that is already active;
//! - gives up when [`Sender::has_given_up`];
//! - keeps to the law's rate, runs its timers and tells it what it sends, by [`Sender::law`] and
//!   [`Sender::law_mut`]: TCP itself needs none of that.
//!
//! The handshake is the owner's; [`Sender::on_rtt`] takes its round-trip time. The receiver's side of
//! ECN is [`super::echo::Echo`].
//!
//! # Source
//!
//! RFC 5681, RFC 6582 (NewReno, "impatient"), RFC 3042 (limited transmit), RFC 3168 (ECN); constants and
//! order of events of the ECN# authors' ns-3 code (snowzjx/ns3-ecn-sharp).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `mss` | bytes | 1400 | the authors' code |
//! | `initial_window` | segments | 10 | the authors' code |
//! | `duplicate_threshold` | ACKs | 3 | RFC 5681 |
//! | `limited_transmit` | - | true | the authors' code |
//! | `max_burst` | segments | 2 | the authors' code; `None`: no limit |
//! | `tso` | segments | `None` | Linux: up to 64 KB, and what its deferral waits for |
//! | `grow_only_if_limiting` | - | true | RFC 7661, 4.3, as Linux does it; false in the authors' code |
//! | `retries` | timeouts | 10 | the authors' `queue-track`; `large-scale` and `mq` have 6 |
//! | `rto` | - | those of [`super::rto`] | - |
//!
//! # Departures
//!
//! - No SACK, no receive window and no silly windows.
//! - A fast retransmit may begin as soon as everything sent before the last loss is acknowledged, as in
//!   ns-3; RFC 6582 waits for one byte more.
//! - A fast retransmit cuts the window even if a mark has cut it in the same round trip.
//! - Retransmissions count against no burst limit, those after a timeout excepted.

use super::rto::Rto;
use crate::congestion_control::{self, Loss, Mechanism};
use crate::units::Time;

mod offload;
mod params;
mod state;
#[cfg(test)]
mod tests;

use offload::Offload;
pub use params::Params;
use state::Phase;
pub use state::State;

/// An acknowledgement, as reported to its sender.
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

/// A TCP sender whose window is set by the law `L`.
#[derive(Clone, Debug)]
pub struct Sender<L> {
    params: Params,
    pub(crate) law: L,
    rto: Rto,
    /// When the retransmission timer runs out.
    timer: Time,
    /// The first byte not acknowledged.
    una: u64,
    /// The next byte to send.
    nxt: u64,
    /// The first byte never sent.
    sent: u64,
    phase: Phase,
    /// A loss among the bytes before this one is the last one still.
    recover: u64,
    duplicates: u32,
    /// The first segment not acknowledged is to be sent again at once.
    retransmit: bool,
    /// Segments that may still be released.
    burst: u32,
    offload: Offload,
    timeouts: u32,
}

impl<L: Mechanism> Sender<L> {
    /// A connection just established, under a law that knows [`Params::path`].
    pub fn new(params: &Params, law: L) -> Self {
        let params = params.tamed();
        Self {
            law,
            rto: Rto::new(&params.rto),
            timer: Time::NEVER,
            una: 0,
            nxt: 0,
            sent: 0,
            phase: Phase::Open,
            recover: 0,
            duplicates: 0,
            retransmit: false,
            burst: params.max_burst.unwrap_or(u32::MAX),
            offload: Offload::new(params.tso),
            timeouts: 0,
            params,
        }
    }

    /// Its law.
    #[inline]
    pub fn law(&self) -> &L {
        &self.law
    }

    /// Its law, to run the law's timers and to tell it what is sent.
    #[inline]
    pub fn law_mut(&mut self) -> &mut L {
        &mut self.law
    }

    /// An ACK has arrived.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        if ack.number > self.sent || self.has_given_up() {
            return;
        }
        self.refill_burst();
        if ack.number > self.una {
            self.on_new_ack(now, ack);
        } else if ack.number == self.una && self.una < self.sent {
            self.on_duplicate_ack(now, ack);
        }
    }

    /// A round-trip time has been measured otherwise than by an ACK of data.
    pub fn on_rtt(&mut self, rtt: Time) {
        self.rto.on_rtt(rtt);
    }

    /// The application has written more.
    pub fn on_write(&mut self) {
        self.refill_burst();
    }

    /// Handles a timeout that is due at or before `now`.
    pub fn on_timer(&mut self, now: Time) {
        if self.timer.is_never() || now < self.timer {
            return;
        }
        self.timeouts = self.timeouts.saturating_add(1);
        if self.has_given_up() {
            self.timer = Time::NEVER;
            return;
        }
        let loss = Loss::Timeout {
            again: self.timeouts > 1,
            window: self.cwnd(),
        };
        self.law.on_loss(now, loss, self.in_flight());
        self.recover = self.sent;
        self.nxt = self.una;
        self.offload.left = 0;
        self.duplicates = 0;
        self.retransmit = false;
        self.phase = Phase::Loss;
        self.refill_burst();
        self.rto.on_timeout();
        self.restart_timer(now);
    }

    /// When to call [`Self::on_timer`]; [`Time::NEVER`] while nothing is outstanding.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timer
    }

    /// The next segment to send, given that the application has written all bytes before `written`.
    pub fn next_segment(&mut self, now: Time, written: u64) -> Option<Segment> {
        let start = self.next_start(written)?;
        if core::mem::take(&mut self.retransmit) {
            return Some(self.send(now, start, self.length(start, self.sent)));
        }
        if self.params.max_burst.is_some() {
            self.burst -= 1;
        }
        let data = written.saturating_sub(start);
        self.offload.sent(self.room(), data, self.mss());
        Some(self.send(now, start, self.length(start, written)))
    }

    /// Where the segment starts that [`Self::next_segment`] would answer now; `None` if none.
    pub fn next_start(&self, written: u64) -> Option<u64> {
        if self.has_given_up() {
            return None;
        }
        if self.retransmit {
            return Some(self.una);
        }
        let bytes = self.length(self.nxt, written);
        let may = bytes > 0 && self.burst > 0 && u64::from(bytes) <= self.room();
        (may && !self.waits(written)).then_some(self.nxt)
    }

    /// True while segments that leave together do.
    #[inline]
    pub fn is_in_burst(&self) -> bool {
        self.offload.left > 0
    }

    /// The congestion window in bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        match self.phase {
            Phase::Recovery { window, .. } => window,
            _ => self.law.window().unwrap_or(u64::MAX),
        }
    }

    /// The slow start threshold in bytes; `u64::MAX` before the first congestion.
    pub fn ssthresh(&self) -> u64 {
        self.law.ssthresh()
    }

    /// The state of the sender.
    pub fn state(&self) -> State {
        match self.phase {
            Phase::Open if self.duplicates > 0 => State::Disorder,
            Phase::Open => State::Open,
            Phase::Cwr(_) => State::Cwr,
            Phase::Recovery { .. } => State::Recovery,
            Phase::Loss => State::Loss,
        }
    }

    /// The first byte not acknowledged.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        self.una
    }

    /// Bytes sent and neither acknowledged nor given up as lost by a timeout.
    pub fn in_flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// The retransmission timeout as it stands, doubled as often as it has run out.
    pub fn rto(&self) -> Time {
        self.rto.timeout()
    }

    /// Timeouts since the last progress.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// True after one timeout more than there are retries: nothing is sent any more.
    pub fn has_given_up(&self) -> bool {
        self.timeouts > self.params.retries
    }

    fn mss(&self) -> u64 {
        u64::from(self.params.mss)
    }

    fn refill_burst(&mut self) {
        self.burst = self.params.max_burst.unwrap_or(u32::MAX);
    }

    fn restart_timer(&mut self, now: Time) {
        self.timer = if self.una < self.sent {
            now.saturating_add(self.rto.timeout())
        } else {
            Time::NEVER
        };
    }

    /// True while the window, and not the supply of data or the network card, holds the sender back.
    fn is_limiting(&self) -> bool {
        let (flight, cwnd) = (self.in_flight(), self.cwnd());
        if cwnd < self.law.ssthresh() {
            cwnd < flight.saturating_mul(2)
        } else {
            let room = self.offload.burst(cwnd, self.mss()).unwrap_or(0);
            cwnd < flight.saturating_add(room.max(2 * self.mss()))
        }
    }

    /// Reports an ACK of this many bytes to the law.
    fn tell(&mut self, now: Time, ack: &Ack, bytes: u64, may_grow: bool) {
        self.law.on_ack(&congestion_control::Ack {
            rtt: ack.rtt,
            bytes,
            ce: ack.ece,
            acknowledged: ack.number,
            sent: self.sent,
            may_grow,
            ..congestion_control::Ack::at(now)
        });
    }

    fn on_new_ack(&mut self, now: Time, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rto.on_rtt(rtt);
        }
        let acked = ack.number - self.una;
        let limiting = !self.params.grow_only_if_limiting || self.is_limiting();
        // The segment with CWR has arrived: the next mark is another round trip's.
        if matches!(self.phase, Phase::Cwr(Some(start)) if ack.number > start) {
            self.phase = Phase::Open;
        }
        let is_open = self.phase == Phase::Open;
        let marked = is_open && ack.ece && self.law.is_ecn_capable();
        let grows = self.phase == Phase::Loss || is_open && !marked;
        self.tell(now, ack, acked, limiting && grows);
        self.una = ack.number;
        self.nxt = self.nxt.max(self.una);
        self.duplicates = 0;
        self.timeouts = 0;
        self.retransmit = false;
        match self.phase {
            Phase::Recovery {
                window,
                first_partial,
            } if ack.number < self.recover => {
                self.retransmit = true;
                self.phase = Phase::Recovery {
                    window: self.deflated(window, acked),
                    first_partial: false,
                };
                if first_partial {
                    self.restart_timer(now);
                }
                return;
            }
            Phase::Recovery { .. } => {
                let flight = self.in_flight().max(self.mss());
                self.law.on_recovered(flight.saturating_add(self.mss()));
                self.phase = Phase::Open;
            }
            Phase::Loss if ack.number >= self.recover => self.phase = Phase::Open,
            Phase::Open if marked => self.cut_for_mark(now),
            Phase::Open | Phase::Cwr(_) | Phase::Loss => {}
        }
        self.restart_timer(now);
    }

    /// The window after a partial ACK: what it acknowledges has left the network, and one retransmission
    /// goes in.
    fn deflated(&self, window: u64, acked: u64) -> u64 {
        let left = window.saturating_sub(acked);
        let goes_in = if acked >= self.mss() { self.mss() } else { 0 };
        left.saturating_add(goes_in).max(self.mss())
    }

    fn cut_for_mark(&mut self, now: Time) {
        self.offload.left = 0;
        self.law.on_loss(now, Loss::Mark, self.in_flight());
        self.phase = Phase::Cwr(None);
    }

    fn on_duplicate_ack(&mut self, now: Time, ack: &Ack) {
        self.tell(now, ack, self.mss(), false);
        self.duplicates = self.duplicates.saturating_add(1);
        let mss = self.mss();
        if let Phase::Recovery { window, .. } = &mut self.phase {
            *window = window.saturating_add(mss);
        } else if self.duplicates == self.params.duplicate_threshold && self.una >= self.recover {
            self.start_recovery(now);
        } else if ack.ece && self.phase == Phase::Open && self.law.is_ecn_capable() {
            self.cut_for_mark(now);
        }
    }

    fn start_recovery(&mut self, now: Time) {
        self.offload.left = 0;
        self.law.on_loss(now, Loss::Packet, self.in_flight());
        let left = self.mss() * u64::from(self.params.duplicate_threshold);
        let window = self.law.window().unwrap_or(u64::MAX);
        self.recover = self.sent;
        self.retransmit = true;
        self.phase = Phase::Recovery {
            window: window.saturating_add(left),
            first_partial: true,
        };
    }

    /// Bytes that may be sent now.
    fn room(&self) -> u64 {
        self.allowed().saturating_sub(self.in_flight())
    }

    /// True if new segments wait for others. While a loss is repaired they do not.
    fn waits(&self, written: u64) -> bool {
        let data = written.saturating_sub(self.nxt);
        matches!(self.phase, Phase::Open | Phase::Cwr(_))
            && self
                .offload
                .waits(self.room(), self.cwnd(), data, self.mss())
    }

    /// Bytes that may be in flight now.
    fn allowed(&self) -> u64 {
        let is_open = matches!(self.phase, Phase::Open | Phase::Cwr(_));
        if self.params.limited_transmit && is_open {
            let early = u64::from(self.duplicates.min(2));
            self.cwnd().saturating_add(early * self.mss())
        } else {
            self.cwnd()
        }
    }

    /// Marks the bytes of a segment as sent.
    fn send(&mut self, now: Time, start: u64, bytes: u32) -> Segment {
        let is_new = start >= self.sent;
        let cwr = is_new && self.phase == Phase::Cwr(None);
        if cwr {
            self.phase = Phase::Cwr(Some(start));
        }
        let segment = Segment {
            start,
            bytes,
            retransmission: !is_new,
            ect: is_new && self.law.is_ecn_capable(),
            cwr,
        };
        self.nxt = self.nxt.max(segment.end());
        self.sent = self.sent.max(self.nxt);
        if self.timer.is_never() {
            self.restart_timer(now);
        }
        segment
    }

    /// Bytes of the segment at `start`, full if there is enough before `end`.
    fn length(&self, start: u64, end: u64) -> u32 {
        end.saturating_sub(start).min(self.mss()) as u32
    }
}
