//! The flow that a frame belongs to.

use std::net::IpAddr;

use etherparse::{LaxNetSlice, TransportSlice};
use pcap_file::DataLink;
use unpause_wire::ROCE_PORT;

use crate::link::network;
use crate::priority::Class;
use crate::roce::roce;

/// The fields that all packets of one flow share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub protocol: u8,
    pub ports: (u16, u16),
    /// RoCEv2's destination queue pair; 0 of others.
    pub qp: u32,
}

/// Identifies a data packet.
pub(crate) type Identity = (Key, PacketNumber);

/// IP's identification, payload, and RoCEv2's opcode and packet sequence number, or UDP's checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PacketNumber {
    pub ip: u16,
    pub payload: u64,
    pub opcode: u8,
    pub number: u32,
}

/// A packet with data, or TCP's SYN.
pub(crate) struct Seen {
    pub key: Key,
    pub class: Class,
    pub number: PacketNumber,
    pub interface: u32,
    pub hops_left: u8,
    pub payload: u64,
    /// First sequence number of TCP.
    pub sequence: Option<u32>,
}

/// The flow and the data of a frame; none if it carries no data of a flow. Frames may be truncated: lengths are
/// those that headers state.
pub(crate) fn seen(link: DataLink, data: &[u8]) -> Option<Seen> {
    let network = network(link, data)?;
    let packet = &network.packet;
    let ip = ip(packet.net.as_ref()?)?;
    let key = |protocol, ports, qp| Key {
        src: ip.src,
        dst: ip.dst,
        protocol,
        ports,
        qp,
    };
    let mut opens = false;
    let mut number = PacketNumber {
        ip: ip.identification,
        ..PacketNumber::default()
    };
    let (key, payload, sequence) = match packet.transport.as_ref()? {
        TransportSlice::Tcp(tcp) => {
            opens = tcp.syn() && !tcp.ack();
            let payload = ip.length.checked_sub(tcp.header_slice().len() as u64)?;
            let ports = (tcp.source_port(), tcp.destination_port());
            let first = tcp.sequence_number().wrapping_add(opens.into());
            (key(6, ports, 0), payload, Some(first))
        }
        TransportSlice::Udp(udp) => {
            let ports = (udp.source_port(), udp.destination_port());
            let payload = ip.length.checked_sub(8)?;
            if ports.1 == ROCE_PORT {
                let part = roce(udp.payload(), payload)?;
                (number.opcode, number.number) = (part.opcode, part.psn);
                (key(17, ports, part.qp), part.data, None)
            } else {
                number.number = udp.checksum().into();
                (key(17, ports, 0), payload, None)
            }
        }
        _ => return None,
    };
    number.payload = payload;
    (payload > 0 || opens).then_some(Seen {
        key,
        class: Class {
            dscp: ip.dscp,
            pcp: network.pcp,
        },
        number,
        interface: network.interface,
        hops_left: ip.hops_left,
        payload,
        sequence,
    })
}

/// True for a part of an IP packet: the first part alone has ports, and its length is not that of the whole.
pub(crate) fn is_fragment(link: DataLink, data: &[u8]) -> bool {
    let network = network(link, data);
    let net = network
        .as_ref()
        .and_then(|network| network.packet.net.as_ref());
    net.and_then(LaxNetSlice::ip_payload_ref)
        .is_some_and(|payload| payload.fragmented)
}

/// The fields of an IP header that are used here.
struct Ip {
    src: IpAddr,
    dst: IpAddr,
    dscp: u8,
    hops_left: u8,
    identification: u16,
    /// Bytes behind the header.
    length: u64,
}

fn ip(net: &LaxNetSlice<'_>) -> Option<Ip> {
    match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let length = header
                .total_len()
                .checked_sub(u16::from(header.ihl()) * 4)?;
            Some(Ip {
                src: header.source_addr().into(),
                dst: header.destination_addr().into(),
                dscp: header.dcp().value(),
                hops_left: header.ttl(),
                identification: header.identification(),
                length: length.into(),
            })
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            Some(Ip {
                src: header.source_addr().into(),
                dst: header.destination_addr().into(),
                dscp: header.traffic_class() >> 2,
                hops_left: header.hop_limit(),
                identification: 0,
                length: header.payload_length().into(),
            })
        }
        _ => None,
    }
}
