//! Runs as captures, and captures as flows.

use std::path::Path;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::Block;
use unpause_capture::{Error, Flows, PriorityFrom, Reader, write_flow_file, write_pcapng};
use unpause_scenario::{NoProgress, Options, Scenario, Tables, execute};
use unpause_wire::{Body, Frame, RoceBody, Syndrome};

/// An incast with every kind of frame: PAUSE, CNPs of DCQCN and PCN, CNMs, TCP beside it.
const INCAST: &str = r#"
duration = "3ms"
[topology]
builder = "single-switch"
hosts = 6
rate = "10Gbps"
delay = "1us"
[pfc]
xoff = "100KB"
[[scheme]]
name = "DCQCN"
congestion_control = "dcqcn"
tcp = "dctcp"
[[scheme]]
name = "PCN"
congestion_control = "pcn"
tcp = "dctcp"
[[scheme]]
name = "QCN"
congestion_control = "qcn"
tcp = "dctcp"
[[traffic]]
name = "incast"
kind = "burst"
from = "H1..H4"
to = "H0"
size = "300KB"
[[traffic]]
name = "small"
kind = "burst"
from = "H5"
to = "H1"
size = "1001B"
[[traffic]]
name = "tcp"
kind = "burst"
from = "H5"
to = "H2"
size = "20007B"
transport = "tcp"
priority = 1
[probes]
packets = ["*->*"]
"#;

fn tables(source: &str) -> Tables {
    let scenario = Scenario::parse(source, Path::new("incast.toml"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}: {:?}", error));
    let done = execute(&scenario, &Options::default(), &NoProgress).expect("it runs");
    done.tables
}

fn capture(tables: &Tables, run: u32, snap_bytes: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let written = write_pcapng(tables, run, snap_bytes, &mut out).expect("packets were traced");
    let runs = tables.packets.column_by_name("run").expect("a column");
    let runs = runs.as_primitive::<UInt32Type>().values();
    let rows = runs.iter().filter(|&&of| of == run).count();
    assert_eq!(written, rows as u64);
    out
}

fn read_flows(bytes: impl std::io::Read, idle: Duration) -> Result<Flows, Error> {
    let priority = PriorityFrom::Auto;
    Reader { idle, priority }.read(bytes)
}

/// Reads a capture: names of interfaces, and packets.
fn read(bytes: &[u8]) -> (Vec<String>, Vec<(u128, Vec<u8>)>) {
    let mut reader = PcapNgReader::new(bytes).expect("a capture");
    let (mut interfaces, mut packets) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.expect("a block") {
            Block::InterfaceDescription(interface) => {
                interfaces.push(format!("{:?}", interface.options[0]));
            }
            Block::EnhancedPacket(packet) => {
                packets.push((packet.timestamp.as_nanos(), packet.data.to_vec()));
            }
            _ => {}
        }
    }
    (interfaces, packets)
}

#[test]
fn every_frame_of_a_run_is_sound() {
    let tables = tables(INCAST);
    let mut kinds = [0; 8];
    for run in 0..3 {
        let (interfaces, packets) = read(&capture(&tables, run, 0));
        assert!(interfaces.iter().any(|name| name.contains("H1->S0")));
        assert!(packets.is_sorted_by_key(|(time, _)| *time));
        for (_, bytes) in packets {
            let (frame, _) = Frame::parse(&bytes).expect("a frame of ours");
            let kind = match frame.body {
                Body::Pfc(_) => 0,
                Body::Cnm(cnm) => {
                    assert!((1..=63).contains(&cnm.feedback));
                    assert!(frame.cn_tag.is_some() && frame.ethernet.tag.is_some());
                    1
                }
                Body::Tcp { .. } | Body::Udp { .. } => 2,
                Body::Roce { bth, body, .. } => match body {
                    RoceBody::Data { .. } => 3,
                    RoceBody::Ack(ack) => {
                        assert_eq!(ack.syndrome, Syndrome::Ack { credits: 31 });
                        4
                    }
                    RoceBody::Cnp(cnp) if cnp.rec_rate() > 0 => {
                        // No more than the link carries, in kb/s.
                        assert!(bth.becn && cnp.rec_rate() <= 10_000_000);
                        5
                    }
                    RoceBody::Cnp(_) if bth.becn => 6,
                    RoceBody::Cnp(_) => 7,
                },
                Body::Pause(_) => panic!("nothing sends PAUSE to a whole link"),
            };
            kinds[kind] += 1;
        }
    }
    assert!(kinds.iter().all(|&count| count > 0), "{kinds:?}");
}

