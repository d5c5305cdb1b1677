//! `spraying` of `[host]`: which path each packet of a RoCE flow takes.

use unpause_protocols::spraying::{Config, bitmap, oblivious, reps};

use crate::text::keys::{Written, names, set};
use unpause_text::error::Checked;
use unpause_text::quantity::Duration;

names! {
    /// How a sender chooses the entropy value of a packet.
    pub(crate) SprayingKey { None = "none", Oblivious = "oblivious", Bitmap = "bitmap", Reps = "reps" }
}

/// What `[host]` says of it, with the parameters of all ways.
pub(super) fn spraying(
    key: &Written<SprayingKey>,
    paths: &Written<u32>,
    reps_freeze: &Written<Duration>,
) -> Checked<Config> {
    let paths = |default: u32| paths.value().copied().unwrap_or(default);
    Ok(match key.value() {
        None | Some(SprayingKey::None) => Config::None,
        Some(SprayingKey::Oblivious) => Config::Oblivious(oblivious::Params {
            paths: paths(oblivious::Params::default().paths),
        }),
        Some(SprayingKey::Bitmap) => Config::Bitmap(bitmap::Params {
            paths: paths(bitmap::Params::default().paths),
        }),
        Some(SprayingKey::Reps) => {
            let mut params = reps::Params::default();
            params.paths = paths(params.paths);
            set("reps_freeze", reps_freeze, &mut params.freeze)?;
            Config::Reps(params)
        }
    })
}
