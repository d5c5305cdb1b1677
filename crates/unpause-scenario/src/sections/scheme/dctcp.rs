//! DCTCP (SIGCOMM 2010).

use unpause_protocols::congestion_control::{self, dctcp};
use unpause_protocols::congestion_point::{self, dctcp_red};
use unpause_sim::config::SchemeConfig;
use unpause_sim::traffic::Transport;
use unpause_text::quantity::{Ratio, Size};

use super::congestion_control::Scheme;
use crate::text::keys::{self, Param};
use crate::text::setting::PowerOfHalf;

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Dctcp {
    cp: dctcp_red::Params,
    law: dctcp::Params,
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Dctcp)]
pub(super) struct Keys {
    /// mark packets that arrive to an egress queue at least this long
    #[key(sets = cp.threshold, from = "ECN♯ paper, testbed: K from the 90th percentile RTT and from the average")]
    k: Param<Size>,
    /// gain of alpha
    #[key(sets = law.g_log2, from = "DCTCP paper: g = 1/16")]
    g: Param<PowerOfHalf>,
    /// alpha at the start
    #[key(sets = law.alpha_init, from = "RFC 8257, the authors' code")]
    alpha_init: Param<Ratio>,
}

impl Scheme for Dctcp {
    const NAME: &'static str = "dctcp";
    const SUMMARY: &'static str = "DCTCP (SIGCOMM 2010): the window is cut by the share of marks";
    const TRANSPORT: Transport = Transport::Tcp;
    const MARKS: bool = true;
    const REPLACEABLE: Option<&'static [&'static str]> = Some(&["k"]);
    type Keys = Keys;

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: congestion_point::Config::DctcpRed(self.cp),
            tcp: congestion_control::Config::Dctcp(self.law),
            ..SchemeConfig::default()
        }
    }
}
