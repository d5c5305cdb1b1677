//! What models with cells, input buffers and a speedup have in common.

use serde_spanned::Spanned;
use unpause_protocols::flow_control::pfc;
use unpause_sim::config::{Fabric, HostConfig, Link, PfcThreshold, SwitchConfig};

use crate::text::error::{Checked, Problem};
use crate::text::quantity::{Ratio, Size};
use crate::text::setting::show_bytes;

/// `cell`, or so many bytes.
pub(super) fn cell(written: &Option<Spanned<Size>>, default: u32) -> Checked<u32> {
    let Some(size) = written else {
        return Ok(default);
    };
    match u32::try_from(size.get_ref().0) {
        Ok(bytes) if (1..=1 << 16).contains(&bytes) => Ok(bytes),
        _ => Problem::new("`cell` must be from 1B to 64KiB")
            .at(size.span(), format!("{} bytes", size.get_ref().0))
            .help(format!(
                "a frame is cut into cells of this size; {default}B is the default"
            ))
            .err(),
    }
}

/// `speedup` in per cent, or so many; `what` it does.
pub(super) fn speedup_percent(
    written: &Option<Spanned<Ratio>>,
    default: u32,
    what: &str,
) -> Checked<u32> {
    let Some(speedup) = written else {
        return Ok(default);
    };
    let percent = (speedup.get_ref().as_f64() * 100.0).round();
    if !(100.0..=100_000.0).contains(&percent) {
        return Problem::new("`speedup` must be from 1 to 1000")
            .at(speedup.span(), what)
            .err();
    }
    Ok(percent as u32)
}

/// An input buffer of `bytes`, if `written`, has room while a sender is being stopped.
pub(super) fn check_input(
    written: &Option<Spanned<Size>>,
    bytes: u64,
    switch: &SwitchConfig,
    host: &HostConfig,
) -> Checked<()> {
    let frame = u64::from(host.payload_bytes + host.header_bytes);
    let PfcThreshold::Static { xoff_bytes, .. } = switch.pfc.threshold else {
        return Ok(());
    };
    // What its links need is known only with the topology; a frame is the least.
    if let Some(input) = written
        && bytes < xoff_bytes + 2 * frame
    {
        return Problem::new("`input_buffer` overflows before PAUSE has stopped anybody")
            .at(
                input.span(),
                format!(
                    "XOFF is {}, two frames {}",
                    show_bytes(xoff_bytes),
                    show_bytes(2 * frame)
                ),
            )
            .help("raise it, or lower pfc.xoff")
            .err();
    }
    Ok(())
}

/// Input buffers of `bytes` that are too small for what arrives after XOFF, by the formula of 802.1Q.
pub(super) fn note(
    bytes: u64,
    fabric: &Fabric,
    switch: &SwitchConfig,
    host: &HostConfig,
) -> Option<String> {
    let PfcThreshold::Static { xoff_bytes, .. } = switch.pfc.threshold else {
        return None;
    };
    let framing = u64::from(fabric.framing_bytes);
    let frame = u64::from(host.payload_bytes + host.header_bytes) + framing;
    let headroom = |link: &Link| {
        let reaction = switch.pfc.reaction;
        pfc::headroom(link.rate, link.delay, frame, 64 + framing, reaction)
    };
    let needed = xoff_bytes + fabric.links.iter().map(headroom).max()?;
    (switch.lossless != 0 && needed > bytes).then(|| {
        format!(
            "input buffers of {} may overflow: XOFF and headroom are {} together",
            show_bytes(bytes),
            show_bytes(needed)
        )
    })
}
