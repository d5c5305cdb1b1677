//! TCP CUBIC (RFC 9438).

use unpause_protocols::congestion_control::{self, cubic};
use unpause_protocols::congestion_point::faults;
use unpause_sim::config::SchemeConfig;
use unpause_sim::traffic::Transport;

use super::congestion_control::Scheme;
use super::newreno::dropping;
use crate::text::keys::keys;
use unpause_text::quantity::Ratio;

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Cubic {
    cp: faults::Params,
    law: cubic::Params,
}

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Cubic {
        c: Ratio "packets/s³; how fast the window grows"
            from "RFC 9438, 5" => law.c;
        beta: Ratio "share of the window that remains after a loss"
            from "RFC 9438, 4.6" => law.beta;
        fast_convergence: bool "a flow whose window shrinks releases capacity to others"
            from "RFC 9438, 4.7: should be" => law.fast_convergence;
        ecn: bool "segments are ECN-capable, and a mark is answered like a loss"
            from "RFC 9438, 4.6: a mark is answered like a loss, if ECN is in use" => law.ecn;
        drop_probability: Ratio "switches drop each data packet with this probability"
            => cp.drop_probability;
    }
}

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
