//! Groups of switches: shortest paths between them, and Valiant's routing by a third group.

use std::collections::BTreeSet;

use unpause_protocols::congestion_control::Config as Law;
use unpause_protocols::congestion_control::hpcc;
use unpause_protocols::spraying::{Config as Spraying, oblivious};
use unpause_sim::config::{
    Balancing, Config, Direction, Events, InputQueuedConfig, Link, LinkEvent, PipelineConfig,
    SwitchModel,
};
use unpause_sim::dependency::buffer_dependency_cycle;
use unpause_sim::fabric::{Ecmp, Fabric, NodeKind};
use unpause_sim::results::{PacketKind, Results};
use unpause_sim::traffic::{FlowSpec, Transport};

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

/// A dragonfly of a h + 1 groups.
#[derive(Clone, Copy)]
struct Shape {
    /// Switches of a group.
    a: u32,
    /// Hosts of a switch.
    p: u32,
    /// Global links of a switch.
    h: u32,
}

/// That of Fig. 6 of Kim et al. (ISCA 2008): 9 groups, 72 hosts.
const SHAPE: Shape = Shape { a: 4, p: 2, h: 2 };
/// 3 groups, 6 hosts.
const SMALL: Shape = Shape { a: 2, p: 1, h: 1 };
/// 5 groups, 10 hosts.
const FIVE: Shape = Shape { a: 2, p: 1, h: 2 };

impl Shape {
    fn groups(self) -> u32 {
        self.a * self.h + 1
    }

    fn group_hosts(self) -> u32 {
        self.a * self.p
    }

    fn hosts(self) -> u32 {
        self.groups() * self.group_hosts()
    }

    fn switch(self, group: u32, number: u32) -> u32 {
        self.hosts() + group * self.a + number
    }

    /// All links have 10 Gb/s and 500 ns. Hosts come first; of links, those of hosts, then those within groups.
    fn fabric(self) -> Fabric {
        let (groups, switches) = (self.groups(), self.groups() * self.a);
        let mut nodes = vec![NodeKind::Host; self.hosts() as usize];
        nodes.resize((self.hosts() + switches) as usize, NodeKind::Switch);
        let of_host = (0..self.hosts()).map(|host| host / self.group_hosts());
        let mut net = Net(Fabric {
            groups: of_host
                .chain((0..switches).map(|switch| switch / self.a))
                .collect(),
            nodes,
            ..Fabric::default()
        });
        let mut link = |a, b| {
            net.0.links.push(Link {
                a,
                b,
                rate: gbps(10),
                delay: ps(500_000),
            });
        };
        (0..self.hosts()).for_each(|host| link(host, self.hosts() + host / self.p));
        for group in 0..groups {
            for a in 0..self.a {
                (a + 1..self.a).for_each(|b| link(self.switch(group, a), self.switch(group, b)));
            }
        }
        for group in 0..groups {
            for port in 0..self.a * self.h {
                let other = (group + groups - port - 1) % groups;
                let far_port = self.a * self.h - 1 - port;
                if group < other {
                    link(
                        self.switch(group, port / self.h),
                        self.switch(other, far_port / self.h),
                    );
                }
            }
        }
        net.0
    }
}

/// Lossy, so that nothing deadlocks.
fn lossy(shape: Shape, flows: Vec<FlowSpec>, balancing: Balancing) -> Config {
    let mut config = config(shape.fabric(), flows, us(600));
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 100 * FRAME;
    config.switch.balancing = balancing;
    config
}

/// Flows of each host.
const FLOWS: u32 = 32;

