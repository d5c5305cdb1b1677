//! Ethernet, IPv4, UDP and TCP as another library reads and writes them.

#[path = "frames/samples.rs"]
mod samples;

use etherparse::{NetHeaders, PacketBuilder, PacketHeaders, TcpOptionElement, TransportHeader};
use unpause_wire::{Body, Dscp, Ecn, Flags, Frame, Udp};

fn built(frame: &Frame<'_>) -> Vec<u8> {
    let mut out = vec![0; frame.length()];
    frame.build(&mut out).expect("a frame");
    out
}

#[test]
fn it_reads_the_same_headers_and_checksums() {
    let mut seen = 0;
    for (name, frame) in samples::all() {
        let (Body::Roce { ip, .. } | Body::Tcp { ip, .. }) = frame.body else {
            continue;
        };
        if frame.cn_tag.is_some() {
            continue;
        }
        seen += 1;
        let bytes = built(&frame);
        let theirs = PacketHeaders::from_ethernet_slice(&bytes).expect(name);
        let Some(NetHeaders::Ipv4(header, _)) = theirs.net else {
            panic!("{name}: no IPv4")
        };
        assert_eq!(header.source, ip.source.octets(), "{name}");
        assert_eq!(header.destination, ip.destination.octets(), "{name}");
        assert_eq!(header.dscp.value(), ip.dscp.value(), "{name}");
        assert_eq!(header.ecn.value(), ip.ecn as u8, "{name}");
        assert_eq!(header.time_to_live, ip.ttl, "{name}");
        assert_eq!(header.dont_fragment, ip.dont_fragment, "{name}");
        assert_eq!(header.identification, ip.identification, "{name}");
        assert_eq!(
            header.header_checksum,
            header.calc_header_checksum(),
            "{name}"
        );
        match (theirs.transport, frame.body) {
            (Some(TransportHeader::Udp(udp)), Body::Roce { source_port, .. }) => {
                assert_eq!(udp.source_port, source_port, "{name}");
                assert_eq!(udp.destination_port, 4791, "{name}");
            }
            (
                Some(TransportHeader::Tcp(tcp)),
                Body::Tcp {
                    tcp: ours, payload, ..
                },
            ) => {
                let sum = tcp
                    .calc_checksum_ipv4(&header, payload)
                    .expect("a checksum");
                assert_eq!(tcp.checksum, sum, "{name}");
                assert_eq!(tcp.sequence_number, ours.sequence, "{name}");
                assert_eq!(tcp.ack, ours.flags.has(Flags::ACK), "{name}");
                assert_eq!(tcp.ece, ours.flags.has(Flags::ECE), "{name}");
                assert_eq!(tcp.cwr, ours.flags.has(Flags::CWR), "{name}");
                assert_eq!(tcp.window_size, ours.window, "{name}");
                let options: Vec<_> = tcp.options_iterator().collect();
                assert!(options.iter().all(Result::is_ok), "{name}: {options:?}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(seen, 15);
}

#[test]
fn what_it_builds_is_read() {
    let options = [
        TcpOptionElement::MaximumSegmentSize(9000),
        TcpOptionElement::Noop,
        TcpOptionElement::SelectiveAcknowledgementPermitted,
        TcpOptionElement::Timestamp(5, 6),
    ];
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .vlan(etherparse::VlanHeader::Single(
            etherparse::SingleVlanHeader {
                pcp: etherparse::VlanPcp::try_new(6).expect("below 8"),
                drop_eligible_indicator: false,
                vlan_id: etherparse::VlanId::try_new(100).expect("below 4096"),
                ether_type: etherparse::EtherType::IPV4,
            },
        ))
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 17)
        .tcp(1, 2, 3, 4)
        .ack(99)
        .options(&options)
        .expect("room for the options");
    let mut bytes = Vec::new();
    builder.write(&mut bytes, b"hello").expect("a segment");
    let (frame, rest) = Frame::parse(&bytes).expect("their segment");
    let tag = frame.ethernet.tag.expect("a tag");
    assert_eq!((tag.priority, tag.vlan, rest.len()), (6, 100, 0));
    let Body::Tcp { ip, tcp, payload } = frame.body else {
        panic!("{frame:?}")
    };
    assert_eq!(payload, b"hello");
    assert_eq!(
        (ip.ttl, ip.ecn, ip.dscp),
        (17, Ecn::NotEct, Dscp::default())
    );
    assert_eq!((tcp.sequence, tcp.acknowledgement), (3, 99));
    assert_eq!(tcp.options.max_segment, Some(9000));
    assert!(tcp.options.sack_permitted);
    assert_eq!(tcp.options.timestamps, Some((5, 6)));
}

#[test]
fn it_reads_the_same_datagram() {
    let (name, frame) = samples::all()
        .into_iter()
        .find(|(_, frame)| matches!(frame.body, Body::Roce { .. }))
        .expect("there is one");
    let Body::Roce { ip, .. } = frame.body else {
        unreachable!("it was looked for")
    };
    let udp = Udp {
        source_port: 50_000,
        destination_port: 5001,
    };
    let payload = &[7; 300];
    let body = Body::Udp { ip, udp, payload };
    let bytes = built(&Frame { body, ..frame });
    let theirs = PacketHeaders::from_ethernet_slice(&bytes).expect(name);
    let Some(TransportHeader::Udp(header)) = theirs.transport else {
        panic!("no UDP")
    };
    let ports = (header.source_port, header.destination_port);
    assert_eq!((ports, header.length), ((50_000, 5001), 308));
    assert_eq!(theirs.payload.slice(), payload);
    let (read, rest) = Frame::parse(&bytes).expect("our own");
    assert_eq!((read.body, rest.len()), (body, 0));
}
