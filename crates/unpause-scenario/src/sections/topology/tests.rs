//! Tests of the builders.

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::NodeId;

use super::*;
use unpause_import::fabric::topology::Topology;

const DELAY: Time = Time::from_us(5);

fn gbps(gbps: u64) -> Rate {
    Rate::from_gbps(gbps)
}

/// Names of a node's neighbours, by port.
pub(super) fn neighbours<'a>(topology: &'a Topology, name: &str) -> Vec<&'a str> {
    let node = topology.names.iter().position(|n| n == name).unwrap() as NodeId;
    let links = topology.fabric.links.iter();
    links
        .filter(|link| link.a == node || link.b == node)
        .map(|link| topology.name(if link.a == node { link.b } else { link.a }))
        .collect()
}

pub(super) fn count(topology: &Topology, stem: &str) -> usize {
    topology
        .names
        .iter()
        .filter(|name| name.starts_with(stem))
        .count()
}

#[test]
fn two_switches_are_the_basic_scenario_of_pcn() {
    let mut right: Vec<String> = vec!["R0".into(), "R1".into()];
    right.extend((2..=15).map(|i| format!("H{i}")));
    let topology = TwoSwitch {
        left: vec!["H0".into(), "H1".into()],
        right,
        rate: gbps(40),
        bottleneck_rate: None,
        delay: DELAY,
    }
    .build()
    .unwrap();
    assert_eq!(topology.hosts().count(), 18);
    assert_eq!(neighbours(&topology, "S0"), ["H0", "H1", "S1"]);
    assert_eq!(neighbours(&topology, "S1")[..4], ["S0", "R0", "R1", "H2"]);
    assert!(
        topology
            .fabric
            .links
            .iter()
            .all(|l| l.rate == gbps(40) && l.delay == DELAY)
    );
}

#[test]
fn a_dumbbell_has_a_bottleneck() {
    let topology = Dumbbell {
        left: 3,
        right: 2,
        rate: gbps(40),
        bottleneck_rate: Some(gbps(10)),
        delay: DELAY,
    }
    .build()
    .unwrap();
    assert_eq!(topology.names, ["A1", "A2", "A3", "B1", "B2", "S0", "S1"]);
    let slow: Vec<_> = topology
        .fabric
        .links
        .iter()
        .filter(|l| l.rate == gbps(10))
        .collect();
    assert_eq!(
        (
            slow.len(),
            topology.name(slow[0].a),
            topology.name(slow[0].b)
        ),
        (1, "S0", "S1")
    );
}

#[test]
fn one_switch_has_every_host() {
    let topology = SingleSwitch {
        hosts: 4,
        rate: gbps(100),
        delay: DELAY,
    }
    .build()
    .unwrap();
    assert_eq!(neighbours(&topology, "S0"), ["H0", "H1", "H2", "H3"]);
}

#[test]
fn a_parking_lot_has_one_short_flow_for_each_link() {
    let topology = ParkingLot {
        bottlenecks: 3,
        rate: gbps(40),
        delay: DELAY,
    }
    .build()
    .unwrap();
    assert_eq!(neighbours(&topology, "X0"), ["X1", "A0", "A1"]);
    assert_eq!(neighbours(&topology, "X1"), ["X0", "X2", "B1", "A2"]);
    assert_eq!(neighbours(&topology, "X3"), ["X2", "B0", "B3"]);
}

fn clos() -> ClosPods {
    ClosPods {
        pods: 8,
        tors_per_pod: 4,
        leaves_per_pod: 2,
        spines: 8,
        hosts_per_tor: 16,
        host_rate: gbps(10),
        fabric_rate: Some(gbps(40)),
        tor_leaf_links: 2,
        delay: DELAY,
        host_delay: None,
    }
}

#[test]
fn clos_pods_are_the_large_topology_of_pcn() {
    let topology = clos().build().unwrap();
    let counts = ["H", "tor", "leaf", "spine"].map(|stem| count(&topology, stem));
    assert_eq!(counts, [512, 32, 16, 8]);
    let tor = neighbours(&topology, "tor5");
    assert_eq!((tor.len(), tor[0], tor[15]), (20, "H80", "H95"));
    assert_eq!(tor[16..], ["leaf2", "leaf2", "leaf3", "leaf3"]);
    // 1:1 at every switch.
    let leaf = neighbours(&topology, "leaf2");
    assert_eq!(
        leaf.iter().filter(|name| name.starts_with("tor")).count(),
        8
    );
    assert_eq!(
        leaf.iter().filter(|name| name.starts_with("spine")).count(),
        8
    );
    assert_eq!(neighbours(&topology, "spine7").len(), 16);
}

#[test]
fn a_single_pod_needs_no_spine_but_two_do() {
    let pod = ClosPods {
        pods: 1,
        spines: 0,
        ..clos()
    };
    assert_eq!(pod.build().unwrap().names.len(), 64 + 4 + 2);
    assert_eq!(
        ClosPods {
            spines: 0,
            ..clos()
        }
        .build()
        .unwrap_err()
        .field,
        "spines"
    );
}

#[test]
fn every_leaf_reaches_every_spine() {
    let topology = LeafSpine {
        leaves: 3,
        spines: 2,
        hosts_per_leaf: 4,
        host_rate: gbps(25),
        fabric_rate: Some(gbps(100)),
        parallel: 1,
        delay: DELAY,
        host_delay: None,
    }
    .build()
    .unwrap();
    assert_eq!(
        neighbours(&topology, "leaf1"),
        ["H4", "H5", "H6", "H7", "spine0", "spine1"]
    );
    assert_eq!(neighbours(&topology, "spine1"), ["leaf0", "leaf1", "leaf2"]);
}

