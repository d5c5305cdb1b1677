//! DCTCP (SIGCOMM 2010).

use unpause_protocols::congestion_control::{self, dctcp};
use unpause_protocols::congestion_point::{self, dctcp_red};
use unpause_sim::config::SchemeConfig;
use unpause_sim::traffic::Transport;

use super::congestion_control::Scheme;
use crate::text::keys::keys;
use crate::text::setting::PowerOfHalf;
use unpause_text::quantity::{Ratio, Size};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Dctcp {
    cp: dctcp_red::Params,
    law: dctcp::Params,
}

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Dctcp {
        k: Size "mark packets that arrive to an egress queue at least this long"
            from "ECN♯ paper, testbed: K from the 90th percentile RTT and from the average" => cp.threshold;
        g: PowerOfHalf "gain of alpha"
            from "DCTCP paper: g = 1/16" => law.g_log2;
        alpha_init: Ratio "alpha at the start"
            from "RFC 8257, the authors' code" => law.alpha_init;
    }
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
