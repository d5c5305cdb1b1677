//! Scenario files, topologies, importers, and result tables.
//!
//! A [`Scenario`] is a TOML file that says everything about an experiment: topology, switches,
//! schemes to compare, traffic, probes, sweeps. [`execute`] runs it; [`Outcome`] is what it
//! measured, as Arrow tables, and writes itself to a directory.

#![cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "what files need is there without them, too")
)]

mod compile;
mod execute;
mod files;
mod schema;
mod sections;
mod size;
mod text;
pub mod topology;

pub use compile::scenario::Scenario;
#[cfg(feature = "parquet")]
pub use execute::execute_at;
pub use execute::progress::{NoProgress, Progress};
pub use execute::session;
pub use execute::session::{Sending, Session, SessionOptions};
pub use execute::{
    Admitted, Options, Simulate, Simulator, Target, costs, execute, execute_by, selected,
};
pub use schema::json_schema;
pub use sections::loss_recovery::{LOSS_RECOVERIES, LossRecovery};
pub use sections::marking::{MARKINGS, Marking};
pub use sections::scheme::{CONGESTION_CONTROLS, CongestionControl};
pub use sections::sections;
pub use sections::topology::{BUILDERS, TopologyBuilder};
pub use sections::traffic::{TRAFFIC_KINDS, TrafficKind};
pub use text::document::split_path;
pub use text::keys::{Key, KeyDefault, plain};
pub use text::kind::Kind;
pub use unpause_import::cdf;
pub use unpause_import::fabric::names::Names;
pub use unpause_results::censored::{Estimate, Sample, Statistics, tail};
pub use unpause_results::cost::{Beginning, Cost, Effort, beginning};
pub use unpause_results::outcome::directory::{
    Before, Lock, OutFolder, Place, WriteOptions, file_name, saved_manifest,
};
#[cfg(feature = "parquet")]
pub use unpause_results::outcome::directory::{Cache, Cached, Saved};
pub use unpause_results::outcome::summary::{JobSummary, Summary};
pub use unpause_results::outcome::{HostNote, Manifest, Outcome, ScenarioNote, Timing};
pub use unpause_results::run::Run;
#[cfg(feature = "parquet")]
pub use unpause_results::run::key::key;
pub use unpause_results::tables::files::write_csv;
pub use unpause_results::tables::{TABLES, Tables};
pub use unpause_results::warnings::Warning;
pub use unpause_results::{Swept, machine, percentile};
pub use unpause_text::count::{count, counted, rounded, were};
pub use unpause_text::error::{Error, SourceError};
pub use unpause_text::plain as plain_text;
pub use unpause_text::quantity;
