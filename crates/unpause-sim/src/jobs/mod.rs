//! Jobs: ranks that compute and exchange messages, step by step.
//!
//! A job is what [`Config::jobs`](crate::config::Config::jobs) says of it. Each of its ranks stands at a host and runs on
//! its own (`host/ranks/steps.rs`): what a rank does next depends on what its own host has seen, never on another host. So jobs
//! need no more lookahead than flows, and results do not depend on the number of threads.
//!
//! - [`collective`]: what a rank sends and receives in each step of a collective operation;
//! - [`program`]: what ranks do where files say it, operation by operation;
//! - [`connections`]: which connections the ranks of a job need, and what comes over each, message by message;
//! - [`critical`]: what the end of an iteration waited for, back to its beginning;
//! - [`ideal`]: how long a collective operation takes that is alone;
//! - `collected` and `links`: when groups took part in operations, and what jobs put on links, as shards count it.

pub(crate) mod collected;
pub mod collective;
mod connection;
pub mod connections;
pub mod critical;
mod exchanges;
mod group;
pub mod ideal;
mod job;
pub(crate) mod links;
mod pipeline;
pub mod program;
mod records;
mod reductions;
mod relays;
pub mod step;
#[cfg(test)]
mod tests;
mod trees;

pub use collective::{Algorithm, Collective, Operation};
pub use connections::Jobs;
pub use critical::{CriticalPaths, Segment, SegmentKind};
pub use group::Group;
pub use job::{Completion, Exchange, Job, OfGroup, Over, Phase};
pub use pipeline::Pipeline;
pub use program::Program;
pub use records::{CollectiveRecord, JobFailure, JobLinkRecord, MessageRecord, RankIteration};
