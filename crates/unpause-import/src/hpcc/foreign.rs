//! Recognises files of other simulators by their first line, so that users do not look for a mistake in them.

use std::path::Path;

use super::rows::{Row, Rows};
use crate::FileError;

/// Policies of parallel training with which a workload of SimAI begins.
const POLICIES: [&str; 11] = [
    "DATA",
    "HYBRID_TRANSFORMER",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
    "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED",
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_CUSTOMIZED",
    "MICRO",
    "DISTRIBUTED_INFERENCE",
];

/// Refuses the file of another simulator, told by its `first` line, or by the `next`.
pub(super) fn refuse<'a>(
    first: &Row<'a>,
    next: impl FnOnce() -> Result<Option<Row<'a>>, FileError>,
) -> Result<(), FileError> {
    const HTSIM: &str = "a [[job]] reads it, by htsim = \"FILE\"";
    const SIMAI: &str = "a [[job]] reads it, by simai = \"FILE\"";
    const GOAL: &str = "a [[job]] reads it, by goal = \"FILE\"";
    let words = first.words();
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let key = |row: &Row<'_>| row.words().first().map(|word| word.to_ascii_lowercase());
    let (found, missing) = match words[..] {
        [word, count] if is_htsim(word) && is_number(count) => {
            let keys = [key(first), next()?.as_ref().and_then(key)];
            let is = |word: &str| keys.iter().flatten().any(|key| key == word);
            if is("tiers") || is("podsize") {
                (
                    "a topology of htsim (.topo)".into(),
                    "[topology] reads it, by file = \"FILE\"",
                )
            } else {
                ("flows of htsim (.cm)".into(), HTSIM)
            }
        }
        ["num_ranks", _] => ("a GOAL schedule (LogGOPSim, ATLAHS)".into(), GOAL),
        [policy, ..] if POLICIES.contains(&policy) => {
            let found = format!("a workload of SimAI or astra-sim ({policy})");
            (found, SIMAI)
        }
        _ => return Ok(()),
    };
    let expected = format!("a file in HPCC's format: {missing}");
    Err(first.place.error(found, expected))
}

/// A first word of htsim's files.
fn is_htsim(word: &str) -> bool {
    let keys = ["nodes", "tiers", "podsize", "connections", "triggers"];
    keys.contains(&&*word.to_ascii_lowercase())
}

/// Refuses a text that another simulator's file begins.
pub(crate) fn refuse_text(text: &str, path: &Path) -> Result<(), FileError> {
    let mut rows = Rows::new(text.as_bytes(), path);
    match rows.try_next()? {
        Some(first) => refuse(&first, || rows.try_next()),
        None => Ok(()),
    }
}
