//! The ranks of jobs at a host: where they are, and what they wait for. [`super::job_steps`] moves them on.

mod order;
mod progress;
mod rank;
mod show;
mod state;

pub use rank::Outgoing;
pub use state::{Due, From, Incoming, Ranks};
