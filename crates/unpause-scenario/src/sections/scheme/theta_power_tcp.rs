//! θ-PowerTCP (NSDI 2022).

use unpause_protocols::congestion_control::{self, theta_power_tcp};
use unpause_sim::config::SchemeConfig;
use unpause_text::quantity::{DataRate, Duration, Ratio};

use super::congestion_control::Scheme;
use crate::text::keys::{self, Param};

pub(super) use theta_power_tcp::Params as ThetaPowerTcp;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = ThetaPowerTcp)]
pub(super) struct Keys {
    /// T: RTTs are divided by it, and the window is at most what a link carries in this time
    #[key(
        unset = "that of each flow's path, including the transmission time of packets at every hop",
        from = ""
    )]
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

impl Scheme for ThetaPowerTcp {
    const NAME: &'static str = "theta-powertcp";
    const SUMMARY: &'static str =
        "θ-PowerTCP (NSDI 2022): senders divide their window by the RTT and its gradient";
    type Keys = Keys;

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            roce: congestion_control::Config::ThetaPowerTcp(self),
            ..SchemeConfig::default()
        }
    }
}
