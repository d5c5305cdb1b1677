//! The ranks of jobs at a host: the position of each in its job, and what it waits for.

mod connections;
mod failures;
mod order;
mod programs;
mod progress;
mod rank;
mod show;
mod state;
mod steps;

pub use state::Ranks;
