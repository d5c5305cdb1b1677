//! `[host]`.

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_sim::config::HostConfig;

use super::extra_delay::ExtraDelayKey;
use crate::text::checks::{bytes_u32, data_priority, positive};
use crate::text::error::{Checked, Problem};
use crate::text::quantity::{Duration, Size};

/// `[host]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Host {
    pub payload: Option<Spanned<Size>>,
    pub header: Option<Spanned<Size>>,
    pub framing: Option<Spanned<Size>>,
    pub ack_every: Option<Spanned<u32>>,
    pub retransmit_timeout: Option<Spanned<Duration>>,
    pub control_priority: Option<Spanned<u8>>,
    pub extra_delay: Option<Spanned<ExtraDelayKey>>,
    pub notification_reaction: Option<Spanned<Duration>>,
}

/// Hosts, but for TCP and delays.
pub(crate) fn host(file: &Host) -> Checked<HostConfig> {
    let mut host = HostConfig::default();
    if let Some(payload) = &file.payload {
        host.payload_bytes = bytes_u32("payload", payload, 1)?;
    }
    if let Some(header) = &file.header {
        host.header_bytes = bytes_u32("header", header, 1)?;
    }
    if let Some(every) = &file.ack_every {
        if *every.get_ref() == 0 {
            return Problem::new("`ack_every` is zero")
                .at(every.span(), "at least 1: an ACK for each data packet")
                .err();
        }
        host.ack_every = *every.get_ref();
    }
    if let Some(timeout) = &file.retransmit_timeout {
        host.retransmit_timeout = positive("retransmit_timeout", timeout)?;
    }
    if let Some(priority) = &file.control_priority {
        host.control_priority = data_priority(priority)?;
    }
    if let Some(reaction) = &file.notification_reaction {
        host.notification_reaction = reaction.get_ref().0;
    }
    Ok(host)
}

/// Bytes that a frame occupies on a wire beyond its own.
pub(crate) fn framing(file: &Host) -> Checked<u32> {
    file.framing
        .as_ref()
        .map_or(Ok(0), |framing| bytes_u32("framing", framing, 0))
}
