//! DCTCP (SIGCOMM 2010).

use unpause_protocols::congestion_control::{self, dctcp};
use unpause_protocols::congestion_point::{self, dctcp_red};
use unpause_sim::config::SchemeConfig;
use unpause_sim::traffic::Transport;

use super::congestion_control::Scheme;
use crate::text::quantity::{Ratio, Size};
use crate::text::section::section;
use crate::text::setting::PowerOfHalf;

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Dctcp {
    cp: dctcp_red::Params,
    law: dctcp::Params,
}

section!(Keys for Dctcp {
    k: Size "a packet that finds so much in its egress queue is marked" => cp.threshold;
    g: PowerOfHalf "gain of alpha" => law.g_log2;
    alpha_init: Ratio "alpha at the start" => law.alpha_init;
});

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
