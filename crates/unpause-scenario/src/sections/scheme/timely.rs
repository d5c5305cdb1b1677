//! TIMELY (SIGCOMM 2015).

use serde_spanned::Spanned;
use unpause_protocols::congestion_control::{self, timely};
use unpause_protocols::units::Time;
use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::text::keys::{keys, ordered};
use crate::text::setting::TimelyVariant;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

pub(super) use timely::Params as Timely;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Timely {
        variant: TimelyVariant "which law; it sets the other defaults"
            => variant;
        ewma: Ratio "weight of the newest RTT difference"
            from "snippet; CoNEXT 2016" => ewma;
        t_low: Duration "below this RTT the rate always grows"
            from "snippet; TIMELY paper" => t_low;
        t_high: Duration "above this RTT the rate always falls"
            from "snippet; TIMELY paper" => t_high;
        min_rtt: Duration = ["base RTT of the topology"]
            "RTT that normalises the gradient: propagation there and back over the longest path, plus the longest `extra_delay` of `[host]`"
            => min_rtt;
        delta: DataRate "additive step"
            from "TIMELY paper" => delta;
        beta: Ratio "gain of a decrease"
            from "TIMELY paper; CoNEXT 2016" => beta;
        hai_after: u32 "consecutive falls of the RTT after which steps are larger; not if patched"
            from "TIMELY paper" => hai_after;
        hai_factor: u32 "factor of the larger steps; not if patched"
            from "TIMELY paper" => hai_factor;
        hai_delta: DataRate = ["-"] "instead of `hai_factor`: the larger step itself; not if patched"
            => hai_delta;
        segment: Size "size of a segment; no effect with `per-packet`"
            from "TIMELY paper, ns3-rdma" => segment_bytes;
        min_rate: DataRate "the rate never falls below this"
            from "ours: that of PCN; the paper states none" => min_rate;
    }
}

/// What is said of larger steps is said once, and where there are any.
fn larger_steps(params: &Timely, keys: &Keys) -> Checked<()> {
    let factor = keys.hai_factor.peek().map(Spanned::span);
    let delta = keys.hai_delta.peek().map(Spanned::span);
    if params.variant == timely::Variant::Patched {
        let after = keys.hai_after.peek().map(Spanned::span);
        let written = [
            ("hai_after", after),
            ("hai_factor", factor),
            ("hai_delta", delta),
        ];
        for (key, place) in written {
            if let Some(place) = place {
                return Problem::new(format!("`{key}` has no effect"))
                    .at(
                        place,
                        "steps never become larger with variant = \"patched\"",
                    )
                    .help("remove it, or choose another variant")
                    .err();
            }
        }
        return Ok(());
    }
    match (factor, delta) {
        (Some(factor), Some(delta)) => Problem::new("both `hai_factor` and `hai_delta` are set")
            .at(factor, "either this")
            .at(delta, "or this")
            .err(),
        _ => Ok(()),
    }
}

impl Scheme for Timely {
    const NAME: &'static str = "timely";
    const SUMMARY: &'static str = "TIMELY (SIGCOMM 2015): senders follow the gradient of the RTT";
    type Keys = Keys;

    fn variants() -> Vec<(&'static str, Self)> {
        vec![
            ("per-packet", Self::per_packet()),
            ("segment", Self::segment()),
            ("patched", Self::patched()),
            ("hpcc", Self::hpcc()),
        ]
    }

    fn without_base_rtt(keys: &Keys) -> Option<&'static str> {
        let is_written = keys.min_rtt.peek().is_some();
        (!is_written).then_some("min_rtt")
    }

    fn defaults(keys: &Keys, base_rtt: Time) -> Self {
        let variant = keys.variant.value();
        let mut params = match variant {
            None | Some(TimelyVariant::PerPacket) => Self::per_packet(),
            Some(TimelyVariant::Segment) => Self::segment(),
            Some(TimelyVariant::Patched) => Self::patched(),
            Some(TimelyVariant::Hpcc) => Self::hpcc(),
        };
        params.min_rtt = base_rtt;
        params
    }

    fn check(&self, keys: &Keys) -> Checked<()> {
        if let Some(segment) = keys.segment.peek()
            && matches!(
                self.variant,
                timely::Variant::PerPacket | timely::Variant::Hpcc
            )
        {
            return Problem::new("`segment` has no effect")
                .at(
                    segment.span(),
                    "packets are paced one by one in this variant",
                )
                .help("remove it, or set variant = \"segment\" or \"patched\"")
                .err();
        }
        larger_steps(self, keys)?;
        let (t_low, t_high) = (("t_low", &keys.t_low), ("t_high", &keys.t_high));
        ordered(t_low, &self.t_low, t_high, &self.t_high)
    }

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            roce: congestion_control::Config::Timely(self),
            ..SchemeConfig::default()
        }
    }
}
