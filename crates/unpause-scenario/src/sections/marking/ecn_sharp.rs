//! ECN# (CoNEXT 2019).

use serde_spanned::Spanned;
use unpause_protocols::congestion_point::Config;
use unpause_protocols::congestion_point::ecn_sharp::{self, Instantaneous};
use unpause_protocols::units::Time;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Duration;

use super::marker::Marker;
use crate::text::checks::both;
use crate::text::keys::{self, Param, ordered};
use crate::text::kind::OneOf;
use crate::text::setting::{EcnSharpVariant, SojournSignal};

/// Parameters of ECN#, with both ways to say when a queue is marked at once.
pub(super) struct EcnSharp {
    ins_target: Time,
    ins_min: Option<Time>,
    ins_max: Option<Time>,
    rest: ecn_sharp::Params,
}

impl Default for EcnSharp {
    fn default() -> Self {
        let rest = ecn_sharp::Params::default();
        let (Instantaneous::Above(ins_target) | Instantaneous::Linear { to: ins_target, .. }) =
            rest.instantaneous;
        Self {
            ins_target,
            ins_min: None,
            ins_max: None,
            rest,
        }
    }
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = EcnSharp)]
pub(super) struct Keys {
    /// mark packets that waited longer
    #[key(from = "paper: testbed; 90th percentile of the simulated RTTs")]
    ins_target: Param<Duration>,
    /// no instantaneous marks up to this waiting time, instead of `ins_target` (for DCQCN)
    ins_min: Param<Duration>,
    /// with `ins_min`: mark every packet above it, and between them with a probability that grows from 0 to 1
    ins_max: Param<Duration>,
    /// waiting time above which a queue may be persistent
    #[key(sets = rest.pst_target, from = "paper: testbed; its CoDel setting")]
    pst_target: Param<Duration>,
    /// how long a queue must persist; interval between the first two marks
    #[key(sets = rest.pst_interval, from = "paper: testbed; its CoDel setting")]
    pst_interval: Param<Duration>,
    /// law of the persistent marks: interval divided by the square root of their count; or `"paper"`: by their count
    #[key(sets = rest.variant, from = "the simulations come from that code")]
    variant: Param<EcnSharpVariant>,
    /// measure of the waiting time; or `"queue-length"`: bytes left behind, at the link's rate
    #[key(sets = rest.signal, from = "paper")]
    signal: Param<OneOf<SojournSignal>>,
}

impl Marker for EcnSharp {
    const NAME: &'static str = "ecn-sharp";
    const SUMMARY: &'static str =
        "ECN# (CoNEXT 2019): instantaneous and persistent queues, at dequeue";
    type Keys = Keys;

    fn check(&mut self, keys: &Keys) -> Checked<()> {
        let pst = ("pst_target", &keys.pst_target);
        self.rest.instantaneous = match (keys.ins_min.peek(), keys.ins_max.peek()) {
            (None, None) => {
                let ins = ("ins_target", &keys.ins_target);
                ordered(pst, &self.rest.pst_target, ins, &self.ins_target)?;
                Instantaneous::Above(self.ins_target)
            }
            (Some(min), Some(max)) => {
                if let Some(target) = keys.ins_target.peek() {
                    return both("ins_target", target, "ins_min", min);
                }
                let (from, to) = (min.get_ref().0, max.get_ref().0);
                let ins_max = ("ins_max", &keys.ins_max);
                ordered(("ins_min", &keys.ins_min), &from, ins_max, &to)?;
                ordered(pst, &self.rest.pst_target, ins_max, &to)?;
                Instantaneous::Linear { from, to }
            }
            (Some(alone), None) | (None, Some(alone)) => {
                return Problem::new("`ins_min` and `ins_max` go together")
                    .at(alone.span(), "only one is set")
                    .help("set both, or ins_target alone for a mark above one waiting time")
                    .err();
            }
        };
        if self.rest.pst_interval == Time::ZERO {
            let span = keys.pst_interval.peek().map_or(0..0, Spanned::span);
            return Problem::new("`pst_interval` is zero")
                .at(span, "must be above zero")
                .err();
        }
        Ok(())
    }

    fn config(self) -> Config {
        Config::EcnSharp(self.rest)
    }
}
