//! Captures of others, made by hand.

use std::time::Duration;

use unpause_capture::{Error, Flows, PriorityFrom, Reader};

/// A frame from IP on: RoCEv2 with `data` bytes after `extension` ones.
struct Packet {
    dscp: u8,
    ttl: u8,
    opcode: u8,
    psn: u32,
    extension: u16,
    data: u16,
}

const WRITE: Packet = Packet {
    dscp: 26,
    ttl: 64,
    opcode: 0x0a,
    psn: 1,
    extension: 16,
    data: 100,
};

impl Packet {
    fn bytes(&self) -> Vec<u8> {
        let udp = 8 + 12 + self.extension + self.data + 4;
        let mut out = vec![0x45, self.dscp << 2];
        out.extend((20 + udp).to_be_bytes());
        out.extend([0, 1, 0x40, 0, self.ttl, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        out.extend([0xc0, 0, 0x12, 0xb7]);
        out.extend(udp.to_be_bytes());
        out.extend([0, 0, self.opcode, 0, 0xff, 0xff, 0, 0, 0, 5, 0]);
        out.extend(&self.psn.to_be_bytes()[1..]);
        out.resize(20 + usize::from(udp), 0);
        out
    }

    fn ethernet(&self, tags: &[[u8; 4]]) -> Vec<u8> {
        let mut out = vec![2; 12];
        out.extend(tags.iter().flatten());
        out.extend([8, 0]);
        out.extend(self.bytes());
        out
    }
}

/// A classic file, whose records keep `snap` bytes, 10 us apart.
fn pcap(link: u32, snap: usize, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut out = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    out.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend((snap as u32).to_le_bytes());
    out.extend(link.to_le_bytes());
    for (number, frame) in (0_u32..).zip(frames) {
        let kept = frame.len().min(snap);
        for field in [1, 10 * number, kept as u32, frame.len() as u32] {
            out.extend(field.to_le_bytes());
        }
        out.extend(&frame[..kept]);
    }
    out
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = (padded as u32 + 12).to_le_bytes();
    let mut out = kind.to_le_bytes().to_vec();
    out.extend(length);
    out.extend(body);
    out.resize(8 + padded, 0);
    out.extend(length);
    out
}

/// A pcapng file with two Ethernet interfaces and these blocks.
fn pcapng(blocks: &[Vec<u8>]) -> Vec<u8> {
    let section = [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0];
    let mut out = block(0x0a0d_0d0a, &[&section[..], &[0xff; 8]].concat());
    for _ in 0..2 {
        out.extend(block(1, &[1, 0, 0, 0, 0, 0, 1, 0]));
    }
    out.extend(blocks.iter().flatten());
    out
}

/// An enhanced packet block of an interface, this many microseconds after the start.
fn enhanced(interface: u32, us: u32, frame: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    for field in [interface, 0, us, frame.len() as u32, frame.len() as u32] {
        body.extend(field.to_le_bytes());
    }
    body.extend(frame);
    block(6, &body)
}

fn read_by(priority: PriorityFrom, bytes: &[u8]) -> Result<Flows, Error> {
    let idle = Duration::from_millis(10);
    Reader { idle, priority }.read(bytes)
}

fn read(bytes: &[u8]) -> Flows {
    read_by(PriorityFrom::Auto, bytes).expect("flows")
}

fn sizes(flows: &Flows) -> Vec<u64> {
    flows.flows.iter().map(|flow| flow.size_bytes).collect()
}

#[test]
fn snap_lengths_and_the_end_of_a_file_do_not_matter() {
    let frames = [1, 2, 3].map(|psn| Packet { psn, ..WRITE }.ethernet(&[]));
    let short = pcap(1, 64, &frames);
    assert_eq!(sizes(&read(&short)), [300]);
    let cut = read(&short[..short.len() - 20]);
    assert_eq!(
        (sizes(&cut), cut.packets, cut.cut_off),
        (vec![200], 2, true)
    );
    let cut = read(&short[..short.len() - 64 - 7]);
    assert_eq!((cut.packets, cut.cut_off), (2, true));
}

#[test]
fn links_below_ip_are_taken_off() {
    let ip = WRITE.bytes();
    let sll = |header: &[u8]| [header, &ip[..]].concat();
    let cooked = sll(&[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0]);
    let cooked2 = sll(&[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0]);
    let links = [
        (113, cooked),
        (276, cooked2),
        (101, ip.clone()),
        (12, ip.clone()),
        (228, ip.clone()),
        (0, sll(&[2, 0, 0, 0])),
        (108, sll(&[0, 0, 0, 2])),
        (
            1,
            WRITE.ethernet(&[[0x88, 0xa8, 0x60, 5], [0x81, 0, 0x20, 6]]),
        ),
    ];
    for (link, frame) in links {
        let read = read(&pcap(link, 65535, &[frame]));
        assert_eq!(sizes(&read), [100], "link type {link}");
        assert_eq!(read.flows[0].priority, 3, "link type {link}");
    }
    let other = read_by(PriorityFrom::Auto, &pcap(147, 65535, &[WRITE.bytes()]));
    let text = other.expect_err("unknown").to_string();
    assert!(text.contains("expected Ethernet, Linux-cooked"), "{text}");
}

#[test]
fn simple_and_obsolete_blocks_are_packets() {
    let frames = [1, 2].map(|psn| Packet { psn, ..WRITE }.ethernet(&[]));
    let length = (frames[0].len() as u32).to_le_bytes();
    let simple = block(3, &[&length[..], &frames[0]].concat());
    let mut body = vec![0; 4];
    for field in [0, 40, frames[1].len() as u32, frames[1].len() as u32] {
        body.extend(field.to_le_bytes());
    }
    let obsolete = block(2, &[&body[..], &frames[1]].concat());
    let flows = read(&pcapng(&[obsolete.clone(), simple]));
    assert_eq!((sizes(&flows), flows.packets), (vec![200], 2));
    // The halves of its time are in the right order: both begin flows, 40 us apart.
    let later = Packet { psn: 3, ..WRITE };
    let later = enhanced(0, 20_040, &later.ethernet(&[]));
    let flows = read(&pcapng(&[obsolete, later]));
    assert_eq!(flows.flows[1].start, Duration::from_millis(20));
}

#[test]
fn views_count_once_and_retransmissions_as_often_as_they_were_sent() {
    let frame = WRITE.ethernet(&[]);
    let twice_here = [enhanced(0, 0, &frame), enhanced(0, 500, &frame)];
    assert_eq!(sizes(&read(&pcapng(&twice_here))), [200]);
    let two_views = [enhanced(0, 0, &frame), enhanced(1, 3, &frame)];
    let flows = read(&pcapng(&two_views));
    assert_eq!((sizes(&flows), flows.seen_again), (vec![100], 1));
    let both = [
        twice_here,
        [enhanced(1, 3, &frame), enhanced(1, 503, &frame)],
    ]
    .concat();
    assert_eq!(sizes(&read(&pcapng(&both))), [200]);
    // A file of one interface, merged from two sides of a router.
    let routed = Packet { ttl: 63, ..WRITE }.ethernet(&[]);
    assert_eq!(sizes(&read(&pcap(1, 100, &[frame, routed]))), [100]);
    // "any" shows a forwarded packet at two interfaces.
    let any = |index: u8| {
        let header = [
            8, 0, 0, 0, 0, 0, 0, index, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0,
        ];
        [&header[..], &WRITE.bytes()].concat()
    };
    assert_eq!(sizes(&read(&pcap(276, 100, &[any(2), any(3)]))), [100]);
}

#[test]
fn priorities_follow_what_the_capture_shows() {
    let taken = |dscp, tags: &[[u8; 4]]| {
        let frame = Packet { dscp, ..WRITE }.ethernet(tags);
        let flows = read(&pcap(1, 65535, &[frame]));
        (flows.flows[0].priority, flows.priority, flows.lowered)
    };
    assert_eq!(taken(26, &[]), (3, PriorityFrom::Dscp, 0));
    assert_eq!(taken(3, &[]), (3, PriorityFrom::Sonic, 0));
    assert_eq!(taken(4, &[]), (4, PriorityFrom::Sonic, 0));
    // Control frames have 7.
    assert_eq!(taken(59, &[]), (6, PriorityFrom::Dscp, 1));
    assert_eq!(taken(26, &[[0x81, 0, 0xa0, 9]]), (5, PriorityFrom::Pcp, 0));
    // A tag for the VLAN's sake alone.
    assert_eq!(taken(26, &[[0x81, 0, 0, 9]]), (3, PriorityFrom::Dscp, 0));
    let map: PriorityFrom = "3=1,26=2".parse().expect("a map");
    let flows = read_by(map, &pcap(1, 99, &[WRITE.ethernet(&[])])).expect("flows");
    assert_eq!(flows.flows[0].priority, 2);
    let refused = |text: &str| text.parse::<PriorityFrom>().expect_err("no map");
    assert!(refused("3=7").contains("expected 0 to 6"));
    assert!(refused("64=1").contains("expected 0 to 63"));
    assert!(refused("dcsp").contains("expected auto, pcp, dscp"));
}

#[test]
fn headers_of_operations_are_not_data() {
    let size = |opcode, extension, data| {
        let packet = Packet {
            opcode,
            extension,
            data,
            ..WRITE
        };
        let filler = Packet { psn: 9, ..WRITE };
        sizes(&read(&pcap(101, 65535, &[packet.bytes(), filler.bytes()])))[0] - 100
    };
    // WRITE only with immediate: RETH and immediate data.
    assert_eq!(size(0x0b, 20, 0), 0);
    assert_eq!(size(0x0b, 20, 8), 8);
    // WRITE last, SEND last and only with immediate; SEND only with a key that becomes invalid.
    for opcode in [0x09, 0x03, 0x05, 0x17] {
        assert_eq!(size(opcode, 4, 40), 40, "{opcode:#x}");
    }
    // READ request, atomics and their answer.
    for (opcode, extension) in [(0x0c, 16), (0x13, 28), (0x14, 28), (0x12, 12)] {
        assert_eq!(size(opcode, extension, 0), 0, "{opcode:#x}");
    }
    // SEND only of a datagram; of an extended connection.
    assert_eq!(size(0x64, 8, 60), 60);
    assert_eq!(size(0xa4, 4, 60), 60);
}

#[test]
fn packets_may_be_in_any_order() {
    let to = |port: u8, psn| {
        let mut frame = Packet { psn, ..WRITE }.ethernet(&[]);
        frame[14 + 20 + 8 + 7] = port;
        frame
    };
    let blocks = [
        enhanced(0, 50_000, &to(1, 1)),
        enhanced(0, 40_000, &to(2, 1)),
        // Of the second flow, and before it.
        enhanced(0, 38_000, &to(2, 2)),
        // Of the first connection, but long before.
        enhanced(0, 20_000, &to(1, 2)),
        enhanced(0, 51_000, &to(1, 3)),
    ];
    let flows = read(&pcapng(&blocks));
    let started: Vec<_> = (flows.flows.iter())
        .map(|flow| (flow.start.as_micros(), flow.size_bytes))
        .collect();
    assert_eq!(started, [(0, 100), (18_000, 200), (30_000, 200)]);
}

#[test]
fn fragments_are_counted() {
    let whole = WRITE.ethernet(&[]);
    let part = |flags_and_offset: [u8; 2]| {
        let mut frame = whole.clone();
        frame[14 + 6..14 + 8].copy_from_slice(&flags_and_offset);
        frame
    };
    let frames = [whole.clone(), part([0x20, 0]), part([0, 20])];
    let flows = read(&pcap(1, 65535, &frames));
    assert_eq!(
        (sizes(&flows), flows.skipped, flows.fragments),
        (vec![100], 2, 2)
    );
}

#[test]
fn other_files_are_no_captures() {
    let said = |bytes: &[u8]| {
        read_by(PriorityFrom::Auto, bytes)
            .expect_err("no capture")
            .to_string()
    };
    assert_eq!(said(b""), "it is no pcap or pcapng file: it is empty");
    assert_eq!(
        said(b"0 1 3 100\n"),
        "it is no pcap or pcapng file: it begins with \"0 1 \""
    );
}
