//! TCP connections, packet by packet and by the laws of the literature.

mod congestion_transcripts;
mod laws;
mod losses;
mod mixed;
mod pool;
mod qdisc;
mod transcripts;

use std::fmt::Write as _;

use unpause_protocols::congestion_control;
use unpause_protocols::congestion_point::{self, faults};
use unpause_protocols::loss_recovery::newreno;
use unpause_sim::config::{AckPriority, Config, NodeId};
use unpause_sim::results::Results;
use unpause_sim::traffic::{FlowSpec, Transport};

use crate::common::*;
use crate::transcript::PACKETS;

const MSS: u64 = 1400;

/// No burst limit, and a window that grows only as it is used.
pub fn params() -> newreno::Params {
    newreno::Params {
        max_burst: None,
        grow_only_if_limiting: true,
        ..newreno::Params::default()
    }
}

/// The same, from so many segments on.
pub fn window(initial_window: u32) -> newreno::Params {
    newreno::Params {
        initial_window,
        ..params()
    }
}

pub fn cubic(tcp: newreno::Params) -> Law {
    (congestion_control::Config::Cubic(Default::default()), tcp)
}

/// A law, and the TCP that repairs losses under it.
pub type Law = (congestion_control::Config, newreno::Params);

pub fn reno(tcp: newreno::Params) -> Law {
    (congestion_control::Config::NewReno(Default::default()), tcp)
}
pub fn ecn(tcp: newreno::Params) -> Law {
    (congestion_control::Config::EcnTcp(Default::default()), tcp)
}
pub fn dctcp(tcp: newreno::Params) -> Law {
    (congestion_control::Config::Dctcp(Default::default()), tcp)
}

pub fn tcp_flow(src: NodeId, dst: NodeId, size_bytes: Option<u64>) -> FlowSpec {
    FlowSpec {
        size_bytes,
        transport: Transport::Tcp,
        ..flow(src, dst)
    }
}

/// Flow 0 from host 1 to host 2 on a switch, 10 Gb/s and 10 us a link, in a lossy priority. SYNs and
/// ACKs go in the control priority, so that `drop` and `mark` choose among its segments alone.
pub fn pair(law: Law, bytes: u64, drop: &[u32], mark: &[u32]) -> Config {
    let fabric = star(&[gbps(10), gbps(10)], us(10));
    let mut config = config(fabric, vec![tcp_flow(1, 2, Some(bytes))], ms(100));
    config.switch.lossless = 0;
    (config.scheme.tcp, config.host.tcp.recovery) = law;
    config.scheme.congestion_point =
        congestion_point::Config::Faults(faults::Params::chosen(drop, mark));
    config.host.tcp.ack_priority = AckPriority::Control;
    config
}

/// What the two hosts of flow 0 send, a line for each packet, with what becomes of it.
pub fn transcript(config: &Config) -> (String, Results) {
    let (mut text, results) = crate::transcript::transcript(config, PACKETS);
    let flow = &results.flows[0];
    let fct = flow.fct.map_or("never".into(), |fct| fct.to_string());
    writeln!(
        text,
        "complete: {fct}, ideal {}; sent again {}, timeouts {}{}",
        flow.ideal_fct.map_or("none".into(), |fct| fct.to_string()),
        flow.retransmitted_packets,
        flow.timeouts,
        if flow.gave_up { ", gave up" } else { "" },
    )
    .unwrap();
    (text, results)
}
