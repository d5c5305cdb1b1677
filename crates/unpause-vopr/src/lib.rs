//! Random scenarios through the whole of unpause: what a seed makes, and what must hold of it.
//!
//! [`generate`](generate::generate) makes a [`Case`](case::Case) of a seed,
//! [`judge`](judge::judge) runs and checks it, [`shrink`](shrink::shrink) makes one that fails small,
//! [`campaign`] does that for many seeds. [`kill`] kills `unpause` at random moments, and
//! [`mutations`] breaks the engine on purpose, to see whether all this notices.

pub mod broken;
pub mod campaign;
pub mod case;
pub mod checks;
pub mod coverage;
pub mod dice;
pub mod digest;
pub mod generate;
pub mod judge;
pub mod keys;
pub mod kill;
pub mod mutations;
pub mod shrink;
pub mod simulate;
mod steady;
