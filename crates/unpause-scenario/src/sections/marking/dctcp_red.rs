//! DCTCP: one queue length.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::dctcp_red::Params as DctcpRed;

use super::marker::Marker;
use crate::text::checks::both;
use crate::text::keys::keys;
use crate::text::setting::Packets;
use unpause_text::error::Checked;
use unpause_text::quantity::Size;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for DctcpRed {
        threshold: Size "mark packets that arrive to a queue at least this long"
            from "ECN♯ paper, testbed: K from the 90th percentile RTT and from the average" => threshold;
        threshold_packets: Packets "threshold in packets, instead of `threshold`" => threshold;
    }
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
