//! Hosts with several NICs.

use std::ops::ControlFlow;

use unpause_protocols::units::Time;
use unpause_protocols::{loss_recovery, spraying};
use unpause_sim::config::{
    AckPriority, Config, Ecmp, Fabric, NicModel, NodeId, NodeKind, PfcThreshold, PipelineConfig,
    Skipping, SwitchModel,
};
use unpause_sim::results::{PacketKind, Results};
use unpause_sim::traffic::{FlowSpec, Transport};

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

const A: NodeId = 0;
const B: NodeId = 1;

/// Switches 0 and 1, each with a link to every host; hosts are 2, 3, ... and have their NIC 0 at switch 0.
pub fn two_planes(hosts: u32) -> Fabric {
    let mut net = Net::default();
    let switches = [net.switch(), net.switch()];
    let hosts: Vec<_> = (0..hosts).map(|_| net.node(NodeKind::Host)).collect();
    for switch in switches {
        for &host in &hosts {
            net.link(host, switch, gbps(40), us(1));
        }
    }
    net.0
}

/// The same with switches that are linked to each other, too.
fn with_a_link_across(hosts: u32) -> Fabric {
    let mut net = Net(two_planes(hosts));
    net.link(A, B, gbps(40), us(1));
    net.0
}

pub fn from_port(spec: FlowSpec, source_port: u16) -> FlowSpec {
    FlowSpec {
        source_port,
        ..spec
    }
}

/// Bytes that a host has sent by its ports 0 and 1 in all classes.
fn sent(results: &Results, node: NodeId) -> [u64; 2] {
    [0, 1].map(|number| {
        let ports = results.ports.iter();
        let own = ports.filter(|it| (it.node, it.port) == (node, number));
        own.map(|it| it.tx_bytes).sum()
    })
}

pub fn records_all(config: &mut Config) {
    for node in 0..config.fabric.nodes.len() as NodeId {
        let links = config.fabric.links.iter();
        let count = links.filter(|it| it.a == node || it.b == node).count() as u16;
        config
            .probes
            .packets
            .extend((0..count).map(|port| (node, port)));
    }
}

fn refusal(config: &Config) -> String {
    let go_on = &mut |_: unpause_sim::Progress| ControlFlow::Continue(());
    let error = unpause_sim::run(config, go_on).expect_err("it is refused");
    error.to_string()
}

/// Source ports of which flows from host 2 to host 3 leave by NIC 0 and by NIC 1.
fn one_for_each_nic() -> [u16; 2] {
    let nic = |source_port| {
        let flow = from_port(sized(2, 3, 10_000), source_port);
        let results = run(&config(two_planes(2), vec![flow], ms(1)));
        assert_complete(&results);
        usize::from(sent(&results, 2)[1] > 0)
    };
    let found = |of| {
        (1..100)
            .find(|port| nic(*port) == of)
            .expect("a hash finds both")
    };
    [found(0), found(1)]
}

#[test]
fn two_flows_use_both_nics_at_line_rate() {
    let [first, second] = one_for_each_nic();
    let flows = [first, second].map(|port| from_port(sized(2, 3, 1_000_000), port));
    let results = run(&config(two_planes(2), flows.to_vec(), ms(5)));
    assert_lossless(&results);
    assert_complete(&results);
    for flow in &results.flows {
        assert_eq!(flow.fct, flow.ideal_fct, "each as if alone");
    }
    let [by_first, by_second] = sent(&results, 2);
    assert_eq!(by_first, by_second);
    // Over one NIC they share it.
    let flows = vec![from_port(sized(2, 3, 1_000_000), first); 2];
    let results = run(&config(two_planes(2), flows, ms(5)));
    let last = results.flows.iter().max_by_key(|it| it.fct);
    let last = last.expect("there are two");
    let [took, alone] = [last.fct, last.ideal_fct].map(|it| it.expect("it is complete").as_ps());
    assert!(took * 10 > alone * 19, "{took} ps, alone {alone} ps");
}

#[test]
fn acks_return_by_the_nic_that_the_flow_came_to() {
    for port in one_for_each_nic() {
        let mut config = config(
            two_planes(2),
            vec![from_port(sized(2, 3, 100_000), port)],
            ms(5),
        );
        records_all(&mut config);
        let results = run(&config);
        assert_complete(&results);
        let acks = results
            .packets
            .iter()
            .filter(|it| it.kind == PacketKind::Ack);
        let by_host: Vec<u16> = acks.filter(|it| it.node == 3).map(|it| it.port).collect();
        assert!(!by_host.is_empty());
        // One flow, one way back, by whichever of both.
        assert!(by_host.iter().all(|it| *it == by_host[0]));
    }
}

