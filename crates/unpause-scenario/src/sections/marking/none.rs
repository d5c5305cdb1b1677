//! No marks.

use unpause_protocols::congestion_point::Config;

use super::marker::Marker;
use crate::text::keys::{self};

/// It has no parameters.
#[derive(Default)]
pub(super) struct NoMarks;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = NoMarks)]
pub(super) struct Keys {}

impl Marker for NoMarks {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "no marks";
    const MARKS: bool = false;
    type Keys = Keys;

    fn config(self) -> Config {
        Config::None
    }
}
