//! Headers, links and hosts of the formats of the family.

use std::fs::File;
use std::io::BufReader;

use unpause_protocols::units::{Rate, Time};

use super::*;

fn read(name: &str) -> Result<Topology, FileError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/hpcc")
        .join(name);
    parse_topology(BufReader::new(File::open(&path).unwrap()), &path, None)
}

#[test]
fn headers_are_told_apart() {
    let links = "0 3 50000000000.0 2us 0\n1 3 50000000000 2us 0\n2 4 50Gbps 2e-06 0\n3 4 100Gb/s 0.004ms 0\n";
    for (header, ids) in [
        ("5 2 4", "3 4"),
        ("5 2 2 4", "3 4"),
        ("5 2 2 4", "3\n4"),
        ("5 1 1 4", "3\n4"),
        ("5 2 0 4", "3 4"),
        ("5 2 2 4 50000000000 1e11", "3 4"),
    ] {
        let text = format!("{header}\n{ids}\n{links}");
        let read = parse_topology(text.as_bytes(), Path::new("t.txt"), None).unwrap();
        assert_eq!(read.names, ["H0", "H1", "H2", "S3", "S4"], "{header}");
        let rates: Vec<u64> = read
            .fabric
            .links
            .iter()
            .map(|it| it.rate.as_bps())
            .collect();
        let (host, fabric) = (50_000_000_000, 100_000_000_000);
        assert_eq!(rates, [host, host, host, fabric], "{header}");
        assert_eq!(read.fabric.links[2].delay, Time::from_us(2));
    }
}

#[test]
fn the_same_fabric_is_read_of_each_header() {
    for file in [
        "topology_four.txt",
        "topology_six.txt",
        "topology_two_kinds.txt",
    ] {
        let read = read(file).unwrap();
        assert_eq!((read.hosts().count(), read.names.len()), (6, 8), "{file}");
        assert_eq!(read.fabric.links.len(), 7);
        let rates = [5, 6].map(|link: usize| read.fabric.links[link].rate);
        assert_eq!(rates, [Rate::from_gbps(50), Rate::from_gbps(100)]);
    }
}

#[test]
fn files_of_other_simulators_are_named() {
    let texts = [
        ("15 4 2 5 22 Z900\n8 9", "a topology of SimAI (15 nodes"),
        ("Nodes 8\nTiers 2\n", "a topology of htsim (.topo)"),
        ("Nodes 8\nConnections 4\n", "flows of htsim (.cm)"),
        ("num_ranks 4\nrank 0 {", "a GOAL schedule"),
        (
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: 1\n1\n",
            "a workload of SimAI or astra-sim",
        ),
    ];
    for (text, name) in texts {
        let topology = parse_topology(text.as_bytes(), Path::new("f"), None).unwrap_err();
        let error = topology.to_string();
        assert!(error.starts_with(&format!("f:1: found {name}")), "{error}");
        assert!(error.contains("not supported yet") || error.contains("not read yet"));
    }
}

#[test]
fn of_links_between_two_nodes_the_last_counts_unless_they_are_parallel() {
    let text = "3 1 3\n2\n0 2 40Gbps 1us 0\n2 0 100Gbps 2us 0\n1 2 40Gbps 1us 0\n";
    let read = parse_topology(text.as_bytes(), Path::new("t.txt"), None).unwrap();
    assert_eq!(read.fabric.links.len(), 2);
    assert_eq!(read.fabric.links[0].delay, Time::from_us(2));
    assert!(
        read.notes[0].contains("1 of 3 links carry nothing"),
        "{:?}",
        read.notes
    );
    let error = parse_topology(text.as_bytes(), Path::new("t.txt"), Some(1)).unwrap_err();
    assert!(
        error.to_string().starts_with("t.txt:4: found another link"),
        "{error}"
    );
}

