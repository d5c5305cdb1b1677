//! Hosts with several NICs that send PAUSE: slow receivers, and PAUSE storms.

use std::ops::ControlFlow;

use unpause_protocols::flow_control::pfc::PauseTime;
use unpause_protocols::units::{Rate, Time};
use unpause_protocols::{loss_recovery, spraying};
use unpause_sim::config::{Config, NodeId, PauseStorm, PortId, SlowReceiver};
use unpause_sim::results::{PacketKind, PortRecord, Results, RootKind};
use unpause_sim::traffic::{FlowSpec, Transport};

use crate::common::*;
use crate::nics::two_planes;
use crate::nvswitches::servers;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

/// Who sends, and who is slow.
const FROM: NodeId = 2;
const SLOW: NodeId = 3;

const XOFF: u64 = 100_000;

fn slow(hosts: Vec<NodeId>, drain_rate: Rate) -> SlowReceiver {
    SlowReceiver {
        hosts,
        drain_rate,
        start: Time::ZERO,
        stop: Time::NEVER,
        xoff_bytes: XOFF,
        xon_bytes: XOFF / 2,
        buffer_bytes: None,
    }
}

fn storm(host: NodeId, nic: Option<PortId>) -> PauseStorm {
    PauseStorm {
        host,
        nic,
        start: us(100),
        stop: us(300),
    }
}

fn from_port(source_port: u16, spec: FlowSpec) -> FlowSpec {
    FlowSpec {
        source_port,
        ..spec
    }
}

/// By which NICs the data of a flow from this source port arrive, and its ACKs leave.
fn nics_of(source_port: u16) -> (PortId, PortId) {
    let flow = from_port(source_port, sized(FROM, SLOW, 1_000));
    let mut config = config(two_planes(2), vec![flow], ms(1));
    config.probes.packets = vec![(FROM, 0), (FROM, 1), (SLOW, 0), (SLOW, 1)];
    let results = run(&config);
    let by = |kind| {
        let mut packets = results.packets.iter();
        let found = packets.find(|it| it.kind == kind);
        found.expect("it is complete").port
    };
    // Switch 0 joins the NICs 0, switch 1 the NICs 1.
    (by(PacketKind::Data), by(PacketKind::Ack))
}

/// A source port whose data and ACKs go by these NICs.
fn source_port(data: PortId, acks: PortId) -> u16 {
    let found = (1..200).find(|port| nics_of(*port) == (data, acks));
    found.expect("a hash finds all")
}

/// Flows of 2 MB to the slow host, one for each pair of NICs by which data arrive and ACKs leave.
fn to_slow(nics: &[(PortId, PortId)], drain_rate: Rate) -> Config {
    let flows = nics.iter().map(|&(data, acks)| {
        let port = source_port(data, acks);
        from_port(port, sized(FROM, SLOW, 2_000_000))
    });
    let mut config = config(two_planes(2), flows.collect(), ms(10));
    config.host.slow_receiver = Some(slow(vec![SLOW], drain_rate));
    config.probes.causes = true;
    config.probes.pauses = true;
    config.probes.interval = us(10);
    config.probes.ports = vec![(SLOW, 0), (SLOW, 1)];
    config
}

fn nics(results: &Results) -> [PortRecord; 2] {
    [0, 1].map(|nic| port(results, SLOW, nic, LOSSLESS))
}

/// Causes of each NIC of the slow host.
fn causes(results: &Results) -> [usize; 2] {
    [0, 1].map(|nic| {
        let causes = results.causes.iter();
        let own = causes.filter(|it| (it.node, it.port) == (SLOW, nic));
        own.count()
    })
}

#[test]
fn each_nic_of_a_slow_host_fills_and_sends_pause() {
    for pairs in [[(0, 0), (1, 1)], [(0, 1), (1, 0)]] {
        let results = run(&to_slow(&pairs, gbps(4)));
        assert_complete(&results);
        assert_lossless(&results);
        // Each as if alone at 4 Gb/s.
        let least = gbps(4).time_for(2000 * FRAME);
        for flow in &results.flows {
            let fct = fct(flow);
            assert!(fct > least && fct < least + us(10), "{fct}, {least}");
        }
        for (nic, of_nic) in nics(&results).iter().zip(causes(&results)) {
            assert!(nic.pause_events > 10, "{nic:?}");
            assert!((XOFF + FRAME..XOFF + 40 * FRAME).contains(&nic.max_ingress_bytes));
            assert_eq!(nic.pause_events, of_nic as u64);
        }
        for cause in results.causes.iter().filter(|it| it.node == SLOW) {
            let root = cause.root.expect("it is known");
            assert_eq!((root.kind, root.node), (RootKind::Nic, SLOW));
            assert!(cause.paused > Time::ZERO && !cause.expired, "{cause:?}");
        }
        // The switch of each NIC has obeyed.
        for switch in [0, 1] {
            let obeyed = results.pauses.iter().filter(|it| it.node == switch);
            assert!(obeyed.count() > 10, "switch {switch}");
        }
        let largest = |nic| {
            let series = results.port_series.iter();
            let own = series.filter(|it| (it.node, it.port) == (SLOW, nic));
            own.map(|it| it.ingress_bytes).max()
        };
        assert!((0..2).all(|nic| largest(nic) > Some(XOFF / 2)));
    }
}

