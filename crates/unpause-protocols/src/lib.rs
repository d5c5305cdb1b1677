//! Congestion management mechanisms as pure state machines.
//!
//! A mechanism is told what happened and when, and answers what to do. It never reads a clock, sends,
//! sleeps, logs or allocates, so the same code runs in a simulator, on a network card and in a test.
//! Time and randomness come in as arguments; all arithmetic is in integers.
//!
//! - [`congestion_point`]: what a switch queue does to a packet;
//! - [`notification_point`]: what the receiver of a flow says back;
//! - [`congestion_control`]: how the sender of a flow sets its rate and its window;
//! - [`loss_recovery`]: how it sends again what is lost;
//! - [`spraying`]: which path each of its packets takes;
//! - [`tagging`]: what priority the sender gives its packets;
//! - [`scheduler`]: which queue of a port sends next;
//! - [`flow_control`]: who may transmit at all;
//! - [`state_visitor`]: what of a state moves on with time;
//! - [`by_name`]: mechanisms and parameters by name.
//!
//! The owner of a state machine calls `on_timer` when `next_timer` is due, before it reports anything
//! else that happens at that instant or later.
#![no_std]
#![forbid(unsafe_code)]
#![deny(
    clippy::float_arithmetic,
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    clippy::alloc_instead_of_core
)]

// What `derive(Show)` writes names this crate.
extern crate self as unpause_protocols;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/tutorial/mechanism.md")]
struct Tutorial;

mod dispatch;
mod jitter;
#[cfg(test)]
mod link_buffers;
mod parameters;
mod timer;

pub mod by_name;
pub mod congestion_control;
pub mod congestion_point;
pub mod flow_control;
pub mod loss_recovery;
pub mod names;
pub mod notification;
pub mod notification_point;
pub mod pint;
pub mod scheduler;
pub mod spraying;
pub mod state_visitor;
pub mod tagging;
pub mod units;
