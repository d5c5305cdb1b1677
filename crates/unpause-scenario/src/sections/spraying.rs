//! `spraying` of `[host]`: which path each packet of a RoCE flow takes.

use unpause_protocols::names::Names;
use unpause_protocols::spraying::{Config, bitmap, oblivious, reps};
use unpause_text::error::Checked;
use unpause_text::quantity::Duration;

use crate::text::keys::{WithDefault, Written, set};
use crate::text::kind::OneOf;

/// How a sender chooses the entropy value of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum SprayingKey {
    None,
    Oblivious,
    Bitmap,
    Reps,
}

/// The spraying of `[host]`, with its parameters.
pub(super) fn spraying(
    key: &WithDefault<OneOf<SprayingKey>>,
    paths: &Written<u32>,
    reps_freeze: &Written<Duration>,
) -> Checked<Config> {
    let paths = |default: u32| paths.value().copied().unwrap_or(default);
    Ok(match key.value().0 {
        SprayingKey::None => Config::None,
        SprayingKey::Oblivious => Config::Oblivious(oblivious::Params {
            paths: paths(oblivious::Params::default().paths),
        }),
        SprayingKey::Bitmap => Config::Bitmap(bitmap::Params {
            paths: paths(bitmap::Params::default().paths),
        }),
        SprayingKey::Reps => {
            let mut params = reps::Params::default();
            params.paths = paths(params.paths);
            set("reps_freeze", reps_freeze, &mut params.freeze)?;
            Config::Reps(params)
        }
    })
}
