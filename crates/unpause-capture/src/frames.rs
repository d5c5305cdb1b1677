//! What a traced packet looks like on a wire.
//!
//! A packet gets the headers that its kind has by its standard. They may be more or fewer bytes than the
//! scenario counts for them (`header_bytes`); the payload is exact, so that what a reader of the
//! capture adds up is what flows delivered. Flow f goes to queue pair f + 2 (0 and 1 are
//! reserved); DSCP is the class selector of the priority. What a simulation does not know is 0.

use unpause_wire::{
    Aeth, Body, Bth, CnTag, Cnm, CnpPayload, Dscp, Ecn, Ethernet, Flags, Frame, Ipv4, MacAddress,
    Opcode, Options, Pfc, RoceBody, Syndrome, Tcp, VlanTag,
};

use crate::addresses::Addresses;
use crate::packets::Row;

/// Port at which the receivers of TCP flows listen: iperf's.
const TCP_PORT: u16 = 5001;
/// What a flow carries.
static PAYLOAD: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

fn qp(flow: u32) -> u32 {
    flow.wrapping_add(2) & 0x00ff_ffff
}

fn ip(row: &Row<'_>, ecn: Ecn, addresses: &Addresses) -> Ipv4 {
    Ipv4 {
        dscp: Dscp::class_selector(row.priority),
        ecn,
        identification: 0,
        dont_fragment: true,
        ttl: 64,
        source: addresses.ip(row.src),
        destination: addresses.ip(row.dst),
    }
}

fn roce(row: &Row<'_>, addresses: &Addresses) -> Body<'static> {
    let to = Bth::to(qp(row.flow_id), 0);
    // An acknowledgement says the next packet expected; on a wire, the last that has come.
    let last = row.seq.wrapping_sub(1) & 0x00ff_ffff;
    let next = row.seq & 0x00ff_ffff;
    let acknowledgement = |syndrome| RoceBody::Ack(Aeth { syndrome, msn: 0 });
    let marked = row.kind != "pcn-increase";
    let (bth, body) = match row.kind {
        "data" => {
            let opcode = match row.seq {
                0 => Opcode::SEND_FIRST,
                _ => Opcode::SEND_MIDDLE,
            };
            let payload = &PAYLOAD[..usize::from(row.payload_bytes)];
            (Bth { psn: next, ..to }, RoceBody::Data { opcode, payload })
        }
        "ack" => {
            let body = acknowledgement(Syndrome::Ack { credits: 31 });
            (Bth { psn: last, ..to }, body)
        }
        "nak" => {
            let body = acknowledgement(Syndrome::SEQUENCE_ERROR);
            (Bth { psn: next, ..to }, body)
        }
        _ => {
            let rec_rate = row.rec_rate.unwrap_or(0);
            let body = RoceBody::Cnp(CnpPayload::with_rec_rate(rec_rate));
            (Bth { becn: marked, ..to }, body)
        }
    };
    let ecn = match (row.kind, row.ect, row.ce) {
        // PCN's CNP says "decrease" by the mark (NSDI 2020, section 4.2).
        ("pcn-decrease", ..) | (_, _, true) => Ecn::Ce,
        (_, true, false) => Ecn::Ect0,
        (_, false, false) => Ecn::NotEct,
    };
    Body::Roce {
        ip: ip(row, ecn, addresses),
        source_port: row.source_port,
        bth,
        body,
    }
}

fn tcp(row: &Row<'_>, addresses: &Addresses) -> Body<'static> {
    let forward = matches!(row.kind, "tcp-data" | "syn");
    let (source_port, destination_port) = match forward {
        true => (row.source_port, TCP_PORT),
        false => (TCP_PORT, row.source_port),
    };
    // A SYN takes a number of its own, from which data follow; the simulation counts data from 0.
    let next = row.seq.wrapping_add(1);
    let (flags, sequence, acknowledgement) = match row.kind {
        "syn" => (Flags::SYN, 0, 0),
        "syn-ack" => (Flags::SYN.with(Flags::ACK), 0, 1),
        "tcp-data" => (Flags::ACK, next, 1),
        _ => (Flags::ACK, 1, next),
    };
    let flag = |is: bool, flag: Flags| if is { flag } else { Flags::default() };
    let flags = flags
        .with(flag(row.cwr, Flags::CWR))
        .with(flag(row.ece, Flags::ECE));
    let ecn = match (row.ect, row.ce) {
        (_, true) => Ecn::Ce,
        (true, false) => Ecn::Ect0,
        (false, false) => Ecn::NotEct,
    };
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
        ip: ip(row, ecn, addresses),
        tcp,
        payload: &PAYLOAD[..usize::from(row.payload_bytes)],
    }
}

fn cnm(row: &Row<'_>, sampled_dst: &str, addresses: &Addresses) -> Body<'static> {
    // 802.1Q counts both in units of 64 octets.
    let units = |bytes: Option<i32>| {
        let units = bytes.unwrap_or(0) / 64;
        units.clamp(i16::MIN.into(), i16::MAX.into()) as i16
    };
    let [.., a, b, c, d, e, f] = u64::from_be_bytes({
        let [m0, m1, m2, m3, m4, m5] = addresses.mac(row.src).0;
        [0, 0, m0, m1, m2, m3, m4, m5]
    })
    .to_be_bytes();
    Body::Cnm(Cnm {
        feedback: row.cnm_feedback.unwrap_or(0),
        congestion_point: u64::from_be_bytes([a, b, c, d, e, f, 0, 0]),
        queue_offset: units(row.cnm_offset_bytes),
        queue_delta: units(row.cnm_delta_bytes),
        priority: row.priority,
        destination: addresses.mac(sampled_dst),
        sampled: &[],
    })
}

/// The frame of a row; `flow_dst` is where the data of its flow go.
pub(crate) fn frame(row: &Row<'_>, flow_dst: &str, addresses: &Addresses) -> Frame<'static> {
    let mut ethernet = Ethernet {
        destination: addresses.mac(row.dst),
        source: addresses.mac(row.src),
        tag: None,
    };
    let mut cn_tag = None;
    let body = match row.kind {
        "pfc" => {
            ethernet.destination = MacAddress::MAC_CONTROL;
            ethernet.source = addresses.mac(row.node);
            let enabled = row.pause_priorities.unwrap_or(0);
            let time = |priority| match enabled >> priority & 1 {
                1 => row.pause_quanta.unwrap_or(0),
                _ => 0,
            };
            let quanta = std::array::from_fn(time);
            Body::Pfc(Pfc { enabled, quanta })
        }
        "cnm" => {
            ethernet.tag = Some(VlanTag {
                priority: row.priority,
                ..VlanTag::default()
            });
            cn_tag = Some(CnTag {
                flow: row.flow_id as u16,
            });
            cnm(row, flow_dst, addresses)
        }
        "tcp-data" | "tcp-ack" | "syn" | "syn-ack" => tcp(row, addresses),
        _ => roce(row, addresses),
    };
    Frame {
        ethernet,
        cn_tag,
        body,
    }
}
