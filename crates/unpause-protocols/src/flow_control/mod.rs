//! Who may transmit at all.

pub mod pfc;
