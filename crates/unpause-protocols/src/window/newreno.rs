//! NewReno, and the TCP that all senders here share.
//!
//! # What it does
//!
//! Slow start, congestion avoidance, limited transmit, fast retransmit and fast recovery with partial
//! ACKs, retransmission timeouts with go-back-N, and for ECN the bookkeeping of one cut per round trip.
//! A [`Law`] says how the window answers marks; NewReno's own has none.
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
//! | `grow_only_if_limiting` | - | false | the authors' code; true is RFC 2861's caution |
//! | `retries` | timeouts | 10 | the authors' `queue-track`; `large-scale` and `mq` have 6 |
//! | `rto` | - | those of [`super::rto`] | - |
//!
//! # Departures
//!
//! - No SACK, no receive window and no silly windows. An ACK per packet is expected: the window grows by
//!   ACKs, not by bytes, and so more slowly if the receiver delays them.
//! - The window is never less than a segment, nor the threshold less than one after a mark and two after
//!   a loss. The authors' code does not bound DCTCP's.
//! - A fast retransmit may begin as soon as everything sent before the last loss is acknowledged, as in
//!   ns-3; RFC 6582 waits for one byte more.
//! - A fast retransmit cuts the window even if a mark has cut it in the same round trip.
//! - Congestion avoidance keeps fractions of a byte; ns-3 drops them, a fifth of the growth of a window of
//!   600 segments.
//! - Repeated timeouts leave the threshold alone, as RFC 5681 has it.
//! - Retransmissions count against no burst limit, those after a timeout excepted.

use super::rto::{self, Rto};
use super::{Ack, Mechanism, Segment, State};
use crate::units::Time;

/// Parameters of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Bytes of the flow in a full segment; at least 1.
    pub mss: u32,
    /// The window at the start, in segments.
    pub initial_window: u32,
    /// So many duplicate ACKs tell a loss.
    pub duplicate_threshold: u32,
    /// The first two duplicate ACKs release a new segment each.
    pub limited_transmit: bool,
    /// Segments released per ACK, timeout or write at most.
    pub max_burst: Option<u32>,
    /// The window grows only while it is what holds the sender back: half full in slow start, full to
    /// two segments thereafter. Without it the window of a sender that its own network card holds back
    /// grows without bound.
    pub grow_only_if_limiting: bool,
    /// Timeouts in a row after which one more ends the connection.
    pub retries: u32,
    /// The retransmission timeout.
    pub rto: rto::Params,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mss: 1400,
            initial_window: 10,
            duplicate_threshold: 3,
            limited_transmit: true,
            max_burst: Some(2),
            grow_only_if_limiting: false,
            retries: 10,
            rto: rto::Params::default(),
        }
    }
}

/// How the window answers marks.
pub trait Law {
    /// Whether data packets are sent ECN-capable, and marks are answered at all.
    fn is_ecn_capable(&self) -> bool;
    /// The receiver has got `bytes` more and lacks those from `number` on; those before `sent` have been
    /// sent.
    #[inline]
    fn on_ack(&mut self, _number: u64, _bytes: u64, _ece: bool, _sent: u64) {}
    /// The window, and the threshold, after the first mark of a round trip.
    fn after_mark(&self, cwnd: u64) -> u64;
    /// What the threshold after a timeout is at least.
    #[inline]
    fn ssthresh_after_timeout(&self, _cwnd: u64) -> u64 {
        0
    }
}

/// NewReno's answer to marks: none.
#[derive(Clone, Debug)]
pub struct NoEcn;

impl Law for NoEcn {
    #[inline]
    fn is_ecn_capable(&self) -> bool {
        false
    }
    #[inline]
    fn after_mark(&self, cwnd: u64) -> u64 {
        cwnd
    }
}

/// State of NewReno.
pub type NewReno = Tcp<NoEcn>;

impl NewReno {
    /// A connection just established.
    pub fn new(params: &Params) -> Self {
        Self::with_law(params, NoEcn)
    }
}

/// What the sender is going through; disorder is told by the duplicate ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// The window has been cut because of marks. The segment with CWR starts there, once it is sent.
    Cwr(Option<u64>),
    /// The first partial ACK is yet to come, or not.
    Recovery {
        first_partial: bool,
    },
    Loss,
}

