//! The scenario file as serde sees it, when topology, schemes, traffic and sweeps are taken out.

use std::ops::Range;

use serde::Deserialize;
use serde_spanned::Spanned;

use super::host::Host;
use super::pfc::Pfc;
use super::pias::Pias;
use super::probes::ProbeKeys;
use super::switch::Switch;
use super::tcp::Tcp;
use crate::text::error::{Checked, Problem};
use crate::text::quantity::{Duration, Ratio};

/// What is left of the file when topology, schemes and traffic are taken out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub title: Option<String>,
    pub source: Option<String>,
    pub seed: Option<u64>,
    pub duration: Spanned<Duration>,
    pub load_scale: Option<Spanned<Ratio>>,
    #[serde(default)]
    pub host: Host,
    #[serde(default)]
    pub switch: Switch,
    #[serde(default)]
    pub pfc: Pfc,
    #[serde(default)]
    pub tcp: Tcp,
    pub pias: Option<Spanned<Pias>>,
    #[serde(default)]
    pub probes: ProbeKeys,
    #[serde(default, rename = "report")]
    pub _report: Report,
}

/// Keys of [`File`] that are read elsewhere.
pub(crate) const FILE_KEYS: [&str; 4] = ["topology", "scheme", "traffic", "sweep"];

/// `[report]`; only its shape is checked here.
#[expect(
    dead_code,
    reason = "the report's renderer reads it from the copy of the scenario"
)]
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    #[serde(default)]
    pub figures: Vec<String>,
    #[serde(default)]
    pub claims: Vec<String>,
    #[serde(default)]
    pub other_reading: bool,
}

/// How many times as much random traffic there is as its entries say.
pub(crate) fn load_scale(value: &Option<Spanned<Ratio>>) -> Checked<Option<f64>> {
    let Some(value) = value else {
        return Ok(None);
    };
    if value.get_ref().num == 0 {
        return Problem::new("`load_scale` is zero")
            .at(value.span(), "nothing would be sent")
            .err();
    }
    Ok(Some(value.get_ref().as_f64()))
}

/// What is said of PAUSE where no priority has any. `pfc` is where `[pfc]` stands.
pub(crate) fn without_lossless(file: &File, pfc: Option<Range<usize>>) -> Checked<()> {
    if !file.switch.lossless.as_ref().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    let deadlock = file.probes.deadlock.as_ref().map(Spanned::span);
    for (what, span, place) in [
        ("[pfc]", pfc, "these settings"),
        ("`deadlock`", deadlock, "no queue is ever paused"),
    ] {
        if let Some(span) = span {
            return Problem::new(format!("{what} has no effect"))
                .at(span, place)
                .help(format!(
                    "switch.lossless is empty: remove {what}, or list a priority such as 3 there"
                ))
                .err();
        }
    }
    Ok(())
}
