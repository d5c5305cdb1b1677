use std::path::PathBuf;

use proptest::prelude::*;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::Link;
use unpause_sim::traffic::Transport;

use super::*;
use unpause_text::limits;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../unpause-scenario/tests/data/hpcc")
        .join(name)
}

fn sample() -> Topology {
    read_topology(&data("topology.txt"), None).unwrap()
}

fn flows_of(text: &str) -> Result<Flows, FileError> {
    parse_flows(
        text.as_bytes(),
        Path::new("flow.txt"),
        &sample(),
        &FlowSettings::default(),
    )
}

#[test]
fn reads_a_topology() {
    let topology = sample();
    assert_eq!(topology.names, ["H0", "H1", "H2", "H3", "S4", "S5", "S6"]);
    assert_eq!(topology.fabric.links.len(), 6);
    let slow = Link {
        a: 3,
        b: 5,
        rate: Rate::from_gbps(25),
        delay: Time::from_ns(500),
    };
    assert_eq!(topology.fabric.links[3], slow);
    assert_eq!(
        topology.fabric.links[0].delay,
        topology.fabric.links[1].delay
    );
    assert_eq!(topology.fabric.links[4].delay, Time::from_ns(1500));
}

#[test]
fn reads_flows_in_order_of_start_with_the_ports_of_hpcc() {
    let settings = FlowSettings {
        controlled: false,
        ..FlowSettings::default()
    };
    let read = read_flows(&data("flow.txt"), &sample(), &settings).unwrap();
    let summary: Vec<_> = read
        .flows
        .iter()
        .map(|f| {
            (
                f.src,
                f.dst,
                f.priority,
                f.size_bytes.unwrap(),
                f.start.as_ps(),
                f.source_port,
            )
        })
        .collect();
    let expected = [
        (1, 3, 3, 1000, 2_000_000_000_000, 10_000),
        (0, 3, 3, 64_000, 2_000_000_001_000, 10_000),
        (2, 0, 1, 5_000_000_000, 2_000_000_001_000, 10_000),
        (0, 3, 3, 500, 2_500_000_000_000, 10_001),
    ];
    assert_eq!(summary, expected);
    assert_eq!(read.ignored, 0);
    assert!(
        read.flows
            .iter()
            .all(|flow| !flow.controlled && flow.stop.is_never())
    );
}

#[test]
fn reads_a_byte_order_mark() {
    let text = "1\n0 1 3 100 500 2.0\n";
    assert_eq!(
        flows_of(&format!("\u{feff}{text}")).unwrap(),
        flows_of(text).unwrap()
    );
}

#[test]
fn says_which_byte_is_no_text_and_what_is_too_much() {
    let topology = |bytes: &[u8]| {
        let error = parse_topology(bytes, Path::new("t.txt"), None).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        topology(b"2 0 1\n0 1 \xb5s\n"),
        "t.txt:2: found byte 11 is 0xB5, expected UTF-8 text"
    );
    assert_eq!(
        topology(b"2 0 99999999\n"),
        "t.txt:1:5: found 99999999 links, expected at most 2097152"
    );
    let long = " ".repeat(limits::LINE_BYTES as usize + 1);
    assert_eq!(
        topology(long.as_bytes()),
        "t.txt:1: found a line of more than 8 MiB, expected lines of text"
    );
    assert!(topology(b"3 1 1\n2\n1 1 1Gbps 1us 0\n").starts_with("t.txt:3:3: found a link from"));
}

#[test]
fn reads_five_and_seven_columns() {
    let read = read_flows(
        &data("flow_conweave.txt"),
        &sample(),
        &FlowSettings::default(),
    )
    .unwrap();
    assert_eq!(read.flows[0].start, Time::from_ns(2_000_000_123));
    assert_eq!(read.flows[1].size_bytes, Some(1000));
    let read = flows_of("1\n0 1 3 100 64000 0.5 0.75\n").unwrap();
    assert_eq!(read.flows[0].stop, Time::from_ms(750));
}

#[test]
fn a_line_that_lacks_a_column_is_not_read_as_another_format() {
    let refused = |text: &str| flows_of(text).unwrap_err().to_string();
    assert_eq!(
        refused("2\n0 1 3 100 64000 0.5\n0 1 3 64000 0.5\n"),
        "flow.txt:3: found `0 1 3 64000 0.5` (5 columns), expected 6 columns, as in line 2"
    );
    assert_eq!(
        refused("2\n0 1 3 64000 0.5\n0 1 3 100 64000 0.5\n"),
        "flow.txt:3: found `0 1 3 100 64000 0.5` (6 columns), expected 5 columns, as in line 2"
    );
}

