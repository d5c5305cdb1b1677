//! PowerTCP (NSDI 2022).

use unpause_protocols::congestion_control::{self, power_tcp};
use unpause_protocols::congestion_point;
use unpause_protocols::units::Time;
use unpause_sim::config::SchemeConfig;
use unpause_text::quantity::{DataRate, Duration, Ratio};

use super::congestion_control::Scheme;
use crate::text::keys::{self, Param};

pub(super) use power_tcp::Params as PowerTcp;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = PowerTcp)]
pub(super) struct Keys {
    /// T: the window is at most what a link carries in this time
    #[key(unset = "base RTT of the topology")]
    base_rtt: Param<Duration>,
    /// weight of the new window relative to the current one
    #[key(from = "PowerTCP paper")]
    gamma: Param<Ratio>,
    /// additive increase of the window, as a rate over `base_rtt`: beta
    #[key(from = "authors' simulator")]
    rate_ai: Param<DataRate>,
    /// the rate never falls below this
    #[key(from = "authors' simulator")]
    min_rate: Param<DataRate>,
}

impl Scheme for PowerTcp {
    const NAME: &'static str = "powertcp";
    const SUMMARY: &'static str = "PowerTCP (NSDI 2022): switches write queue and bytes sent into packets, senders divide their window by the power of the busiest port";
    const REPLACEABLE: Option<&'static [&'static str]> = None;
    const BASE_RTT: Option<&'static str> = Some("base_rtt");
    type Keys = Keys;

    fn set_base_rtt(&mut self, base_rtt: Time) {
        self.base_rtt = base_rtt;
    }

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: congestion_point::Config::Telemetry(Default::default()),
            roce: congestion_control::Config::PowerTcp(self),
            ..SchemeConfig::default()
        }
    }
}