/// The packets that hosts sent match the table of flows.
#[test]
fn a_capture_gives_its_flows_back() {
    // Every packet passes two ports that are traced.
    let tables = tables(INCAST);
    let flows = read_flows(&*capture(&tables, 0, 0), Duration::from_millis(3)).expect("flows");
    let cut = read_flows(&*capture(&tables, 0, 64), Duration::from_millis(3)).expect("flows");
    assert_eq!(flows, cut, "what is cut off does not count");
    assert!(flows.seen_again > 1000, "{}", flows.seen_again);

    let column = |name| tables.flows.column_by_name(name).expect("a column");
    let sizes = column("size_bytes").as_primitive::<UInt64Type>();
    let (srcs, dsts) = (
        column("src").as_string::<i32>(),
        column("dst").as_string::<i32>(),
    );
    let runs = column("run").as_primitive::<UInt32Type>();
    let mut expected = Vec::new();
    for row in (0..tables.flows.num_rows()).filter(|&row| runs.value(row) == 0) {
        expected.push((srcs.value(row), dsts.value(row), sizes.value(row)));
    }
    expected.sort_unstable();
    let names = ["H0", "H1", "H2", "H3", "H4", "H5"];
    let mut found: Vec<_> = flows.flows.iter().collect();
    found.sort_unstable_by_key(|flow| (flow.src, flow.dst, flow.size_bytes));
    let found: Vec<_> = found
        .iter()
        .map(|flow| (names[flow.src], names[flow.dst], flow.size_bytes))
        .collect();
    assert_eq!(found, expected);
    let mut text = Vec::new();
    write_flow_file(&flows, &mut text).expect("memory can be written");
    let text = String::from_utf8(text).expect("text");
    assert_eq!(text.lines().count(), expected.len() + 1);
    assert!(text.contains("1 0 3 4791 300000 0.000000000\n"), "{text}");
}

/// Wireshark's editcap wrote the two, the one in nanoseconds and the other in microseconds.
#[test]
fn pcap_and_pcapng_say_the_same() {
    let read = |name| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(name);
        let file = std::fs::File::open(path).expect("a capture");
        read_flows(file, Duration::from_millis(10)).expect("flows")
    };
    let (new, old) = (read("incast.pcapng"), read("incast.pcap"));
    assert_eq!((&new.hosts, new.packets), (&old.hosts, old.packets));
    for (new, old) in new.flows.iter().zip(&old.flows) {
        assert_eq!(new.start.as_micros(), old.start.as_micros());
        assert_eq!(
            (new.src, new.dst, new.size_bytes),
            (old.src, old.dst, old.size_bytes)
        );
    }
    assert_eq!(new.flows.len(), 5);
}

#[test]
fn a_run_without_traced_packets_says_what_to_do() {
    let tables = tables(&INCAST.replace("packets = [\"*->*\"]", ""));
    let error = write_pcapng(&tables, 1, 0, Vec::new()).expect_err("no packets");
    assert_eq!(
        error.to_string(),
        "no packets of run 1 were traced: name ports under [probes] packets and run again"
    );
}

#[test]
fn damaged_captures_are_refused() {
    let idle = Duration::from_millis(1);
    let refusal = |bytes: &[u8]| match read_flows(bytes, idle) {
        Ok(flows) => panic!("accepted: {flows:?}"),
        Err(error) => error,
    };
    for no_capture in [&b"abc"[..], b"this is no capture at all"] {
        assert!(matches!(refusal(no_capture), Error::NoCapture { .. }));
    }
    // A magic number, and nothing behind it.
    let begun = 0xa1b2_c3d4_u32.to_le_bytes();
    assert!(matches!(refusal(&begun), Error::Capture { packet: 1, .. }));
    let whole = capture(&tables(INCAST), 0, 64);
    let all = read_flows(&*whole, idle).expect("flows");
    let cut = read_flows(&whole[..whole.len() - 3], idle).expect("flows before the cut");
    assert!(cut.cut_off && !all.cut_off);
    assert_eq!(cut.packets, all.packets - 1);
    let whole = &whole[..5000];
    for at in (0..whole.len()).step_by(7) {
        let mut bad = whole.to_vec();
        bad[at] ^= 0xff;
        let _ = read_flows(&*bad, idle);
    }
}