/// The share of their links' rate that receivers get if each host sends at this percentage of it, in flows to hosts that `to` names,
/// and links that a packet crosses.
fn throughput(percent: u64, balancing: Balancing, to: impl Fn(u32, u32) -> u32) -> (f64, f64) {
    let flows = (0..SHAPE.hosts()).flat_map(|src| (0..FLOWS).map(move |number| (src, number)));
    let flows = flows.map(|(src, number)| FlowSpec {
        transport: Transport::Udp,
        offered: Some(unpause_protocols::units::Rate::from_mbps(
            10_000 * percent / 100 / u64::from(FLOWS),
        )),
        source_port: (src * FLOWS + number) as u16,
        ..flow(src, to(src, number))
    });
    let results = run(&lossy(SHAPE, flows.collect(), balancing));
    let totals = &results.totals;
    let share = totals.delivered_packets as f64 / totals.data_packets as f64;
    let hops = totals.packet_hops as f64 / totals.data_packets as f64;
    (percent as f64 / 100.0 * share, hops)
}

/// Each host sends to hosts of the next group.
fn to_the_next_group(src: u32, number: u32) -> u32 {
    let own = SHAPE.group_hosts();
    let first = (src / own + 1) % SHAPE.groups() * own;
    first + (src + number) % own
}

/// Each host sends to hosts of all other groups.
fn to_all_groups(src: u32, number: u32) -> u32 {
    let own = SHAPE.group_hosts();
    let others = SHAPE.hosts() - own;
    let first = (src / own + 1) * own;
    (first + (src * 7 + number * 13) % others) % SHAPE.hosts()
}

/// All a p hosts of a group send over the one link to the next: each gets 1 / (a p) of its rate. By third groups, of which there are
/// a h - 1, each global link carries two such parts: (a h - 1) / (2 a p), which is nearly h / (2 p).
#[test]
fn third_groups_carry_what_one_link_cannot() {
    let bound = 1.0 / f64::from(SHAPE.group_hosts());
    let (minimal, _) = throughput(40, Balancing::Ecmp, to_the_next_group);
    assert_within("minimal", minimal, bound, 0.08);
    let bound = f64::from(SHAPE.a * SHAPE.h - 1) / f64::from(2 * SHAPE.group_hosts());
    assert_eq!(bound, 7.0 / 16.0);
    // Flows are spread by a hash, so that some links have more than others.
    let (valiant, _) = throughput(40, Balancing::Valiant, to_the_next_group);
    assert!((0.34..0.4).contains(&valiant), "{valiant}");
    let (most, _) = throughput(100, Balancing::Valiant, to_the_next_group);
    assert!(most < bound, "{most}");
}

/// Of traffic to all, third groups make each packet cross two global links, which carry half as much then: h / (2 p).
#[test]
fn third_groups_halve_what_uniform_traffic_gets() {
    let (minimal, short) = throughput(80, Balancing::Ecmp, to_all_groups);
    let (valiant, long) = throughput(80, Balancing::Valiant, to_all_groups);
    assert!(minimal > 0.65, "{minimal}");
    assert!(valiant < 0.5, "{valiant}");
    assert!(short < 5.0, "{short}");
    let (_, free) = throughput(10, Balancing::Valiant, to_all_groups);
    assert!(free > short + 1.0 && long < 7.0, "{short} {free} {long}");
}

/// Each host sends to one in each other group.
fn to_all(shape: Shape, bytes: u64) -> Vec<FlowSpec> {
    let hosts = shape.hosts();
    let pairs = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst)));
    let pairs = pairs.filter(|(src, dst)| src != dst);
    let flow = |(src, dst): (u32, u32)| FlowSpec {
        source_port: (src * 31 + dst) as u16,
        ..sized(src, dst, bytes)
    };
    pairs.map(flow).collect()
}

fn models() -> [SwitchModel; 3] {
    [
        SwitchModel::SharedBuffer,
        SwitchModel::Pipeline(PipelineConfig {
            packets_per_second: 100_000_000,
            ..PipelineConfig::default()
        }),
        SwitchModel::InputQueued(InputQueuedConfig {
            speedup_percent: 200,
            ..InputQueuedConfig::default()
        }),
    ]
}

