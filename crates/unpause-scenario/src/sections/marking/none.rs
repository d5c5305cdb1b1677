//! No marks.

use unpause_protocols::congestion_point::Config;

use super::marker::Marker;
use crate::text::keys::keys;

/// It has no parameters.
#[derive(Default)]
pub(super) struct NoMarks;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for NoMarks {}
}

impl Marker for NoMarks {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "no marks";
    const MARKS: bool = false;
    type Keys = Keys;

    fn config(self) -> Config {
        Config::None
    }
}