/// Two to one over switch 0 stop NIC 0 of host 2 again and again; what it sends by NIC 1 is not slowed.
#[test]
fn a_pause_of_one_nic_does_not_hold_the_other() {
    let [first, second] = one_for_each_nic();
    let mut net = Net(two_planes(2));
    let other = net.host(A, gbps(40), us(1));
    let into = net.host(A, gbps(40), us(1));
    let free = from_port(sized(2, 3, 1_000_000), second);
    let flows = vec![from_port(flow(2, into), first), flow(other, into), free];
    let mut config = config(net.0, flows, ms(1));
    config.probes.pauses = true;
    let results = run(&config);
    assert_lossless(&results);
    let at_host: Vec<u16> = results
        .pauses
        .iter()
        .filter(|it| it.node == 2)
        .map(|it| it.port)
        .collect();
    assert!(at_host.len() > 3 && at_host.iter().all(|port| *port == 0));
    let paused = |number| {
        let mut ports = results.ports.iter();
        ports.any(|it| (it.node, it.port) == (2, number) && it.paused > Time::ZERO)
    };
    assert_eq!([paused(0), paused(1)], [true, false]);
    assert_eq!(results.flows[2].fct, results.flows[2].ideal_fct);
}

#[test]
fn packets_never_go_through_a_host() {
    // Hosts 2 and 3 join switches that no link joins; 4 and 5 have one NIC each, on different ones.
    let mut net = Net(two_planes(2));
    let (a, b) = (net.host(A, gbps(40), us(1)), net.host(B, gbps(40), us(1)));
    let between = |src, dst| config(net.0.clone(), vec![sized(src, dst, 1000)], ms(1));
    assert!(refusal(&between(a, b)).contains("no path"));
    for (src, dst) in [(a, 2), (2, a), (b, 3), (3, b)] {
        let results = run(&between(src, dst));
        assert_eq!(results.flows[0].fct, results.flows[0].ideal_fct);
    }
}

/// With a link between the switches there are longer ways, which nobody takes.
#[test]
fn a_flow_leaves_by_the_nic_that_is_nearest() {
    let mut net = Net(with_a_link_across(2));
    let near = net.host(B, gbps(40), us(1));
    for source_port in 0..20 {
        let flow = from_port(sized(2, near, 10_000), source_port);
        let results = run(&config(net.0.clone(), vec![flow], ms(1)));
        assert_complete(&results);
        assert_eq!(
            sent(&results, 2)[0],
            0,
            "NIC 1 is at the switch of the receiver"
        );
    }
}

#[test]
fn ecmp_of_hpcc_chooses_among_nics_too() {
    let mut fabric = two_planes(2);
    fabric.ecmp = Ecmp::Hpcc;
    let flows = (0..32)
        .map(|n| from_port(sized(2, 3, 10_000), 10_000 + n))
        .collect();
    let mut config = config(fabric, flows, ms(5));
    config.host.nic = NicModel::Hpcc;
    let results = run(&config);
    assert_complete(&results);
    let [first, second] = sent(&results, 2);
    assert!(first > 0 && second > 0, "{first} and {second} B");
}

/// RoCE and TCP between all hosts, with losses and PAUSE, on hosts with two NICs and with one.
fn mixed(fabric: Fabric, seed: u64) -> Config {
    let hosts: Vec<NodeId> = (2..fabric.nodes.len() as NodeId)
        .filter(|node| fabric.nodes[*node as usize] == NodeKind::Host)
        .collect();
    let mut flows = Vec::new();
    for (number, &src) in (0u64..).zip(&hosts) {
        for (other, &dst) in (0u64..).zip(&hosts).filter(|(_, dst)| **dst != src) {
            let spec = FlowSpec {
                start: us((number * 7 + other * 3) % 40),
                recorded: number == 0,
                source_port: (number * 131 + other * 17 + seed) as u16,
                ..sized(src, dst, 60_000 + 10_000 * number)
            };
            flows.push(match (number + other) % 3 {
                0 => FlowSpec {
                    transport: Transport::Tcp,
                    priority: 1,
                    ..spec
                },
                _ => spec,
            });
        }
    }
    let mut config = config(fabric, flows, ms(20));
    config.seed = seed;
    config.scheme = dcqcn();
    config.switch.lossy_queue_bytes = 20_000;
    config.switch.pfc.threshold = PfcThreshold::Static {
        xoff_bytes: 10_000,
        xon_bytes: 8_000,
    };
    config.probes.interval = us(20);
    config.probes.ports = vec![(0, 0), (2, 0), (2, 1)];
    config.probes.pauses = true;
    config.probes.causes = true;
    records_all(&mut config);
    config
}

