//! Scenario files, topologies, importers, and result tables.
//!
//! A [`Scenario`] is a TOML file that says everything about an experiment: topology, switches,
//! schemes to compare, traffic, probes, sweeps. [`execute`] runs it; [`Outcome`] is what it
//! measured, as Arrow tables, and writes itself to a directory.

#![cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "what files need is there without them, too")
)]

mod at_place;
mod blind_watchdog;
mod buffers;
mod chance;
mod columns;
mod compile;
mod cost;
mod crossings;
mod cut_off;
mod cycles;
mod digest;
mod directory;
mod distances;
mod execute;
mod fast_watchdog;
mod flows;
mod foreseen;
mod headroom;
mod hpcc_files;
mod hpcc_trace;
pub mod import;
mod in_force;
mod job_totals;
mod join;
#[cfg(feature = "parquet")]
mod key;
mod limits;
mod link_failures;
mod link_rates;
mod long_paths;
mod lossy_links;
pub mod machine;
mod measured;
mod mistakes;
mod names;
mod outcome;
mod percentile;
mod port_names;
mod progress;
mod queues;
mod refusal;
mod reordering;
mod replaced;
mod rtt;
mod run;
mod scenario;
mod schema;
mod sections;
#[cfg_attr(not(feature = "parquet"), path = "no_series.rs")]
mod series;
pub mod session;
mod size;
mod starved;
mod storms;
mod stuck;
mod summary;
mod swept;
mod table_files;
mod tables;
mod text;
mod thresholds;
mod timeouts;
pub mod topology;
mod unequal_blocks;
mod unfinished;
mod unused;
mod waiting;
mod warnings;

pub use cost::{Beginning, Cost, Effort, beginning};
pub use directory::{Before, Lock, OutFolder, Place, WriteOptions, file_name, saved_manifest};
#[cfg(feature = "parquet")]
pub use directory::{Cache, Cached, Saved};
#[cfg(feature = "parquet")]
pub use execute::execute_at;
pub use execute::{Options, Simulate, Simulator, costs, execute, execute_by, selected};
pub use import::cdf;
#[cfg(feature = "parquet")]
pub use key::key;
pub use names::Names;
pub use outcome::{HostNote, Manifest, Outcome, ScenarioNote, Timing};
pub use percentile::percentile;
pub use progress::{NoProgress, Progress};
pub use run::Run;
pub use scenario::Scenario;
pub use schema::json_schema;
pub use sections::loss_recovery::{LOSS_RECOVERIES, LossRecovery};
pub use sections::marking::{MARKINGS, Marking};
pub use sections::scheme::{CONGESTION_CONTROLS, CongestionControl};
pub use sections::sections;
pub use sections::topology::{BUILDERS, TopologyBuilder};
pub use sections::traffic::{TRAFFIC_KINDS, TrafficKind};
pub use session::{Sending, Session, SessionOptions};
pub use summary::Summary;
pub use swept::Swept;
pub use table_files::write_csv;
pub use tables::{TABLES, Tables};
pub use text::count::count;
pub use text::document::split_path;
pub use text::error::{Error, SourceError};
pub use text::keys::{Key, KeyDefault, plain};
pub use text::quantity;
pub use warnings::Warning;