#[test]
fn hosts_that_cannot_be_are_refused_at_their_lines() {
    let refused = |text: &str| {
        let error = parse_topology(text.as_bytes(), Path::new("t.txt"), None).unwrap_err();
        error.to_string()
    };
    let ring = refused("3 0 3\n\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n2 0 1Gbps 1us 0\n");
    assert!(
        ring.starts_with("t.txt:3: found a link of host 0 to host 1"),
        "{ring}"
    );
    assert!(ring.contains("hosts do not forward"), "{ring}");
}

#[test]
fn a_host_has_a_nic_at_each_of_its_links() {
    let text = "4 2 5\n2 3\n0 2 1Gbps 1us 0\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n1 2 1Gbps 1us 0\n2 3 1Gbps 1us 0\n";
    let read = parse_topology(text.as_bytes(), Path::new("t.txt"), None).unwrap();
    let ends: Vec<_> = read.fabric.links.iter().map(|it| (it.a, it.b)).collect();
    assert_eq!(ends, [(0, 2), (0, 3), (1, 3), (1, 2), (2, 3)]);
}

#[test]
fn hosts_without_a_link_take_no_part() {
    let text = "5 1 2\n4\n0 4 1Gbps 1us 0\n2 4 1Gbps 1us 0\n";
    let read = parse_topology(text.as_bytes(), Path::new("t.txt"), None).unwrap();
    assert_eq!(read.names, ["H0", "S1", "H2", "S3", "S4"]);
    assert_eq!(read.hosts().collect::<Vec<_>>(), [0, 2]);
    assert_eq!(
        read.notes,
        ["t.txt: 2 nodes have no link, the first is H1: they take no part"]
    );
}

#[test]
fn words_count_and_not_lines() {
    let lines = "4 1 3\n3\n0 3 50Gbps 3us 0\n1 3 50Gbps 3us 0\n2 3 100Gbps 3us 0\n";
    let whole = parse_topology(lines.as_bytes(), Path::new("t.txt"), None).unwrap();
    for text in [
        "4 1 3 3 0 3 50Gbps 3us 0 1 3 50Gbps 3us 0 2 3 100Gbps 3us 0\n",
        "4\n1\n3\n3\n0\n3\n50Gbps\n3us\n0\n1 3 50Gbps 3us 0\n2 3 100Gbps 3us 0",
        "4 1\n3\n3 0 3 50Gbps 3us 0\n1 3 50Gbps 3us 0\n2 3 100Gbps 3us 0\n",
        "4 1 3 3\n0 3 50Gbps 3us 0\n1 3 50Gbps 3us 0\n2 3 100Gbps 3us 0\n",
        "4 1 3\n3\n0 3 50Gbps 3us 0 1 3 50Gbps 3us 0\n2 3 100Gbps\n3us 0\nwhat follows is no link\n",
    ] {
        let read = parse_topology(text.as_bytes(), Path::new("t.txt"), None).unwrap();
        assert_eq!(read.fabric.nodes, whole.fabric.nodes, "{text}");
        assert_eq!(read.fabric.links, whole.fabric.links, "{text}");
    }
    for (text, error) in [
        (
            "4 1 3\n3\n0 3 50Gbps 3us\n1 3 50Gbps 3us 0\n2 3 50Gbps 3us 0\n",
            "t.txt:3: found `0 3 50Gbps 3us` (4 columns)",
        ),
        (
            "4 1 3\n3 2\n0 3 50Gbps 3us 0\n1 3 50Gbps 3us 0\n2 3 50Gbps 3us 0\n",
            "t.txt:2:3: found `2`, expected 1 different ids",
        ),
        (
            "4 1 3\n3\n0 3 50Gbps 3us 0 1 3 50Gbps\n3us 7 2 3\n50Gbps 3us 0\n",
            "t.txt:4:5: found `7`, expected an error rate of 0",
        ),
        (
            "4 1\nx\n",
            "t.txt:2:1: found `x`, expected a number of links",
        ),
    ] {
        let refused = parse_topology(text.as_bytes(), Path::new("t.txt"), None).unwrap_err();
        assert!(refused.to_string().starts_with(error), "{refused}");
    }
}
