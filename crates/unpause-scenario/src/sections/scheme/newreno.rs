//! TCP NewReno (RFC 6582).

use unpause_protocols::congestion_control;
use unpause_protocols::congestion_point::{self, faults};
use unpause_protocols::units::Fraction;
use unpause_sim::config::SchemeConfig;
use unpause_sim::traffic::Transport;
use unpause_text::quantity::Ratio;

use super::congestion_control::Scheme;
use crate::text::keys::{self, Param};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct NewReno {
    cp: faults::Params,
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = NewReno)]
pub(super) struct Keys {
    /// every egress queue of a switch drops each packet with this probability, except for the control priority
    #[key(sets = cp.drop_probability)]
    drop_probability: Param<Ratio>,
}

/// The congestion point that drops packets, if any are to be dropped.
pub(super) fn dropping(faults: faults::Params) -> congestion_point::Config {
    if faults.drop_probability > Fraction::ZERO {
        congestion_point::Config::Faults(faults)
    } else {
        congestion_point::Config::None
    }
}

impl Scheme for NewReno {
    const NAME: &'static str = "newreno";
    const SUMMARY: &'static str = "TCP NewReno (RFC 6582): the window is halved at a loss";
    const TRANSPORT: Transport = Transport::Tcp;
    const REPLACEABLE: Option<&'static [&'static str]> = Some(&["drop_probability"]);
    type Keys = Keys;

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: dropping(self.cp),
            tcp: congestion_control::Config::NewReno(Default::default()),
            ..SchemeConfig::default()
        }
    }
}
