//! Random frames survive the wire; random bytes are read or refused, never more.

use core::net::Ipv4Addr;

use proptest::array::{uniform6, uniform8, uniform16};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use unpause_wire::{
    Aeth, Body, Bth, CnTag, Cnm, CnpPayload, Dscp, Ecn, Ethernet, Flags, Frame, Ipv4, MacAddress,
    Opcode, Options, Pause, Pfc, RoceBody, SackBlocks, Syndrome, Tcp, Udp, VlanTag,
};

prop_compose! {
    fn ethernet()(
        destination in uniform6(any::<u8>()),
        source in uniform6(any::<u8>()),
        tag in option::of((0_u8..8, any::<bool>(), 0_u16..4096)),
    ) -> Ethernet {
        Ethernet {
            destination: MacAddress(destination),
            source: MacAddress(source),
            tag: tag.map(|(priority, drop_eligible, vlan)| VlanTag { priority, drop_eligible, vlan }),
        }
    }
}

prop_compose! {
    fn ip()(
        dscp in 0_u8..64,
        ecn in prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]),
        identification in any::<u16>(),
        dont_fragment in any::<bool>(),
        ttl in any::<u8>(),
        source in any::<u32>(),
        destination in any::<u32>(),
    ) -> Ipv4 {
        Ipv4 {
            dscp: Dscp::new(dscp).expect("below 64"),
            ecn,
            identification,
            dont_fragment,
            ttl,
            source: Ipv4Addr::from(source),
            destination: Ipv4Addr::from(destination),
        }
    }
}

prop_compose! {
    fn bth()(
        flags in uniform6(any::<bool>()),
        partition in any::<u16>(),
        destination_qp in 0_u32..1 << 24,
        psn in 0_u32..1 << 24,
    ) -> Bth {
        let [solicited, migration, fecn, becn, ack_request, _] = flags;
        Bth { solicited, migration, partition, fecn, becn, destination_qp, ack_request, psn }
    }
}

fn syndrome() -> impl Strategy<Value = Syndrome> {
    prop_oneof![
        (0_u8..32).prop_map(|credits| Syndrome::Ack { credits }),
        (0_u8..32).prop_map(|timer| Syndrome::ReceiverNotReady { timer }),
        (0_u8..32).prop_map(|code| Syndrome::Nak { code }),
    ]
}

prop_compose! {
    fn options()(
        max_segment in option::of(any::<u16>()),
        window_scale in option::of(0_u8..15),
        sack_permitted in any::<bool>(),
        timestamps in option::of(any::<(u32, u32)>()),
        sack in vec(any::<(u32, u32)>(), 0..4),
    ) -> Options {
        let sack = SackBlocks::new(&sack);
        let mut options = Options { max_segment, window_scale, sack_permitted, timestamps, sack };
        if options.length() > 40 {
            options.sack = SackBlocks::default();
        }
        options
    }
}

prop_compose! {
    fn tcp()(
        ports in any::<(u16, u16)>(),
        numbers in any::<(u32, u32)>(),
        flags in any::<u8>(),
        window in any::<u16>(),
        urgent in any::<u16>(),
        options in options(),
    ) -> Tcp {
        Tcp {
            source_port: ports.0,
            destination_port: ports.1,
            sequence: numbers.0,
            acknowledgement: numbers.1,
            flags: Flags(flags),
            window,
            urgent,
            options,
        }
    }
}

/// A frame that owns its payload.
#[derive(Clone, Debug)]
enum Owned {
    Pause(u16),
    Pfc(u8, [u16; 8]),
    Cnm(u8, u64, (i16, i16), u8, [u8; 6], Vec<u8>),
    Data(Ipv4, u16, Bth, u8, Vec<u8>),
    Ack(Ipv4, u16, Bth, Aeth),
    Cnp(Ipv4, u16, Bth, [u8; 16]),
    Udp(Ipv4, Udp, Vec<u8>),
    Tcp(Ipv4, Tcp, Vec<u8>),
}

/// To any port but RoCEv2's.
fn udp() -> impl Strategy<Value = Udp> {
    let to = any::<u16>().prop_filter("another port", |port| *port != 4791);
    (any::<u16>(), to).prop_map(|(source_port, destination_port)| Udp {
        source_port,
        destination_port,
    })
}

