//! Runs and their results: the expected cost of a run, tables, statistics, warnings, and result directories.
//!
//! A [`Run`](run::Run) is a configuration with the names of what it counts. Whoever executes it hands it on as
//! [`Measured`](run::measured::Measured); tables, statistics and warnings are computed from that alone.

#![cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "what files need is there without them, too")
)]

pub mod censored;
pub mod columns;
pub mod cost;
pub mod machine;
pub mod outcome;
mod percentile;
pub mod run;
mod swept;
pub mod tables;
pub mod warnings;

pub use percentile::percentile;
pub use swept::Swept;
