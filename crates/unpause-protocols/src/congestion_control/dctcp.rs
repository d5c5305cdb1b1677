//! DCTCP.
//!
//! # What it does
//!
//! NewReno that cuts its window, once per round trip in which a mark is told, by half of alpha: a
//! running estimate of the share of bytes that are marked. Few marks cost little.
//!
//! # Source
//!
//! M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010; RFC 8257; details of the ECN# authors' ns-3 code
//! (snowzjx/ns3-ecn-sharp).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `g_log2` | - | 4 | DCTCP paper: g = 1/16 |
//! | `alpha_init` | fraction | 1 | RFC 8257, the authors' code |
//!
//! # Departures
//!
//! - Bytes are counted one by one, a duplicate ACK as one segment; the authors' code counts whole
//!   segments.
//! - Alpha is updated before the same ACK's ECE cuts the window, as in Linux.

use super::newreno::{self, NewReno};
use super::{Ack, Loss, Mechanism, Path, Settings};
use crate::units::{Fraction, Rate, Time};

/// Parameters of DCTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The gain g of alpha is 2 to the minus this.
    pub g_log2: u8,
    /// Alpha at the start.
    pub alpha_init: Fraction,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            g_log2: 4,
            alpha_init: Fraction::ONE,
        }
    }
}

/// State of DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: NewReno,
    g_log2: u8,
    /// In steps of 2^-32.
    alpha: u64,
    /// Bytes acknowledged in this window of data, and those of them by ACKs with ECE.
    acked: u64,
    marked: u64,
    /// An ACK beyond this ends the window of data.
    window_end: u64,
}

impl Dctcp {
    /// A flow that starts.
    pub fn new(params: &Params, path: &Path) -> Self {
        Self {
            reno: NewReno::new(&newreno::Params {}, path),
            g_log2: params.g_log2.min(32),
            alpha: params.alpha_init.as_q32(),
            acked: 0,
            marked: 0,
            window_end: 0,
        }
    }

    /// The estimate of the share of marked bytes.
    pub fn alpha(&self) -> Fraction {
        Fraction::from_q32(self.alpha)
    }

    fn estimate(&mut self, ack: &Ack<'_>) {
        self.acked = self.acked.saturating_add(ack.bytes);
        if ack.ce {
            self.marked = self.marked.saturating_add(ack.bytes);
        }
        if ack.acknowledged > self.window_end {
            let share = Fraction::of(self.marked, self.acked).as_q32();
            self.alpha -= self.alpha >> self.g_log2;
            self.alpha += share >> self.g_log2;
            self.acked = 0;
            self.marked = 0;
            self.window_end = ack.sent;
        }
    }

    /// A window less half of alpha of it.
    fn reduced(&self, window: u64) -> u64 {
        let cut = (u128::from(window) * u128::from(self.alpha)) >> 33;
        window - cut as u64
    }
}

impl Settings for Params {}

impl Mechanism for Dctcp {
    #[inline]
    fn rate(&self) -> Rate {
        self.reno.rate()
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        self.reno.window()
    }

    #[inline]
    fn ssthresh(&self) -> u64 {
        self.reno.ssthresh()
    }

    #[inline]
    fn is_ecn_capable(&self) -> bool {
        true
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.estimate(ack);
        self.reno.on_ack(ack);
    }

    fn on_loss(&mut self, now: Time, loss: Loss, in_flight: u64) {
        match loss {
            Loss::Mark => {
                let reduced = self.reduced(self.reno.cwnd);
                self.reno.reduce(reduced, in_flight);
            }
            Loss::Packet | Loss::Trim { .. } => self.reno.on_loss(now, loss, in_flight),
            Loss::Timeout { again, window } => {
                let reduced = self.reduced(window);
                self.reno.start_over(again, in_flight, reduced);
            }
        }
    }

