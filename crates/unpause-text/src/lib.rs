//! The text of files: quantities with units, counts, lists of names, excerpts, errors with positions, and the limits
//! that keep reading them within bounds; text of others made harmless.

pub mod count;
pub mod error;
mod excerpt;
pub mod limits;
pub mod name_list;
pub mod plain;
pub mod quantity;
mod ratio;
