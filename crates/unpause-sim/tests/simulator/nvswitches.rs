//! NVSwitches: which way packets take, and what they do without PAUSE and marks.

use std::ops::ControlFlow;

use unpause_protocols::{congestion_control, congestion_point};
use unpause_sim::config::{
    CioqConfig, Config, Ecmp, Fabric, NodeId, NodeKind, PortId, SchemeConfig, SwitchModel,
};
use unpause_sim::results::{PortRecord, Results};

use crate::common::*;

/// Ports of a GPU: at its NVSwitch and at the leaf.
const NVLINK: PortId = 0;
const NIC: PortId = 1;

/// A leaf, 0, with two servers of this many GPUs, which are `gpus`, each with a link to its NVSwitch, 1 or 2, and to the leaf.
pub fn servers(gpus: u32) -> (Fabric, Vec<NodeId>) {
    let mut net = Net::default();
    let leaf = net.switch();
    let nvswitches = [net.switch(), net.switch()];
    let mut hosts = Vec::new();
    for nvswitch in nvswitches {
        for _ in 0..gpus {
            let gpu = net.node(NodeKind::Host);
            net.link(gpu, nvswitch, gbps(2880), ps(25_000));
            net.link(gpu, leaf, gbps(400), ps(500_000));
            hosts.push(gpu);
        }
    }
    net.0.nvswitches = nvswitches.to_vec();
    (net.0, hosts)
}

/// Frames of the data priority that a port has sent.
fn sent(results: &Results, node: NodeId, port: PortId) -> u64 {
    of_port(results, node, port).map_or(0, |it| it.tx_packets)
}

/// A port in the data priority; none if it has had nothing to do.
fn of_port(results: &Results, node: NodeId, port: PortId) -> Option<&PortRecord> {
    let mut ports = results.ports.iter();
    ports.find(|it| (it.node, it.port, it.priority) == (node, port, LOSSLESS))
}

fn refusal(config: &Config) -> String {
    let go_on = &mut |_: unpause_sim::Progress| ControlFlow::Continue(());
    let error = unpause_sim::run(config, go_on).expect_err("it is refused");
    error.to_string()
}

#[test]
fn traffic_inside_a_server_goes_over_its_nvswitch() {
    for ecmp in [Ecmp::Own, Ecmp::Hpcc] {
        let (mut fabric, gpus) = servers(2);
        fabric.ecmp = ecmp;
        let flows = [
            sized(gpus[0], gpus[1], 100_000),
            sized(gpus[1], gpus[2], 100_000),
            sized(gpus[3], gpus[2], 100_000),
        ];
        let results = run(&config(fabric, flows.to_vec(), ms(5)));
        assert_complete(&results);
        // Both ways have two links.
        assert_eq!(sent(&results, gpus[0], NVLINK), 100);
        assert_eq!(sent(&results, gpus[0], NIC), 0);
        assert_eq!(sent(&results, gpus[1], NVLINK), 0);
        assert_eq!(sent(&results, gpus[1], NIC), 100);
        assert_eq!(sent(&results, gpus[3], NVLINK), 100);
        for flow in &results.flows {
            assert_eq!(flow.fct, flow.ideal_fct, "each as if alone");
        }
    }
}

#[test]
fn an_nvswitch_of_a_custom_fabric_goes_before_other_switches() {
    // From switch 0 to host 4 over 1 or 2, of which 2 is an NVSwitch, and on over 5.
    let mut net = Net::default();
    let [first, plain, nvswitch] = [net.switch(), net.switch(), net.switch()];
    let from = net.host(first, gbps(100), us(1));
    let last = net.switch();
    for middle in [plain, nvswitch] {
        net.link(first, middle, gbps(100), us(1));
        net.link(middle, last, gbps(100), us(1));
    }
    let to = net.host(last, gbps(100), us(1));
    net.0.nvswitches = vec![nvswitch];
    let flows = vec![sized(from, to, 10_000); 8];
    let results = run(&config(net.0, flows, ms(5)));
    assert_complete(&results);
    assert_eq!(
        (sent(&results, first, 1), sent(&results, first, 2)),
        (0, 80)
    );
}

