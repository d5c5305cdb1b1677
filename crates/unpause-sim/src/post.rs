//! What shards of a run send one another, for who carries it in another way ([`crate::run_over`]).
//!
//! A shard is a share of the nodes. What it sends to others it leaves as [`Mail`], which a [`Post`] carries
//! between windows: memory that threads share, or real frames. A shard does not know which.

pub use crate::engine::letters::{PACKET_BYTES, Ranks};
pub use crate::engine::mail::Mail;
pub use crate::engine::post::{InTurn, Post, Status};
pub use crate::fabric::packet::{
    ACK_REQUEST, ALL, CE, CWR, ECE, ECT, FORWARD, Kind, LAST_HOP, MEASURE, Packet,
};
pub use crate::fabric::ports::{GlobalPort, Ports, Transmitter};
pub use crate::plan::turns::{Due, Half};
pub use crate::run::worker::Worker;
