//! ECN# as a Tofino computes it.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::tofino::Params as EcnSharpTofino;

use super::marker::Marker;
use crate::text::error::Checked;
use crate::text::quantity::Duration;
use crate::text::section::{ordered, section};
use crate::text::setting::TofinoLoad;

section!(Keys for EcnSharpTofino {
    ins_target: Duration "a packet that waited longer is marked" => ins_target;
    pst_target: Duration "from this waiting time on a queue may be persistent" => pst_target;
    pst_interval: Duration "how long it must last; distance of the first two marks" => pst_interval;
    load: TofinoLoad "how times become ticks of 1.024 us; or `\"unscaled\"`: one for each us" => load;
});

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
