//! Headers, links and hosts of the formats of the family.

use std::fs::File;
use std::io::BufReader;

use unpause_protocols::units::{Rate, Time};

use super::*;

fn read(name: &str) -> Result<Topology, FileError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../unpause-scenario/tests/data/hpcc")
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
        let instead = ["[topology] reads it", "a [[job]] reads it"];
        assert!(instead.iter().any(|it| error.contains(it)), "{error}");
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
        ["t.txt: 2 nodes have no link and are not used; the first is H1"]
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
            "t.txt:4:5: found `7`, expected an error rate from 0 to 1",
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

/// SimAI's 8 GPUs in two servers: NVSwitches 8 and 9, leaves 10 and 11, one for each of two rails, and spines 12 to 14.
const SIMAI: &str = "\
15 4 2 5 22 Z900
8 9 10 11 12 13 14
0 8 2400Gbps 0.00002ms 0\n0 10 200Gbps 0.0004ms 0
1 8 2400Gbps 0.00002ms 0\n1 11 200Gbps 0.0004ms 0
2 8 2400Gbps 0.00002ms 0\n2 10 200Gbps 0.0004ms 0
3 8 2400Gbps 0.00002ms 0\n3 11 200Gbps 0.0004ms 0
4 9 2400Gbps 0.00002ms 0\n4 10 200Gbps 0.0004ms 0
5 9 2400Gbps 0.00002ms 0\n5 11 200Gbps 0.0004ms 0
6 9 2400Gbps 0.00002ms 0\n6 10 200Gbps 0.0004ms 0
7 9 2400Gbps 0.00002ms 0\n7 11 200Gbps 0.0004ms 0
10 12 400Gbps 0.0004ms 0\n10 13 400Gbps 0.0004ms 0\n10 14 400Gbps 0.0004ms 0
11 12 400Gbps 0.0004ms 0\n11 13 400Gbps 0.0004ms 0\n11 14 400Gbps 0.0004ms 0
";

fn simai(text: &str) -> Result<(Topology, Kind), FileError> {
    super::read(text.as_bytes(), Path::new("t"), None)
}

#[test]
fn simais_topology_has_nvswitches_and_gpus_with_two_links() {
    let (read, kind) = simai(SIMAI).unwrap();
    assert_eq!(kind, Kind::SimAi);
    assert_eq!(read.notes, [""; 0]);
    assert_eq!(read.gpus_per_server, Some(4));
    assert_eq!(read.hosts().collect::<Vec<_>>(), Vec::from_iter(0..8));
    assert_eq!(read.fabric.nvswitches, [8, 9]);
    assert_eq!(read.names[7..10], ["H7", "S8", "S9"]);
    let links = &read.fabric.links;
    assert_eq!(links.len(), 22);
    for gpu in 0..8 {
        let peers: Vec<_> = links
            .iter()
            .filter(|it| it.a == gpu)
            .map(|it| it.b)
            .collect();
        assert_eq!(peers, [8 + gpu / 4, 10 + gpu % 2]);
    }
    assert_eq!(links[0].rate, Rate::from_gbps(2400));
    assert_eq!(links[0].delay, Time::from_ns(20));
}

#[test]
fn simais_words_may_stand_on_other_lines() {
    let (whole, _) = simai(SIMAI).unwrap();
    let words: Vec<&str> = SIMAI.split_whitespace().collect();
    let (head, links) = words.split_at(6 + 7);
    let links: Vec<String> = links.chunks(5).map(|link| link.join(" ")).collect();
    for text in [
        format!("{}\n{}", head.join(" "), links.join("\n")),
        format!("{}\n{}", head.join(" "), links.join(" ")),
        format!(
            "{}\n{}\n\n{}",
            head[..6].join(" "),
            head[6..].join("\n"),
            links.join("\r\n")
        ),
    ] {
        let (read, _) = simai(&text).unwrap();
        assert_eq!(read.fabric.links, whole.fabric.links, "{text}");
        assert_eq!(read.fabric.nvswitches, [8, 9]);
    }
}

