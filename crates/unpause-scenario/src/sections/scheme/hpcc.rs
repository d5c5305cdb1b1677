//! HPCC (SIGCOMM 2019).

use unpause_protocols::congestion_control::{self, hpcc};
use unpause_protocols::congestion_point;
use unpause_protocols::units::Time;
use unpause_sim::config::SchemeConfig;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

use super::congestion_control::Scheme;
use crate::text::keys::{self, Param};

pub(super) use hpcc::Params as Hpcc;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Hpcc)]
pub(super) struct Keys {
    /// T: windows are measured by what a link can carry in this time
    #[key(unset = "base RTT of the topology")]
    base_rtt: Param<Duration>,
    /// payload in flight at line rate
    #[key(unset = "line rate x `base_rtt`", from = "HPCC paper")]
    window: Param<Size>,
    /// base RTT and window of each flow's own path instead
    #[key(from = "HPCC's simulator: GLOBAL_T 0")]
    per_path: Param<bool>,
    /// the window does not shrink with the rate
    #[key(from = "HPCC's simulator: VAR_WIN 0")]
    fixed_window: Param<bool>,
    /// target utilisation of the busiest link
    #[key(from = "HPCC paper: eta")]
    u_target: Param<Ratio>,
    /// round trips of additive increase before a multiplicative one
    #[key(from = "HPCC paper: maxStage")]
    mi_thresh: Param<u32>,
    /// reacts to every ACK, not only once a round trip
    #[key(from = "HPCC paper")]
    fast_react: Param<bool>,
    /// one rate per hop, the lowest applies
    #[key(from = "HPCC's simulator")]
    multi_rate: Param<bool>,
    /// between round trips only hops with a queue count
    #[key(from = "HPCC's simulator")]
    sample_feedback: Param<bool>,
    /// unit in which switches report bytes sent
    #[key(from = "HPCC's simulator: INT header")]
    tx_unit: Param<Size>,
    /// unit in which switches report queue lengths
    #[key(from = "HPCC's simulator: INT header")]
    queue_unit: Param<Size>,
    /// rate that switches report for links other than 25, 50, 100, 200 and 400 Gb/s, for which HPCC's simulator has no code: it reports 25 Gb/s
    #[key(unset = "-")]
    unknown_rate: Param<DataRate>,
    /// step of additive increase
    #[key(from = "HPCC paper: W_AI of 80 B at T = 13 us")]
    rate_ai: Param<DataRate>,
    /// the rate never falls below this
    #[key(from = "HPCC's simulator")]
    min_rate: Param<DataRate>,
}

impl Scheme for Hpcc {
    const NAME: &'static str = "hpcc";
    const SUMMARY: &'static str = "HPCC (SIGCOMM 2019): switches write queue and bytes sent into packets, senders aim at 95 % of the busiest link";
    const REPLACEABLE: Option<&'static [&'static str]> = None;
    const BASE_RTT: Option<&'static str> = Some("base_rtt");
    type Keys = Keys;

    fn set_base_rtt(&mut self, base_rtt: Time) {
        self.base_rtt = base_rtt;
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
