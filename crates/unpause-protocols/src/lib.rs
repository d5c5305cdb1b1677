//! Congestion management mechanisms as pure state machines.
#![no_std]

pub mod units;
