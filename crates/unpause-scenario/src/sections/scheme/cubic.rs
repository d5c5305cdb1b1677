//! TCP CUBIC (RFC 9438).

use unpause_protocols::congestion_control::{self, cubic};
use unpause_protocols::congestion_point::faults;
use unpause_sim::config::SchemeConfig;
use unpause_sim::traffic::Transport;
use unpause_text::quantity::Ratio;

use super::congestion_control::Scheme;
use super::newreno::dropping;
use crate::text::keys::{self, Param};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Cubic {
    cp: faults::Params,
    law: cubic::Params,
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Cubic)]
pub(super) struct Keys {
    /// packets/s³; how fast the window grows
    #[key(sets = law.c, from = "RFC 9438, 5")]
    c: Param<Ratio>,
    /// share of the window that remains after a loss
    #[key(sets = law.beta, from = "RFC 9438, 4.6")]
    beta: Param<Ratio>,
    /// a flow whose window shrinks releases capacity to others
    #[key(sets = law.fast_convergence, from = "RFC 9438, 4.7: should be")]
    fast_convergence: Param<bool>,
    /// segments are ECN-capable, and a mark is answered like a loss
    #[key(sets = law.ecn, from = "RFC 9438, 4.6: a mark is answered like a loss, if ECN is in use")]
    ecn: Param<bool>,
    /// switches drop each data packet with this probability
    #[key(sets = cp.drop_probability)]
    drop_probability: Param<Ratio>,
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
