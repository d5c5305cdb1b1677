//! TIMELY (SIGCOMM 2015).

use serde_spanned::Spanned;
use unpause_protocols::congestion_control::{self, timely};
use unpause_protocols::units::Time;
use unpause_sim::config::SchemeConfig;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

use super::congestion_control::Scheme;
use crate::text::keys::{self, Param, ordered};
use crate::text::setting::TimelyVariant;

pub(super) use timely::Params as Timely;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Timely)]
pub(super) struct Keys {
    /// which law; it sets the other defaults
    variant: Param<TimelyVariant>,
    /// weight of the newest RTT difference
    #[key(from = "snippet; CoNEXT 2016")]
    ewma: Param<Ratio>,
    /// below this RTT the rate always grows
    #[key(from = "snippet; TIMELY paper")]
    t_low: Param<Duration>,
    /// above this RTT the rate always falls
    #[key(from = "snippet; TIMELY paper")]
    t_high: Param<Duration>,
    /// RTT that normalises the gradient: propagation there and back over the longest path, plus the longest `extra_delay` of `[host]`
    #[key(unset = "base RTT of the topology")]
    min_rtt: Param<Duration>,
    /// additive step
    #[key(from = "TIMELY paper")]
    delta: Param<DataRate>,
    /// gain of a decrease
    #[key(from = "TIMELY paper; CoNEXT 2016")]
    beta: Param<Ratio>,
    /// consecutive falls of the RTT after which steps are larger; not if patched
    #[key(from = "TIMELY paper")]
    hai_after: Param<u32>,
    /// factor of the larger steps; not if patched
    #[key(from = "TIMELY paper")]
    hai_factor: Param<u32>,
    /// instead of `hai_factor`: the larger step itself; not if patched
    #[key(unset = "-")]
    hai_delta: Param<DataRate>,
    /// size of a segment; no effect with `per-packet`
    #[key(sets = segment_bytes, from = "TIMELY paper, ns3-rdma")]
    segment: Param<Size>,
    /// the rate never falls below this
    #[key(from = "ours: that of PCN; the paper states none")]
    min_rate: Param<DataRate>,
}

/// Refuses settings of larger steps that exclude one another, or where there are no larger steps.
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
    const BASE_RTT: Option<&'static str> = Some("min_rtt");
    type Keys = Keys;

    fn variants() -> Vec<(&'static str, Self)> {
        vec![
            ("per-packet", Self::per_packet()),
            ("segment", Self::segment()),
            ("patched", Self::patched()),
            ("hpcc", Self::hpcc()),
        ]
    }

    fn defaults(keys: &Keys) -> Self {
        let variant = keys.variant.value();
        match variant.map(|variant| variant.0) {
            None | Some(timely::Variant::PerPacket) => Self::per_packet(),
            Some(timely::Variant::Segment) => Self::segment(),
            Some(timely::Variant::Patched) => Self::patched(),
            Some(timely::Variant::Hpcc) => Self::hpcc(),
        }
    }

    fn set_base_rtt(&mut self, base_rtt: Time) {
        self.min_rtt = base_rtt;
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
