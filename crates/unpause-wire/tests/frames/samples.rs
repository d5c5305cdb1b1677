//! One frame of each kind, with values that tell fields apart.

use core::net::Ipv4Addr;

use unpause_wire::{
    Aeth, Body, Bth, CnTag, Cnm, CnpPayload, Dscp, Ecn, Ethernet, Flags, Frame, Ipv4, MacAddress,
    Opcode, Options, Pause, Pfc, RoceBody, SackBlocks, Syndrome, Tcp, VlanTag,
};

const SENDER: MacAddress = MacAddress::local(1);
const RECEIVER: MacAddress = MacAddress::local(2);
static PAYLOAD: [u8; 1000] = {
    let mut bytes = [0; 1000];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = at as u8;
        at += 1;
    }
    bytes
};

const fn ethernet(destination: MacAddress, source: MacAddress) -> Ethernet {
    Ethernet {
        destination,
        source,
        tag: None,
    }
}

const fn ip(ecn: Ecn) -> Ipv4 {
    Ipv4 {
        dscp: Dscp::class_selector(3),
        ecn,
        identification: 0x1234,
        dont_fragment: true,
        ttl: 64,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
    }
}

fn roce(ecn: Ecn, bth: Bth, body: RoceBody<'static>) -> Frame<'static> {
    Frame {
        ethernet: ethernet(RECEIVER, SENDER),
        cn_tag: None,
        body: Body::Roce {
            ip: ip(ecn),
            source_port: 0xc123,
            bth,
            body,
        },
    }
}

fn data(opcode: Opcode, payload: &'static [u8]) -> Frame<'static> {
    let bth = Bth {
        ack_request: opcode == Opcode::SEND_ONLY,
        ..Bth::to(0x0abcde, 0x00fedcba)
    };
    roce(Ecn::Ect0, bth, RoceBody::Data { opcode, payload })
}

fn tcp(flags: Flags, options: Options, payload: &'static [u8]) -> Frame<'static> {
    let tcp = Tcp {
        source_port: 50_000,
        destination_port: 5001,
        sequence: 0x89ab_cdef,
        acknowledgement: 0x0123_4567,
        flags,
        window: 0xfedc,
        urgent: 0,
        options,
    };
    Frame {
        ethernet: ethernet(RECEIVER, SENDER),
        cn_tag: None,
        body: Body::Tcp {
            ip: ip(Ecn::Ce),
            tcp,
            payload,
        },
    }
}

fn control(body: Body<'static>) -> Frame<'static> {
    Frame {
        ethernet: ethernet(MacAddress::MAC_CONTROL, SENDER),
        cn_tag: None,
        body,
    }
}

fn mac_control() -> Vec<(&'static str, Frame<'static>)> {
    let all = Pfc {
        enabled: 0b1010_0101,
        quanta: [1, 0x0202, 0xffff, 0x0404, 0, 0x0606, 0x0707, 0x0808],
    };
    vec![
        ("pause", control(Body::Pause(Pause { quanta: 0xffff }))),
        ("pause-resume", control(Body::Pause(Pause { quanta: 0 }))),
        (
            "pfc-priority-3",
            control(Body::Pfc(Pfc::of_priority(3, 0xffff))),
        ),
        ("pfc-resume-3", control(Body::Pfc(Pfc::of_priority(3, 0)))),
        ("pfc-several", control(Body::Pfc(all))),
    ]
}

fn roce_frames() -> Vec<(&'static str, Frame<'static>)> {
    let ack = |syndrome| RoceBody::Ack(Aeth { syndrome, msn: 7 });
    let to = Bth::to(0x11, 0x1000);
    let cnp = Bth {
        becn: true,
        ..Bth::to(0xd2, 0)
    };
    let decrease = RoceBody::Cnp(CnpPayload::with_rec_rate(2499));
    let increase = RoceBody::Cnp(CnpPayload::default());
    let increase_header = Bth { becn: false, ..cnp };
    let acks = ack(Syndrome::Ack { credits: 31 });
    vec![
        ("roce-send-only", data(Opcode::SEND_ONLY, &PAYLOAD)),
        ("roce-send-first", data(Opcode::SEND_FIRST, &PAYLOAD[..256])),
        (
            "roce-send-middle",
            data(Opcode::SEND_MIDDLE, &PAYLOAD[..64]),
        ),
        (
            "roce-send-last-1-byte",
            data(Opcode::SEND_LAST, &PAYLOAD[9..10]),
        ),
        (
            "roce-send-last-2-bytes",
            data(Opcode::SEND_LAST, &PAYLOAD[9..11]),
        ),
        (
            "roce-send-last-3-bytes",
            data(Opcode::SEND_LAST, &PAYLOAD[9..12]),
        ),
        ("roce-ack", roce(Ecn::NotEct, to, acks)),
        (
            "roce-nak",
            roce(Ecn::NotEct, to, ack(Syndrome::SEQUENCE_ERROR)),
        ),
        ("roce-cnp", roce(Ecn::NotEct, cnp, increase)),
        ("roce-cnp-pcn-decrease", roce(Ecn::Ce, cnp, decrease)),
        (
            "roce-cnp-pcn-increase",
            roce(Ecn::NotEct, increase_header, increase),
        ),
    ]
}

fn tcp_frames() -> Vec<(&'static str, Frame<'static>)> {
    let timestamps = Options {
        timestamps: Some((0x1122_3344, 0x5566_7788)),
        ..Options::default()
    };
    let syn = Options {
        max_segment: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        ..timestamps
    };
    let sack = Options {
        sack: SackBlocks::new(&[(1000, 2000), (3000, 4000), (5000, 6000)]),
        ..timestamps
    };
    let ecn_setup = Flags::SYN.with(Flags::ECE).with(Flags::CWR);
    vec![
        ("tcp-syn", tcp(ecn_setup, syn, &[])),
        (
            "tcp-data",
            tcp(Flags::ACK.with(Flags::PSH), timestamps, &PAYLOAD[..501]),
        ),
        (
            "tcp-ack-ece",
            tcp(Flags::ACK.with(Flags::ECE), Options::default(), &[]),
        ),
        ("tcp-ack-sack", tcp(Flags::ACK, sack, &[])),
    ]
}

fn qcn_frames() -> Vec<(&'static str, Frame<'static>)> {
    let tag = Some(VlanTag {
        priority: 5,
        drop_eligible: false,
        vlan: 42,
    });
    let ethernet = Ethernet {
        tag,
        ..ethernet(SENDER, RECEIVER)
    };
    let cnm = |feedback, sampled| Frame {
        ethernet,
        cn_tag: Some(CnTag { flow: 0x0a0b }),
        body: Body::Cnm(Cnm {
            feedback,
            congestion_point: 0x0102_0304_0506_0708,
            queue_offset: -2031,
            queue_delta: 77,
            priority: 3,
            destination: RECEIVER,
            sampled,
        }),
    };
    let tagged = Frame {
        ethernet,
        cn_tag: Some(CnTag { flow: 0x0a0b }),
        ..data(Opcode::SEND_MIDDLE, &PAYLOAD[..256])
    };
    vec![
        ("qcn-cnm", cnm(63, &[])),
        ("qcn-cnm-with-sampled-frame", cnm(1, &PAYLOAD[..64])),
        ("qcn-tagged-data", tagged),
    ]
}

/// All samples and their names.
pub fn all() -> Vec<(&'static str, Frame<'static>)> {
    let kinds = [mac_control(), roce_frames(), tcp_frames(), qcn_frames()];
    kinds.into_iter().flatten().collect()
}
