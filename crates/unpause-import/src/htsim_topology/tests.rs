use std::path::Path;

use super::*;

/// 8 hosts, 2 leaves, 2 spines; 50 Gb/s to hosts, 100 above.
const TWO_TIERS: &str = include_str!("../../../unpause-scenario/tests/data/tiny.topo");

/// A fat-tree of 16 hosts.
const THREE_TIERS: &str = "Nodes 16\nTiers 3\nPodsize 4\n\
    Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n\
    Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\n\
    Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\n";

fn parsed(text: &str) -> Topology {
    parse(text, Path::new("t.topo")).unwrap_or_else(|error| panic!("{error}"))
}

fn links(topology: &Topology) -> Vec<(String, String, u64, u64)> {
    let links = topology.fabric.links.iter();
    links
        .map(|it| {
            let (a, b) = (topology.name(it.a), topology.name(it.b));
            (
                a.to_owned(),
                b.to_owned(),
                it.rate.as_bps() / 1_000_000_000,
                it.delay.as_ps() / 1000,
            )
        })
        .collect()
}

/// A path of four links and three switches takes 4 x 700 + 3 x 300 ns one way.
#[test]
fn two_tiers_are_leaves_and_spines() {
    let topology = parsed(TWO_TIERS);
    let links = links(&topology);
    assert_eq!(links.len(), 8 + 4);
    let link = |a: &str, b: &str, rate, delay| (a.to_owned(), b.to_owned(), rate, delay);
    assert_eq!(links[3], link("H3", "tor0", 50, 850));
    assert_eq!(links[4], link("H4", "tor1", 50, 850));
    assert_eq!(
        links[8..],
        [
            link("tor0", "spine0", 100, 1000),
            link("tor0", "spine1", 100, 1000),
            link("tor1", "spine0", 100, 1000),
            link("tor1", "spine1", 100, 1000),
        ]
    );
    assert_eq!(2 * (850 + 1000), 4 * 700 + 3 * 300);
}

#[test]
fn three_tiers_are_a_fat_tree() {
    let topology = parsed(THREE_TIERS);
    let links = links(&topology);
    assert_eq!(links.len(), 3 * 16);
    let cores_of = |agg: &str| -> Vec<&str> {
        let above = links.iter().filter(|it| it.0 == agg);
        above.map(|it| it.1.as_str()).collect()
    };
    assert_eq!(cores_of("agg0"), ["core0", "core1"]);
    assert_eq!(cores_of("agg1"), ["core2", "core3"]);
    assert_eq!(cores_of("agg6"), ["core0", "core1"]);
    let below = links.iter().filter(|it| it.1 == "core3");
    assert_eq!(below.count(), 4);
}

/// Each core has two links to an aggregation switch of each pod.
#[test]
fn bundles_are_parallel_links() {
    let text = THREE_TIERS.replace("Radix_Down 4", "Radix_Down 8\nBundle 2");
    let topology = parsed(&text);
    let links = links(&topology);
    let of = |core: &str| links.iter().filter(|it| it.1 == core).count();
    assert_eq!((of("core0"), of("core1")), (8, 8));
    assert!(!topology.names.contains(&"core2".to_owned()));
}

#[test]
fn keys_without_effect_are_named() {
    let text = THREE_TIERS.replace("Radix_Down 4", "Radix_Down 4\nQueue_Down 100000");
    assert_eq!(
        parsed(&text).notes,
        ["line 17: Queue_Down of tier 2 has no effect: set switch.lossy_queue, or switch.buffer"]
    );
    let of_hosts = |links: u32| THREE_TIERS.replace("Tier 0", &format!("Tier 0\nBundle {links}"));
    assert_eq!(parsed(&of_hosts(1)).notes, [""; 0]);
    assert_eq!(
        parsed(&of_hosts(4)).notes,
        ["line 5: Bundle of tier 0 has no effect: a host has one link to its switch"]
    );
}

#[test]
fn what_makes_no_fabric_is_refused_with_its_line() {
    let cases = [
        (
            "Nodes 16",
            "Nodes 17",
            "t.topo:3: found Podsize 4: 17 / 4, expected a number of pods",
        ),
        (
            "Tiers 3",
            "Tiers 4",
            "t.topo:2: found Tiers 4, expected two tiers, or three",
        ),
        (
            "Tiers 3",
            "Tiers 2",
            "t.topo:2: found Tiers 2, of which 3 follow",
        ),
        (
            "Podsize 4",
            "Podsizes 4",
            "t.topo:3: found Podsizes, expected one of Nodes, Tiers, Podsize",
        ),
        (
            "Podsize 4",
            "Nodes 4",
            "t.topo:3: found Nodes a second time",
        ),
        (
            "Tier 1",
            "Tier 2",
            "t.topo:9: found Tier 2, expected Tier 1",
        ),
        (
            "Radix_Down 4",
            "Radix_Down 5",
            "t.topo:16: found Radix_Down 5: 20 links down, expected as many as",
        ),
        (
            "Radix_Down 4",
            "Radix_Down x",
            "t.topo:16: found Radix_Down without a whole number",
        ),
        (
            "Radix_Down 4",
            "Radix_Down 4\nRadix_Up 2",
            "t.topo:17: found Radix_Up of the last tier",
        ),
        (
            "Radix_Down 4",
            "Radix_Down 4 5",
            "t.topo:16: found Radix_Down 4 5, expected a key and its number",
        ),
        (
            "Radix_Down 4\n",
            "",
            "t.topo:14: found Tier 2 without Radix_Down",
        ),
    ];
    for (from, to, said) in cases {
        let text = THREE_TIERS.replace(from, to);
        let error = parse(&text, Path::new("t.topo")).expect_err(to).to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

/// There, it is an option of the command.
#[test]
fn a_tier_needs_a_latency() {
    let no_latency = TWO_TIERS.replace("Downlink_Latency_ns 700", "");
    let error = parse(&no_latency, Path::new("t.topo")).expect_err("no latency");
    assert!(
        error
            .to_string()
            .contains("an option where the file has none"),
        "{error}"
    );
}

#[test]
fn files_are_told_by_their_first_keys() {
    assert!(is_one(TWO_TIERS.as_bytes()) && is_one(b"# a\nnodes 4\nTIERS 2\nPodsize 4\n"));
    assert!(!is_one(b"Nodes 8\nConnections 4\n") && !is_one(b"320 56 400\n") && !is_one(b""));
}
