//! The fabric of a scenario: nodes and links, and their names.

pub(crate) mod names;
mod port_names;
pub mod topology;
