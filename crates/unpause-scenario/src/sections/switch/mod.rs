//! `[switch]`: a file for each model.

pub(crate) mod cioq;
mod keys;
mod model;
mod pipeline;
pub(crate) mod scheduler;

pub(crate) use keys::{Switch, switch};
pub(crate) use model::{check_fabric, model, pfc_defaults};
