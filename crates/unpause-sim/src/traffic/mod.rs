//! Flows, and generators of flows.
//!
//! A [`TrafficSpec`] is one entry of a scenario. [`Traffic`] merges all of a run's entries into one
//! stream of flows in order of start time, which is read during the run: a generator holds
//! one event at a time, however many flows it will make.

mod by_size;
mod cdf;
mod delay;
mod following;
mod jitter;
mod random;
mod spec;
mod stream;
#[cfg(test)]
mod tests;
mod validate;

pub use by_size::PriorityBySize;
pub use cdf::{Cdf, CdfError};
pub use delay::{Delays, ExtraDelay};
pub use following::{Ending, Following, Matching};
pub use spec::*;
pub use stream::Traffic;
