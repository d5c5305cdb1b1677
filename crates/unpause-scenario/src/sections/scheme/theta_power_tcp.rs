//! θ-PowerTCP (NSDI 2022).

use unpause_protocols::congestion_control::{self, theta_power_tcp};
use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::text::keys::keys;
use unpause_text::quantity::{DataRate, Duration, Ratio};

pub(super) use theta_power_tcp::Params as ThetaPowerTcp;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for ThetaPowerTcp {
        base_rtt: Duration = ["that of each flow's path, including the transmission time of packets at every hop"]
            "T: RTTs are divided by it, and the window is at most what a link carries in this time"
            => base_rtt;
        gamma: Ratio "weight of the new window relative to the current one"
            from "PowerTCP paper" => gamma;
        rate_ai: DataRate "additive increase of the window, as a rate over `base_rtt`: beta"
            from "authors' simulator" => rate_ai;
        min_rate: DataRate "the rate never falls below this"
            from "authors' simulator" => min_rate;
    }
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
