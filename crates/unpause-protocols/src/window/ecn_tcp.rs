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
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `tcp` | - | those of [`super::newreno`] | - |
//!
//! # Departures
//!
//! The cut has the form of [`super::dctcp`]'s at alpha = 1, so that the two differ in alpha only.

use super::newreno::{self, Law, Tcp};

/// Parameters of ECN TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Parameters of the TCP below.
    pub tcp: newreno::Params,
}

/// ECN TCP's answer to marks: half.
#[derive(Clone, Debug)]
pub struct Half;

impl Law for Half {
    #[inline]
    fn is_ecn_capable(&self) -> bool {
        true
    }
    #[inline]
    fn after_mark(&self, cwnd: u64) -> u64 {
        cwnd / 2
    }
}

/// State of ECN TCP.
pub type EcnTcp = Tcp<Half>;

impl EcnTcp {
    /// A connection just established.
    pub fn new(params: &Params) -> Self {
        Self::with_law(&params.tcp, Half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;
    use crate::window::{Ack, Mechanism as _, State};

    #[test]
    fn a_mark_halves_the_window_once_per_round_trip() {
        let mut tcp = EcnTcp::new(&Params::default());
        let ack = |tcp: &mut EcnTcp, segment: u64, ece| {
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
