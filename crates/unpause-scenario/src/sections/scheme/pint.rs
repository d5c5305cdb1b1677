//! HPCC with PINT (SIGCOMM 2020).

use unpause_protocols::congestion_control::{self, pint};
use unpause_protocols::congestion_point::{self, pint as point};
use unpause_protocols::units::{Fraction, Time};
use unpause_sim::config::SchemeConfig;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{DataRate, Duration, Ratio};

use super::congestion_control::Scheme;
use crate::text::keys::{self, Param};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Pint {
    base_rtt: Time,
    rp: pint::Params,
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Pint)]
pub(super) struct Keys {
    /// T: switches measure utilisation over this time
    #[key(unset = "base RTT of the topology")]
    base_rtt: Param<Duration>,
    /// ratio of a code's value to the next lower one, minus 1
    #[key(sets = rp.log_step, from = "HPCC's simulator: PINT_LOG_BASE 1.05")]
    log_step: Param<Ratio>,
    /// share of packets that carry a code, chosen at random
    #[key(sets = rp.share, from = "HPCC's simulator: PINT_PROB")]
    share: Param<Ratio>,
    /// target utilisation of the busiest link
    #[key(sets = rp.u_target, from = "HPCC paper: eta")]
    u_target: Param<Ratio>,
    /// round trips of additive increase before a multiplicative one
    #[key(sets = rp.mi_thresh, from = "HPCC paper: maxStage")]
    mi_thresh: Param<u32>,
    /// step of additive increase
    #[key(sets = rp.rate_ai, from = "HPCC paper: W_AI of 80 B at T = 13 us")]
    rate_ai: Param<DataRate>,
    /// the rate never falls below this
    #[key(sets = rp.min_rate, from = "HPCC's simulator")]
    min_rate: Param<DataRate>,
}

impl Scheme for Pint {
    const NAME: &'static str = "pint";
    const SUMMARY: &'static str = "HPCC with PINT (SIGCOMM 2020): packets carry the use of the busiest port in a byte or two; windows are those of [host]";
    const REPLACEABLE: Option<&'static [&'static str]> = None;
    const BASE_RTT: Option<&'static str> = Some("base_rtt");
    type Keys = Keys;

    fn set_base_rtt(&mut self, base_rtt: Time) {
        self.base_rtt = base_rtt;
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
