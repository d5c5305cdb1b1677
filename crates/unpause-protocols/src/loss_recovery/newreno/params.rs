//! Parameters of TCP; their table is in [`super`].

use crate::congestion_control::Path;
use crate::loss_recovery::rto;
use crate::units::Rate;

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
    /// Segments that a network card cuts from one (TSO): new segments wait until this many may leave together,
    /// or a third of the window, or all that is left.
    pub tso: Option<u32>,
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
            tso: None,
            grow_only_if_limiting: true,
            retries: 10,
            rto: rto::Params::default(),
        }
    }
}

impl Params {
    /// These, with each within its range.
    pub(super) fn tamed(&self) -> Self {
        Self {
            mss: self.mss.max(1),
            initial_window: self.initial_window.max(1),
            duplicate_threshold: self.duplicate_threshold.max(1),
            max_burst: self.max_burst.map(|burst| burst.max(1)),
            tso: self.tso.map(|segments| segments.max(1)),
            ..*self
        }
    }

    /// The path that a law is given for a connection from a port of `line_rate`.
    pub fn path(&self, line_rate: Rate) -> Path {
        let tamed = self.tamed();
        Path {
            initial_window: u64::from(tamed.mss) * u64::from(tamed.initial_window),
            ..Path::new(line_rate, tamed.mss)
        }
    }
}
