//! ECN# as a Tofino computes it.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::tofino::Params as EcnSharpTofino;
use unpause_text::error::Checked;
use unpause_text::quantity::Duration;

use super::marker::Marker;
use crate::text::keys::{self, Param, ordered};
use crate::text::setting::TofinoLoad;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = EcnSharpTofino)]
pub(super) struct Keys {
    /// mark packets that waited longer
    #[key(from = "paper, testbed")]
    ins_target: Param<Duration>,
    /// waiting time above which a queue may be persistent
    #[key(from = "paper, testbed")]
    pst_target: Param<Duration>,
    /// how long a queue must persist; interval between the first two marks
    #[key(from = "paper, testbed")]
    pst_interval: Param<Duration>,
    /// conversion of times to ticks of 1.024 us; or `"unscaled"`: one tick per us
    #[key(from = "ours: Unscaled loads microseconds as ticks, which are 2.4 % longer")]
    load: Param<TofinoLoad>,
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
