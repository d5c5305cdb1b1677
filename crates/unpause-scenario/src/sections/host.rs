//! `[host]`.

use unpause_sim::config::HostConfig;

use super::extra_delay::ExtraDelayKey;
use crate::text::keys::keys;
use crate::text::quantity::{Duration, Size};

/// Hosts, and what their frames take of a wire beyond their own bytes.
#[derive(Default)]
pub(crate) struct Hosts {
    pub config: HostConfig,
    pub framing_bytes: u32,
}

keys! {
    /// `[host]`
    #[derive(Default)]
    pub(crate) Host at "host" for Hosts {
        payload: Size "largest payload of a data packet"
            from "PCN's evaluation, as read" => config.payload_bytes;
        header: Size "headers and trailers of a data packet"
            from "PCN's evaluation, as read" => config.header_bytes;
        framing: Size "preamble and gap, bytes on the wire beyond the frame: `\"20B\"` on real Ethernet"
            from "ns-3, which counts none" => framing_bytes;
        ack_every: u32 "an ACK for every so many data packets, and for the last of a flow or of a window"
            from "PCN's evaluation, as read" => config.ack_every;
        retransmit_timeout: Duration
            "without progress for so long, go back to the oldest unacknowledged packet"
            from "IBTA's local ACK timeout 14" => config.retransmit_timeout;
        control_priority: u8 "priority of ACK, NAK, CNP, CNM; never paused, must not be lossless"
            => config.control_priority;
        notification_reaction: Duration "a CNP or CNM takes effect so long after it has arrived"
            => config.notification_reaction;
        extra_delay: ExtraDelayKey = ["`\"0s\"`"]
            "delay of a flow's data packets at the receiving host, before its transport sees them";
    }
}
