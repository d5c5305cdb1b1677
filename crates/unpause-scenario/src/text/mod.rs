//! The text of a scenario: its document, its quantities, and what is said of a mistake in it.

pub(crate) mod by_rate;
pub(crate) mod checks;
pub mod count;
pub(crate) mod document;
pub(crate) mod error;
mod excerpt;
pub(crate) mod fields;
pub(crate) mod keys;
pub(crate) mod kind;
pub(crate) mod name_list;
pub mod quantity;
mod ratio;
pub(crate) mod setting;
