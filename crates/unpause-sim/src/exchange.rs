//! The messages between shards of a run, for programs that carry them in another way ([`crate::run_over`]).
//!
//! The nodes of a fabric are distributed over shards. What a shard sends to another is a [`Batch`], which an [`Exchange`] carries
//! between windows: through memory that threads share, or as real frames. A shard does not know which.

pub use crate::engine::batch::Batch;
pub use crate::engine::exchange::{Exchange, Sequential, Status};
pub use crate::engine::ranks::{PACKET_BYTES, Ranks};
pub use crate::fabric::packet::{
    ACK_REQUEST, ALL, CE, CWR, ECE, ECT, FORWARD, Kind, LAST_HOP, MEASURE, Packet,
};
pub use crate::fabric::ports::{GlobalPort, Ports, Transmitter};
pub use crate::plan::schedule::{Half, NextEvents};
pub use crate::run::worker::Worker;
