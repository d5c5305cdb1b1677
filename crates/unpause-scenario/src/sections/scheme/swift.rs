//! Swift (SIGCOMM 2020).

use unpause_protocols::congestion_control::{self, swift};
use unpause_protocols::units::Time;
use unpause_sim::config::SchemeConfig;
use unpause_text::error::Checked;
use unpause_text::quantity::{Duration, Ratio};

use super::congestion_control::Scheme;
use crate::text::keys::{self, Param, ordered};

pub(super) use swift::Params as Swift;

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Swift, from = "htsim")]
pub(super) struct Keys {
    /// target RTT of a flow with a large window
    #[key(unset = "1.5 x base RTT of the topology", from = "")]
    base_target: Param<Duration>,
    /// additional target of a flow with a small window
    #[key(unset = "5 x base_target")]
    fs_range: Param<Duration>,
    /// packets; windows up to this have the largest target
    fs_min_cwnd: Param<Ratio>,
    /// packets; windows at or above this have the smallest target
    fs_max_cwnd: Param<Ratio>,
    /// packets; additive increase in a round trip
    ai: Param<Ratio>,
    /// gain of a decrease
    beta: Param<Ratio>,
    /// largest single cut of a window
    max_mdf: Param<Ratio>,
    /// packets; the window never falls below this
    #[key(from = "ours: a packet a second at 1 ms; htsim has 10 bytes")]
    min_cwnd: Param<Ratio>,
    /// consecutive timeouts after which the window becomes `min_cwnd`
    retx_reset_threshold: Param<u32>,
}

impl Scheme for Swift {
    const NAME: &'static str = "swift";
    const SUMMARY: &'static str = "Swift (SIGCOMM 2020): windows that keep the RTT at a target";
    const BASE_RTT: Option<&'static str> = Some("base_target");
    type Keys = Keys;

    fn defaults(keys: &Keys) -> Self {
        let mut swift = Self::default();
        if let Some(written) = keys.base_target.peek() {
            set_base_target(&mut swift, written.get_ref().0);
        }
        swift
    }

    fn set_base_rtt(&mut self, base_rtt: Time) {
        set_base_target(self, Time::from_ps(base_rtt.as_ps().saturating_mul(3) / 2));
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

/// Sets the target, and the range that follows from it.
fn set_base_target(swift: &mut Swift, base_target: Time) {
    swift.base_target = base_target;
    swift.fs_range = Time::from_ps(base_target.as_ps().saturating_mul(5));
}