/// One flow at a time: nothing is lost, and none is faster than ideal.
#[test]
fn every_model_goes_by_third_groups() {
    for model in models() {
        let flows = (0..FIVE.hosts()).map(|host| FlowSpec {
            start: us(u64::from(host) * 50),
            source_port: 77 * host as u16,
            ..sized(host, (host + 4) % FIVE.hosts(), 10_000)
        });
        let mut config = config(FIVE.fabric(), flows.collect(), ms(1));
        config.switch.model = model.clone();
        let minimal = run(&config);
        config.switch.balancing = Balancing::Valiant;
        let results = run(&config);
        let what = format!("{model:?}");
        for results in [&minimal, &results] {
            assert_complete(results);
            assert_lossless(results);
            let ideal = |it: &unpause_sim::results::FlowRecord| it.fct >= it.ideal_fct;
            assert!(results.flows.iter().all(ideal), "{what}");
        }
        let hops = |results: &Results| results.totals.packet_hops;
        assert!(hops(&results) > hops(&minimal), "{what}");
    }
}

#[test]
fn threads_and_ranks_do_not_matter() {
    for (shape, balancing) in [
        (SMALL, Balancing::Ecmp),
        (SMALL, Balancing::Valiant),
        (FIVE, Balancing::Valiant),
    ] {
        for sprays in [false, true] {
            let mut config = lossy(shape, to_all(shape, 20_000), balancing);
            config.stop = ms(4);
            config.scheme.roce = dcqcn().roce;
            config.scheme.congestion_point = dcqcn().congestion_point;
            config.scheme.notification_point = dcqcn().notification_point;
            config.host.retransmit_timeout = us(500);
            if sprays {
                config.scheme.loss_recovery =
                    unpause_protocols::loss_recovery::Config::SelectiveRepeat(Default::default());
                config.host.spraying = Spraying::Oblivious(oblivious::Params { paths: 16 });
            }
            let what = format!("{balancing:?}, {sprays}");
            let results = run(&config);
            assert_complete(&results);
            assert_threads_do_not_matter(&what, &config);
            assert!(
                assert_ranks_do_not_matter(&what, &config) == results,
                "{what}"
            );
        }
    }
}

/// Packets of a flow keep to one path, by whatever group it goes.
#[test]
fn a_flow_stays_in_order() {
    let mut config = config(FIVE.fabric(), to_all(FIVE, 5_000), ms(2));
    config.switch.balancing = Balancing::Valiant;
    config.switch.lossless = 0;
    let results = run(&config);
    assert_complete(&results);
    assert_eq!(results.totals.dropped_packets, 0);
    let again: u64 = results
        .flows
        .iter()
        .map(|it| it.retransmitted_packets)
        .sum();
    assert_eq!(again, 0, "go-back-N had nothing to repeat");
}

/// Links fail one after the other; packets are routed over the rest, and none runs in circles.
#[test]
fn links_fail_and_return() {
    for detection in [0, 20] {
        let mut config = lossy(FIVE, to_all(FIVE, 20_000), Balancing::Valiant);
        config.stop = ms(20);
        config.host.retransmit_timeout = us(300);
        let first = FIVE.hosts() as usize;
        let links = config.fabric.links.len();
        let failing = (first..links).step_by(4).enumerate();
        let events = failing.flat_map(|(number, link)| {
            let down = LinkEvent {
                at: us(10 + 10 * number as u64),
                link,
                direction: Direction::Both,
                up: false,
            };
            let up = LinkEvent {
                at: us(500),
                up: true,
                ..down
            };
            [down, up]
        });
        config.events = Events {
            links: events.collect(),
            detection: us(detection),
            convergence: us(detection),
            ..Events::default()
        };
        let results = run(&config);
        assert_complete(&results);
        assert_threads_do_not_matter("links fail", &config);
        // Six links between switches and two of hosts; detours while links are down, packets sent again and ACKs as well.
        let packets = results.totals.data_packets;
        assert!(results.totals.packet_hops < packets * 2 * 10);
    }
}