/// Two to one inside a server, with an ingress that goes to XOFF at 20 frames and has room for five more; the switch there
/// is an NVSwitch or not.
fn incast(is_nvswitch: bool, scheme: SchemeConfig) -> (Results, NodeId) {
    let (mut fabric, gpus) = servers(3);
    let switch = fabric.nvswitches[0];
    if !is_nvswitch {
        fabric.nvswitches = Vec::new();
        // Without the leaf nothing else is left.
        fabric.links.retain(|link| link.b != 0);
        fabric.links.push(unpause_sim::config::Link {
            a: switch,
            b: 2,
            rate: gbps(400),
            delay: us(1),
        });
    }
    let flows = vec![
        sized(gpus[0], gpus[2], 2_000_000),
        sized(gpus[1], gpus[2], 2_000_000),
    ];
    let mut config = config(fabric, flows, ms(400));
    config.scheme = scheme;
    config.switch.pfc.threshold = static_threshold(20 * FRAME);
    config.switch.pfc.headroom_bytes = (is_nvswitch).then_some(5 * FRAME);
    config.host.nak_interval = Some(us(10));
    config.switch.nvlink_drops = is_nvswitch;
    (run(&config), switch)
}

#[test]
fn an_nvswitch_drops_what_others_would_stop_by_pause() {
    let (paused, switch) = incast(false, SchemeConfig::default());
    assert_lossless(&paused);
    assert_complete(&paused);
    assert!(of_port(&paused, switch, 0).is_some_and(|it| it.pause_events > 0));
    let (dropped, switch) = incast(true, SchemeConfig::default());
    assert_complete(&dropped);
    assert_eq!(dropped.pauses, []);
    for input in [0, 1] {
        let port = of_port(&dropped, switch, input).expect("it has dropped frames");
        assert_eq!((port.pause_events, port.pause_frames), (0, 0));
        assert!(port.headroom_dropped_packets > 0);
        // At most XOFF, the frame that crosses it, and headroom; not the whole buffer.
        let held = port.max_ingress_bytes / FRAME;
        assert!((22..=26).contains(&held), "{held} frames");
    }
}

#[test]
fn an_nvswitch_marks_nothing_and_writes_no_telemetry() {
    let mut red = dcqcn();
    red.congestion_point = congestion_point::Config::Red(congestion_point::red::Params {
        kmin: 0,
        kmax: 1,
        ..Default::default()
    });
    let hpcc = SchemeConfig {
        congestion_point: congestion_point::Config::Telemetry(Default::default()),
        roce: congestion_control::Config::Hpcc(Default::default()),
        ..SchemeConfig::default()
    };
    let pint = SchemeConfig {
        congestion_point: congestion_point::Config::Pint(Default::default()),
        roce: congestion_control::Config::Pint(Default::default()),
        ..SchemeConfig::default()
    };
    for scheme in [red, hpcc, pint, qcn(), pcn()] {
        let (results, switch) = incast(true, scheme.clone());
        assert_complete(&results);
        let ports = results.ports.iter().filter(|it| it.node == switch);
        for port in ports {
            assert_eq!(
                (port.marked_packets, port.cnm_packets),
                (0, 0),
                "{scheme:?}"
            );
        }
    }
    let (marked, switch) = incast(false, dcqcn());
    assert!(of_port(&marked, switch, 2).is_some_and(|it| it.marked_packets > 0));
}

#[test]
fn what_is_said_of_marks_by_rate_may_leave_nvlinks_out() {
    let (fabric, gpus) = servers(2);
    let mut config = config(fabric, vec![sized(gpus[0], gpus[1], 10_000)], ms(1));
    config.scheme = dcqcn();
    let red = config.scheme.congestion_point.clone();
    config.scheme.congestion_points = vec![(gbps(400), red.clone())];
    assert_complete(&run(&config));
    config.scheme.congestion_points = vec![(gbps(2880), red)];
    let refused = refusal(&config);
    assert!(
        refused.contains("no value for links of 400Gbps"),
        "{refused}"
    );
}

#[test]
fn nvswitches_are_switches_with_a_shared_buffer() {
    let (fabric, gpus) = servers(1);
    let mut config = config(fabric, vec![sized(gpus[0], gpus[1], 10_000)], ms(1));
    for wrong in [vec![2, 1], vec![1, 1], vec![gpus[0]], vec![99]] {
        config.fabric.nvswitches = wrong;
        let refused = refusal(&config);
        assert!(
            refused.contains("not switches in ascending order"),
            "{refused}"
        );
    }
    config.fabric.nvswitches = vec![1, 2];
    config.switch.model = SwitchModel::Cioq(CioqConfig::default());
    let refused = refusal(&config);
    assert!(
        refused.contains("NVSwitches have a shared buffer"),
        "{refused}"
    );
}
