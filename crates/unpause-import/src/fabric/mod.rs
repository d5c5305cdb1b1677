//! The fabric of a scenario: nodes and links, and their names.

pub mod names;
mod port_names;
pub mod topology;
