//! The receiver's side of ECN.
//!
//! # What it does
//!
//! Says of each ACK whether it bears the ECE flag, when every data packet is acknowledged at once.
//!
//! # Source
//!
//! RFC 3168, 6.1.3; DCTCP as in the ECN# authors' ns-3 code (snowzjx/ns3-ecn-sharp).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `mode` | - | that of the sender | see [`Mode::of`] |
//!
//! # Departures
//!
//! Without delayed ACKs DCTCP's two-state machine comes to echoing each packet. A receiver that delays
//! ACKs must acknowledge what is pending before a packet whose answer differs.

use crate::congestion_control::Config as Law;

/// How ACKs echo marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// RFC 3168: there has been a mark since the last CWR.
    UntilCwr,
    /// DCTCP: the packet acknowledged was marked, and does not bear CWR.
    PerPacket,
}

impl Mode {
    /// The mode that a sender under this law expects.
    pub fn of(law: &Law) -> Self {
        match law {
            Law::Dctcp(_) => Self::PerPacket,
            _ => Self::UntilCwr,
        }
    }
}

/// The receiver's state for echoing marks.
#[derive(Clone, Debug)]
pub struct Echo {
    mode: Mode,
    unanswered: bool,
}

impl Echo {
    /// No packet has been marked yet.
    pub const fn new(mode: Mode) -> Self {
        Self {
            mode,
            unanswered: false,
        }
    }

    /// A data packet has arrived with these marks; the answer is the ECE flag of its ACK.
    pub fn on_data(&mut self, ce: bool, cwr: bool) -> bool {
        match self.mode {
            Mode::UntilCwr => {
                self.unanswered = ce || (self.unanswered && !cwr);
                self.unanswered
            }
            Mode::PerPacket => ce && !cwr,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ECE of the ACKs of packets (ce, cwr).
    fn echoes<const N: usize>(mode: Mode, packets: [(bool, bool); N]) -> [bool; N] {
        let mut echo = Echo::new(mode);
        packets.map(|(ce, cwr)| echo.on_data(ce, cwr))
    }

    const PACKETS: [(bool, bool); 6] = [
        (false, false),
        (true, false),
        (false, false),
        (false, true),
        (true, true),
        (false, false),
    ];

    #[test]
    fn plain_ecn_echoes_until_cwr() {
        let ece = [false, true, true, false, true, true];
        assert_eq!(echoes(Mode::UntilCwr, PACKETS), ece);
    }

    #[test]
    fn dctcp_echoes_each_packet_and_cwr_clears_one_ack() {
        let ece = [false, true, false, false, false, false];
        assert_eq!(echoes(Mode::PerPacket, PACKETS), ece);
    }
}
