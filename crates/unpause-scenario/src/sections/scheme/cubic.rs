//! TCP CUBIC (RFC 9438).

use unpause_protocols::congestion_control::{self, cubic};
use unpause_protocols::congestion_point::faults;
use unpause_sim::config::SchemeConfig;
use unpause_sim::traffic::Transport;

use super::congestion_control::Scheme;
use super::newreno::dropping;
use crate::text::quantity::Ratio;
use crate::text::section::section;

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Cubic {
    cp: faults::Params,
    law: cubic::Params,
}

section!(Keys for Cubic {
    c: Ratio "packets/s³; how fast the window grows" => law.c;
    beta: Ratio "what a loss leaves of the window" => law.beta;
    fast_convergence: bool "a flow whose window shrinks leaves some of it to others"
        => law.fast_convergence;
    ecn: bool "segments are ECN-capable, and a mark is answered like a loss" => law.ecn;
    drop_probability: Ratio "switches drop each data packet with this probability"
        => cp.drop_probability;
});

impl Scheme for Cubic {
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str =
        "TCP CUBIC (RFC 9438): the window grows with the time since a loss";
    const TRANSPORT: Transport = Transport::Tcp;
    const REPLACEABLE: Option<&'static [&'static str]> = Some(&["drop_probability"]);
    type Keys = Keys;

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: dropping(self.cp),
            tcp: congestion_control::Config::Cubic(self.law),
            ..SchemeConfig::default()
        }
    }
}