/// A TCP sender whose window answers marks by a law.
#[derive(Clone, Debug)]
pub struct Tcp<L> {
    params: Params,
    law: L,
    rto: Rto,
    /// When the retransmission timer runs out.
    timer: Time,
    /// The first byte not acknowledged.
    una: u64,
    /// The next byte to send.
    nxt: u64,
    /// The first byte never sent.
    sent: u64,
    cwnd: u64,
    ssthresh: u64,
    /// What congestion avoidance owes, in `cwnd`-ths of a byte.
    remainder: u64,
    phase: Phase,
    /// A loss among the bytes before this one is the last one still.
    recover: u64,
    duplicates: u32,
    /// The first segment not acknowledged is to be sent again at once.
    retransmit: bool,
    /// Segments that may still be released.
    burst: u32,
    timeouts: u32,
}

impl<L: Law> Tcp<L> {
    /// A connection just established.
    pub fn with_law(params: &Params, law: L) -> Self {
        let mut params = *params;
        params.mss = params.mss.max(1);
        params.initial_window = params.initial_window.max(1);
        params.duplicate_threshold = params.duplicate_threshold.max(1);
        params.max_burst = params.max_burst.map(|burst| burst.max(1));
        Self {
            law,
            rto: Rto::new(&params.rto),
            timer: Time::NEVER,
            una: 0,
            nxt: 0,
            sent: 0,
            cwnd: u64::from(params.mss) * u64::from(params.initial_window),
            ssthresh: u64::MAX,
            remainder: 0,
            phase: Phase::Open,
            recover: 0,
            duplicates: 0,
            retransmit: false,
            burst: params.max_burst.unwrap_or(u32::MAX),
            timeouts: 0,
            params,
        }
    }

    /// How its window answers marks.
    pub fn law(&self) -> &L {
        &self.law
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
        let flight = self.in_flight();
        if self.cwnd < self.ssthresh {
            self.cwnd < flight.saturating_mul(2)
        } else {
            self.cwnd < flight.saturating_add(2 * self.mss())
        }
    }

