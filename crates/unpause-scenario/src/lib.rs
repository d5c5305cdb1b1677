//! Scenario files, topologies, importers, and result tables.
//!
//! A [`Scenario`] is a TOML file that says everything about an experiment: topology, switches,
//! schemes to compare, traffic, probes, sweeps. [`execute`] runs it; [`Outcome`] is what it
//! measured, as Arrow tables, and writes itself to a directory.

mod compile;
mod execute;
mod file;
pub mod import;
mod marking;
mod measured;
mod mechanisms;
mod names;
mod output;
mod rtt;
mod run;
#[cfg(feature = "parquet")]
mod saved;
mod scenario;
mod summary;
mod sweep;
mod table_files;
mod tables;
mod text;
pub mod topology;
mod warnings;

pub use compile::{BUILDERS, KINDS as TRAFFIC_KINDS};
pub use execute::{NoProgress, Options, Progress, execute};
pub use import::cdf;
pub use marking::Marking;
pub use mechanisms::{Key, Mechanism};
pub use names::Names;
pub use output::{
    HostNote, Manifest, Outcome, ScenarioNote, Timing, WriteOptions, check_destination,
};
pub use run::Run;
#[cfg(feature = "parquet")]
pub use saved::Saved;
pub use scenario::Scenario;
pub use summary::Summary;
pub use table_files::write_csv;
pub use tables::{TABLES, Tables};
pub use text::error::{Error, SourceError};
pub use text::quantity;
pub use warnings::Warning;
