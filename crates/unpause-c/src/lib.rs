//! The mechanisms of `unpause-protocols` and the frames of `unpause-wire` behind a C interface:
//! `include/unpause.h`, which cbindgen makes of this crate, and the static library `libunpause_c.a`.
//!
//! A mechanism lives in memory of the caller's: a `struct` of fixed size that `…_create` fills and that
//! needs no end. Nothing here allocates, reads a clock or keeps state of its own. Times are picoseconds,
//! rates bit/s. Every function answers a [`unpause_status`] and writes results through pointers; no panic
//! leaves the library.
//!
//! Without the feature `std`, which is on by default, the library needs no operating system, no C library and no
//! allocator: for the firmware of a network card. A fault of the library then calls the program's `unpause_panic`.
//!
//! # Safety
//!
//! Every function requires the same: a pointer is null, which is reported, or points to a value of its type (for
//! results, to space for one) that nothing else uses during the call; a string ends with a zero.
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(clippy::undocumented_unsafe_blocks)]
#![allow(non_camel_case_types, reason = "the names are C's")]
#![allow(clippy::missing_safety_doc, reason = "it is the same for all, above")]

mod config;
mod congestion_control;
mod congestion_point;
mod flow_control;
mod frame;
mod notification;
mod nscc;
#[cfg(not(feature = "std"))]
mod panic;
mod spraying;
mod status;
mod storage;

pub use config::*;
pub use congestion_control::*;
pub use congestion_point::*;
pub use flow_control::*;
pub use frame::*;
pub use notification::*;
pub use nscc::*;
pub use spraying::*;
pub use status::*;
