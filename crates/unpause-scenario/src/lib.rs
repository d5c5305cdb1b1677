//! Placeholder until the crate is written.

pub mod cdf;
mod error;
pub mod import;
mod quantity;
pub mod topology;
