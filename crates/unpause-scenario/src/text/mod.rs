//! The text of a scenario: its document, its quantities, and what is said of a mistake in it.

pub(crate) mod by_rate;
pub(crate) mod checks;
pub(crate) mod document;
pub(crate) mod keys;
pub(crate) mod kind;
pub(crate) mod setting;
