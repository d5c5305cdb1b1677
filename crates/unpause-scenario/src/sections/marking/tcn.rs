//! TCN (CoNEXT 2016).

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::tcn::Params as Tcn;

use super::marker::Marker;
use crate::text::quantity::Duration;
use crate::text::section::section;

section!(Keys for Tcn {
    threshold: Duration "a packet that waited longer is marked" => threshold;
});

impl Marker for Tcn {
    const NAME: &'static str = "tcn";
    const SUMMARY: &'static str = "TCN (CoNEXT 2016): one waiting time, at dequeue";
    type Keys = Keys;

    fn config(self) -> Config {
        Config::Tcn(self)
    }
}