#[test]
fn counts_flows_beyond_the_announced_number() {
    let read =
        flows_of("1\n0 1 3 100 1 1\n1 0 3 100 1 1\nabout: 3 flows\n2 0 3 100 1 1\n").unwrap();
    assert_eq!((read.flows.len(), read.ignored), (1, 2));
}

#[test]
fn times_are_read_to_the_nearest_picosecond() {
    let cases = [
        ("0", Some(0)),
        ("1.", Some(1_000_000_000_000)),
        ("0.000000000001", Some(1)),
        ("0.0000000000014", Some(1)),
        ("0.0000000000015", Some(2)),
        ("0.9999999999999", Some(1_000_000_000_000)),
        ("2.100000001", Some(2_100_000_001_000)),
        ("18446744.0", Some(18_446_744_000_000_000_000)),
        ("18446745", None),
        ("-1", None),
        ("1e-5", Some(10_000_000)),
        ("2E+0", Some(2_000_000_000_000)),
        ("1.25e-11", Some(13)),
        ("1e-13", Some(0)),
        ("1e99999", None),
        ("0e99999999", Some(0)),
        ("1e", None),
        (".5", Some(500_000_000_000)),
        (".", None),
        ("1.x", None),
        ("", None),
        ("inf", None),
    ];
    for (text, ps) in cases {
        assert_eq!(seconds(text), ps.map(Time::from_ps), "{text}");
    }
}

/// Checks what is said of the sample with something else in the place of `from`.
fn refused(from: &str, to: &str, expected: &str) {
    let good = std::fs::read_to_string(data("topology.txt")).unwrap();
    let text = good.replacen(from, to, 1);
    assert_ne!(text, good);
    let result = parse_topology(text.as_bytes(), Path::new("t.txt"), Some(1));
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn mistakes_in_the_nodes_of_a_topology_are_explained() {
    refused(
        "7 3 6\n",
        "7 3\n",
        "t.txt:1: found `7 3` (2 columns), expected the numbers of nodes, switches and links (also four numbers as of ns3-datacenter, six as of Reverie, or five and a GPU type as of SimAI)",
    );
    refused(
        "7 3 6",
        "x 3 6",
        "t.txt:1:1: found `x`, expected a number of nodes",
    );
    refused(
        "4 5\n",
        "4 7\n",
        "t.txt:2:3: found `7`, expected the id of a node, below 7",
    );
    refused(
        "\n6\n",
        "\n5\n",
        "t.txt:3:1: found `5`, expected 3 different ids of switches",
    );
}

#[test]
fn mistakes_in_the_links_of_a_topology_are_explained() {
    refused(
        "0 4 100Gbps 0.001ms 0",
        "0 4 100Gbps 0.001ms",
        "t.txt:4: found `0 4 100Gbps 0.001ms` (4 columns), expected a link: src dst rate delay error_rate",
    );
    refused(
        "1000ns 0.000000",
        "1000ns 1.01",
        "t.txt:5:20: found `1.01`, expected an error rate from 0 to 1: the share of packets that the link loses",
    );
    refused(
        "25Gbps",
        "9000Gbps",
        "t.txt:7:5: found `9000Gbps`, expected a rate above zero and up to 8000Gbps",
    );
    refused(
        "0.5us",
        "0us",
        "t.txt:7:12: found `0us`, expected a delay above zero",
    );
    refused(
        "5 6 400Gbps",
        "6 4 400Gbps",
        "t.txt:9: found another link between nodes 6 and 4, expected at most 1 (`parallel` of the topology)",
    );
    refused(
        "7 3 6",
        "7 3 60",
        "t.txt:11: found `First line: total node #, switch node #, link #` (10 columns), expected a link: src dst rate delay error_rate, each on a line of its own",
    );
}

#[test]
fn a_topology_that_ends_early_or_is_not_there_is_explained() {
    let error = parse_topology(
        "3 1 2\n2\n0 2 1Gbps 1us 0\n".as_bytes(),
        Path::new("t.txt"),
        None,
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "t.txt:3: found the end of the file, expected a link: src dst rate delay error_rate (1 of 2 read)"
    );
    let error = read_topology(Path::new("/nowhere/t.txt"), None)
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("cannot read /nowhere/t.txt: "), "{error}");
}

