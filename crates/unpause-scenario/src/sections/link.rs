//! `[link]`: what stops the sender at the far end of a link, and what becomes of corrupted frames.

use unpause_protocols::flow_control::credits;
use unpause_protocols::flow_control::credits::cbfc::Params;
use unpause_protocols::loss_recovery::llr;
use unpause_protocols::names::Names;
use unpause_sim::config::{CbfcConfig, RetryConfig};
use unpause_text::quantity::{Duration, Size};

use crate::text::keys::{Keys, WithDefault, Written};
use crate::text::kind::OneOf;

/// Why a key of credits has no effect.
const PFC: (&str, &str) = (
    "PFC has no credits",
    "add flow_control = \"cbfc\", or remove it",
);

/// Why a key of retry has no effect.
const LOSES: (&str, &str) = ("links have no retry", "add retry = \"llr\", or remove it");

/// `[link]`
#[derive(Keys)]
#[keys("link")]
pub(crate) struct Link {
    /// flow control of the priorities in `switch.lossless`, on every link: `"pfc"`, PAUSE by [`[pfc]`](#pfc); `"cbfc"`, credits of Ultra Ethernet: a packet starts only if the far end has room for it
    pub(crate) flow_control: WithDefault<OneOf<FlowControl>>,
    /// receiver buffer for which credits are granted, for each lossless (port, priority)
    #[key(unset = "enough to fill the link: `2tC + M + S` in whole frames", from = "closed form, [explained here](mechanisms.md#credits-and-retries-on-a-link)", idle = PFC)]
    pub(crate) credit_buffer: Written<Size>,
    /// bytes per credit; a packet takes whole credits
    #[key(default = Size(u64::from(Params::default().credit_bytes)), from = "Ultra Ethernet, as in SAI", idle = PFC)]
    pub(crate) credit_size: WithDefault<Size>,
    /// smallest distance between two updates of a receiver, in bytes of the link; 0, or 800B to 262144B
    #[key(default = Size(u64::from(Params::default().update_spacing_bytes)), from = "Ultra Ethernet, as in SAI", idle = PFC)]
    pub(crate) update_spacing: WithDefault<Size>,
    /// how links treat frames that errors corrupt ([`[[event]]`](#event) of kind `"error-rate"`): `"none"`: the frames are lost; `"llr"`, link-level retry of Ultra Ethernet: the link resends them and all frames sent since
    pub(crate) retry: WithDefault<OneOf<Retry>>,
    /// bytes that each port keeps until the far end has acknowledged them; a port whose buffer is full waits
    #[key(unset = "enough to fill the link: `2tC + 2M + 2048B`", from = "closed form, [explained here](mechanisms.md#credits-and-retries-on-a-link)", idle = LOSES)]
    pub(crate) retry_buffer: Written<Size>,
    /// a port without progress for this time resends all frames that it keeps; after four times this it gives up a frame
    #[key(unset = "`\"5us\"` and the round trip of the link", from = "Ultra Ethernet, as in SAI", idle = LOSES)]
    pub(crate) replay_timer: Written<Duration>,
    /// largest number of replays by that timer without progress; then the port gives up the frames that it keeps, and they are lost
    #[key(default = llr::Params::default().max_replays, from = "Ultra Ethernet, as in SAI", idle = LOSES)]
    pub(crate) max_replays: WithDefault<u8>,
}

/// The flow control that stops the sender of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum FlowControl {
    Pfc,
    Cbfc,
}

/// How corrupted frames are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum Retry {
    None,
    Llr,
}

/// Retry, if links have it.
pub(crate) fn retry(file: &Link) -> Option<RetryConfig> {
    (file.retry.value().0 == Retry::Llr).then(|| RetryConfig {
        // The simulator refuses values that do not fit.
        buffer_bytes: file
            .retry_buffer
            .value()
            .map(|it| it.0.try_into().unwrap_or(u32::MAX)),
        replay_timer: file.replay_timer.value().map(|it| it.0),
        max_replays: file.max_replays.get().map(|replays| *replays.get_ref()),
    })
}

/// Credits, if links have them.
pub(crate) fn cbfc(file: &Link) -> Option<CbfcConfig> {
    if file.flow_control.value().0 == FlowControl::Pfc {
        return None;
    }
    // The simulator refuses values that do not fit.
    let params = Params {
        credit_bytes: file.credit_size.value().0.try_into().unwrap_or(u16::MAX),
        update_spacing_bytes: file.update_spacing.value().0.try_into().unwrap_or(u32::MAX),
        ..Params::default()
    };
    Some(CbfcConfig {
        params: credits::Config::Cbfc(params),
        buffer_bytes: file.credit_buffer.value().map(|it| it.0),
    })
}
