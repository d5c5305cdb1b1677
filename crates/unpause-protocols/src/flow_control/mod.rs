//! Who may transmit at all.

pub mod capfc;
pub mod credits;
pub mod pfc;
pub mod watchdog;
