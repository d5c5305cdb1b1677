//! Checks for all models with cells, input buffers and a speedup.

use unpause_protocols::flow_control::pfc;
use unpause_sim::bytes;
use unpause_sim::config::{Fabric, HostConfig, Link, PfcThreshold, SwitchConfig};

/// Input buffers of `bytes` that are too small for what arrives after XOFF, by the formula of 802.1Q.
pub(super) fn note(
    buffer: u64,
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
    (switch.lossless != 0 && needed > buffer).then(|| {
        format!(
            "input buffers of {} may overflow: XOFF and headroom are {} together",
            bytes(buffer),
            bytes(needed)
        )
    })
}
