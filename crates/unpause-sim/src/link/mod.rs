//! The end of a link at a node, the same at hosts and switches (`end.rs`), and PAUSE that it obeys (`pause.rs`).

pub mod end;
pub mod pause;
