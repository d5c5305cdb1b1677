//! DCTCP: one queue length.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::dctcp_red::Params as DctcpRed;
use unpause_text::error::Checked;
use unpause_text::quantity::Size;

use super::marker::Marker;
use crate::text::checks::both;
use crate::text::keys::{self, Param};
use crate::text::setting::Packets;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = DctcpRed)]
pub(super) struct Keys {
    /// mark packets that arrive to a queue at least this long
    #[key(from = "ECN♯ paper, testbed: K from the 90th percentile RTT and from the average")]
    threshold: Param<Size>,
    /// threshold in packets, instead of `threshold`
    #[key(sets = threshold)]
    threshold_packets: Param<Packets>,
}

impl Marker for DctcpRed {
    const NAME: &'static str = "dctcp-red";
    const SUMMARY: &'static str = "DCTCP-RED: one queue length, at enqueue";
    type Keys = Keys;

    fn check(&mut self, keys: &Keys) -> Checked<()> {
        match (keys.threshold.peek(), keys.threshold_packets.peek()) {
            (Some(bytes), Some(packets)) => both("threshold", bytes, "threshold_packets", packets),
            _ => Ok(()),
        }
    }

    fn config(self) -> Config {
        Config::DctcpRed(self)
    }
}
