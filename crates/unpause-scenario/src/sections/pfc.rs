//! `[pfc]`.

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_protocols::flow_control::pfc;
use unpause_sim::config::{HostConfig, PfcConfig, PfcThreshold};

use crate::text::checks::{both, positive};
use crate::text::error::{Checked, Problem};
use crate::text::quantity::{Duration, Size};
use crate::text::setting::show_bytes;

/// `[pfc]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pfc {
    pub xoff: Option<Spanned<Size>>,
    pub xon: Option<Spanned<Size>>,
    pub dynamic_shift: Option<Spanned<u32>>,
    pub xon_gap: Option<Spanned<Size>>,
    pub headroom: Option<Spanned<Size>>,
    pub reaction: Option<Spanned<Duration>>,
    pub mode: Option<Spanned<PfcMode>>,
    pub pause_time: Option<Spanned<Duration>>,
    pub pause_quanta: Option<Spanned<u16>>,
}

/// How PAUSE frames are sent.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PfcMode {
    Standard,
    #[serde(rename = "ns3-rdma")]
    Ns3Rdma,
}

/// XOFF and XON where they are not set.
pub(crate) struct PfcDefaults {
    pub xoff_bytes: u64,
    /// Two frames below XOFF if none.
    pub xon_bytes: Option<u64>,
    /// Why thresholds cannot be dynamic, and what to do.
    pub only_static: Option<(&'static str, &'static str)>,
}

/// PAUSE, with the defaults of the switch model.
pub(crate) fn pfc(file: &Pfc, defaults: &PfcDefaults, host: &HostConfig) -> Checked<PfcConfig> {
    let params = match file.mode.as_ref().map(Spanned::get_ref) {
        None | Some(PfcMode::Standard) => pfc::Params::default(),
        Some(PfcMode::Ns3Rdma) => pfc::Params::ns3_rdma(),
    };
    let mut config = PfcConfig {
        params,
        ..PfcConfig::default()
    };
    match (&file.pause_time, &file.pause_quanta) {
        (Some(time), Some(quanta)) => return both("pause_time", time, "pause_quanta", quanta),
        (Some(time), None) => {
            config.params.pause_time = pfc::PauseTime::Absolute(positive("pause_time", time)?);
        }
        (None, Some(quanta)) if *quanta.get_ref() == 0 => {
            return Problem::new("`pause_quanta` is zero")
                .at(quanta.span(), "0 means resume")
                .err();
        }
        (None, Some(quanta)) => {
            config.params.pause_time = pfc::PauseTime::Quanta(*quanta.get_ref());
        }
        (None, None) => {}
    }
    config.threshold = threshold(file, defaults, host)?;
    config.headroom_bytes = file.headroom.as_ref().map(|size| size.get_ref().0);
    if let Some(reaction) = &file.reaction {
        config.reaction = reaction.get_ref().0;
    }
    Ok(config)
}

fn threshold(file: &Pfc, defaults: &PfcDefaults, host: &HostConfig) -> Checked<PfcThreshold> {
    let two_frames = 2 * (u64::from(host.payload_bytes) + u64::from(host.header_bytes));
    if let Some(shift) = &file.dynamic_shift {
        if let Some((why, help)) = defaults.only_static {
            return Problem::new("`dynamic_shift` has no effect")
                .at(shift.span(), why)
                .help(help)
                .err();
        }
        if let Some(xoff) = &file.xoff {
            return both("dynamic_shift", shift, "xoff", xoff);
        }
        if let Some(xon) = &file.xon {
            return both("dynamic_shift", shift, "xon", xon);
        }
        if *shift.get_ref() > 32 {
            return Problem::new("`dynamic_shift` is more than 32")
                .at(shift.span(), "here")
                .err();
        }
        return Ok(PfcThreshold::Dynamic {
            shift: *shift.get_ref(),
            xon_gap_bytes: file
                .xon_gap
                .as_ref()
                .map_or(two_frames, |gap| gap.get_ref().0),
        });
    }
    let xoff_bytes = file
        .xoff
        .as_ref()
        .map_or(defaults.xoff_bytes, |xoff| xoff.get_ref().0);
    let mut xon_bytes = match defaults.xon_bytes {
        Some(xon_bytes) => xon_bytes.min(xoff_bytes),
        None => xoff_bytes.saturating_sub(two_frames),
    };
    match (&file.xon, &file.xon_gap) {
        (Some(xon), Some(gap)) => return both("xon", xon, "xon_gap", gap),
        (Some(xon), None) => xon_bytes = xon.get_ref().0,
        (None, Some(gap)) => xon_bytes = xoff_bytes.saturating_sub(gap.get_ref().0),
        (None, None) => {}
    }
    if let Some(xon) = file.xon.as_ref().filter(|_| xon_bytes > xoff_bytes) {
        let problem = Problem::new("XON is above XOFF");
        let problem = match &file.xoff {
            Some(xoff) => problem
                .at(xon.span(), format!("resume at {}", show_bytes(xon_bytes)))
                .at(
                    xoff.span(),
                    format!("pause above {}", show_bytes(xoff_bytes)),
                ),
            None => problem.at(
                xon.span(),
                format!("XOFF is {} by default", show_bytes(xoff_bytes)),
            ),
        };
        return problem
            .help("set `xon` at or below `xoff`; two frames below it is the default")
            .err();
    }
    Ok(PfcThreshold::Static {
        xoff_bytes,
        xon_bytes,
    })
}
