//! Packet-level simulator of lossless and ECN-marked Ethernet fabrics.
//!
//! [`run`] takes a [`config::Config`], one fabric with one congestion management scheme, and
//! returns [`results::Results`]. The mechanisms are those of `unpause-protocols`; this crate is
//! their host: the engine, links, switches, hosts, routing, traffic and what is measured.

mod chassis;
pub mod config;
mod engine;
pub mod exchange;
pub mod fabric;
pub mod followers;
mod host;
pub mod jobs;
mod link;
mod outcome;
mod plan;
mod prefetch;
mod routing;
mod run;
mod switch;
pub mod traffic;
mod wires;

use std::ops::ControlFlow;

use unpause_protocols::units::Time;

pub use config::invalid::{Invalid, Subject, bytes};
#[doc(hidden)]
pub use engine::heap;
pub use outcome::series::Samples;
pub use outcome::{ideal, results};
pub use plan::dependency;
pub use run::partition::{shards_of_nodes, useful_threads};
pub use run::session;
pub use run::{
    Watch, run as run_threads, run_over, run_ranks, run_sampled, run_sequential, run_unsynchronized,
};

use config::{Config, NodeId, NodeKind};
use results::Results;

/// Runs `config` on one thread. `watch` is called now and then and may end the run.
///
/// # Errors
///
/// [`Error::Invalid`] if the configuration cannot be run, [`Error::Interrupted`] if `watch` said so.
pub fn run(
    config: &Config,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Results, Error> {
    run_threads(config, 1, watch)
}

/// Checks `config` as a run does, without its traffic and routes.
///
/// # Errors
///
/// The field at fault, and why.
pub fn check(config: &Config) -> Result<(), Invalid> {
    plan::Plan::without_routes(config).map(drop)
}

/// By node the memory that its queues share if it has a shared buffer, headroom not counted; bytes. Zero of hosts.
///
/// # Errors
///
/// The field at fault, and why.
pub fn shared_memory(config: &Config) -> Result<Vec<u64>, Invalid> {
    let plan = plan::Plan::without_routes(config)?;
    let nodes = config.fabric.nodes.iter().zip(0..);
    let of_node = |(kind, node): (&NodeKind, NodeId)| match kind {
        NodeKind::Host => 0,
        NodeKind::Switch => switch::shared_buffer::pool_bytes(node, &plan),
    };
    Ok(nodes.map(of_node).collect())
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packets that have gone over a link.
    pub packet_hops: u64,
    /// Windows that have been run.
    pub windows: u64,
}

/// Why a run has no results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The configuration cannot be run.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The watcher ended the run.
    #[error("interrupted")]
    Interrupted,
    /// The messages between shards cannot be carried any more.
    #[error("{0}")]
    Exchange(String),
}
