//! Packets of a run as frames.
//!
//! A packet gets the headers that its kind has by its standard. They may be more or fewer bytes than the
//! scenario counts for them (`header_bytes`); the payload is exact, so that what a reader of the
//! capture adds up is what flows delivered. Flow f goes to queue pair f + 2 (0 and 1 are
//! reserved); DSCP is the class selector of the priority. What a simulation does not know is 0.

use std::net::Ipv4Addr;

use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_sim::results::PacketKind;
use unpause_wire::{
    Aeth, Body, Bth, CnTag, Cnm, CnpPayload, Dscp, Ecn, Ethernet, Flags, Frame, Ipv4, MacAddress,
    Opcode, Options, Pfc, RoceBody, Syndrome, Tcp, Udp, VlanTag,
};

/// Port at which the receivers of TCP flows listen: iperf's.
pub const TCP_PORT: u16 = 5001;
/// Destination port of UDP: that of iperf 2, too.
pub const UDP_PORT: u16 = 5001;
/// The payload of every data packet: zeros.
static PAYLOAD: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// A packet, as far as headers say it. Nodes are numbered from 1.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// The kind of packet.
    pub kind: PacketKind,
    /// Priority.
    pub priority: u8,
    /// Flow.
    pub flow: u32,
    /// Host that it comes from.
    pub src: u32,
    /// Host that it goes to.
    pub dst: u32,
    /// Node that sends it over this link.
    pub node: u32,
    /// Host that the data of its flow go to.
    pub flow_dst: u32,
    /// Bytes of the flow in it.
    pub payload_bytes: u16,
    /// Number of a packet, or of a byte; in acknowledgements the next one expected.
    pub seq: u32,
    /// It may be marked.
    pub ect: bool,
    /// It is marked.
    pub ce: bool,
    /// RoCE data: an acknowledgement is asked for.
    pub ack_request: bool,
    /// TCP: the sender has cut its window.
    pub cwr: bool,
    /// TCP: the receiver has seen a mark.
    pub ece: bool,
    /// UDP's source port, or that of the TCP flow's sender.
    pub source_port: u16,
    /// The content of a CNP or CNM.
    pub notification: Option<Notification>,
    /// The content of a PFC frame: bit p is set for priority p; the pause time in quanta.
    pub pfc: Option<(u8, u16)>,
}

/// Address of the node `number`: 10.0.0.1 of the first.
pub fn ip_address(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 | number & 0x00ff_ffff)
}

/// The queue pair that the packets of a flow go to.
pub fn queue_pair(flow: u32) -> u32 {
    flow.wrapping_add(2) & 0x00ff_ffff
}

/// Bytes as 802.1Q counts them in a congestion notification message: in units of 64 octets.
pub fn cnm_units(bytes: i32) -> i16 {
    (bytes / 64).clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// The frame of a packet.
pub fn frame(packet: &Described) -> Frame<'static> {
    let mut ethernet = Ethernet {
        destination: MacAddress::local(packet.dst),
        source: MacAddress::local(packet.src),
        tag: None,
    };
    let mut cn_tag = None;
    let body = match packet.kind {
        PacketKind::Pfc => {
            ethernet.destination = MacAddress::MAC_CONTROL;
            ethernet.source = MacAddress::local(packet.node);
            pfc(packet)
        }
        PacketKind::Cnm => {
            ethernet.tag = Some(VlanTag {
                priority: packet.priority,
                ..VlanTag::default()
            });
            cn_tag = Some(CnTag {
                flow: packet.flow as u16,
            });
            cnm(packet)
        }
        PacketKind::Segment
        | PacketKind::TcpAck
        | PacketKind::Syn
        | PacketKind::SynAck
        | PacketKind::Fin => tcp(packet),
        PacketKind::Datagram => Body::Udp {
            ip: ip(packet),
            udp: Udp {
                source_port: packet.source_port,
                destination_port: UDP_PORT,
            },
            payload: &PAYLOAD[..usize::from(packet.payload_bytes)],
        },
        _ => roce(packet),
    };
    Frame {
        ethernet,
        cn_tag,
        body,
    }
}

fn ip(packet: &Described) -> Ipv4 {
    let ecn = match (packet.kind, packet.ect, packet.ce) {
        // PCN's CNP says "decrease" by the mark (NSDI 2020, section 4.2).
        (PacketKind::PcnDecrease, ..) | (_, _, true) => Ecn::Ce,
        (_, true, false) => Ecn::Ect0,
        (_, false, false) => Ecn::NotEct,
    };
    Ipv4 {
        dscp: Dscp::class_selector(packet.priority),
        ecn,
        identification: 0,
        dont_fragment: true,
        ttl: 64,
        source: ip_address(packet.src),
        destination: ip_address(packet.dst),
    }
}

