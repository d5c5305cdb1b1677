//! The text of files: quantities with units, counts, lists of names, excerpts, errors with positions, and the limits
//! that keep reading them within bounds.

pub mod count;
pub mod error;
mod excerpt;
pub mod limits;
pub mod name_list;
pub mod quantity;
mod ratio;