/// The NIC by which packets come counts, not the one by which ACKs leave.
#[test]
fn a_nic_that_receives_nothing_sends_no_pause() {
    for (data, acks) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let results = run(&to_slow(&[(data, acks)], gbps(4)));
        assert_complete(&results);
        assert_lossless(&results);
        let paused = nics(&results).map(|nic| nic.pause_events > 10);
        let held = nics(&results).map(|nic| nic.max_ingress_bytes > XOFF);
        let expected = [data == 0, data == 1];
        assert_eq!((paused, held), (expected, expected), "{data}, {acks}");
        assert_eq!(causes(&results).map(|it| it > 0), expected);
        let sampled = results.port_series.iter();
        let mut of_other = sampled.filter(|it| it.port != data);
        assert!(of_other.all(|it| it.ingress_bytes == 0));
    }
}

/// Without PAUSE each NIC drops what its own buffer does not hold.
#[test]
fn each_nic_has_a_buffer_of_the_size_that_is_set() {
    let mut config = to_slow(&[(0, 1), (1, 0)], Rate::ZERO);
    config.switch.lossless = 0;
    config.probes.causes = false;
    if let Some(slow) = &mut config.host.slow_receiver {
        slow.buffer_bytes = Some(150 * FRAME);
    }
    let results = run(&config);
    let [first, second] = nics(&results);
    for nic in [first, second] {
        assert_eq!(nic.max_ingress_bytes, 150 * FRAME);
        assert!(nic.dropped_packets > 100);
    }
    let dropped = first.dropped_packets + second.dropped_packets;
    assert_eq!(results.totals.dropped_packets, dropped);
}

#[test]
fn a_storm_is_of_one_nic_or_of_all() {
    for nic in [Some(0), Some(1), None] {
        let mut config = to_slow(&[(0, 1), (1, 0)], gbps(4));
        config.host.slow_receiver = None;
        let calm = run(&config);
        config.events.storms = vec![storm(SLOW, nic)];
        let results = run(&config);
        assert_complete(&results);
        assert_lossless(&results);
        for flow in 0..2 {
            let late = fct(&results.flows[flow]) - fct(&calm.flows[flow]);
            let is_held = nic.is_none_or(|it| usize::from(it) == flow);
            // XOFF and XON travel as long, and may wait for an ACK in flight or for a frame.
            let expected = if is_held { us(200) } else { Time::ZERO };
            assert!(
                late + us(1) > expected && late < expected + us(1),
                "{nic:?}, flow {flow}: {late}"
            );
        }
        let expected = [0, 1].map(|it| usize::from(nic.is_none_or(|nic| nic == it)));
        assert_eq!(causes(&results), expected);
        let events = nics(&results).map(|nic| nic.pause_events as usize);
        assert_eq!(events, expected);
        for cause in &results.causes {
            let root = cause.root.expect("it is known");
            let of_nic = if cause.node == SLOW {
                cause.port
            } else {
                root.port.unwrap_or(9)
            };
            assert_eq!((root.kind, root.node), (RootKind::Nic, SLOW));
            assert_eq!((root.port, root.share), (Some(of_nic), 1.0));
        }
    }
}

/// A flow that arrives by the other NIC suffers from a storm where both share a switch.
#[test]
fn a_flow_by_the_other_nic_is_a_victim() {
    // Host 3 has its NIC 1 at switch 1, which all come to by switch 0, also what goes to NIC 0 at switch 2.
    let mut net = Net::default();
    let [near, stormy, calm] = [0; 3].map(|_| net.switch());
    let to = net.node(unpause_sim::config::NodeKind::Host);
    net.link(near, stormy, gbps(40), us(1));
    net.link(near, calm, gbps(40), us(1));
    net.link(calm, to, gbps(40), us(1));
    net.link(stormy, to, gbps(40), us(1));
    let from = [0; 2].map(|_| net.host(near, gbps(40), us(1)));
    // The same source sends by both, so it is paused for both.
    let flows = (0..16).map(|port| FlowSpec {
        rate_limit: Some(gbps(2)),
        ..from_port(port * 131, flow(from[0], to))
    });
    let mut config = config(net.0, flows.collect(), ms(2));
    config.switch.pfc.threshold = static_threshold(50_000);
    config.probes.causes = true;
    config.events.storms = vec![PauseStorm {
        stop: ms(1),
        ..storm(to, Some(1))
    }];
    config.probes.packets = vec![(calm, 1)];
    let results = run(&config);
    let by_calm = |flow: u32| results.packets.iter().any(|it| it.flow == flow);
    let flows = 0..results.flows.len() as u32;
    let [by_calm, by_stormy]: [Vec<u32>; 2] =
        [true, false].map(|calm| flows.clone().filter(|it| by_calm(*it) == calm).collect());
    assert!(!by_calm.is_empty() && !by_stormy.is_empty());
    let victims: Vec<u32> = results.victims.iter().map(|it| it.flow).collect();
    assert_eq!(victims, by_calm, "not {by_stormy:?}");
    assert!(
        results
            .victims
            .iter()
            .all(|it| (it.node, it.port) == (to, Some(1)))
    );
}

