//! Between runs and captures.
//!
//! [`write_pcapng`] makes frames of the packets that a run has traced (`[probes] packets`), with the
//! headers that they would have on a wire, and writes them as a capture. [`Reader`] goes the
//! other way: from a capture of any origin to flows that a scenario can replay.

mod addresses;
mod error;
mod export;
pub mod frames;
mod import;
mod link;
mod packets;
mod priority;
mod roce;
mod seen;
mod views;

pub use error::Error;
pub use export::write_pcapng;
pub use import::{CapturedFlow, Flows, Reader, write_flow_file};
pub use priority::PriorityFrom;
