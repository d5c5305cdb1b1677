//! Programs: what ranks do, operation by operation, where no collective operation says it.
//!
//! A program has a directed acyclic graph of operations for each rank: it sends, receives, or computes. An operation starts
//! when those that it waits for have ended, or have started, as the graph says. An edge never leaves a rank; only messages do.
//!
//! - *Compute* occupies its stream for its time. A stream does one such operation after the other, in the order in which
//!   they have become ready, or by their numbers ([`Draft::by_number`]).
//! - A *send* hands a message to the connection to its receiver; it ends when all of it has been acknowledged.
//! - A *receive* ends when the last byte of its message has come.
//!
//! All messages of a channel from one rank to another go over one connection, as one stream of bytes, in an order that is
//! known before the run: that in which they would be sent if each message took [`LATENCY`] and [`PER_BYTE`] for each of its
//! bytes, and nothing else was in its way. A send that could be made before one that precedes it in this order waits for
//! that. The same order decides which receive takes which message: as in MPI, the first posted of those that ask for its
//! source and tag, or for any. So a run has to match nothing, and can wait for nothing that the program does not say.
//!
//! # Sources
//!
//! T. Hoefler, C. Siebert, A. Lumsdaine: "Group Operation Assembly Language - A Flexible Way to Express Collective
//! Communication", ICPP 2009; MPI 4.1, section 3.5 (order of messages).

mod build;
mod compact;
mod draft;
mod edges;
mod spans;
mod stuck;
mod trial;

#[cfg(test)]
mod tests;

pub use compact::{Kind, Operation, Program};
pub use draft::{Draft, DraftOperation, DraftRank, Edge, ProgramError, Task, Wrong};
pub use spans::{Shared, Span};
pub use trial::{LATENCY, PER_BYTE};
