//! NewReno's law.
//!
//! # What it does
//!
//! Slow start up to a threshold, then congestion avoidance: a packet more for each round trip. A loss
//! halves what is in flight; after a timeout the window is a packet.
//!
//! # Source
//!
//! RFC 5681; order of events of the ECN# authors' ns-3 code (snowzjx/ns3-ecn-sharp). What RFC 6582 says of
//! repair is in [`crate::loss_recovery::newreno`].
//!
//! # Parameters
//!
//! None; the initial window is the transport's.
//!
//! # Departures
//!
//! - An ACK per packet is expected: the window grows by ACKs, not by bytes, and so more slowly if the
//!   receiver delays them.
//! - The window is never less than a packet, nor the threshold less than one after a mark and two after
//!   a loss. The authors' code does not bound DCTCP's.
//! - Congestion avoidance keeps fractions of a byte; ns-3 drops them, a fifth of the growth of a window of
//!   600 segments.
//! - Repeated timeouts leave the threshold alone, as RFC 5681 has it.

use super::{Ack, Loss, Mechanism, Path, Settings};
use crate::units::{Rate, Time};

/// NewReno has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {}

/// State of NewReno.
#[derive(Clone, Debug)]
pub struct NewReno {
    line_rate: Rate,
    pub(super) packet_bytes: u64,
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    /// The part of the growth in congestion avoidance that is less than a byte, in `cwnd`-ths of a byte.
    remainder: u64,
}

impl NewReno {
    /// A flow that starts.
    pub fn new(_params: &Params, path: &Path) -> Self {
        let packet_bytes = u64::from(path.packet_bytes.max(1));
        Self {
            line_rate: path.line_rate,
            packet_bytes,
            cwnd: path.initial_window.max(packet_bytes),
            ssthresh: u64::MAX,
            remainder: 0,
        }
    }

    /// Grows the window for one ACK.
    fn grow(&mut self) {
        let packet = self.packet_bytes;
        if self.cwnd < self.ssthresh {
            self.cwnd = self.cwnd.saturating_add(packet);
            return;
        }
        let product = (packet * packet).saturating_add(self.remainder);
        self.remainder = product % self.cwnd;
        self.cwnd = self.cwnd.saturating_add(product / self.cwnd);
    }

    /// A mark reduces the window.
    pub(super) fn reduce(&mut self, reduced: u64, in_flight: u64) {
        self.ssthresh = reduced.max(in_flight / 2).max(self.packet_bytes);
        self.cwnd = reduced.max(self.packet_bytes);
    }

    /// A timeout, of which the threshold is at least `least`.
    pub(super) fn start_over(&mut self, again: bool, in_flight: u64, least: u64) {
        if !again {
            self.ssthresh = least.max(in_flight / 2).max(2 * self.packet_bytes);
        }
        self.cwnd = self.packet_bytes;
    }
}

impl Settings for Params {}

impl Mechanism for NewReno {
    #[inline]
    fn rate(&self) -> Rate {
        self.line_rate
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        Some(self.cwnd)
    }

    #[inline]
    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.may_grow {
            self.grow();
        }
    }

    fn on_loss(&mut self, _now: Time, loss: Loss, in_flight: u64) {
        match loss {
            Loss::Mark => {}
            Loss::Packet | Loss::Trim { .. } => {
                self.ssthresh = (in_flight / 2).max(2 * self.packet_bytes);
                self.cwnd = self.ssthresh;
            }
            Loss::Timeout { again, .. } => self.start_over(again, in_flight, 0),
        }
    }

    fn on_recovered(&mut self, at_most: u64) {
        self.cwnd = self.cwnd.min(at_most);
    }
}
