//! Small fabrics, flows, schemes and readings of results.

use std::ops::ControlFlow;

use unpause_protocols::congestion_control::timely;
use unpause_protocols::units::{Rate, Time};
use unpause_protocols::{congestion_control, congestion_point, notification_point};
use unpause_sim::config::{
    Config, Events, Fabric, HostConfig, Link, NodeId, NodeKind, PfcThreshold, PortId, Probes,
    SchemeConfig, Skipping, SwitchConfig,
};
use unpause_sim::results::{FlowRecord, PortRecord, Results};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

/// Priority of data unless a test says otherwise: the lossless one of [`SwitchConfig`].
pub const LOSSLESS: u8 = 3;
/// Default frame of 1000 B payload.
pub const FRAME: u64 = 1048;

pub fn ps(ps: u64) -> Time {
    Time::from_ps(ps)
}
pub fn us(us: u64) -> Time {
    Time::from_us(us)
}
pub fn ms(ms: u64) -> Time {
    Time::from_ms(ms)
}
pub fn gbps(gbps: u64) -> Rate {
    Rate::from_gbps(gbps)
}

/// Builds a fabric node by node and link by link.
#[derive(Clone, Debug, Default)]
pub struct Net(pub Fabric);

impl Net {
    pub fn switch(&mut self) -> NodeId {
        self.node(NodeKind::Switch)
    }
    pub fn node(&mut self, kind: NodeKind) -> NodeId {
        self.0.nodes.push(kind);
        self.0.nodes.len() as NodeId - 1
    }
    pub fn link(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time) {
        self.0.links.push(Link { a, b, rate, delay });
    }
    /// A host on `switch`.
    pub fn host(&mut self, switch: NodeId, rate: Rate, delay: Time) -> NodeId {
        let host = self.node(NodeKind::Host);
        self.link(switch, host, rate, delay);
        host
    }
}

/// Switch 0 with hosts 1 to n on its ports 0 to n - 1, one for each rate.
pub fn star(rates: &[Rate], delay: Time) -> Fabric {
    let mut net = Net::default();
    let switch = net.switch();
    for &rate in rates {
        net.host(switch, rate, delay);
    }
    net.0
}

/// Host 1 - switch - ... - switch - host 2, one link for each rate; switches are 0, 3, 4, ...
pub fn chain(links: &[(Rate, Time)]) -> Fabric {
    let mut net = Net::default();
    let mut last = net.switch();
    let (rate, delay) = links[0];
    let first = net.host(last, rate, delay);
    let end = net.node(NodeKind::Host);
    assert_eq!((first, end), (1, 2));
    for &(rate, delay) in &links[1..links.len() - 1] {
        let next = net.switch();
        net.link(last, next, rate, delay);
        last = next;
    }
    let (rate, delay) = links[links.len() - 1];
    net.link(last, end, rate, delay);
    net.0
}

/// Fig. 1 of the PCN paper: every link 40 Gb/s and 5 us.
pub mod fig1 {
    use super::*;

    pub const S0: NodeId = 0;
    pub const S1: NodeId = 1;
    pub const H0: NodeId = 2;
    pub const H1: NodeId = 3;
    pub const R0: NodeId = 4;
    pub const R1: NodeId = 5;
    /// Port of S0 and of S1 on the link between them.
    pub const TRUNK: PortId = 0;

    /// H2 to H15.
    pub fn burst_hosts() -> std::ops::Range<NodeId> {
        6..20
    }

    pub fn fabric() -> Fabric {
        let (rate, delay) = (gbps(40), us(5));
        let mut net = Net::default();
        let (s0, s1) = (net.switch(), net.switch());
        net.link(s0, s1, rate, delay);
        for switch in [s0, s0, s1, s1] {
            net.host(switch, rate, delay);
        }
        for host in burst_hosts() {
            assert_eq!(net.host(s1, rate, delay), host);
        }
        net.0
    }
}

/// An endless, controlled flow in the lossless priority, from time zero.
pub fn flow(src: NodeId, dst: NodeId) -> FlowSpec {
    FlowSpec {
        priority: LOSSLESS,
        ..FlowSpec::between(src, dst)
    }
}

/// The same with a size.
pub fn sized(src: NodeId, dst: NodeId, bytes: u64) -> FlowSpec {
    FlowSpec {
        size_bytes: Some(bytes),
        ..flow(src, dst)
    }
}

