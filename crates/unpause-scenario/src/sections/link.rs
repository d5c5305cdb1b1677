//! `[link]`: what stops the sender at the far end of a link, and what becomes of corrupted frames.

use unpause_protocols::flow_control::credits;
use unpause_protocols::flow_control::credits::cbfc::Params;
use unpause_protocols::loss_recovery::llr;
use unpause_sim::config::{CbfcConfig, RetryConfig};

use crate::text::keys::{keys, names};
use unpause_text::quantity::{Duration, Size};

/// Why a key of credits has no effect.
const PFC: (&str, &str) = (
    "PFC has no credits",
    "add flow_control = \"cbfc\", or remove it",
);

/// Why a key of retry has no effect.
const LOSES: (&str, &str) = ("links have no retry", "add retry = \"llr\", or remove it");

keys! {
    /// `[link]`
    #[derive(Default)]
    pub(crate) Link at "link" for () {
        flow_control: FlowControl = ["`\"pfc\"`"]
            "flow control of the priorities in `switch.lossless`, on every link: `\"pfc\"`, PAUSE by [`[pfc]`](#pfc); \
             `\"cbfc\"`, credits of Ultra Ethernet: a packet starts only if the far end has room for it";
        credit_buffer: Size = ["enough to fill the link: `2tC + M + S` in whole frames"]
            "receiver buffer for which credits are granted, for each lossless (port, priority)"
            from "closed form, [explained here](mechanisms.md#credits-and-retries-on-a-link)" idle PFC;
        credit_size: Size = [u64::from(Params::default().credit_bytes)]
            "bytes per credit; a packet takes whole credits" from "Ultra Ethernet, as in SAI" idle PFC;
        update_spacing: Size = [u64::from(Params::default().update_spacing_bytes)]
            "smallest distance between two updates of a receiver, in bytes of the link; 0, or 800B to 262144B"
            from "Ultra Ethernet, as in SAI" idle PFC;
        retry: Retry = ["`\"none\"`"]
            "how links treat frames that errors corrupt ([`[[event]]`](#event) of kind `\"error-rate\"`): `\"none\"`: the frames are \
             lost; `\"llr\"`, link-level retry of Ultra Ethernet: the link resends them and all frames sent since";
        retry_buffer: Size = ["enough to fill the link: `2tC + 2M + 2048B`"]
            "bytes that each port keeps until the far end has acknowledged them; a port whose buffer is full waits"
            from "closed form, [explained here](mechanisms.md#credits-and-retries-on-a-link)" idle LOSES;
        replay_timer: Duration = ["`\"5us\"` and the round trip of the link"]
            "a port without progress for this time resends all frames that it keeps; after four times this it gives up a frame"
            from "Ultra Ethernet, as in SAI" idle LOSES;
        max_replays: u8 = [llr::Params::default().max_replays]
            "largest number of replays by that timer without progress; then the port gives up the frames that it keeps, and they are lost"
            from "Ultra Ethernet, as in SAI" idle LOSES;
    }
}

names! {
    /// The flow control that stops the sender of a link.
    pub(crate) FlowControl { Pfc = "pfc", Cbfc = "cbfc" }
}

names! {
    /// How corrupted frames are handled.
    pub(crate) Retry { None = "none", Llr = "llr" }
}

/// Retry, if links have it.
pub(crate) fn retry(file: &Link) -> Option<RetryConfig> {
    (file.retry.value() == Some(&Retry::Llr)).then(|| RetryConfig {
        // The simulator refuses values that do not fit.
        buffer_bytes: file
            .retry_buffer
            .value()
            .map(|it| it.0.try_into().unwrap_or(u32::MAX)),
        replay_timer: file.replay_timer.value().map(|it| it.0),
        max_replays: file.max_replays.value().copied(),
    })
}

/// Credits, if links have them.
pub(crate) fn cbfc(file: &Link) -> Option<CbfcConfig> {
    match file.flow_control.value() {
        None | Some(FlowControl::Pfc) => return None,
        Some(FlowControl::Cbfc) => {}
    }
    let mut params = Params::default();
    if let Some(size) = file.credit_size.value() {
        // The simulator refuses values that do not fit.
        params.credit_bytes = size.0.try_into().unwrap_or(u16::MAX);
    }
    if let Some(spacing) = file.update_spacing.value() {
        params.update_spacing_bytes = spacing.0.try_into().unwrap_or(u32::MAX);
    }
    Some(CbfcConfig {
        params: credits::Config::Cbfc(params),
        buffer_bytes: file.credit_buffer.value().map(|it| it.0),
    })
}