#[test]
fn simais_number_of_links_may_be_wrong() {
    let (whole, _) = simai(SIMAI).unwrap();
    for (said, after) in [("20", ""), ("20", "\nmade by hand\n"), ("23", "")] {
        let text = SIMAI.replace(" 22 Z", &format!(" {said} Z")) + after;
        let (read, _) = simai(&text).unwrap();
        assert_eq!(read.fabric.links, whole.fabric.links);
        let note =
            format!("t: the header announces {said} links, but the file has 22; all are read");
        assert_eq!(read.notes, [note]);
    }
    // Behind all links, anything may stand.
    let (read, _) = simai(&format!("{SIMAI}1 2 3\n")).unwrap();
    assert_eq!((read.fabric.links.len(), read.notes.len()), (22, 0));
}

#[test]
fn simais_topology_may_lack_nvswitches_or_use_them_otherwise() {
    let without = "4 2 0 1 3 A100\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n";
    let (read, kind) = simai(without).unwrap();
    assert_eq!((kind, read.fabric.nvswitches.len()), (Kind::SimAi, 0));
    let across = "4 2 1 1 3 A100\n3 2\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n";
    let (read, _) = simai(across).unwrap();
    assert_eq!(read.fabric.nvswitches, [3]);
    assert!(
        read.notes[0].starts_with("t:5: a link of an NVSwitch to another switch (nodes 2 and 3)"),
        "{:?}",
        read.notes
    );
}

#[test]
fn mistakes_in_simais_topologies_say_what_they_were_taken_for() {
    let links = SIMAI.split_once('\n').unwrap().1;
    for (text, error) in [
        (
            SIMAI.replace("15 4", "15 0"),
            "t:1:4: found `0`, expected a number of GPUs of each server, from 1",
        ),
        (
            SIMAI.replace("15 4 2", "15 4 x"),
            "t:1:6: found `x`, expected a number of NVSwitches",
        ),
        (
            SIMAI.replace("15 4 2", "15 4 -2"),
            "t:1:6: found `-2`, expected a number of NVSwitches",
        ),
        (
            SIMAI.replace(" 14\n", "\n"),
            "t:3: found `0 8 2400Gbps 0.00002ms 0` (5 columns), expected 1 more ids of switches (header of five numbers, \
             links last, and a GPU type (SimAI))",
        ),
        (
            SIMAI
                .replacen("2400Gbps", "2400", 1)
                .replacen("2400 ", "fast ", 1),
            "t:3:5: found `fast`, expected a rate such as `100Gbps`",
        ),
        (
            SIMAI.replacen("0 8 2400Gbps 0.00002ms 0", "0 8 2400Gbps", 1),
            "t:3: found `0 8 2400Gbps` (3 columns), expected a link: src dst rate delay error_rate (header of five",
        ),
        (
            SIMAI.replacen("1 8 2400Gbps", "1 15 2400Gbps", 1),
            "t:5:3: found `15`, expected the id of a node, below 15 (header of five",
        ),
        (
            SIMAI.replacen("1 8 2400Gbps", "1 2 2400Gbps", 1),
            "t:5: found a link of host 1 to host 2, expected hosts linked to switches",
        ),
        (
            "15 4 2 5 22 Z900\n8 9 10 11 12 13 14\n".to_owned(),
            "t:2: found the end of the file, expected a link",
        ),
    ] {
        let refused = simai(&text).unwrap_err().to_string();
        assert!(refused.starts_with(error), "{refused}");
    }
    // One of five words is HPCC's, with ids behind it.
    let refused = simai(&format!("15 4 2 5 22\n{links}")).unwrap_err();
    assert!(!refused.to_string().contains("SimAI)"), "{refused}");
}

#[test]
fn a_topology_of_simai_is_written_as_it_was_read() {
    let (read, _) = simai(SIMAI).unwrap();
    let mut text = Vec::new();
    write_topology(&mut text, &read).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.starts_with("15 4 2 5 22 GPU\n8 9 10 11 12 13 14\n"),
        "{text}"
    );
    let (again, _) = simai(&text).unwrap();
    assert_eq!(again.fabric.links, read.fabric.links);
    assert_eq!(again.fabric.nvswitches, read.fabric.nvswitches);
    assert_eq!(again.gpus_per_server, read.gpus_per_server);
}