#[test]
fn cables_to_hosts_may_have_a_delay_of_their_own() {
    let short = Time::from_ns(10);
    let topology = ClosPods {
        host_delay: Some(short),
        ..clos()
    };
    for link in topology.build().unwrap().fabric.links {
        let expected = if link.a < 512 { short } else { DELAY };
        assert_eq!(link.delay, expected);
    }
    let none = ClosPods {
        host_delay: Some(Time::ZERO),
        ..clos()
    };
    assert_eq!(none.build().unwrap_err().field, "host_delay");
}

#[test]
fn every_switch_of_a_fat_tree_has_k_ports() {
    for k in [2, 4, 8] {
        let topology = FatTree {
            k,
            edge_uplinks: None,
            agg_uplinks: None,
            host_rate: gbps(10),
            fabric_rate: None,
            core_rate: None,
            delay: DELAY,
            host_delay: None,
        }
        .build()
        .unwrap();
        assert_eq!(topology.hosts().count() as u32, k * k * k / 4);
        for name in topology.names.iter().filter(|name| !name.starts_with('H')) {
            assert_eq!(neighbours(&topology, name).len() as u32, k, "{name}");
        }
    }
    let thinned = FatTree {
        k: 8,
        edge_uplinks: Some(2),
        agg_uplinks: Some(2),
        host_rate: gbps(10),
        fabric_rate: None,
        core_rate: Some(gbps(40)),
        delay: DELAY,
        host_delay: None,
    };
    let odd = FatTree {
        k: 3,
        ..thinned.clone()
    };
    assert_eq!(odd.build().unwrap_err().field, "k");
    for agg_uplinks in [0, 5] {
        let wrong = FatTree {
            agg_uplinks: Some(agg_uplinks),
            ..thinned.clone()
        };
        assert_eq!(wrong.build().unwrap_err().field, "agg_uplinks");
    }
    // CaPFC's 8-port switches with 2:1 at the edge and at the aggregation.
    let topology = thinned.build().unwrap();
    let count = |stem| {
        topology
            .names
            .iter()
            .filter(|it| it.starts_with(stem))
            .count()
    };
    assert_eq!(["H", "edge", "agg", "core"].map(count), [128, 32, 16, 4]);
    let ports = ["edge31", "agg15", "core3"].map(|name| neighbours(&topology, name).len());
    assert_eq!(ports, [6, 6, 8]);
    let pods = neighbours(&topology, "core3");
    assert_eq!(
        pods,
        [1, 3, 5, 7, 9, 11, 13, 15].map(|agg| format!("agg{agg}"))
    );
    let uplinks = topology
        .fabric
        .links
        .iter()
        .filter(|link| link.rate == gbps(40));
    assert_eq!(uplinks.count(), 32);
}

fn explicit() -> Explicit {
    let link = |a: &str, b: &str, parallel| ExplicitLink {
        a: a.into(),
        b: b.into(),
        rate: gbps(10),
        delay: DELAY,
        parallel,
    };
    Explicit {
        hosts: vec!["alice".into(), "bob".into()],
        switches: vec!["left".into(), "right".into()],
        links: vec![
            link("alice", "left", 1),
            link("left", "right", 2),
            link("bob", "right", 1),
        ],
    }
}

#[test]
fn explicit_links_are_built_as_written() {
    let topology = explicit().build().unwrap();
    assert_eq!(neighbours(&topology, "left"), ["alice", "right", "right"]);
}

#[test]
fn explicit_mistakes_are_explained() {
    let refused = |change: &dyn Fn(&mut Explicit), expected: &str| {
        let mut changed = explicit();
        change(&mut changed);
        assert_eq!(changed.build().unwrap_err().to_string(), expected);
    };
    refused(
        &|e| e.links[1].b = "rihgt".into(),
        "links[1]: there is no node `rihgt`; did you mean `right`?",
    );
    refused(
        &|e| e.switches[1] = "south".into(),
        "links[1]: there is no node `right`; valid here: `alice`, `bob`, `left`, `south`",
    );
    refused(
        &|e| e.switches.push("bob".into()),
        "switches: two nodes are named `bob`",
    );
    refused(
        &|e| e.links[1].b = "left".into(),
        "links[1]: `left` is linked to itself",
    );
    refused(
        &|e| e.links[1].parallel = 0,
        "links[1]: `parallel` must be at least 1",
    );
    refused(
        &|e| e.links[1].delay = Time::ZERO,
        "links[1]: a link needs a delay above zero",
    );
    refused(
        &|e| e.links[0].rate = gbps(8_001),
        "links[0]: a link has at most 8000Gbps, at which a byte lasts a picosecond",
    );
    refused(
        &|e| drop(e.links.remove(1)),
        "links: no path leads from `alice` to `bob`",
    );
    refused(
        &|e| drop(e.links.remove(2)),
        "links: host `bob` has no link",
    );
    refused(
        &|e| e.hosts.clear(),
        "links[0]: there is no node `alice`; valid here: `left`, `right`",
    );
    refused(
        &|e| {
            let again = ExplicitLink {
                a: "right".into(),
                b: "left".into(),
                ..e.links[1].clone()
            };
            e.links.push(again);
        },
        "links[3]: `right` and `left` are linked by links[1] already; for more links between them write `parallel`",
    );
}