#[test]
fn flow_mistakes_are_explained() {
    let refused = |line: &str, column: usize, expected: &str| {
        let error = flows_of(&format!("1\n{line}\n")).unwrap_err();
        let place = match column {
            0 => "flow.txt:2".into(),
            column => format!("flow.txt:2:{column}"),
        };
        assert_eq!(error.to_string(), format!("{place}: found {expected}"));
    };
    let id = "`9`, expected the id of a node, below 7";
    refused("9 1 3 100 1 1", 1, id);
    refused("0  9 3 100 1 1", 4, id);
    let switch = "`4`, a switch, expected the id of a host";
    refused("0 4 3 100 1 1", 3, switch);
    let priority = "`8`, expected a priority from 0 to 7";
    refused("0 1 8 100 1 1", 5, priority);
    let time = "`1x`, expected a time in seconds such as `2.000001` or `2e-05`";
    refused("0 1 3 100 1 1x", 13, time);
    // ns3-rdma: src dst pg packets start stop.
    let bytes = "`2.0`, expected a whole number of bytes (src dst pg dport bytes start_s)";
    refused("0 1 3 100 2.0 3", 11, bytes);
    for line in ["0 1 3 100", "0 1 3 100 500 0 500 9"] {
        let columns = line.split(' ').count();
        let widths = "src dst pg dport bytes start_s, the same with stop_s, or without dport (6, 7 or 5 columns)";
        refused(
            line,
            0,
            &format!("`{line}` ({columns} columns), expected a flow: {widths}"),
        );
    }
    let error = flows_of("").unwrap_err().to_string();
    assert_eq!(
        error,
        "flow.txt:0: found the end of the file, expected the number of flows"
    );
}

#[test]
fn what_of_a_flow_file_is_not_done_as_it_stands_there_is_told() {
    let text = "6\n0 1 3 100 500 2e-05\n1 1 3 100 500 3e-05\n0 1 3 65636 0 1E-5\n0 2 3 131172 9 1\n2 0 3 65535 9 1\n2 1 3 100 9 1\n0 1 3 100 1 1\n";
    let read = flows_of(text).unwrap();
    let flows: Vec<_> = read
        .flows
        .iter()
        .map(|it| (it.start.as_ps(), it.size_bytes, it.destination_port))
        .collect();
    let second = 1_000_000_000_000;
    assert_eq!(
        flows,
        [
            (10_000_000, Some(1), 100),
            (20_000_000, Some(500), 100),
            (second, Some(9), 100),
            (second, Some(9), 65_535),
            (second, Some(9), 100),
        ]
    );
    let notes = read.notes();
    let starts = [
        "1 flow of 0 bytes",
        "1 flow from a host to itself",
        "2 flows with a destination port above 65535",
        "flows are not in order of start",
        "1 line like flows after the 6",
    ];
    assert_eq!(notes.len(), starts.len(), "{notes:?}");
    for (note, start) in notes.iter().zip(starts) {
        assert!(note.starts_with(start), "{note}");
    }
    assert!(flows_of("1\n0 1 3 100 500 2\n").unwrap().notes().is_empty());
}

#[test]
fn writes_completed_flows_as_hpcc_does() {
    let flow = |id, src, start_us, fct: Option<u64>| FlowRecord {
        id,
        group: 0,
        src,
        dst: 258,
        priority: 3,
        size_bytes: Some(64_000),
        start: Time::from_us(start_us),
        fct: fct.map(Time::from_ps),
        ideal_fct: Some(Time::from_ps(12_345_999)),
        delivered_bytes: 64_000,
        retransmitted_packets: 0,
        transport: Transport::Roce,
        extra_delay: Time::ZERO,
        timeouts: 0,
        gave_up: false,
        gave_up_at: None,
        notifications: 0,
        acknowledged: None,
        stuck: None,
        source_port: 0,
        destination_port: 100,
    };
    let flows = [
        flow(0, 1, 10, Some(50_000_999)),
        flow(1, 2, 11, None),
        flow(2, 1, 12, Some(20_000_000)),
    ];
    let mut text = Vec::new();
    write_fct(&mut text, &flows).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "0b000101 0b010201 10001 100 64000 12000 20000 12345\n\
         0b000101 0b010201 10000 100 64000 10000 50000 12345\n"
    );
}

fn fabrics() -> impl Strategy<Value = Topology> {
    let rate = proptest::sample::select(vec![10u64, 25, 40, 100, 400]);
    let host = (0usize..4, rate.clone(), 1u64..10_000_000);
    (proptest::collection::vec(host, 1..8), rate).prop_map(|(hosts, rate)| {
        let mut topology = Topology::default();
        let switches: Vec<_> = (0..4)
            .map(|i| topology.add_switch(format!("S{i}")))
            .collect();
        for pair in switches.windows(2) {
            topology.connect(pair[0], pair[1], Rate::from_gbps(rate), Time::from_us(1));
        }
        for (i, (switch, rate, delay)) in hosts.into_iter().enumerate() {
            let host = topology.add_host(format!("H{}", i + 4));
            topology.connect(
                host,
                switches[switch],
                Rate::from_gbps(rate),
                Time::from_ps(delay),
            );
        }
        topology.validate().unwrap()
    })
}

