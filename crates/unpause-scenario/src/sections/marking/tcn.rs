//! TCN (CoNEXT 2016).

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::tcn::Params as Tcn;
use unpause_text::quantity::Duration;

use super::marker::Marker;
use crate::text::keys::{self, Param};

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Tcn)]
pub(super) struct Keys {
    /// mark packets that waited longer
    #[key(from = "ECN♯ paper, scheduler experiment")]
    threshold: Param<Duration>,
}

impl Marker for Tcn {
    const NAME: &'static str = "tcn";
    const SUMMARY: &'static str = "TCN (CoNEXT 2016): one waiting time, at dequeue";
    type Keys = Keys;

    fn config(self) -> Config {
        Config::Tcn(self)
    }
}
