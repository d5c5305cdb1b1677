//! ECN TCP.
//!
//! # What it does
//!
//! NewReno that halves its window, once per round trip, when an ACK tells of a mark. It needs a marking
//! threshold of a whole bandwidth-delay product (lambda = 1) for full throughput.
//!
//! # Source
//!
//! RFC 3168, 6.1.2; lambda after H. Wu et al., "Tuning ECN for Data Center Networks", CoNEXT 2012, as
//! the ECN# paper uses it.
//!
//! # Parameters
//!
//! None.
//!
//! # Departures
//!
//! The cut has the form of [`super::dctcp`]'s at alpha = 1, so that the two differ in alpha only.

use super::newreno::{self, NewReno};
use super::{Ack, Loss, Mechanism, Path, Settings};
use crate::units::{Rate, Time};

/// ECN TCP has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {}

/// State of ECN TCP.
#[derive(Clone, Debug)]
pub struct EcnTcp(pub(crate) NewReno);

impl EcnTcp {
    /// A flow that starts.
    pub fn new(_params: &Params, path: &Path) -> Self {
        Self(NewReno::new(&newreno::Params {}, path))
    }
}

impl Settings for Params {}

impl Mechanism for EcnTcp {
    #[inline]
    fn rate(&self) -> Rate {
        self.0.rate()
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        self.0.window()
    }

    #[inline]
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh()
    }

    #[inline]
    fn is_ecn_capable(&self) -> bool {
        true
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.0.on_ack(ack);
    }

    fn on_loss(&mut self, now: Time, loss: Loss, in_flight: u64) {
        match loss {
            Loss::Mark => self.0.reduce(self.0.cwnd / 2, in_flight),
            _ => self.0.on_loss(now, loss, in_flight),
        }
    }

    fn on_recovered(&mut self, at_most: u64) {
        self.0.on_recovered(at_most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss_recovery::newreno::{Ack, Params as Tcp, Sender, State};

    #[test]
    fn a_mark_halves_the_window_once_per_round_trip() {
        let tcp = Tcp {
            grow_only_if_limiting: false,
            ..Tcp::default()
        };
        let law = EcnTcp::new(&Params {}, &tcp.path(Rate::from_gbps(10)));
        let mut tcp = Sender::new(&tcp, law);
        let ack = |tcp: &mut Sender<EcnTcp>, segment: u64, ece| {
            let number = segment * 1400;
            tcp.on_ack(
                Time::ZERO,
                &Ack {
                    number,
                    ece,
                    rtt: None,
                },
            );
            while tcp.next_segment(Time::ZERO, u64::MAX).is_some() {}
        };
        while tcp.next_segment(Time::ZERO, u64::MAX).is_some() {}
        for segment in 1..=30 {
            ack(&mut tcp, segment, false);
        }
        let cwnd = tcp.cwnd();
        assert_eq!(cwnd, 40 * 1400);
        ack(&mut tcp, 31, true);
        assert_eq!((tcp.cwnd(), tcp.state()), (cwnd / 2, State::Cwr));
        assert_eq!(tcp.ssthresh(), cwnd / 2);
        for segment in 32..40 {
            ack(&mut tcp, segment, true);
        }
        assert_eq!(tcp.cwnd(), cwnd / 2);
    }
}
