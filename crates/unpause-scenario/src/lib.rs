//! Scenario files, topologies, importers, and result tables.
//!
//! A [`Scenario`] is a TOML file that says everything about an experiment: topology, switches,
//! schemes to compare, traffic, probes, sweeps. [`execute`] runs it; [`Outcome`] is what it
//! measured, as Arrow tables, and writes itself to a directory.

mod compile;
mod document;
mod error;
mod file;
mod mechanisms;
pub mod quantity;
mod scenario;
mod setting;
mod sweep;
pub mod topology;

pub use compile::{BUILDERS, KINDS as TRAFFIC_KINDS, Names, Run};
pub use error::{Error, SourceError};
pub use mechanisms::{Key, Mechanism};
pub use scenario::Scenario;
