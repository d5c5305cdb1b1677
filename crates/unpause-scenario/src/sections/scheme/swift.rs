//! Swift (SIGCOMM 2020).

use unpause_protocols::congestion_control::{self, swift};
use unpause_protocols::units::Time;
use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::text::keys::{keys, ordered};
use unpause_text::error::Checked;
use unpause_text::quantity::{Duration, Ratio};

pub(super) use swift::Params as Swift;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Swift {
        base_target: Duration = ["1.5 x base RTT of the topology"] "target RTT of a flow with a large window"
            => base_target;
        fs_range: Duration = ["5 x base_target"] "additional target of a flow with a small window"
            from "htsim" => fs_range;
        fs_min_cwnd: Ratio "packets; windows up to this have the largest target"
            from "htsim" => fs_min_cwnd;
        fs_max_cwnd: Ratio "packets; windows at or above this have the smallest target"
            from "htsim" => fs_max_cwnd;
        ai: Ratio "packets; additive increase in a round trip"
            from "htsim" => ai;
        beta: Ratio "gain of a decrease"
            from "htsim" => beta;
        max_mdf: Ratio "largest single cut of a window"
            from "htsim" => max_mdf;
        min_cwnd: Ratio "packets; the window never falls below this"
            from "ours: a packet a second at 1 ms; htsim has 10 bytes" => min_cwnd;
        retx_reset_threshold: u32 "consecutive timeouts after which the window becomes `min_cwnd`"
            from "htsim" => retx_reset_threshold;
    }
}

impl Scheme for Swift {
    const NAME: &'static str = "swift";
    const SUMMARY: &'static str = "Swift (SIGCOMM 2020): windows that keep the RTT at a target";
    type Keys = Keys;

    fn without_base_rtt(keys: &Keys) -> Option<&'static str> {
        let is_written = keys.base_target.peek().is_some();
        (!is_written).then_some("base_target")
    }

    fn defaults(keys: &Keys, base_rtt: Time) -> Self {
        let base_target = keys.base_target.peek().map_or_else(
            || Time::from_ps(base_rtt.as_ps().saturating_mul(3) / 2),
            |written| written.get_ref().0,
        );
        Self {
            base_target,
            fs_range: Time::from_ps(base_target.as_ps().saturating_mul(5)),
            ..Self::default()
        }
    }

    fn check(&self, keys: &Keys) -> Checked<()> {
        let least = ("fs_min_cwnd", &keys.fs_min_cwnd);
        let most = ("fs_max_cwnd", &keys.fs_max_cwnd);
        ordered(least, &self.fs_min_cwnd, most, &self.fs_max_cwnd)
    }

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            roce: congestion_control::Config::Swift(self),
            ..SchemeConfig::default()
        }
    }
}
