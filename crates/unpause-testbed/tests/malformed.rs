//! Frames that are wrong: counted, not obeyed, never fatal.

mod common;

use std::io;

use common::{Bed, differ, run_of};
use unpause_protocols::units::Time;
use unpause_sim::exchange::GlobalPort;
use unpause_testbed::{Medium, Memory, Refusal, Tally, Trailer};
use unpause_wire::{Body, Bth, CnpPayload, Dscp, Ecn, Ethernet, Frame, Ipv4, MacAddress};
use unpause_wire::{Pfc, RoceBody, fcs, icrc};

/// A change to the bytes of a frame, after which its checksum may be corrected.
type Change = fn(&mut Vec<u8>);

/// Wires on which somebody else sends, too: behind every hundredth frame its changed copy comes.
struct Shared {
    inner: Memory,
    change: Change,
    seen: u64,
    /// The frame itself is lost.
    instead: bool,
    added: u64,
}

impl Shared {
    fn new(bed: &Bed, change: Change, instead: bool) -> Self {
        Self {
            inner: Memory::new(2 * bed.config.fabric.links.len()),
            change,
            seen: 0,
            instead,
            added: 0,
        }
    }
}

impl Medium for Shared {
    fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    fn send(&mut self, port: GlobalPort, frame: &[u8]) -> io::Result<()> {
        self.seen += 1;
        let chosen = self.seen.is_multiple_of(100);
        if !(chosen && self.instead) {
            self.inner.send(port, frame)?;
        }
        if chosen {
            let mut changed = frame.to_vec();
            (self.change)(&mut changed);
            self.inner.send(port, &changed)?;
            self.added += 1;
        }
        Ok(())
    }

    fn receive(
        &mut self,
        port: GlobalPort,
        expected: usize,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        self.inner.receive(port, expected, take)
    }
}

fn bed() -> Bed {
    let config = run_of("scenarios/incast.toml", "PFC+DCQCN", Time::from_us(1_100));
    Bed::new(config, None)
}

/// Sends changed copies and expects what the simulator measures, and as many refusals of the kinds given.
fn assert_refused(what: &str, change: Change, kinds: &[&str]) {
    let bed = bed();
    let mut post = bed.post(Shared::new(&bed, change, false));
    let results = bed.run(&mut post);
    if let Some(difference) = differ(&bed.simulated(), &results) {
        panic!("{what}: {difference}");
    }
    let tally = post.tally().clone();
    let found: Vec<&str> = kinds_of(&tally);
    assert!(
        found.iter().all(|kind| kinds.contains(kind)),
        "{what}: {found:?}"
    );
    assert_eq!(tally.refusals(), post.medium().added, "{what}: {found:?}");
    assert!(tally.refusals() > 100, "{what}");
    assert_eq!(tally.lost, 0, "{what}");
}

