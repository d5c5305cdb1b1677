//! Frames byte by byte: those that this crate builds stand in `built.txt`, which scapy dissects in
//! `tests/python/test_wire.py`; those that scapy builds stand in `scapy.txt`, made there.
//!
//! `UNPAUSE_BLESS=1 cargo test -p unpause-wire --test frames` makes `built.txt` anew.

mod samples;

use std::fmt::Write as _;
use std::path::Path;

use unpause_wire::{Frame, fcs};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| {
        let pair = str::from_utf8(pair).expect("hexadecimal digits");
        u8::from_str_radix(pair, 16).expect("hexadecimal digits")
    };
    digits.iter().map(byte).collect()
}

fn build(frame: &Frame<'_>) -> Vec<u8> {
    let mut out = vec![0xaa; frame.length()];
    assert_eq!(frame.build(&mut out), Ok(frame.length()));
    out
}

/// `name hexadecimal` of each line.
fn table(file: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/frames")
        .join(file);
    let text = std::fs::read_to_string(path).expect("a table of frames");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pair = |line: &str| line.split_once(' ').map(|(a, b)| (a.into(), unhex(b)));
    lines.map(|line| pair(line).expect("a pair")).collect()
}

#[test]
fn built_frames_are_the_recorded_bytes() {
    let samples = samples::all();
    let mut text = String::from("# Frames without FCS that unpause-wire builds: see main.rs.\n");
    for (name, frame) in &samples {
        let _ = writeln!(text, "{name} {}", hex(&build(frame)));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frames/built.txt");
    if std::env::var_os("UNPAUSE_BLESS").is_some() {
        std::fs::write(&path, &text).expect("built.txt");
    }
    let recorded = std::fs::read_to_string(&path).expect("built.txt");
    assert_eq!(text, recorded);
}

#[test]
fn built_frames_parse_back() {
    for (name, frame) in samples::all() {
        let bytes = build(&frame);
        let (parsed, padding) = Frame::parse(&bytes).expect(name);
        assert_eq!(parsed, frame, "{name}");
        assert!(padding.iter().all(|&byte| byte == 0), "{name}");
        assert!(bytes.len() >= 60, "{name}");
    }
}

#[test]
fn scapys_frames_parse_to_the_same_values() {
    let theirs = table("scapy.txt");
    let ours = samples::all();
    let names: Vec<&str> = theirs.iter().map(|(name, _)| name.as_str()).collect();
    let all: Vec<&str> = ours.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, all);
    for ((name, bytes), (_, frame)) in theirs.iter().zip(&ours) {
        let (parsed, _) = Frame::parse(bytes).expect(name);
        assert_eq!(parsed, *frame, "{name}");
        assert_eq!(hex(bytes), hex(&build(frame)), "{name}");
    }
}

/// Bytes of a base transport header captured on a network: BECN, queue pair 0xd2.
#[test]
fn a_captured_cnp_header_is_read() {
    let bytes = unhex("8100ffff400000d200000000");
    let (bth, opcode, padding, rest) = unpause_wire::Bth::parse(&bytes).expect("a header");
    assert_eq!(opcode, unpause_wire::Opcode::CNP);
    assert!(bth.becn && !bth.fecn && !bth.ack_request && !bth.migration);
    assert_eq!((bth.destination_qp, bth.psn, padding), (0xd2, 0, 0));
    assert_eq!((bth.partition, rest.len()), (0xffff, 0));
}

/// IEEE 802.3's check value of CRC-32: "123456789" gives 0xcbf43926, its low byte first.
#[test]
fn the_fcs_is_crc_32_with_its_low_byte_first() {
    assert_eq!(fcs(b"123456789"), [0x26, 0x39, 0xf4, 0xcb]);
}

/// Sizes that the simulator counts, with the 4 bytes of the FCS.
#[test]
fn control_frames_have_the_sizes_of_the_simulator() {
    let bytes = |name: &str| {
        let all = samples::all();
        let (_, frame) = all.iter().find(|(n, _)| *n == name).expect(name);
        frame.length() + 4
    };
    assert_eq!(bytes("roce-ack"), 66);
    assert_eq!(bytes("roce-cnp"), 78);
    assert_eq!(bytes("pfc-priority-3"), 64);
    assert_eq!(bytes("roce-send-only"), 1062);
}
