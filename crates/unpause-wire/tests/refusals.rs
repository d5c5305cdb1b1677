//! Refused frames, and the messages for them.

use core::net::Ipv4Addr;

use unpause_wire::{
    Aeth, Body, Bth, CnpPayload, Dscp, Ecn, Error, Ethernet, Frame, Ipv4, MacAddress, Opcode, Pfc,
    RoceBody, Syndrome,
};

fn frame(body: RoceBody<'static>) -> Frame<'static> {
    let ip = Ipv4 {
        dscp: Dscp::class_selector(3),
        ecn: Ecn::Ect0,
        identification: 0,
        dont_fragment: true,
        ttl: 64,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
    };
    Frame {
        ethernet: Ethernet {
            destination: MacAddress::local(1),
            source: MacAddress::local(2),
            tag: None,
        },
        cn_tag: None,
        body: Body::Roce {
            ip,
            source_port: 1,
            bth: Bth::to(2, 3),
            body,
        },
    }
}

fn built(frame: &Frame<'_>) -> Vec<u8> {
    let mut out = vec![0; frame.length()];
    frame.build(&mut out).expect("a frame");
    out
}

fn cnp() -> Vec<u8> {
    built(&frame(RoceBody::Cnp(CnpPayload::with_rec_rate(10_000))))
}

fn refusal(bytes: &[u8]) -> String {
    match Frame::parse(bytes) {
        Ok((frame, _)) => panic!("accepted: {frame:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_shorter_slice_is_truncated() {
    let frames = [
        cnp(),
        built(&frame(RoceBody::Data {
            opcode: Opcode::SEND_ONLY,
            payload: &[1; 37],
        })),
    ];
    for bytes in frames {
        for length in 0..bytes.len() {
            let error = Frame::parse(&bytes[..length]).expect_err("a truncated frame");
            assert!(
                matches!(error, Error::Truncated { .. }),
                "{length}: {error}"
            );
        }
    }
    assert_eq!(refusal(&cnp()[..33]), "IPv4: needs 20 B, 19 B are there");
}

/// ICRC and IPv4's checksum between them notice each bit but those that neither covers: addresses and
/// type of Ethernet, UDP's checksum.
#[test]
fn a_flipped_bit_is_noticed_wherever_a_checksum_covers_it() {
    let bytes = cnp();
    for at in 14..bytes.len() {
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            let accepted = Frame::parse(&bad).is_ok();
            // The ICRC treats as ones what a router may change, UDP's checksum and the byte of
            // FECN and BECN among it. A datagram to another port is no RoCEv2.
            let open = matches!(at, 36 | 37 | 40 | 41 | 46);
            assert_eq!(accepted, open, "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn refusals_name_layer_and_field() {
    let change = |at: usize, value: u8| {
        let mut bytes = cnp();
        bytes[at] = value;
        refusal(&bytes)
    };
    assert_eq!(change(12, 0x86), "Ethernet: EtherType is 0x8600");
    assert_eq!(change(14, 0x46), "IPv4: version and header length is 0x46");
    assert_eq!(change(24, 0), "IPv4: checksum 0x4d, its bytes have 0x264d");
    assert_eq!(change(43, 0x41), "BTH: transport header version is 0x1");
    assert!(change(60, 1).starts_with("RoCEv2: checksum 0x"));

    let mut pfc = vec![0; 60];
    let frame = Frame {
        body: Body::Pfc(Pfc::of_priority(3, 65535)),
        ..frame(RoceBody::Cnp(CnpPayload::default()))
    };
    frame.build(&mut pfc).expect("a frame");
    pfc[16] = 1;
    assert_eq!(refusal(&pfc), "PFC: class-enable vector is 0x108");
    pfc[14] = 9;
    assert_eq!(refusal(&pfc), "PAUSE: MAC control opcode is 0x901");
}

#[test]
fn what_does_not_fit_its_field_is_not_built() {
    let mut out = [0; 200];
    let mut build = |body, bth: Bth| {
        let Body::Roce { ip, .. } = frame(body).body else {
            unreachable!("a RoCE frame")
        };
        let body = Body::Roce {
            ip,
            source_port: 1,
            bth,
            body,
        };
        let whole = Frame {
            body,
            ..frame(RoceBody::Cnp(CnpPayload::default()))
        };
        whole.build(&mut out).map_err(|error| error.to_string())
    };
    let ack = |msn| {
        RoceBody::Ack(Aeth {
            syndrome: Syndrome::SEQUENCE_ERROR,
            msn,
        })
    };
    let said = |text: &str| Err(text.to_string());
    assert_eq!(build(ack(0xff_ffff), Bth::to(1, 1)), Ok(62));
    assert_eq!(
        build(ack(0x100_0000), Bth::to(1, 1)),
        said("AETH: message sequence number is 0x1000000")
    );
    assert_eq!(
        build(ack(1), Bth::to(1 << 24, 1)),
        said("BTH: destination queue pair is 0x1000000")
    );
    assert_eq!(
        build(ack(1), Bth::to(1, 1 << 24)),
        said("BTH: packet sequence number is 0x1000000")
    );
    let data = RoceBody::Data {
        opcode: Opcode::CNP,
        payload: &[],
    };
    assert_eq!(
        build(data, Bth::to(1, 1)),
        said("RoCEv2: opcode of data is 0x81")
    );
    let long = RoceBody::Data {
        opcode: Opcode::SEND_ONLY,
        payload: &[0; 200],
    };
    assert_eq!(
        build(long, Bth::to(1, 1)),
        said("Ethernet: needs 258 B, 200 B are there")
    );
}