    fn on_recovered(&mut self, at_most: u64) {
        self.reno.on_recovered(at_most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss_recovery::newreno::{Ack as TcpAck, Params as Tcp, Sender, State};

    const MSS: u64 = 1400;
    const ONE: u64 = 1 << 32;

    fn dctcp() -> Sender<Dctcp> {
        let tcp = Tcp {
            max_burst: None,
            ..Tcp::default()
        };
        let law = Dctcp::new(&Params::default(), &tcp.path(Rate::from_gbps(10)));
        Sender::new(&tcp, law)
    }

    fn send(tcp: &mut Sender<Dctcp>) -> u64 {
        let mut segments = 0;
        while tcp.next_segment(Time::ZERO, u64::MAX).is_some() {
            segments += 1;
        }
        segments
    }

    /// Acknowledges everything in flight, the first `marked` segments with ECE; answers how many.
    fn round_trip(tcp: &mut Sender<Dctcp>, marked: u64) -> u64 {
        let segments = tcp.in_flight() / MSS;
        for segment in 0..segments {
            let ack = TcpAck {
                number: tcp.acknowledged() + MSS,
                ece: segment < marked,
                rtt: None,
            };
            tcp.on_ack(Time::ZERO, &ack);
            send(tcp);
        }
        segments
    }

    #[test]
    fn alpha_follows_the_share_of_marked_bytes_with_gain_a_sixteenth() {
        let mut tcp = dctcp();
        assert_eq!(tcp.law().alpha(), Fraction::ONE);
        send(&mut tcp);
        // The first ACK ends a window of its own.
        let mut expected = ONE - ONE / 16;
        round_trip(&mut tcp, 0);
        assert_eq!(tcp.law().alpha().as_q32(), expected);
        for _ in 0..5 {
            round_trip(&mut tcp, 0);
            expected -= expected >> 4;
            assert_eq!(tcp.law().alpha().as_q32(), expected);
        }
    }

    #[test]
    fn alpha_converges_to_the_share() {
        let mut law = Dctcp::new(&Params::default(), &Path::new(Rate::from_gbps(10), 1400));
        let ack = |acknowledged, bytes, ce, sent| Ack {
            bytes,
            ce,
            acknowledged,
            sent,
            may_grow: false,
            ..Ack::at(Time::ZERO)
        };
        for window in 1..=400 {
            law.on_ack(&ack(100 * window - 50, 3 * MSS, false, 100 * window));
            law.on_ack(&ack(100 * window, MSS, true, 100 * window));
        }
        assert!(law.alpha.abs_diff(ONE / 4) < 100, "{}", law.alpha);
    }

    #[test]
    fn a_mark_cuts_by_half_of_alpha_once_per_window() {
        let mut tcp = dctcp();
        send(&mut tcp);
        for _ in 0..4 {
            round_trip(&mut tcp, 0);
        }
        let (cwnd, segments) = (tcp.cwnd(), tcp.in_flight() / MSS);
        assert_eq!(cwnd, 160 * MSS);
        // The first ACK of this round ends the window before.
        let alpha = tcp.law().alpha().as_q32();
        let alpha = alpha - (alpha >> 4);
        let first = TcpAck {
            number: tcp.acknowledged() + MSS,
            ece: true,
            rtt: None,
        };
        tcp.on_ack(Time::ZERO, &first);
        // That window had 79 unmarked segments and this marked one.
        let alpha = alpha + (Fraction::of(1, 80).as_q32() >> 4);
        assert_eq!(tcp.law().alpha().as_q32(), alpha);
        let cut = ((u128::from(cwnd) * u128::from(alpha)) >> 33) as u64;
        assert_eq!((tcp.cwnd(), tcp.state()), (cwnd - cut, State::Cwr));
        assert_eq!(send(&mut tcp), 0);
        for _ in 1..segments {
            let ack = TcpAck {
                number: tcp.acknowledged() + MSS,
                ..first
            };
            tcp.on_ack(Time::ZERO, &ack);
            send(&mut tcp);
        }
        assert_eq!(tcp.cwnd(), cwnd - cut, "one cut");
        // The ACK beyond the segment with CWR may cut again.
        let mut acks = 0;
        while tcp.cwnd() == cwnd - cut {
            let ack = TcpAck {
                number: tcp.acknowledged() + MSS,
                ..first
            };
            tcp.on_ack(Time::ZERO, &ack);
            acks += 1;
        }
        assert_eq!(acks, 1);
    }

    #[test]
    fn a_timeout_keeps_the_threshold_at_the_cut_window() {
        let mut tcp = dctcp();
        send(&mut tcp);
        for _ in 0..5 {
            round_trip(&mut tcp, 0);
        }
        let (cwnd, alpha) = (tcp.cwnd(), tcp.law().alpha().as_q32());
        tcp.on_timer(tcp.next_timer());
        let expected = cwnd - ((u128::from(cwnd) * u128::from(alpha)) >> 33) as u64;
        assert_eq!((tcp.cwnd(), tcp.ssthresh()), (MSS, expected));
    }
}
