//! TCP connections, packet by packet and by the laws of the literature.

mod laws;
mod losses;
mod mixed;
mod transcripts;

use std::fmt::Write as _;

use unpause_protocols::congestion_point::{self, faults};
use unpause_protocols::window::{self, dctcp, ecn_tcp, newreno};
use unpause_sim::config::{AckPriority, Config, NodeId};
use unpause_sim::results::{PacketKind, PacketRecord, Results};
use unpause_sim::traffic::{FlowSpec, TrafficSpec, Transport};

use crate::common::*;

const MSS: u64 = 1400;

/// No burst limit, and a window that grows only as it is used.
pub fn params() -> newreno::Params {
    newreno::Params {
        max_burst: None,
        grow_only_if_limiting: true,
        ..newreno::Params::default()
    }
}

pub fn reno(tcp: newreno::Params) -> window::Config {
    window::Config::NewReno(tcp)
}
pub fn ecn(tcp: newreno::Params) -> window::Config {
    window::Config::EcnTcp(ecn_tcp::Params { tcp })
}
pub fn dctcp(tcp: newreno::Params) -> window::Config {
    window::Config::Dctcp(dctcp::Params {
        tcp,
        ..dctcp::Params::default()
    })
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
pub fn pair(law: window::Config, bytes: u64, drop: &[u32], mark: &[u32]) -> Config {
    let fabric = star(&[gbps(10), gbps(10)], us(10));
    let mut config = config(fabric, vec![tcp_flow(1, 2, Some(bytes))], ms(100));
    config.switch.lossless = 0;
    config.scheme.window = law;
    config.scheme.congestion_point =
        congestion_point::Config::Faults(faults::Params::chosen(drop, mark));
    config.host.tcp.ack_priority = AckPriority::Control;
    config
}

/// What the two hosts of flow 0 send, a line for each packet, with what becomes of it.
pub fn transcript(config: &Config) -> (String, Results) {
    let mut config = config.clone();
    let TrafficSpec::Flows(flows) = &config.traffic[0] else {
        unreachable!("tests name their flows")
    };
    let (src, dst, size) = (flows[0].src, flows[0].dst, flows[0].size_bytes);
    let host_port = |host: NodeId| (0, (host - 1) as u16);
    config.probes.packets = vec![(src, 0), (dst, 0), host_port(src), host_port(dst)];
    config.probes.packet_flows = vec![0];
    let results = run(&config);
    let (mut sent, mut forwarded): (Vec<&PacketRecord>, Vec<&PacketRecord>) =
        results.packets.iter().partition(|packet| packet.node != 0);
    let mut lines = Vec::new();
    // The last copy of a packet that left the switch is the last that was sent.
    while let Some(packet) = sent.pop() {
        let same = |other: &&&PacketRecord| {
            let key = |it: &PacketRecord| (it.kind, it.src, it.seq);
            key(other) == key(packet) && other.time >= packet.arrival
        };
        let passed = forwarded.iter().rev().find(same).copied();
        forwarded.retain(|other| passed.is_none_or(|it| !std::ptr::eq(*other, it)));
        lines.push(line(packet, passed, size, config.host.control_priority));
    }
    lines.reverse();
    let flow = &results.flows[0];
    let mut text = lines.concat();
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

fn line(
    packet: &PacketRecord,
    passed: Option<&PacketRecord>,
    size: Option<u64>,
    control: u8,
) -> String {
    let seq = u64::from(packet.seq);
    let what = match packet.kind {
        PacketKind::Syn => "SYN".into(),
        PacketKind::SynAck => "SYN-ACK".into(),
        PacketKind::TcpAck if packet.all => "ack all".into(),
        PacketKind::TcpAck => format!("ack {seq}"),
        PacketKind::Segment => {
            let end = size.map_or(seq + MSS, |size| size.min(seq + MSS));
            format!("data {seq}..{end}")
        }
        other => format!("{other:?}"),
    };
    let flags = [
        (packet.ect, " ECT"),
        (packet.cwr, " CWR"),
        (packet.ece, " ECE"),
    ];
    let flags: String = flags.iter().filter(|it| it.0).map(|it| it.1).collect();
    let priority = match packet.priority {
        LOSSLESS => String::new(),
        priority if priority == control => String::new(),
        other => format!(" p{other}"),
    };
    let fate = match passed {
        None => "  dropped",
        Some(passed) if passed.ce && !packet.ce => "  marked",
        Some(_) => "",
    };
    let time = packet.time.as_ps() as f64 / 1e6;
    format!(
        "{time:11.3} us  {} > {}  {what}{flags}{priority}{fate}\n",
        packet.src, packet.dst
    )
}
