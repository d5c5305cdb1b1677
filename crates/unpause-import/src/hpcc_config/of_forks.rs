//! The keys of forks in a configuration, and their effect.

use super::forks::Becomes::{Among, Done, Nothing, Only};
use super::forks::key;
use super::parse::HpccConfig;
use crate::FileError;

/// Refuses what the keys of forks say that would be another experiment; all of it in one message, at the first.
pub(super) fn check(config: &HpccConfig) -> Result<(), FileError> {
    let mut refused: Vec<_> = config
        .of_forks
        .iter()
        .filter_map(|(name, value)| {
            let key = key(name)?;
            if key.name == "ENABLE_PFC" && has_irn(config) {
                return None;
            }
            let why = key.refusal(value)?;
            Some((config.place(name), (name, value), key.fork, why))
        })
        .collect();
    refused.sort_by_key(|(place, ..)| (place.line, place.column));
    let Some((place, ..)) = refused.first() else {
        return Ok(());
    };
    let found: Vec<String> = refused
        .iter()
        .map(|(place, (name, value), ..)| match refused.len() {
            1 => format!("{name} {value}"),
            _ => format!("{name} {value} (line {})", place.line),
        })
        .collect();
    let whys: Vec<String> = refused
        .iter()
        .map(|(_, (name, _), fork, why)| format!("{name} of {fork}: {why}"))
        .collect();
    let expected = format!("what can be simulated. {}", whys.join(". "));
    Err(place.error(found.join(", "), expected))
}

/// Notes on the keys of forks that are not refused, a sentence each.
pub(super) fn notes(config: &HpccConfig) -> Vec<String> {
    let note = |(name, value): (&String, &String)| {
        let key = key(name)?;
        match key.becomes {
            Nothing(what) => Some(format!("{name} (of {}): {what}", key.fork)),
            Only(..) if key.refusal(value).is_none() => {
                Some(format!("{name} {value} (of {}): as here", key.fork))
            }
            Among(..) | Only(..) | Done => None,
        }
    };
    config.of_forks.iter().filter_map(note).collect()
}

/// The number of a key of a fork.
fn number(config: &HpccConfig, name: &str) -> Option<f64> {
    config.of_forks.get(name)?.parse().ok()
}

/// Flows repair losses as IRN does.
pub(super) fn has_irn(config: &HpccConfig) -> bool {
    number(config, "ENABLE_IRN").is_some_and(|it| it > 0.0)
}

/// Switches send no PAUSE.
pub(super) fn is_lossy(config: &HpccConfig) -> bool {
    number(config, "ENABLE_PFC").is_some_and(|it| it <= 0.0)
}

/// Switches balance by LetFlow.
pub(super) fn has_letflow(config: &HpccConfig) -> bool {
    number(config, "LB_MODE").is_some_and(|it| (it - 6.0).abs() < 0.5)
}

/// Keys of Hawkeye are there, whose BUFFER_SIZE is in KiB.
pub(super) fn is_hawkeye(config: &HpccConfig) -> bool {
    let mut keys = config.of_forks.keys().filter_map(|name| key(name));
    keys.any(|key| key.fork == "Hawkeye" && key.name != "DIR")
}
