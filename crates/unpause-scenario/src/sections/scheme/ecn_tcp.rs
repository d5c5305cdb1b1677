//! TCP with ECN (RFC 3168).

use unpause_protocols::congestion_control;
use unpause_protocols::congestion_point::{self, dctcp_red};
use unpause_sim::config::SchemeConfig;
use unpause_sim::traffic::Transport;
use unpause_text::quantity::Size;

use super::congestion_control::Scheme;
use crate::text::keys::{self, Param};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct EcnTcp {
    cp: dctcp_red::Params,
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = EcnTcp)]
pub(super) struct Keys {
    /// mark packets that arrive to an egress queue at least this long
    #[key(sets = cp.threshold, from = "ECN♯ paper, testbed: K from the 90th percentile RTT and from the average")]
    k: Param<Size>,
}

impl Scheme for EcnTcp {
    const NAME: &'static str = "ecn-tcp";
    const SUMMARY: &'static str = "TCP with ECN (RFC 3168): the window is halved at a mark, too";
    const TRANSPORT: Transport = Transport::Tcp;
    const MARKS: bool = true;
    const REPLACEABLE: Option<&'static [&'static str]> = Some(&["k"]);
    type Keys = Keys;

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: congestion_point::Config::DctcpRed(self.cp),
            tcp: congestion_control::Config::EcnTcp(Default::default()),
            ..SchemeConfig::default()
        }
    }
}
