//! Packet-level simulator of Ethernet fabrics.

pub mod config;
pub mod results;
pub mod traffic;