/// Flows of all kinds to slow hosts, with delays and ACKs that wait for PAUSE.
fn mixed(spraying: bool) -> Config {
    let hosts = 2..6;
    let mut flows = Vec::new();
    for (at, src) in (0..).zip(hosts.clone()) {
        let others = hosts.clone().chain(hosts.clone());
        for (to, dst) in (0..).zip(others).filter(|(_, dst)| *dst != src) {
            let number = at * 8 + to;
            flows.push(FlowSpec {
                transport: match number % 3 {
                    0 => Transport::Tcp,
                    _ => Transport::Roce,
                },
                priority: if number % 3 == 0 { 1 } else { LOSSLESS },
                start: us(u64::from(number) * 7 % 40),
                recorded: true,
                ..from_port(number * 131, sized(src, dst, 100_000))
            });
        }
    }
    let mut config = config(two_planes(4), flows, ms(20));
    config.scheme = dcqcn();
    config.switch.pfc.threshold = static_threshold(10_000);
    config.host.slow_receiver = Some(SlowReceiver {
        xoff_bytes: 20_000,
        xon_bytes: 10_000,
        stop: ms(2),
        ..slow(vec![3, 4], gbps(2))
    });
    config.events.storms = vec![storm(2, None), storm(5, Some(1))];
    if spraying {
        config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(Default::default());
        config.host.spraying = spraying::Config::Oblivious(Default::default());
    }
    config.probes.interval = us(20);
    config.probes.pauses = true;
    config.probes.causes = true;
    config.probes.ports = (2..6).flat_map(|host| [(host, 0), (host, 1)]).collect();
    config
}

#[test]
fn threads_and_ranks_do_not_matter() {
    for spraying in [false, true] {
        let config = mixed(spraying);
        assert_threads_do_not_matter("slow hosts with NICs", &config);
        let results = assert_ranks_do_not_matter("slow hosts with NICs", &config);
        assert_complete(&results);
        for host in 2..6 {
            for nic in 0..2 {
                let of_nic = port(&results, host, nic, LOSSLESS);
                let expected = (host, nic) != (5, 0);
                assert_eq!(of_nic.pause_events > 0, expected, "{of_nic:?}");
            }
        }
    }
}

/// A flow that leaves a stopped NIC has no other one to go to, and stays. In a debug build hosts check the order of events.
#[test]
fn sprayed_flows_stay_where_all_nics_are_stopped() {
    let mut config = config(two_planes(2), vec![sized(FROM, SLOW, 2_000_000)], ms(10));
    config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(Default::default());
    config.host.spraying = spraying::Config::Oblivious(Default::default());
    // Each PAUSE that repeats the one before finds the flow there.
    config.switch.pfc.params.pause_time = PauseTime::Absolute(us(10));
    config.switch.pfc.threshold = static_threshold(20_000);
    let calm = run(&config);
    config.events.storms = vec![storm(SLOW, None)];
    let results = run(&config);
    assert_complete(&results);
    let late = fct(&results.flows[0]) - fct(&calm.flows[0]);
    assert!(late + us(1) > us(200) && late < us(201), "{late}");
}

fn refusal(config: &Config) -> String {
    let go_on = &mut |_: unpause_sim::Progress| ControlFlow::Continue(());
    let error = unpause_sim::run(config, go_on).expect_err("it is refused");
    error.to_string()
}

#[test]
fn a_storm_is_of_a_nic_that_there_is() {
    let mut config = config(two_planes(2), vec![sized(2, 3, 1000)], ms(1));
    config.events.storms = vec![storm(3, Some(2))];
    assert!(refusal(&config).contains("has no NIC 2, but 2 from 0 on"));
}

/// The link to an NVSwitch is of no NIC.
#[test]
fn only_nics_send_pause() {
    let (fabric, hosts) = servers(2);
    let [to, near, far] = [hosts[0], hosts[1], hosts[2]];
    let flows = [near, far].map(|from| sized(from, to, 1_000_000));
    let mut config = config(fabric, flows.to_vec(), ms(10));
    config.host.slow_receiver = Some(slow(vec![to], gbps(1)));
    let results = run(&config);
    assert_complete(&results);
    assert_eq!(port(&results, to, 0, LOSSLESS).pause_frames, 0);
    assert!(port(&results, to, 1, LOSSLESS).pause_frames > 0);
    let [by_nvlink, by_nic] = [0, 1].map(|flow| fct(&results.flows[flow]));
    assert!(by_nvlink < us(100) && by_nic > ms(5));

    config.host.slow_receiver = None;
    config.events.storms = vec![storm(to, Some(0))];
    assert!(refusal(&config).contains("only a link to an NVSwitch"));
    config.events.storms = vec![storm(to, None)];
    let results = run(&config);
    assert_eq!(port(&results, to, 0, LOSSLESS).pause_frames, 0);
    assert_eq!(port(&results, to, 1, LOSSLESS).pause_events, 1);
}
