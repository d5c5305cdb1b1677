//! TCN (CoNEXT 2016).

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::tcn::Params as Tcn;

use super::marker::Marker;
use crate::text::keys::keys;
use unpause_text::quantity::Duration;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Tcn {
        threshold: Duration "mark packets that waited longer"
            from "ECN♯ paper, scheduler experiment" => threshold;
    }
}

impl Marker for Tcn {
    const NAME: &'static str = "tcn";
    const SUMMARY: &'static str = "TCN (CoNEXT 2016): one waiting time, at dequeue";
    type Keys = Keys;

    fn config(self) -> Config {
        Config::Tcn(self)
    }
}