/// No congestion control, default host and switch, no probes.
pub fn config(fabric: Fabric, flows: Vec<FlowSpec>, stop: Time) -> Config {
    Config {
        fabric,
        host: HostConfig::default(),
        switch: SwitchConfig::default(),
        scheme: SchemeConfig::default(),
        traffic: vec![TrafficSpec::Flows(flows)],
        probes: Probes::default(),
        seed: 1,
        stop,
        following: Vec::new(),
        jitters: Vec::new(),
        jobs: Vec::new(),
        events: Events::default(),
        skipping: Skipping::default(),
    }
}

/// XOFF this many bytes, XON two full frames below.
pub fn static_threshold(xoff_bytes: u64) -> PfcThreshold {
    PfcThreshold::Static {
        xoff_bytes,
        xon_bytes: xoff_bytes.saturating_sub(2 * FRAME),
    }
}

pub fn pcn() -> SchemeConfig {
    SchemeConfig {
        congestion_point: congestion_point::Config::NpEcn(Default::default()),
        notification_point: notification_point::Config::Pcn(Default::default()),
        roce: congestion_control::Config::Pcn(Default::default()),
        ..SchemeConfig::default()
    }
}
pub fn qcn() -> SchemeConfig {
    SchemeConfig {
        congestion_point: congestion_point::Config::Qcn(Default::default()),
        notification_point: notification_point::Config::None,
        roce: congestion_control::Config::Qcn(Default::default()),
        ..SchemeConfig::default()
    }
}
pub fn dcqcn() -> SchemeConfig {
    SchemeConfig {
        congestion_point: congestion_point::Config::Red(Default::default()),
        notification_point: notification_point::Config::Dcqcn(Default::default()),
        roce: congestion_control::Config::Dcqcn(Default::default()),
        ..SchemeConfig::default()
    }
}
pub fn timely(params: timely::Params) -> SchemeConfig {
    SchemeConfig {
        roce: congestion_control::Config::Timely(params),
        ..SchemeConfig::default()
    }
}
/// Every scheme, by name.
pub fn schemes() -> Vec<(&'static str, SchemeConfig)> {
    vec![
        ("PFC", SchemeConfig::default()),
        ("QCN", qcn()),
        ("DCQCN", dcqcn()),
        ("TIMELY", timely(timely::Params::per_packet())),
        ("TIMELY segment", timely(timely::Params::segment())),
        ("TIMELY patched", timely(timely::Params::patched())),
        ("PCN", pcn()),
    ]
}

pub fn run(config: &Config) -> Results {
    unpause_sim::run(config, &mut |_| ControlFlow::Continue(())).expect("the run is valid")
}

/// Totals of one (node, port, priority); zeros if it has nothing to report.
pub fn port(results: &Results, node: NodeId, port: PortId, priority: u8) -> PortRecord {
    let identity = PortRecord {
        node,
        port,
        priority,
        ..PortRecord::default()
    };
    let found = results
        .ports
        .iter()
        .find(|p| (p.node, p.port, p.priority) == (node, port, priority));
    found.copied().unwrap_or(identity)
}

/// FCT of a flow that must be complete.
pub fn fct(flow: &FlowRecord) -> Time {
    flow.fct
        .unwrap_or_else(|| panic!("flow {} is not complete: {flow:?}", flow.id))
}

/// Payload rate at the receiver of a recorded flow between two sampling instants, Gb/s.
pub fn goodput_gbps(results: &Results, flow: u32, from: Time, to: Time) -> f64 {
    let delivered = |at: Time| {
        let sample = results
            .flow_series
            .iter()
            .find(|s| s.flow == flow && s.time == at);
        sample.expect("a sampling instant").delivered_bytes
    };
    (delivered(to) - delivered(from)) as f64 * 8.0 / (to - from).as_ns_f64()
}

/// The same counted in full frames.
pub fn frame_gbps(results: &Results, flow: u32, from: Time, to: Time) -> f64 {
    goodput_gbps(results, flow, from, to) * FRAME as f64 / 1000.0
}

pub fn assert_within(name: &str, measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance * expected.abs(),
        "{name}: measured {measured}, expected {expected} within {} %",
        tolerance * 100.0
    );
}

/// Nothing was dropped.
pub fn assert_lossless(results: &Results) {
    assert_eq!(results.totals.dropped_packets, 0);
    for port in &results.ports {
        assert_eq!(
            (port.dropped_packets, port.headroom_dropped_packets),
            (0, 0)
        );
    }
    for flow in &results.flows {
        assert_eq!(flow.retransmitted_packets, 0, "{flow:?}");
    }
}

/// Every flow is complete.
pub fn assert_complete(results: &Results) {
    for flow in &results.flows {
        assert!(flow.fct.is_some(), "not complete: {flow:?}");
        assert_eq!(Some(flow.delivered_bytes), flow.size_bytes);
    }
}