fn roce(packet: &Described) -> Body<'static> {
    let to = Bth::to(queue_pair(packet.flow), 0);
    // An acknowledgement says the next packet expected; on a wire, the last that has come.
    let last = packet.seq.wrapping_sub(1) & 0x00ff_ffff;
    let next = packet.seq & 0x00ff_ffff;
    let acknowledgement = |syndrome| RoceBody::Ack(Aeth { syndrome, msn: 0 });
    let (bth, body) = match packet.kind {
        PacketKind::Data | PacketKind::Trimmed => {
            let opcode = match packet.seq {
                0 => Opcode::SEND_FIRST,
                _ => Opcode::SEND_MIDDLE,
            };
            let bth = Bth {
                psn: next,
                ack_request: packet.ack_request,
                ..to
            };
            let payload = &PAYLOAD[..usize::from(packet.payload_bytes)];
            (bth, RoceBody::Data { opcode, payload })
        }
        PacketKind::Ack => {
            let body = acknowledgement(Syndrome::Ack { credits: 31 });
            (Bth { psn: last, ..to }, body)
        }
        PacketKind::Nak => {
            let body = acknowledgement(Syndrome::SEQUENCE_ERROR);
            (Bth { psn: next, ..to }, body)
        }
        // As with a receiver that has no room: the packet is to be sent again.
        PacketKind::TrimNak => {
            let body = acknowledgement(Syndrome::ReceiverNotReady { timer: 0 });
            (Bth { psn: next, ..to }, body)
        }
        _ => {
            let rec_rate = match packet.notification {
                Some(Notification::Pcn { rec_rate, .. }) => rec_rate,
                _ => 0,
            };
            let becn = packet.kind != PacketKind::PcnIncrease;
            let body = RoceBody::Cnp(CnpPayload::with_rec_rate(rec_rate));
            (Bth { becn, ..to }, body)
        }
    };
    Body::Roce {
        ip: ip(packet),
        source_port: packet.source_port,
        bth,
        body,
    }
}

fn tcp(packet: &Described) -> Body<'static> {
    let forward = packet.dst == packet.flow_dst;
    let (source_port, destination_port) = if forward {
        (packet.source_port, TCP_PORT)
    } else {
        (TCP_PORT, packet.source_port)
    };
    // A SYN takes a number of its own, from which data follow; the simulation counts data from 0.
    let next = packet.seq.wrapping_add(1);
    let (flags, sequence, acknowledgement) = match packet.kind {
        PacketKind::Syn => (Flags::SYN, 0, 0),
        PacketKind::SynAck => (Flags::SYN.with(Flags::ACK), 0, 1),
        PacketKind::Segment => (Flags::ACK, next, 1),
        PacketKind::Fin => (Flags::FIN.with(Flags::ACK), 1, next),
        _ => (Flags::ACK, 1, next),
    };
    let flag = |is: bool, flag: Flags| if is { flag } else { Flags::default() };
    let flags = flags
        .with(flag(packet.cwr, Flags::CWR))
        .with(flag(packet.ece, Flags::ECE));
    let tcp = Tcp {
        source_port,
        destination_port,
        sequence,
        acknowledgement,
        flags,
        window: u16::MAX,
        urgent: 0,
        options: Options::default(),
    };
    Body::Tcp {
        ip: ip(packet),
        tcp,
        payload: &PAYLOAD[..usize::from(packet.payload_bytes)],
    }
}

fn pfc(packet: &Described) -> Body<'static> {
    let (enabled, quanta) = packet.pfc.unwrap_or_default();
    let time = |priority| match enabled >> priority & 1 {
        1 => quanta,
        _ => 0,
    };
    let quanta = std::array::from_fn(time);
    Body::Pfc(Pfc { enabled, quanta })
}

fn cnm(packet: &Described) -> Body<'static> {
    let feedback = match packet.notification {
        Some(Notification::Qcn(feedback)) => feedback,
        _ => QcnFeedback {
            qfb: 0,
            q_offset: 0,
            q_delta: 0,
        },
    };
    let [a, b, c, d, e, f] = MacAddress::local(packet.src).0;
    Body::Cnm(Cnm {
        feedback: feedback.qfb,
        congestion_point: u64::from_be_bytes([a, b, c, d, e, f, 0, 0]),
        queue_offset: cnm_units(feedback.q_offset),
        queue_delta: cnm_units(feedback.q_delta),
        priority: packet.priority,
        destination: MacAddress::local(packet.flow_dst),
        sampled: &[],
    })
}