fn kinds_of(tally: &Tally) -> Vec<&str> {
    let kinds = tally.refused.keys().map(|(_, kind)| kind.as_str());
    let mut kinds: Vec<&str> = kinds.collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Puts the frame check sequence right again.
fn seal(frame: &mut [u8]) {
    let at = frame.len() - 4;
    let check = fcs(&frame[..at]);
    frame[at..].copy_from_slice(&check);
}

/// True of RoCEv2 frames.
fn is_roce(frame: &[u8]) -> bool {
    frame[12..14] == [0x08, 0x00] && frame[23] == 17
}

#[test]
fn a_damaged_frame_is_not_obeyed() {
    let change: Change = |frame| frame[60] ^= 0x10;
    assert_refused("a bit", change, &["wrong frame check sequence"]);
}

#[test]
fn a_wrong_checksum_is_not_obeyed() {
    let change: Change = |frame| {
        let at = if is_roce(frame) { 24 } else { 0 };
        frame[at] ^= 1;
        seal(frame);
    };
    // PFC frames have no checksum of their own: theirs go to somebody else.
    let kinds = [
        "wrong IPv4 checksum",
        "PFC (not from the other end of the link)",
    ];
    assert_refused("IPv4", change, &kinds);
}

#[test]
fn a_wrong_invariant_crc_is_not_obeyed() {
    let change: Change = |frame| {
        // The last byte of a BTH, its packet number, is covered by the invariant CRC alone.
        let at = if is_roce(frame) { 53 } else { 0 };
        frame[at] ^= 1;
        seal(frame);
    };
    let kinds = [
        "wrong invariant CRC",
        "PFC (not from the other end of the link)",
    ];
    assert_refused("ICRC", change, &kinds);
}

#[test]
fn a_truncated_frame_is_not_obeyed() {
    let change: Change = |frame| {
        let half = frame.len() / 3;
        frame.truncate(half);
    };
    assert_refused("a third of it", change, &["truncated"]);
    // With its trailer, but a part of what is before it missing.
    let change: Change = |frame| {
        let trailer = frame.len() - Trailer::LENGTH;
        frame.drain(trailer - 8..trailer);
        seal(frame);
    };
    let kinds = ["truncated", "wrong invariant CRC"];
    let bed = bed();
    let mut post = bed.post(Shared::new(&bed, change, false));
    bed.run(&mut post);
    let tally = post.tally();
    assert!(
        tally.refused.keys().any(|(_, kind)| kind == kinds[0]),
        "{:?}",
        tally.refused
    );
    let change: Change = |frame| frame.truncate(7);
    assert_refused("seven bytes", change, &["truncated"]);
}

#[test]
fn a_copy_is_not_obeyed() {
    assert_refused("a copy", |_| {}, &["out of order"]);
}

/// The frame of the same trailer that says something else.
fn replace(frame: &mut Vec<u8>, other: &Frame<'_>) {
    let trailer = frame.split_off(frame.len() - Trailer::LENGTH);
    frame.resize(other.length(), 0);
    other.build(frame).expect("there is room");
    frame.extend(trailer);
    seal(frame);
}

#[test]
fn nonsense_pfc_is_not_obeyed() {
    // From whoever sends at this port: nodes are numbered from 1 in addresses, as the copies' sources are.
    let pfc = |frame: &mut Vec<u8>, pfc: Pfc| {
        let (header, ..) = Ethernet::parse(frame).expect("it is a frame");
        let ethernet = Ethernet {
            destination: MacAddress::MAC_CONTROL,
            ..header
        };
        let body = Body::Pfc(pfc);
        let other = Frame {
            ethernet,
            cn_tag: None,
            body,
        };
        replace(frame, &other);
    };
    type MakePfc = fn() -> Pfc;
    let all: [MakePfc; 4] = [
        || Pfc::of_priority(3, 12_345),
        || Pfc::default(),
        || Pfc::of_priority(5, 65_535),
        || Pfc {
            enabled: 0xff,
            quanta: [1, 2, 3, 4, 5, 6, 7, 8],
        },
    ];
    for make in all {
        let bed = bed();
        let before = bed.simulated();
        let mut post = bed.post(Injected::new(&bed, |frame| pfc(frame, make())));
        let results = bed.run(&mut post);
        assert!(differ(&before, &results).is_none());
        let tally = post.tally();
        assert!(tally.refusals() > 100);
        assert!(
            kinds_of(tally).iter().all(|kind| kind.starts_with("PFC (")),
            "{tally:?}"
        );
    }
}

/// Like [`Shared`], with a closure.
struct Injected<F> {
    shared: Shared,
    change: F,
}

impl<F: Fn(&mut Vec<u8>)> Injected<F> {
    fn new(bed: &Bed, change: F) -> Self {
        let shared = Shared::new(bed, |_| {}, false);
        Self { shared, change }
    }
}

impl<F: Fn(&mut Vec<u8>)> Medium for Injected<F> {
    fn capacity(&self) -> usize {
        self.shared.capacity()
    }
    fn send(&mut self, port: GlobalPort, frame: &[u8]) -> io::Result<()> {
        self.shared.inner.send(port, frame)?;
        self.shared.seen += 1;
        if self.shared.seen.is_multiple_of(100) {
            let mut changed = frame.to_vec();
            (self.change)(&mut changed);
            self.shared.inner.send(port, &changed)?;
        }
        Ok(())
    }
    fn receive(
        &mut self,
        port: GlobalPort,
        expected: usize,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        self.shared.inner.receive(port, expected, take)
    }
}

/// A CNP for `flow`.
fn cnp(flow: u32) -> Frame<'static> {
    let ip = Ipv4 {
        dscp: Dscp::class_selector(7),
        ecn: Ecn::NotEct,
        identification: 0,
        dont_fragment: true,
        ttl: 64,
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
    };
    let ethernet = Ethernet {
        destination: MacAddress::local(2),
        source: MacAddress::local(1),
        tag: None,
    };
    let bth = Bth {
        becn: true,
        ..Bth::to(flow + 2, 0)
    };
    let body = Body::Roce {
        ip,
        source_port: 1,
        bth,
        body: RoceBody::Cnp(CnpPayload::default()),
    };
    Frame {
        ethernet,
        cn_tag: None,
        body,
    }
}

#[test]
fn a_cnp_for_a_flow_that_is_not_there_is_not_obeyed() {
    let change: Change = |frame| {
        let mut other = vec![0; 200];
        let length = cnp(123_456).build(&mut other).expect("there is room");
        let mut trailer = frame.split_off(frame.len() - Trailer::LENGTH);
        trailer[16..20].copy_from_slice(&123_456_u32.to_be_bytes());
        *frame = other[..length].to_vec();
        frame.extend(trailer);
        seal(frame);
    };
    assert_refused("an unknown flow", change, &["unknown flow"]);
}

#[test]
fn a_cnp_for_somebody_else_s_flow_is_not_obeyed() {
    let change: Change = |frame| {
        let mut other = vec![0; 200];
        let length = cnp(0).build(&mut other).expect("there is room");
        let mut trailer = frame.split_off(frame.len() - Trailer::LENGTH);
        trailer[16..20].copy_from_slice(&0_u32.to_be_bytes());
        *frame = other[..length].to_vec();
        frame.extend(trailer);
        seal(frame);
    };
    assert_refused("other ends", change, &["not of its flow (source port)"]);
}

