//! Scenario files, topologies, importers, and result tables.
//!
//! A [`Scenario`] is a TOML file that says everything about an experiment: topology, switches,
//! schemes to compare, traffic, probes, sweeps. [`execute`] runs it; [`Outcome`] is what it
//! measured, as Arrow tables, and writes itself to a directory.

pub mod cdf;
mod compile;
mod document;
mod error;
mod file;
pub mod import;
mod marking;
mod mechanisms;
mod output;
pub mod quantity;
mod run;
#[cfg(feature = "parquet")]
mod saved;
mod scenario;
mod setting;
mod summary;
mod sweep;
mod table_files;
mod tables;
pub mod topology;
mod warnings;

pub use compile::{BUILDERS, KINDS as TRAFFIC_KINDS, Names, Run};
pub use error::{Error, SourceError};
pub use marking::Marking;
pub use mechanisms::{Key, Mechanism};
pub use output::{
    HostNote, Manifest, Outcome, ScenarioNote, Timing, WriteOptions, check_destination,
};
pub use run::{NoProgress, Options, Progress, execute};
#[cfg(feature = "parquet")]
pub use saved::Saved;
pub use scenario::Scenario;
pub use summary::Summary;
pub use table_files::write_csv;
pub use tables::{TABLES, Tables};
pub use warnings::Warning;
