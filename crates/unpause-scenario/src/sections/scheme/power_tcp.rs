//! PowerTCP (NSDI 2022).

use unpause_protocols::congestion_control::{self, power_tcp};
use unpause_protocols::congestion_point;
use unpause_protocols::units::Time;
use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::text::keys::keys;
use unpause_text::quantity::{DataRate, Duration, Ratio};

pub(super) use power_tcp::Params as PowerTcp;

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for PowerTcp {
        base_rtt: Duration = ["base RTT of the topology"]
            "T: the window is at most what a link carries in this time"
            => base_rtt;
        gamma: Ratio "weight of the new window relative to the current one"
            from "PowerTCP paper" => gamma;
        rate_ai: DataRate "additive increase of the window, as a rate over `base_rtt`: beta"
            from "authors' simulator" => rate_ai;
        min_rate: DataRate "the rate never falls below this"
            from "authors' simulator" => min_rate;
    }
}

impl Scheme for PowerTcp {
    const NAME: &'static str = "powertcp";
    const SUMMARY: &'static str = "PowerTCP (NSDI 2022): switches write queue and bytes sent into packets, senders divide their window by the power of the busiest port";
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

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: congestion_point::Config::Telemetry(Default::default()),
            roce: congestion_control::Config::PowerTcp(self),
            ..SchemeConfig::default()
        }
    }
}
