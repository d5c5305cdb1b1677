//! ECN# as a Tofino computes it.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::tofino::Params as EcnSharpTofino;

use super::marker::Marker;
use crate::text::keys::{keys, ordered};
use crate::text::setting::TofinoLoad;
use unpause_text::error::Checked;
use unpause_text::quantity::Duration;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for EcnSharpTofino {
        ins_target: Duration "mark packets that waited longer"
            from "paper, testbed" => ins_target;
        pst_target: Duration "waiting time above which a queue may be persistent"
            from "paper, testbed" => pst_target;
        pst_interval: Duration "how long a queue must persist; interval between the first two marks"
            from "paper, testbed" => pst_interval;
        load: TofinoLoad "conversion of times to ticks of 1.024 us; or `\"unscaled\"`: one tick per us"
            from "ours: Unscaled loads microseconds as ticks, which are 2.4 % longer" => load;
    }
}

impl Marker for EcnSharpTofino {
    const NAME: &'static str = "ecn-sharp-tofino";
    const SUMMARY: &'static str = "ECN# with the clock and the division of a Tofino";
    type Keys = Keys;

    fn check(&mut self, keys: &Keys) -> Checked<()> {
        let (pst, ins) = (
            ("pst_target", &keys.pst_target),
            ("ins_target", &keys.ins_target),
        );
        ordered(pst, &self.pst_target, ins, &self.ins_target)
    }

    fn config(self) -> Config {
        Config::Tofino(self)
    }
}
