//! The engine: conservative windows over node-local event queues.
//!
//! Nothing that a node does reaches another sooner than the shortest link (the lookahead), so nodes advance in
//! windows that follow from it (`turns.rs` beside), each on its own. What a node sends lands in an inbox and is read in
//! a later window. Simultaneous events of a node go by kind and port, never
//! by order of insertion: a result does not depend on how nodes are shared out or windows cut.

pub mod arrivals;
pub mod barrier;
pub mod calendar;
pub mod cbfc;
pub mod credit_updates;
pub mod deadlock;
pub mod exchange;
pub mod frame_errors;
pub mod heap;
pub mod inbox;
pub mod letters;
pub mod log;
pub mod mail;
pub mod post;
pub mod recorded;
pub mod repeat;
mod retried;
pub mod retry;
pub mod ring;
mod sync;
pub mod telemetry;
pub mod window;