#[test]
fn threads_do_not_change_results() {
    let pipeline = SwitchModel::Pipeline(PipelineConfig {
        packets_per_second: 50_000_000,
        latency: us(1),
        ..PipelineConfig::default()
    });
    for fabric in [two_planes(4), with_a_link_across(4)] {
        let mut net = Net(fabric);
        net.host(A, gbps(40), ps(300_000));
        for model in [SwitchModel::SharedBuffer, pipeline.clone()] {
            for (ack_priority, nic) in [
                (AckPriority::Control, NicModel::Hpcc),
                (AckPriority::Flow, NicModel::default()),
            ] {
                let mut config = mixed(net.0.clone(), 1);
                config.switch.model = model.clone();
                config.host.ack_priority = ack_priority;
                config.host.pause_acks = ack_priority == AckPriority::Flow;
                config.host.nic = nic;
                config.skipping = Skipping::default();
                let one = run(&config);
                let may_pause = model == SwitchModel::SharedBuffer;
                assert!(one.totals.pause_frames > 0 || !may_pause, "{model:?}");
                assert!(sent(&one, 2).iter().all(|bytes| *bytes > 0));
                for threads in [2, 3] {
                    let go_on = &mut |_| ControlFlow::Continue(());
                    let many =
                        unpause_sim::run_threads(&config, threads, go_on).expect("it is valid");
                    assert!(one == many, "{threads} threads");
                }
            }
        }
    }
}

pub fn spray(config: &mut Config) {
    config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(Default::default());
    config.host.spraying = spraying::Config::Oblivious(Default::default());
}

/// A sprayed flow leaves by both NICs in turn: it takes half the time, and a little for the second NIC's first packet.
#[test]
pub fn sprayed_flows_use_all_nics() {
    let mut by_hash = config(two_planes(3), vec![sized(2, 3, 4_000_000)], ms(5));
    by_hash.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(Default::default());
    let by_hash = run(&by_hash);
    let mut config = config(two_planes(3), vec![sized(2, 3, 4_000_000)], ms(5));
    spray(&mut config);
    let results = run(&config);
    assert_complete(&results);
    let [first, second] = sent(&results, 2);
    assert!(first.abs_diff(second) <= FRAME, "{first} and {second} B");
    let fct = |results: &Results| results.flows[0].fct.expect("it is complete").as_ps();
    let times = fct(&by_hash) as f64 / fct(&results) as f64;
    assert!((1.97..2.0).contains(&times), "{times}");
    let ideal = results.flows[0].ideal_fct.expect("it has a size").as_ps();
    // Its rate limiter lets the second NIC begin half a frame later.
    assert_eq!(fct(&results) - ideal, gbps(40).time_for(FRAME).as_ps() / 2);
    // A NIC that is paused is passed over.
    config.fabric.links[1].rate = gbps(10);
    config.switch.pfc.threshold = PfcThreshold::Static {
        xoff_bytes: 6_000,
        xon_bytes: 4_000,
    };
    let results = run(&config);
    assert_complete(&results);
    assert_lossless(&results);
    assert!(results.totals.pause_frames > 0);
    let [first, second] = sent(&results, 2);
    assert!(first * 2 < second, "{first} and {second} B");
    let rate = 4_000_000.0 * 8.0 / fct(&results) as f64 * 1e3;
    assert!((44.0..50.0).contains(&rate), "{rate} Gb/s of 50");
    records_all(&mut config);
    assert_threads_do_not_matter("sprayed over NICs", &config);
    assert!(assert_ranks_do_not_matter("sprayed over NICs", &config).flows == results.flows);
}

/// The window of selective repeat follows the NIC of the flow, whatever other NICs its host has.
#[test]
fn a_window_is_of_the_nic_of_its_flow() {
    let in_flight = |other_gbps: u64| {
        let mut net = Net::default();
        let [near, far] = [net.switch(), net.switch()];
        let receiver = net.host(near, gbps(40), us(1));
        let senders = [(); 2].map(|()| net.host(near, gbps(40), us(1)));
        for sender in senders {
            net.link(sender, far, gbps(other_gbps), us(1));
        }
        let flows = senders.map(|it| sized(it, receiver, 2_000_000));
        let mut config = config(net.0, flows.to_vec(), ms(5));
        config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(Default::default());
        let results = run(&config);
        assert_complete(&results);
        results.ports.iter().map(|it| it.max_queue_bytes).max()
    };
    let alike = in_flight(40);
    assert!(alike > Some(10_000));
    assert_eq!(in_flight(1_600), alike);
}
