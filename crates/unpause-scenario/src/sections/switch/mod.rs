//! `[switch]`: a file for each model.

mod cells;
mod cioq;
mod input_queued;
mod keys;
mod model;
mod pipeline;
pub(crate) mod scheduler;

pub(crate) use keys::{Switch, switch};
pub(crate) use model::{check_fabric, model, note, pfc_defaults};
