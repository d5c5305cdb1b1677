//! HPCC with PINT (SIGCOMM 2020).

use unpause_protocols::congestion_control::{self, pint};
use unpause_protocols::congestion_point::{self, pint as point};
use unpause_protocols::units::{Fraction, Time};
use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::text::keys::keys;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{DataRate, Duration, Ratio};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Pint {
    base_rtt: Time,
    rp: pint::Params,
}

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Pint {
        base_rtt: Duration = ["base RTT of the topology"]
            "T: switches measure utilisation over this time" => base_rtt;
        log_step: Ratio "ratio of a code's value to the next lower one, minus 1"
            from "HPCC's simulator: PINT_LOG_BASE 1.05" => rp.log_step;
        share: Ratio "share of packets that carry a code, chosen at random"
            from "HPCC's simulator: PINT_PROB" => rp.share;
        u_target: Ratio "target utilisation of the busiest link"
            from "HPCC paper: eta" => rp.u_target;
        mi_thresh: u32 "round trips of additive increase before a multiplicative one"
            from "HPCC paper: maxStage" => rp.mi_thresh;
        rate_ai: DataRate "step of additive increase"
            from "HPCC paper: W_AI of 80 B at T = 13 us" => rp.rate_ai;
        min_rate: DataRate "the rate never falls below this"
            from "HPCC's simulator" => rp.min_rate;
    }
}

impl Scheme for Pint {
    const NAME: &'static str = "pint";
    const SUMMARY: &'static str = "HPCC with PINT (SIGCOMM 2020): packets carry the use of the busiest port in a byte or two; windows are those of [host]";
    const REPLACEABLE: Option<&'static [&'static str]> = None;
    type Keys = Keys;

    fn without_base_rtt(keys: &Keys) -> Option<&'static str> {
        let is_written = keys.base_rtt.peek().is_some();
        (!is_written).then_some("base_rtt")
    }

    fn defaults(_keys: &Keys, base_rtt: Time) -> Self {
        let base_rtt = match base_rtt {
            Time::ZERO => point::Params::default().base_rtt,
            known => known,
        };
        Self {
            base_rtt,
            ..Self::default()
        }
    }

    fn check(&self, keys: &Keys) -> Checked<()> {
        const SMALLEST: Fraction = Fraction::from_ppm(200);
        match keys.log_step.peek() {
            Some(step) if self.rp.log_step < SMALLEST => {
                Problem::new("`log_step` is too small for a code of two bytes")
                    .at(step.span(), "below 1/5000")
                    .help("HPCC's simulator has 5 %")
                    .err()
            }
            _ => Ok(()),
        }
    }

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: congestion_point::Config::Pint(point::Params {
                base_rtt: self.base_rtt,
                log_step: self.rp.log_step,
            }),
            roce: congestion_control::Config::Pint(self.rp),
            ..SchemeConfig::default()
        }
    }
}