/// Who is called a victim of a queue sent nothing through it, by whatever groups its packets went.
#[test]
fn victims_do_not_pass_what_held_them() {
    for balancing in [Balancing::Ecmp, Balancing::Valiant] {
        // All send to host 0, and each to a host of another group.
        let incast = (2..FIVE.hosts()).map(|src| sized(src, 0, 100_000));
        let others = (2..FIVE.hosts()).map(|src| FlowSpec {
            source_port: src as u16 * 91,
            ..sized(src, 2 + src % (FIVE.hosts() - 2), 200_000)
        });
        let flows = incast.chain(others.filter(|it| it.src != it.dst));
        let mut config = config(FIVE.fabric(), flows.collect(), ms(2));
        config.switch.balancing = balancing;
        config.switch.pfc.threshold = static_threshold(20_000);
        config.probes.causes = true;
        let nodes = 0..config.fabric.nodes.len() as u32;
        let links_of = |node: u32| {
            let links = config.fabric.links.iter();
            links.filter(|it| it.a == node || it.b == node).count() as u16
        };
        let all = nodes.flat_map(|node| (0..links_of(node)).map(move |port| (node, port)));
        config.probes.packets = all.collect();
        let results = run(&config);
        assert!(!results.victims.is_empty(), "{balancing:?}");
        let data = results
            .packets
            .iter()
            .filter(|it| it.kind == PacketKind::Data);
        let passed: BTreeSet<_> = data.map(|it| (it.flow, it.node, Some(it.port))).collect();
        for victim in &results.victims {
            let at = (victim.flow, victim.node, victim.port);
            assert!(!passed.contains(&at), "{balancing:?}: {victim:?}");
        }
    }
}

/// The longest path has six switches, one more than packets have room for.
#[test]
fn telemetry_is_full_behind_five_switches() {
    let unrecorded = |balancing| {
        let mut config = config(FIVE.fabric(), to_all(FIVE, 2_000), ms(2));
        config.scheme.roce = Law::Hpcc(hpcc::Params::default());
        config.scheme.congestion_point =
            unpause_protocols::congestion_point::Config::Telemetry(Default::default());
        config.switch.balancing = balancing;
        run(&config).totals.unrecorded_hops
    };
    assert_eq!(unrecorded(Balancing::Ecmp), 0);
    assert!(unrecorded(Balancing::Valiant) > 0);
}

#[test]
fn buffers_wait_in_cycles() {
    let cycle = |shape: Shape, balancing| {
        let mut config = config(shape.fabric(), to_all(shape, 2_000), ms(2));
        config.switch.balancing = balancing;
        buffer_dependency_cycle(&config).unwrap()
    };
    assert!(cycle(SHAPE, Balancing::Ecmp).is_some());
    assert!(cycle(SHAPE, Balancing::Valiant).is_some());
    // Four groups of one switch: shortest paths have one link between switches, and by a third group two.
    let full = Shape { a: 1, p: 1, h: 3 };
    assert_eq!(cycle(full, Balancing::Ecmp), None);
    assert_eq!(cycle(full, Balancing::Valiant).map(|it| it.len()), Some(3));
}

fn refusal(change: impl Fn(&mut Config)) -> String {
    let mut config = config(SMALL.fabric(), to_all(SMALL, 1_000), ms(1));
    config.switch.balancing = Balancing::Valiant;
    change(&mut config);
    let run = unpause_sim::run(&config, &mut |_| std::ops::ControlFlow::Continue(()));
    run.expect_err("it cannot be run").to_string()
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = [
        refusal(|config| config.fabric.groups.clear()),
        refusal(|config| {
            let groups = &mut config.fabric.groups;
            groups.iter_mut().for_each(|group| *group = (*group).min(1));
        }),
        refusal(|config| config.fabric.groups[0] = 2),
        refusal(|config| config.fabric.groups[0] = 1_000),
        refusal(|config| config.fabric.groups.truncate(3)),
        refusal(|config| config.fabric.ecmp = Ecmp::Hpcc),
    ];
    let expected = [
        "this topology has none",
        "goes by a third one, and there is none",
        "a host must be in the group of its switches",
        "groups are numbered from 0",
        "the group of each node is needed",
        "switches cannot choose by a hash and by another rule",
    ];
    for (refused, expected) in refused.iter().zip(expected) {
        assert!(refused.contains(expected), "{refused}");
    }
}
