//! Who may transmit at all.

pub mod capfc;
pub mod cbfc;
pub mod pfc;
pub mod watchdog;
