//! Between runs and captures.
//!
//! [`write_pcapng`] makes frames of the packets that a run has traced (`[probes] packets`), with the
//! headers that they would have on a wire, and writes them as a capture. [`read_flows`] goes the
//! other way: from a capture of any origin to flows that a scenario can replay.

mod addresses;
mod error;
mod export;
pub mod frames;
mod import;
mod packets;

pub use error::Error;
pub use export::write_pcapng;
pub use import::{CapturedFlow, Flows, read_flows, write_flow_file};
