//! The engine: conservative windows over node-local event queues. A node is a logical process.
//!
//! Nothing that a node does reaches another sooner than over the shortest link (the lookahead), so nodes advance in windows that
//! follow from it (`plan/schedule.rs`), each on its own. What a node sends is put into an inbox and read in a later window.
//! Simultaneous events of a node are ordered by kind and port, never by insertion: a result does not depend on how nodes are
//! distributed over shards, or on where windows end.

pub mod arrivals;
pub mod barrier;
pub mod batch;
pub mod calendar;
pub mod exchange;
pub mod heap;
pub mod inbox;
pub mod log;
pub mod ranks;
pub mod recorded;
pub mod repeat;
pub mod ring;
mod sync;
pub mod threads;
pub mod window;
