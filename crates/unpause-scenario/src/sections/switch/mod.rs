//! `[switch]`: a file for each model.

mod balancing;
mod cells;
mod cioq;
mod input_queued;
mod keys;
mod model;
mod pipeline;
pub(crate) mod scheduler;
mod trimming;
mod watchdog;

pub(crate) use cioq::Cioq;
pub(crate) use input_queued::InputQueued;
pub(crate) use keys::{Switch, data_priorities, priorities};
pub(crate) use model::{can_deadlock, frames_wait_at_outputs, note, switch};
pub(crate) use pipeline::{Pipeline, SharedMemory};
pub(crate) use scheduler::Scheduler;
pub(crate) use trimming::Trimming;
pub(crate) use watchdog::{Watchdog, watchdog as own_watchdog};