fn owned() -> impl Strategy<Value = Owned> {
    let opcode = any::<u8>().prop_filter("an opcode of data", |code| {
        !matches!(Opcode(*code), Opcode::ACKNOWLEDGE | Opcode::CNP)
    });
    let cnm = (
        0_u8..64,
        any::<u64>(),
        any::<(i16, i16)>(),
        0_u8..8,
        uniform6(any::<u8>()),
        vec(any::<u8>(), 0..=64),
    );
    let payload = || vec(any::<u8>(), 0..1500);
    let aeth = (syndrome(), 0_u32..1 << 24).prop_map(|(syndrome, msn)| Aeth { syndrome, msn });
    prop_oneof![
        any::<u16>().prop_map(Owned::Pause),
        (any::<u8>(), uniform8(any::<u16>())).prop_map(|(e, q)| Owned::Pfc(e, q)),
        cnm.prop_map(|(f, c, q, p, d, s)| Owned::Cnm(f, c, q, p, d, s)),
        (ip(), any::<u16>(), bth(), opcode, payload())
            .prop_map(|(ip, port, bth, code, data)| Owned::Data(ip, port, bth, code, data)),
        (ip(), any::<u16>(), bth(), aeth)
            .prop_map(|(ip, port, bth, aeth)| Owned::Ack(ip, port, bth, aeth)),
        (ip(), any::<u16>(), bth(), uniform16(any::<u8>()))
            .prop_map(|(ip, port, bth, cnp)| Owned::Cnp(ip, port, bth, cnp)),
        (ip(), udp(), payload()).prop_map(|(ip, udp, data)| Owned::Udp(ip, udp, data)),
        (ip(), tcp(), payload()).prop_map(|(ip, tcp, data)| Owned::Tcp(ip, tcp, data)),
    ]
}

impl Owned {
    fn body(&self) -> Body<'_> {
        let roce = |ip: &Ipv4, port: &u16, bth: &Bth, body| Body::Roce {
            ip: *ip,
            source_port: *port,
            bth: *bth,
            body,
        };
        match self {
            Self::Pause(quanta) => Body::Pause(Pause { quanta: *quanta }),
            Self::Pfc(enabled, quanta) => Body::Pfc(Pfc {
                enabled: *enabled,
                quanta: *quanta,
            }),
            Self::Cnm(feedback, cpid, queue, priority, destination, sampled) => Body::Cnm(Cnm {
                feedback: *feedback,
                congestion_point: *cpid,
                queue_offset: queue.0,
                queue_delta: queue.1,
                priority: *priority,
                destination: MacAddress(*destination),
                sampled,
            }),
            Self::Data(ip, port, bth, opcode, payload) => {
                let opcode = Opcode(*opcode);
                roce(ip, port, bth, RoceBody::Data { opcode, payload })
            }
            Self::Ack(ip, port, bth, aeth) => roce(ip, port, bth, RoceBody::Ack(*aeth)),
            Self::Cnp(ip, port, bth, cnp) => roce(ip, port, bth, RoceBody::Cnp(CnpPayload(*cnp))),
            Self::Udp(ip, udp, payload) => Body::Udp {
                ip: *ip,
                udp: *udp,
                payload,
            },
            Self::Tcp(ip, tcp, payload) => Body::Tcp {
                ip: *ip,
                tcp: *tcp,
                payload,
            },
        }
    }
}

fn check_round_trip(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = vec![0x55; frame.length() + 3];
    let length = frame.build(&mut bytes).expect("room for the frame");
    assert_eq!(length, frame.length());
    assert_eq!(bytes[length..], [0x55; 3], "wrote past its length");
    let (parsed, rest) = Frame::parse(&bytes[..length]).expect("what was built");
    assert_eq!(parsed, *frame);
    assert!(rest.iter().all(|&byte| byte == 0));
    bytes.truncate(length);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn frames_survive_the_wire(
        ethernet in ethernet(),
        flow in option::of(any::<u16>()),
        owned in owned(),
    ) {
        let cn_tag = flow.map(|flow| CnTag { flow });
        check_round_trip(&Frame { ethernet, cn_tag, body: owned.body() });
    }

    /// A frame parsed from damaged bytes builds to a frame that parses to the same.
    #[test]
    fn damaged_frames_are_refused_or_read_consistently(
        ethernet in ethernet(),
        owned in owned(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = check_round_trip(&Frame { ethernet, cn_tag: None, body: owned.body() });
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok((frame, _)) = Frame::parse(&bytes) {
            check_round_trip(&frame);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        if let Ok((frame, _)) = Frame::parse(&bytes) {
            check_round_trip(&frame);
        }
    }
}