    fn on_new_ack(&mut self, now: Time, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rto.on_rtt(rtt);
        }
        let acked = ack.number - self.una;
        let limiting = !self.params.grow_only_if_limiting || self.is_limiting();
        self.law.on_ack(ack.number, acked, ack.ece, self.sent);
        self.una = ack.number;
        self.nxt = self.nxt.max(self.una);
        self.duplicates = 0;
        self.timeouts = 0;
        self.retransmit = false;
        match self.phase {
            Phase::Recovery { first_partial } if ack.number < self.recover => {
                self.deflate(acked);
                self.retransmit = true;
                self.phase = Phase::Recovery {
                    first_partial: false,
                };
                if first_partial {
                    self.restart_timer(now);
                }
                return;
            }
            Phase::Recovery { .. } => {
                let flight = self.in_flight().max(self.mss()).saturating_add(self.mss());
                self.cwnd = self.ssthresh.min(flight);
                self.phase = Phase::Open;
            }
            Phase::Loss => {
                if ack.number >= self.recover {
                    self.phase = Phase::Open;
                }
                if limiting {
                    self.grow();
                }
            }
            Phase::Cwr(Some(start)) if ack.number > start => {
                self.phase = Phase::Open;
                self.open(ack.ece, limiting);
            }
            Phase::Cwr(_) => {}
            Phase::Open => self.open(ack.ece, limiting),
        }
        self.restart_timer(now);
    }

    /// What an ACK of new data does to an open window.
    fn open(&mut self, ece: bool, limiting: bool) {
        if ece && self.law.is_ecn_capable() {
            self.cut_for_mark();
        } else if limiting {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let mss = self.mss();
        if self.cwnd < self.ssthresh {
            self.cwnd = self.cwnd.saturating_add(mss);
            return;
        }
        let product = (mss * mss).saturating_add(self.remainder);
        self.remainder = product % self.cwnd;
        self.cwnd = self.cwnd.saturating_add(product / self.cwnd);
    }

    /// A partial ACK: what it acknowledges has left the network, and one retransmission goes in.
    fn deflate(&mut self, acked: u64) {
        self.cwnd = self.cwnd.saturating_sub(acked);
        if acked >= self.mss() {
            self.cwnd = self.cwnd.saturating_add(self.mss());
        }
        self.cwnd = self.cwnd.max(self.mss());
    }

    fn cut_for_mark(&mut self) {
        let reduced = self.law.after_mark(self.cwnd);
        let half_flight = self.in_flight() / 2;
        self.ssthresh = reduced.max(half_flight).max(self.mss());
        self.cwnd = reduced.max(self.mss());
        self.phase = Phase::Cwr(None);
    }

    fn on_duplicate_ack(&mut self, ece: bool) {
        self.law.on_ack(self.una, self.mss(), ece, self.sent);
        self.duplicates = self.duplicates.saturating_add(1);
        if matches!(self.phase, Phase::Recovery { .. }) {
            self.cwnd = self.cwnd.saturating_add(self.mss());
        } else if self.duplicates == self.params.duplicate_threshold && self.una >= self.recover {
            self.start_recovery();
        } else if ece && self.phase == Phase::Open && self.law.is_ecn_capable() {
            self.cut_for_mark();
        }
    }

    fn start_recovery(&mut self) {
        self.ssthresh = (self.in_flight() / 2).max(2 * self.mss());
        let left = self.mss() * u64::from(self.params.duplicate_threshold);
        self.cwnd = self.ssthresh.saturating_add(left);
        self.recover = self.sent;
        self.retransmit = true;
        self.phase = Phase::Recovery {
            first_partial: true,
        };
    }

    /// Bytes that may be in flight now.
    fn window(&self) -> u64 {
        let is_open = matches!(self.phase, Phase::Open | Phase::Cwr(_));
        if self.params.limited_transmit && is_open {
            let early = u64::from(self.duplicates.min(2));
            self.cwnd.saturating_add(early * self.mss())
        } else {
            self.cwnd
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

impl<L: Law> Mechanism for Tcp<L> {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        if ack.number > self.sent || self.has_given_up() {
            return;
        }
        self.refill_burst();
        if ack.number > self.una {
            self.on_new_ack(now, ack);
        } else if ack.number == self.una && self.una < self.sent {
            self.on_duplicate_ack(ack.ece);
        }
    }

    fn on_rtt(&mut self, rtt: Time) {
        self.rto.on_rtt(rtt);
    }

    fn on_write(&mut self) {
        self.refill_burst();
    }

    fn on_timer(&mut self, now: Time) {
        if self.timer.is_never() || now < self.timer {
            return;
        }
        self.timeouts = self.timeouts.saturating_add(1);
        if self.has_given_up() {
            self.timer = Time::NEVER;
            return;
        }
        if self.timeouts == 1 {
            let by_law = self.law.ssthresh_after_timeout(self.cwnd);
            let half_flight = self.in_flight() / 2;
            self.ssthresh = by_law.max(half_flight).max(2 * self.mss());
        }
        self.cwnd = self.mss();
        self.recover = self.sent;
        self.nxt = self.una;
        self.duplicates = 0;
        self.retransmit = false;
        self.phase = Phase::Loss;
        self.refill_burst();
        self.rto.on_timeout();
        self.restart_timer(now);
    }

    #[inline]
    fn next_timer(&self) -> Time {
        self.timer
    }

    fn next_segment(&mut self, now: Time, written: u64) -> Option<Segment> {
        let start = self.next_start(written)?;
        if core::mem::take(&mut self.retransmit) {
            return Some(self.send(now, start, self.length(start, self.sent)));
        }
        if self.params.max_burst.is_some() {
            self.burst -= 1;
        }
        Some(self.send(now, start, self.length(start, written)))
    }

    fn next_start(&self, written: u64) -> Option<u64> {
        if self.has_given_up() {
            return None;
        }
        if self.retransmit {
            return Some(self.una);
        }
        let bytes = self.length(self.nxt, written);
        let flight = self.in_flight().saturating_add(u64::from(bytes));
        (bytes > 0 && self.burst > 0 && flight <= self.window()).then_some(self.nxt)
    }

    #[inline]
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn state(&self) -> State {
        match self.phase {
            Phase::Open if self.duplicates > 0 => State::Disorder,
            Phase::Open => State::Open,
            Phase::Cwr(_) => State::Cwr,
            Phase::Recovery { .. } => State::Recovery,
            Phase::Loss => State::Loss,
        }
    }

    #[inline]
    fn acknowledged(&self) -> u64 {
        self.una
    }

    fn in_flight(&self) -> u64 {
        self.nxt - self.una
    }

    fn rto(&self) -> Time {
        self.rto.timeout()
    }

    fn timeouts(&self) -> u32 {
        self.timeouts
    }

    fn has_given_up(&self) -> bool {
        self.timeouts > self.params.retries
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use crate::window::ecn_tcp::Half;
    use alloc::vec::Vec;

    const MSS: u64 = 1400;
    const RTT: Time = Time::from_us(100);

    fn tcp(params: Params) -> NewReno {
        NewReno::new(&params)
    }

    fn unlimited_burst() -> Params {
        Params {
            max_burst: None,
            ..Params::default()
        }
    }

    /// Numbers of the segments sent now, those sent before as negatives.
    fn send(tcp: &mut NewReno, now: Time) -> Vec<i64> {
        let mut segments = Vec::new();
        while let Some(segment) = tcp.next_segment(now, u64::MAX) {
            assert_eq!((segment.start % MSS, segment.bytes), (0, 1400));
            assert!(!segment.ect && !segment.cwr);
            let number = (segment.start / MSS) as i64;
            segments.push(if segment.retransmission {
                -number
            } else {
                number
            });
        }
        segments
    }

    /// The receiver lacks this segment.
    fn ack(tcp: &mut NewReno, now: Time, segment: u64) -> Vec<i64> {
        let ack = Ack {
            number: segment * MSS,
            ece: false,
            rtt: Some(RTT),
        };
        tcp.on_ack(now, &ack);
        send(tcp, now)
    }

    fn segments(bytes: u64) -> u64 {
        bytes / MSS
    }

    /// Sixteen segments in flight, 20 to 35, in congestion avoidance.
    fn steady(params: Params) -> NewReno {
        let mut tcp = tcp(params);
        send(&mut tcp, Time::ZERO);
        tcp.ssthresh = 16 * MSS;
        for segment in 1..=20 {
            ack(&mut tcp, Time::ZERO, segment);
        }
        tcp.cwnd = 16 * MSS;
        assert_eq!((tcp.in_flight(), tcp.sent), (16 * MSS, 36 * MSS));
        tcp
    }

    #[test]
    fn the_initial_window_leaves_at_once_or_two_by_two() {
        let mut whole = tcp(unlimited_burst());
        assert_eq!(send(&mut whole, Time::ZERO).len(), 10);
        let mut tcp = tcp(Params::default());
        assert_eq!(send(&mut tcp, Time::ZERO), [0, 1]);
        for segment in 1..=20 {
            let sent = ack(&mut tcp, RTT, segment);
            assert_eq!(sent.len(), 2);
            assert_eq!(segments(tcp.cwnd()), 10 + segment);
        }
    }

    #[test]
    fn slow_start_doubles_and_congestion_avoidance_adds_a_segment() {
        let mut tcp = tcp(unlimited_burst());
        send(&mut tcp, Time::ZERO);
        tcp.ssthresh = 40 * MSS;
        for (round, cwnd) in [(0, 20), (1, 40), (2, 40), (3, 41), (4, 42)] {
            for _ in 0..segments(tcp.in_flight()) {
                let next = segments(tcp.una) + 1;
                ack(&mut tcp, RTT * round, next);
            }
            assert_eq!(segments(tcp.cwnd()), cwnd, "round {round}");
        }
    }

    #[test]
    fn an_ack_for_many_segments_grows_the_window_by_one() {
        let mut tcp = tcp(unlimited_burst());
        send(&mut tcp, Time::ZERO);
        ack(&mut tcp, RTT, 10);
        assert_eq!(segments(tcp.cwnd()), 11);
    }

    #[test]
    fn a_lost_segment_is_repaired_without_a_timeout() {
        let mut tcp = steady(unlimited_burst());
        // 20 is lost; 21 to 35 each cause a duplicate.
        assert_eq!(ack(&mut tcp, RTT, 20), [36]);
        assert_eq!(tcp.state(), State::Disorder);
        assert_eq!(ack(&mut tcp, RTT, 20), [37]);
        // The third: 18 in flight, so the threshold is 9 and the window 9 + 3.
        assert_eq!(ack(&mut tcp, RTT, 20), [-20]);
        assert_eq!(tcp.state(), State::Recovery);
        assert_eq!(segments(tcp.ssthresh()), 9);
        assert_eq!(segments(tcp.cwnd()), 12);
        // Six more bring the window to the 18 in flight, the next ones release a segment each.
        for _ in 24..30 {
            assert_eq!(ack(&mut tcp, RTT, 20), []);
        }
        for new in 38..46 {
            assert_eq!(ack(&mut tcp, RTT, 20), [new]);
        }
        // The retransmission fills the hole, and everything up to 37 is acknowledged.
        let sent = ack(&mut tcp, RTT * 2, 38);
        assert_eq!((tcp.state(), segments(tcp.cwnd())), (State::Open, 9));
        assert_eq!(sent, [46]);
        assert_eq!(tcp.timeouts(), 0);
    }

    #[test]
    fn a_second_hole_is_repaired_by_a_partial_ack() {
        let mut tcp = steady(unlimited_burst());
        for _ in 0..3 {
            ack(&mut tcp, RTT, 20);
        }
        let timer = tcp.next_timer();
        // 25 is lost too: 5 segments have left the network, one goes in.
        let cwnd = tcp.cwnd();
        assert_eq!(ack(&mut tcp, RTT * 2, 25)[0], -25);
        assert_eq!(tcp.cwnd(), cwnd - 5 * MSS + MSS);
        assert_eq!(tcp.state(), State::Recovery);
        assert!(tcp.next_timer() > timer);
        // Only the first partial ACK puts the timer off.
        let timer = tcp.next_timer();
        assert_eq!(ack(&mut tcp, RTT * 3, 30)[0], -30);
        assert_eq!(tcp.next_timer(), timer);
        ack(&mut tcp, RTT * 4, 38);
        assert_eq!(tcp.state(), State::Open);
    }

    #[test]
    fn a_lost_retransmission_takes_a_timeout() {
        let mut tcp = steady(unlimited_burst());
        for _ in 0..3 {
            ack(&mut tcp, RTT, 20);
        }
        let sent = segments(tcp.sent);
        let due = tcp.next_timer();
        assert_eq!(due, Time::from_ms(1));
        tcp.on_timer(due - Time::from_ps(1));
        assert_eq!(tcp.state(), State::Recovery);
        tcp.on_timer(due);
        assert_eq!((tcp.state(), segments(tcp.cwnd())), (State::Loss, 1));
        assert_eq!(segments(tcp.ssthresh()), 9);
        assert_eq!(send(&mut tcp, due), [-20]);
        // Go-back-N in slow start; late duplicates start no recovery.
        assert_eq!(ack(&mut tcp, due, 21), [-21, -22]);
        for _ in 0..5 {
            assert_eq!(ack(&mut tcp, due, 21), []);
        }
        assert_eq!(tcp.state(), State::Loss);
        // The receiver had the rest.
        let after = ack(&mut tcp, due, sent);
        assert_eq!(tcp.state(), State::Open);
        let sent = sent as i64;
        assert_eq!(after, [sent, sent + 1, sent + 2]);
    }

    #[test]
    fn timeouts_double_and_leave_the_threshold_alone_until_the_connection_is_given_up() {
        let mut tcp = steady(Params {
            retries: 3,
            ..unlimited_burst()
        });
        let mut due = tcp.next_timer();
        for timeout in 1..=3 {
            tcp.on_timer(due);
            assert_eq!(send(&mut tcp, due), [-20]);
            assert_eq!(tcp.timeouts(), timeout);
            assert_eq!(tcp.ssthresh(), 8 * MSS);
            let next = tcp.next_timer();
            assert_eq!(next - due, Time::from_ms(1 << timeout));
            due = next;
        }
        tcp.on_timer(due);
        assert!(tcp.has_given_up() && tcp.next_timer().is_never());
        assert_eq!(send(&mut tcp, due), []);
        assert_eq!(ack(&mut tcp, due, 30), []);
    }

    #[test]
    fn progress_takes_the_doublings_back() {
        let mut tcp = steady(unlimited_burst());
        for _ in 0..3 {
            tcp.on_timer(tcp.next_timer());
            send(&mut tcp, Time::from_ms(10));
        }
        assert_eq!(tcp.rto(), Time::from_ms(8));
        ack(&mut tcp, Time::from_ms(10), 21);
        assert_eq!((tcp.rto(), tcp.timeouts()), (Time::from_ms(1), 0));
        assert_eq!(tcp.next_timer(), Time::from_ms(11));
    }

    #[test]
    fn without_limited_transmit_duplicates_release_nothing() {
        let mut tcp = steady(Params {
            limited_transmit: false,
            ..unlimited_burst()
        });
        assert_eq!(ack(&mut tcp, RTT, 20), []);
        assert_eq!(ack(&mut tcp, RTT, 20), []);
        assert_eq!(ack(&mut tcp, RTT, 20), [-20]);
        assert_eq!(segments(tcp.ssthresh()), 8);
    }

    #[test]
    fn short_flows_end_in_a_short_segment_and_a_silent_timer() {
        let mut tcp = tcp(Params::default());
        let first = tcp.next_segment(Time::ZERO, 1401).unwrap();
        let second = tcp.next_segment(Time::ZERO, 1401).unwrap();
        assert_eq!((first.start, first.bytes), (0, 1400));
        assert_eq!((second.start, second.bytes), (1400, 1));
        assert_eq!(tcp.next_segment(Time::ZERO, 1401), None);
        let ack = |number| Ack {
            number,
            ece: false,
            rtt: Some(RTT),
        };
        tcp.on_ack(RTT, &ack(1401));
        assert_eq!(tcp.next_timer(), Time::NEVER);
        assert_eq!(tcp.next_segment(RTT, 1401), None);
        // The application goes on.
        tcp.on_write();
        assert_eq!(tcp.next_segment(RTT, 1402).unwrap().start, 1401);
        // An empty flow sends nothing and runs no timer.
        let mut empty = NewReno::new(&Params::default());
        assert_eq!(empty.next_segment(Time::ZERO, 0), None);
        assert_eq!(empty.next_timer(), Time::NEVER);
    }

    #[test]
    fn acks_of_the_past_and_of_the_future_are_ignored() {
        let mut tcp = steady(unlimited_burst());
        let before = (tcp.cwnd(), tcp.una, tcp.sent);
        for _ in 0..5 {
            assert_eq!(ack(&mut tcp, RTT, 19), []);
            assert_eq!(ack(&mut tcp, RTT, 37), []);
        }
        assert_eq!((tcp.cwnd(), tcp.una, tcp.sent), before);
    }

    #[test]
    fn a_retransmission_not_fetched_in_time_is_forgotten() {
        let mut tcp = steady(unlimited_burst());
        let ack = |number| Ack {
            number,
            ece: false,
            rtt: None,
        };
        for _ in 0..3 {
            tcp.on_ack(RTT, &ack(20 * MSS));
        }
        // It was only reordering.
        tcp.on_ack(RTT, &ack(36 * MSS));
        assert_eq!(tcp.state(), State::Open);
        assert_eq!(send(&mut tcp, RTT)[0], 36);
    }

    #[test]
    fn a_window_that_does_not_limit_need_not_grow() {
        let mut tcp = tcp(Params {
            grow_only_if_limiting: true,
            ..unlimited_burst()
        });
        // The network card takes one segment per round trip.
        for segment in 1..100 {
            tcp.next_segment(Time::ZERO, u64::MAX);
            let ack = Ack {
                number: segment * MSS,
                ece: false,
                rtt: None,
            };
            tcp.on_ack(Time::ZERO, &ack);
        }
        assert_eq!(segments(tcp.cwnd()), 10);
        // All of the window is used.
        send(&mut tcp, Time::ZERO);
        for _ in 0..10 {
            let next = segments(tcp.una) + 1;
            ack(&mut tcp, Time::ZERO, next);
        }
        assert_eq!(segments(tcp.cwnd()), 20);
    }

    #[test]
    fn recovery_ends_with_a_window_not_far_above_what_is_in_flight() {
        for (in_flight, cwnd) in [(0, 2), (3, 4), (12, 8)] {
            let mut tcp = steady(Params {
                limited_transmit: false,
                ..unlimited_burst()
            });
            let ack = |number| Ack {
                number,
                ece: false,
                rtt: None,
            };
            for _ in 0..3 {
                tcp.on_ack(RTT, &ack(20 * MSS));
            }
            for _ in 0..20 {
                tcp.on_ack(RTT, &ack(20 * MSS));
            }
            for _ in 0..=in_flight {
                tcp.next_segment(RTT, u64::MAX).unwrap();
            }
            tcp.on_ack(RTT, &ack(36 * MSS));
            assert_eq!(segments(tcp.in_flight()), in_flight);
            assert_eq!(segments(tcp.cwnd()), cwnd);
        }
    }

    /// A connection with sixteen segments in flight, 0 to 15, that halves its window at a mark.
    fn marked(cwnd: u64) -> Tcp<Half> {
        let params = Params {
            initial_window: 16,
            ..unlimited_burst()
        };
        let mut tcp = Tcp::with_law(&params, Half);
        while tcp.next_segment(Time::ZERO, u64::MAX).is_some() {}
        tcp.cwnd = cwnd * MSS;
        tcp
    }

    fn ece(segment: u64) -> Ack {
        Ack {
            number: segment * MSS,
            ece: true,
            rtt: Some(RTT),
        }
    }

    #[test]
    fn after_a_mark_the_first_new_segment_bears_cwr_and_its_ack_ends_the_cut() {
        let mut tcp = marked(16);
        for segment in 1..=8 {
            tcp.on_ack(RTT, &ece(segment));
            assert_eq!(tcp.next_segment(RTT, u64::MAX), None);
        }
        // 8 in flight are the window's; from now on a segment leaves for each that arrives.
        for segment in 9..=16 {
            tcp.on_ack(RTT, &ece(segment));
            let sent = tcp.next_segment(RTT, u64::MAX).unwrap();
            assert_eq!(sent.start, (segment + 7) * MSS);
            assert_eq!((sent.ect, sent.cwr), (true, segment == 9));
            assert_eq!(tcp.state(), State::Cwr);
        }
        assert_eq!(segments(tcp.cwnd()), 8);
        // Segment 16 bore CWR: the ACK of it may be answered again.
        tcp.on_ack(RTT, &ece(17));
        assert_eq!((segments(tcp.cwnd()), tcp.state()), (4, State::Cwr));
    }

    #[test]
    fn a_mark_leaves_the_threshold_at_half_of_what_is_in_flight_at_least() {
        let mut tcp = marked(6);
        tcp.on_ack(RTT, &ece(2));
        assert_eq!((tcp.cwnd(), tcp.ssthresh()), (3 * MSS, 7 * MSS));
        let mut least = marked(1);
        least.on_ack(RTT, &ece(16));
        assert_eq!((least.cwnd(), least.ssthresh()), (MSS, MSS));
    }

    #[test]
    fn marks_are_answered_in_disorder_but_not_in_recovery_nor_after_a_timeout() {
        let mut tcp = marked(16);
        tcp.on_ack(RTT, &ece(0));
        assert_eq!((segments(tcp.cwnd()), tcp.state()), (8, State::Cwr));
        let mut recovering = marked(16);
        for _ in 0..3 {
            recovering.on_ack(
                RTT,
                &Ack {
                    ece: false,
                    ..ece(0)
                },
            );
        }
        let (cwnd, ssthresh) = (recovering.cwnd(), recovering.ssthresh());
        recovering.on_ack(RTT, &ece(0));
        assert_eq!(recovering.cwnd(), cwnd + MSS);
        assert_eq!(recovering.ssthresh(), ssthresh);
        let mut starting_over = marked(16);
        starting_over.on_timer(starting_over.next_timer());
        starting_over.on_ack(RTT, &ece(1));
        assert_eq!(segments(starting_over.cwnd()), 2);
        assert_eq!(starting_over.state(), State::Loss);
    }
}