proptest! {
    #[test]
    fn a_topology_survives_writing_and_reading(topology in fabrics()) {
        let mut text = Vec::new();
        write_topology(&mut text, &topology).unwrap();
        let read = parse_topology(text.as_slice(), Path::new("t.txt"), None).unwrap();
        prop_assert_eq!(read.names, topology.names);
        prop_assert_eq!(read.fabric.nodes, topology.fabric.nodes);
        prop_assert_eq!(read.fabric.links, topology.fabric.links);
    }

    #[test]
    fn flows_survive_writing_and_reading(
        raw in proptest::collection::vec((0u32..4, 1u32..4, 1u64.., 0u64..1 << 60, 0u8..8), 0..30),
    ) {
        let mut flows: Vec<FlowSpec> = raw
            .into_iter()
            .map(|(src, offset, bytes, start, priority)| FlowSpec {
                size_bytes: Some(bytes),
                start: Time::from_ps(start),
                priority,
                destination_port: 200,
                ..FlowSpec::between(src, (src + offset) % 4)
            })
            .collect();
        flows.sort_by_key(|flow| flow.start);
        let mut text = Vec::new();
        write_flows(&mut text, &flows).unwrap();
        let mut read = flows_of(std::str::from_utf8(&text).unwrap()).unwrap().flows;
        read.iter_mut().for_each(|flow| flow.source_port = 0);
        prop_assert_eq!(read, flows);
    }

    #[test]
    fn never_panics(text in "[0-9GbpsmuH. \n-]{0,80}") {
        let _ = parse_topology(text.as_bytes(), Path::new("t.txt"), None);
        let _ = flows_of(&text);
        let _ = parse_topology(format!("3 1 2\n2\n{text}").as_bytes(), Path::new("t.txt"), None);
        let _ = flows_of(&format!("3\n{text}"));
    }
}

#[test]
fn flows_of_forks_are_read_with_notes() {
    let read = read_flows(&data("flow_forks.txt"), &sample(), &FlowSettings::default()).unwrap();
    assert_eq!(
        (read.flows.len(), read.ignored, read.notes().len()),
        (3, 1, 4)
    );
}

#[test]
fn flows_of_other_simulators_are_named() {
    let error = flows_of("Nodes 8\nConnections 4\n")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("flow.txt:1: found flows of htsim (.cm)"),
        "{error}"
    );
}

#[test]
fn words_of_flows_count_and_not_lines() {
    let whole = flows_of("2\n1 2 3 100 1000 0.1\n2 1 3 100 2000 0.2\n").unwrap();
    for text in [
        "2 1 2 3 100 1000 0.1 2 1 3 100 2000 0.2\n",
        "2\n1 2 3 100\n1000 0.1\n2 1 3 100 2000 0.2",
        "2\n1 2 3 100 1000\n0.1 2 1 3 100 2000 0.2\n",
        "2\n1 2 3 100 1000 0.1\n2\n1 3\n100 2000\n0.2\n",
        "2\n1 2 3 100 1000 0.1 2\n1 3 100 2000 0.2\nwhat follows is no flow\n",
    ] {
        assert_eq!(flows_of(text).unwrap().flows, whole.flows, "{text}");
    }
    assert_eq!(flows_of("1\n1 2 3 100 1000\n0.1\n").unwrap().flows.len(), 1);
    assert_eq!(flows_of("1\n1 2 3 1000 0.1\nend\n").unwrap().flows.len(), 1);
    for (text, error) in [
        (
            "3\n1 2 3 100 1000 0.1\n1 2 3 1000 0.1\n1 2 3 100 1000 0.1\n",
            "flow.txt:3: found `1 2 3 1000 0.1` (5 columns), expected 6 columns, as in line 2",
        ),
        (
            "2\n1 2 3 100 1000 0.1 0 0\n1 2 3 100 1000 0.1 0 0\n",
            "flow.txt:2: found `1 2 3 100 1000 0.1 0 0` (8 columns)",
        ),
        (
            "2\n1 2 3 100\n1000 0.1 1 2 3 100 10k 0.1\n",
            "flow.txt:3:20: found `10k`, expected a whole number of bytes",
        ),
    ] {
        let refused = flows_of(text).unwrap_err().to_string();
        assert!(refused.starts_with(error), "{refused}");
    }
}