#[test]
fn a_frame_of_somebody_else_is_not_obeyed() {
    let change: Change = |frame| {
        let length = frame.len() - Trailer::LENGTH;
        frame.truncate(length);
    };
    assert_refused("no trailer", change, &["no trailer"]);
    // Neighbour discovery, as a kernel sends it.
    let change: Change = |frame| {
        *frame = vec![0; 90];
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
    };
    assert_refused("IPv6", change, &["malformed (Ethernet EtherType)"]);
}

/// Frames that are damaged on their way are lost: RoCE sends them again, and the run says so.
#[test]
fn a_frame_that_is_damaged_on_its_way_is_lost() {
    let mut bed = bed();
    bed.config.host.retransmit_timeout = Time::from_us(200);
    let mut post = bed.post(Shared::new(&bed, |frame| frame[40] ^= 1, true));
    let results = bed.run(&mut post);
    let tally = post.tally();
    assert!(tally.lost_data > 100 && tally.lost >= tally.lost_data);
    assert_eq!(tally.lost, tally.refusals());
    let again: u64 = results
        .flows
        .iter()
        .map(|flow| flow.retransmitted_packets)
        .sum();
    assert!(again > 100, "{again}");
}

/// Any bytes at all.
mod any {
    use super::*;
    use proptest::prelude::*;
    use unpause_testbed::Codec;

    fn sealed(mut bytes: Vec<u8>, magic: bool) -> Vec<u8> {
        let length = bytes.len();
        if magic && length > 8 {
            bytes[length - 8..length - 4].copy_from_slice(b"UNPS");
        }
        if length > 4 {
            seal(&mut bytes);
        }
        bytes
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), magic: bool) {
            let bed = bed();
            let mut codec = Codec::new(&bed.config).expect("there is traffic");
            prop_assert!(codec.decode(0, &sealed(bytes, magic)).is_err());
        }
    }

    /// A byte of a true frame that differs, with all checksums put right again: refused, or a sound packet.
    #[test]
    fn a_byte_that_differs_is_refused_or_sound() {
        let bed = bed();
        let mut frame = vec![0; 200];
        let length = cnp(0).build(&mut frame).expect("there is room");
        frame.resize(length + Trailer::LENGTH, 0);
        let frame = sealed(frame, true);
        let mut refused = 0;
        for at in 0..frame.len() - 4 {
            for bit in 0..8 {
                let mut codec = Codec::new(&bed.config).expect("there is traffic");
                let mut changed = frame.clone();
                changed[at] ^= 1 << bit;
                let end = length - 4;
                let crc = icrc(&changed[14..end]).expect("it is long enough");
                changed[end..length].copy_from_slice(&crc);
                seal(&mut changed);
                refused += u32::from(codec.decode(0, &changed).is_err());
            }
        }
        assert!(refused > 0);
    }

    #[test]
    fn a_refusal_says_what_it_is() {
        let shown = Refusal::UnknownFlow(7).to_string();
        assert_eq!(shown, "flow 7 is not there");
    }
}

/// The frame becomes a CNP to the sender of its flow, with this base transport header.
fn as_cnp(frame: &mut Vec<u8>, change: fn(Bth) -> Bth) {
    let trailer = frame.split_off(frame.len() - Trailer::LENGTH);
    let (mut cnp, _) = Frame::parse(frame).expect("it was sound");
    let (stations, mut length) = (cnp.ethernet, frame.len());
    let mut out = vec![0; frame.len() + 200];
    if let Body::Roce { ip, bth, body, .. } = &mut cnp.body {
        if let RoceBody::Data { .. } = body {
            (ip.source, ip.destination) = (ip.destination, ip.source);
            cnp.ethernet.source = stations.destination;
            cnp.ethernet.destination = stations.source;
        }
        ip.ecn = Ecn::NotEct;
        *bth = change(Bth {
            becn: true,
            ..Bth::to(bth.destination_qp, 0)
        });
        *body = RoceBody::Cnp(CnpPayload::default());
        length = cnp.build(&mut out).expect("there is room");
        *frame = out[..length].to_vec();
    }
    frame.truncate(length);
    frame.extend(trailer);
    seal(frame);
}

#[test]
fn a_cnp_with_a_number_or_an_ack_request_is_not_obeyed() {
    let kinds = [
        "unexpected number of a CNP",
        "unexpected ACK request without data",
        "out of order",
    ];
    let numbered: Change = |frame| as_cnp(frame, |bth| Bth { psn: 5, ..bth });
    assert_refused("a CNP with a number", numbered, &kinds);
    let asking: Change = |frame| {
        as_cnp(frame, |bth| Bth {
            ack_request: true,
            ..bth
        });
    };
    assert_refused("a CNP with an ACK request", asking, &kinds);
}
