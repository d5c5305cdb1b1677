//! `[pfc]`.

use unpause_protocols::flow_control::pfc;
use unpause_sim::config::{HostConfig, PfcConfig, PfcThreshold};

use crate::text::checks::both;
use crate::text::error::Checked;
use crate::text::keys::{keys, names, set};
use crate::text::quantity::{Duration, Size};

keys! {
    /// `[pfc]`
    #[derive(Default)]
    pub(crate) Pfc at "pfc" for PfcConfig {
        xoff: Size = ["`\"512KB\"`; in a CIOQ fabric `\"110KB\"`"] "PAUSE above this"
            from "PCN; Qhigh of QCN at inputs" idle OWN;
        xon: Size = ["two frames below `xoff`; in a CIOQ fabric `\"44KB\"`"] "resume at or below this"
            from "our reading of PCN; Qlow of QCN at inputs" idle OWN;
        xon_gap: Size = ["two frames"] "instead of `xon`: resume this far below `xoff`" idle OWN;
        dynamic_shift: u32 = ["-"]
            "instead of `xoff`: the threshold is the free shared buffer divided by 2 to the power of this; 3 is one \
             eighth, as in HPCC's simulator"
            idle ("the buffers of this switch model are not shared",
                "remove it, or choose model = \"shared-buffer\"; `xoff` and `xon` are thresholds of each input buffer");
        headroom: Size = ["by the formula of 802.1Q for each link"] "bytes for what arrives after XOFF"
            idle ("what an input buffer of this switch model has beyond XOFF is its headroom",
                "remove it, or choose model = \"shared-buffer\"");
        reaction: Duration "a transmitter obeys so long after a PAUSE has arrived" => reaction;
        mode: PfcMode = ["`\"standard\"`"]
            "how PAUSE is repeated and counted: [three ways](mechanisms.md#pause-three-ways-to-count)" idle OWN;
        pause_quanta: u16 = ["65535; with `\"ns3-rdma\"` `pause_time` = `\"5us\"`"]
            "what a PAUSE asks for, in 512 bit times" from "the most that a frame can ask for; ns3-rdma";
        pause_time: Duration = ["-"] "the same as a time; only one of the two";
    }
}

const OWN: (&str, &str) = (
    "this switch model has thresholds of its own",
    "thresholds and sizes of model = \"pipeline\" are in [switch.pipeline]",
);

names! {
    /// How PAUSE frames are sent.
    pub(crate) PfcMode { Standard = "standard", Ns3Rdma = "ns3-rdma" }
}

/// XOFF and XON where they are not set.
pub(crate) struct PfcDefaults {
    pub xoff_bytes: u64,
    /// Two frames below XOFF if none.
    pub xon_bytes: Option<u64>,
}

/// What every switch model with PFC has: when transmitters obey, and what a PAUSE asks for.
pub(crate) fn pause(file: &Pfc, config: &mut PfcConfig) -> Checked<()> {
    use crate::text::keys::Keys;
    file.apply(config)?;
    match (file.pause_time.get(), file.pause_quanta.get()) {
        (Some(time), Some(quanta)) => return both("pause_time", time, "pause_quanta", quanta),
        (Some(time), None) => {
            config.params.pause_time = pfc::PauseTime::Absolute(time.get_ref().0);
        }
        (None, Some(quanta)) => {
            config.params.pause_time = pfc::PauseTime::Quanta(*quanta.get_ref());
        }
        (None, None) => {}
    }
    Ok(())
}

/// How PAUSE is repeated, with what it asks for if that is not said.
pub(crate) fn mode(file: &Pfc) -> pfc::Params {
    match file.mode.value() {
        None | Some(PfcMode::Standard) => pfc::Params::default(),
        Some(PfcMode::Ns3Rdma) => pfc::Params::ns3_rdma(),
    }
}

/// Bytes of two frames.
fn two_frames(host: &HostConfig) -> u64 {
    2 * (u64::from(host.payload_bytes) + u64::from(host.header_bytes))
}

/// A threshold on shared memory, if the file says so.
pub(crate) fn dynamic(file: &Pfc, host: &HostConfig) -> Checked<Option<PfcThreshold>> {
    let Some(shift) = file.dynamic_shift.get() else {
        return Ok(None);
    };
    if let Some(xoff) = file.xoff.get() {
        return both("dynamic_shift", shift, "xoff", xoff);
    }
    if let Some(xon) = file.xon.get() {
        return both("dynamic_shift", shift, "xon", xon);
    }
    let mut xon_gap_bytes = two_frames(host);
    set("xon_gap", &file.xon_gap, &mut xon_gap_bytes)?;
    Ok(Some(PfcThreshold::Dynamic {
        shift: *shift.get_ref(),
        xon_gap_bytes,
    }))
}

/// XOFF and XON, the same at all times.
pub(crate) fn fixed(
    file: &Pfc,
    defaults: &PfcDefaults,
    host: &HostConfig,
) -> Checked<PfcThreshold> {
    let mut xoff_bytes = defaults.xoff_bytes;
    set("xoff", &file.xoff, &mut xoff_bytes)?;
    let two_frames_below = xoff_bytes.saturating_sub(two_frames(host));
    let default = defaults.xon_bytes.map(|xon| xon.min(xoff_bytes));
    let xon_bytes = match (file.xon.get(), file.xon_gap.get()) {
        (Some(xon), Some(gap)) => return both("xon", xon, "xon_gap", gap),
        (Some(xon), None) => xon.get_ref().0,
        (None, Some(gap)) => xoff_bytes.saturating_sub(gap.get_ref().0),
        (None, None) => default.unwrap_or(two_frames_below),
    };
    Ok(PfcThreshold::Static {
        xoff_bytes,
        xon_bytes,
    })
}
