//! HPCC (SIGCOMM 2019).

use unpause_protocols::congestion_control::{self, hpcc};
use unpause_protocols::congestion_point;
use unpause_protocols::units::Time;
use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::text::keys::keys;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

pub(super) use hpcc::Params as Hpcc;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Hpcc {
        base_rtt: Duration = ["base RTT of the topology"]
            "T: windows are measured by what a link can carry in this time"
            => base_rtt;
        window: Size = ["line rate x `base_rtt`"] "payload in flight at line rate" from "HPCC paper" => window;
        per_path: bool "base RTT and window of each flow's own path instead"
            from "HPCC's simulator: GLOBAL_T 0" => per_path;
        fixed_window: bool "the window does not shrink with the rate"
            from "HPCC's simulator: VAR_WIN 0" => fixed_window;
        u_target: Ratio "target utilisation of the busiest link"
            from "HPCC paper: eta" => u_target;
        mi_thresh: u32 "round trips of additive increase before a multiplicative one"
            from "HPCC paper: maxStage" => mi_thresh;
        fast_react: bool "reacts to every ACK, not only once a round trip"
            from "HPCC paper" => fast_react;
        multi_rate: bool "one rate per hop, the lowest applies"
            from "HPCC's simulator" => multi_rate;
        sample_feedback: bool "between round trips only hops with a queue count"
            from "HPCC's simulator" => sample_feedback;
        tx_unit: Size "unit in which switches report bytes sent"
            from "HPCC's simulator: INT header" => tx_unit;
        queue_unit: Size "unit in which switches report queue lengths"
            from "HPCC's simulator: INT header" => queue_unit;
        unknown_rate: DataRate = ["-"]
            "rate that switches report for links other than 25, 50, 100, 200 and 400 Gb/s, for which HPCC's simulator has no code: it reports 25 Gb/s"
            => unknown_rate;
        rate_ai: DataRate "step of additive increase"
            from "HPCC paper: W_AI of 80 B at T = 13 us" => rate_ai;
        min_rate: DataRate "the rate never falls below this"
            from "HPCC's simulator" => min_rate;
    }
}

impl Scheme for Hpcc {
    const NAME: &'static str = "hpcc";
    const SUMMARY: &'static str = "HPCC (SIGCOMM 2019): switches write queue and bytes sent into packets, senders aim at 95 % of the busiest link";
    const REPLACEABLE: Option<&'static [&'static str]> = None;
    type Keys = Keys;

    fn without_base_rtt(keys: &Keys) -> Option<&'static str> {
        let is_written = keys.base_rtt.peek().is_some();
        (!is_written).then_some("base_rtt")
    }

    fn defaults(_keys: &Keys, base_rtt: Time) -> Self {
        let base_rtt = match base_rtt {
            Time::ZERO => Self::default().base_rtt,
            known => known,
        };
        Self {
            base_rtt,
            ..Self::default()
        }
    }

    fn check(&self, keys: &Keys) -> Checked<()> {
        if !self.per_path {
            return Ok(());
        }
        for (key, place) in [
            ("base_rtt", keys.base_rtt.peek().map(|it| it.span())),
            ("window", keys.window.peek().map(|it| it.span())),
        ] {
            if let Some(place) = place {
                return Problem::new(format!("`{key}` has no effect"))
                    .at(place, "per_path takes that of each flow's path")
                    .help("remove it, or `per_path`")
                    .err();
            }
        }
        Ok(())
    }

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: congestion_point::Config::Telemetry(Default::default()),
            roce: congestion_control::Config::Hpcc(self),
            ..SchemeConfig::default()
        }
    }
}
