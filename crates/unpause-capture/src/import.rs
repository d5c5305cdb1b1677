//! Flows from a capture.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::time::Duration;

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::Block;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};
use unpause_wire::{Aeth, Bth, Opcode, ROCE_PORT};

use crate::error::Error;

/// A flow of a capture: packets of one direction of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFlow {
    /// Number of the sending host in [`Flows::hosts`].
    pub src: usize,
    /// Number of the receiving host.
    pub dst: usize,
    /// Class of the DSCP, 0 to 7.
    pub priority: u8,
    /// Destination port.
    pub destination_port: u16,
    /// Payload, bytes; retransmissions of TCP count once.
    pub size_bytes: u64,
    /// First packet, since the first packet of the capture.
    pub start: Duration,
}

/// The flows of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// Addresses of hosts, in their order; host n of a fabric plays the n-th.
    pub hosts: Vec<IpAddr>,
    /// In order of start.
    pub flows: Vec<CapturedFlow>,
    /// Packets read.
    pub packets: usize,
    /// Packets that are part of no flow: other protocols, acknowledgements without data.
    pub skipped: usize,
}

/// What packets of one flow have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    src: IpAddr,
    dst: IpAddr,
    protocol: u8,
    ports: (u16, u16),
    /// RoCEv2's destination queue pair; 0 of others.
    qp: u32,
}

/// A packet with data, or TCP's SYN.
struct Seen {
    key: Key,
    priority: u8,
    payload: u64,
    /// First sequence number of TCP.
    sequence: Option<u32>,
}

#[derive(Debug)]
struct Open {
    key: Key,
    priority: u8,
    start: Duration,
    last: Duration,
    bytes: u64,
    /// TCP: number after the last byte that has been seen.
    next: Option<u32>,
}

impl Open {
    /// How many of a segment's bytes are new: neither seen before, nor before the first.
    fn new_bytes(&mut self, sequence: u32, payload: u64) -> u64 {
        let end = sequence.wrapping_add(payload as u32);
        let next = *self.next.get_or_insert(sequence);
        // Half of the numbers are ahead, half behind (RFC 9293, section 3.4).
        let ahead = end.wrapping_sub(next);
        if ahead == 0 || ahead >= 1 << 31 {
            return 0;
        }
        self.next = Some(end);
        // What lies between was dropped by the capture, or overtaken: the sender sent it.
        ahead.into()
    }
}

/// Reads a pcap or pcapng file. A pause longer than `idle` ends a flow; what follows on the same
/// connection is another.
///
/// # Errors
/// [`Error::Capture`] with the number of the packet where the file is damaged or of another link type
/// than Ethernet; [`Error::NoFlows`]; [`Error::Io`].
pub fn read_flows(mut input: impl Read, idle: Duration) -> Result<Flows, Error> {
    let mut magic = [0; 4];
    input.read_exact(&mut magic)?;
    let input = magic.chain(input);
    let mut reading = Reading {
        idle,
        ..Reading::default()
    };
    // A section header block opens pcapng.
    if magic == [0x0a, 0x0d, 0x0d, 0x0a] {
        reading.pcapng(input)?;
    } else {
        reading.pcap(input)?;
    }
    reading.finish()
}

#[derive(Default)]
struct Reading {
    idle: Duration,
    packets: usize,
    skipped: usize,
    first: Option<Duration>,
    open: HashMap<Key, usize>,
    flows: Vec<Open>,
}

impl Reading {
    fn damaged(&self, error: &PcapError) -> Error {
        Error::Capture {
            packet: self.packets + 1,
            reason: error.to_string(),
        }
    }

    fn ethernet(&self, link: DataLink) -> Result<(), Error> {
        if link == DataLink::ETHERNET {
            return Ok(());
        }
        Err(Error::Capture {
            packet: self.packets + 1,
            reason: format!("link type {link:?}, expected Ethernet"),
        })
    }

    fn pcap(&mut self, input: impl Read) -> Result<(), Error> {
        let mut reader = PcapReader::new(input).map_err(|error| self.damaged(&error))?;
        self.ethernet(reader.header().datalink)?;
        while let Some(packet) = reader.next_packet() {
            let packet = packet.map_err(|error| self.damaged(&error))?;
            self.packet(packet.timestamp, &packet.data);
        }
        Ok(())
    }

    fn pcapng(&mut self, input: impl Read) -> Result<(), Error> {
        let mut reader = PcapNgReader::new(input).map_err(|error| self.damaged(&error))?;
        let mut clocks: Vec<(DataLink, u128)> = Vec::new();
        while let Some(block) = reader.next_block() {
            let block = block.map_err(|error| self.damaged(&error))?;
            match block {
                Block::SectionHeader(_) => clocks.clear(),
                Block::InterfaceDescription(interface) => {
                    clocks.push((interface.linktype, units_per_second(&interface)));
                }
                Block::EnhancedPacket(packet) => {
                    let clock = clocks.get(packet.interface_id as usize).copied();
                    let (link, units) = clock.ok_or_else(|| Error::Capture {
                        packet: self.packets + 1,
                        reason: format!("interface {} is not described", packet.interface_id),
                    })?;
                    self.ethernet(link)?;
                    // The reader takes every timestamp for nanoseconds.
                    let ns = packet.timestamp.as_nanos() * 1_000_000_000 / units;
                    let time = Duration::from_nanos(ns.try_into().unwrap_or(u64::MAX));
                    self.packet(time, &packet.data);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn packet(&mut self, time: Duration, data: &[u8]) {
        self.packets += 1;
        let first = *self.first.get_or_insert(time);
        let Some(seen) = seen(data) else {
            self.skipped += 1;
            return;
        };
        let time = time.saturating_sub(first);
        let going_on = self.open.get(&seen.key).copied();
        let going_on = going_on.filter(|&at| time.saturating_sub(self.flows[at].last) <= self.idle);
        let at = going_on.unwrap_or(self.flows.len());
        if at == self.flows.len() {
            self.open.insert(seen.key, at);
            self.flows.push(Open {
                key: seen.key,
                priority: seen.priority,
                start: time,
                last: time,
                bytes: 0,
                next: None,
            });
        }
        let flow = &mut self.flows[at];
        flow.last = time;
        flow.bytes += match seen.sequence {
            None => seen.payload,
            Some(sequence) => flow.new_bytes(sequence, seen.payload),
        };
    }

    fn finish(self) -> Result<Flows, Error> {
        let mut open = self.flows;
        open.retain(|flow| flow.bytes > 0);
        if open.is_empty() {
            return Err(Error::NoFlows {
                packets: self.packets,
            });
        }
        let addresses = open.iter().flat_map(|flow| [flow.key.src, flow.key.dst]);
        let mut hosts: Vec<IpAddr> = addresses.collect();
        hosts.sort_unstable();
        hosts.dedup();
        let number = |address: &IpAddr| hosts.binary_search(address).expect("a host of a flow");
        let mut flows: Vec<CapturedFlow> = open
            .iter()
            .map(|flow| CapturedFlow {
                src: number(&flow.key.src),
                dst: number(&flow.key.dst),
                priority: flow.priority,
                destination_port: flow.key.ports.1,
                size_bytes: flow.bytes,
                start: flow.start,
            })
            .collect();
        flows.sort_by_key(|flow| flow.start);
        Ok(Flows {
            hosts,
            flows,
            packets: self.packets,
            skipped: self.skipped,
        })
    }
}

/// Units of an interface's timestamps: microseconds unless it says otherwise.
fn units_per_second(interface: &InterfaceDescriptionBlock<'_>) -> u128 {
    let resolution = interface.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
        _ => None,
    });
    let resolution = resolution.unwrap_or(6);
    let exponent = u32::from(resolution & 0x7f);
    let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(exponent).unwrap_or(u128::MAX)
}

/// What a frame has to do with a flow; none if it carries no data of one. Frames may be cut off: lengths are
/// those that headers state.
fn seen(data: &[u8]) -> Option<Seen> {
    let packet = LaxSlicedPacket::from_ethernet(data).ok()?;
    let (src, dst, class, length) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let length = header
                .total_len()
                .checked_sub(u16::from(header.ihl()) * 4)?;
            let addresses = (
                header.source_addr().into(),
                header.destination_addr().into(),
            );
            (addresses.0, addresses.1, header.dcp().value() >> 3, length)
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let addresses = (
                header.source_addr().into(),
                header.destination_addr().into(),
            );
            let class = header.traffic_class() >> 5;
            (addresses.0, addresses.1, class, header.payload_length())
        }
        _ => return None,
    };
    let priority = match packet.vlan() {
        Some(etherparse::VlanSlice::SingleVlan(tag)) => tag.priority_code_point().value(),
        _ => class,
    };
    let length = u64::from(length);
    let key = |protocol, ports, qp| Key {
        src,
        dst,
        protocol,
        ports,
        qp,
    };
    let mut opens = false;
    let (key, payload, sequence) = match packet.transport.as_ref()? {
        TransportSlice::Tcp(tcp) => {
            opens = tcp.syn() && !tcp.ack();
            let payload = length.checked_sub(tcp.header_slice().len() as u64)?;
            let ports = (tcp.source_port(), tcp.destination_port());
            let first = tcp.sequence_number().wrapping_add(opens.into());
            (key(6, ports, 0), payload, Some(first))
        }
        TransportSlice::Udp(udp) => {
            let ports = (udp.source_port(), udp.destination_port());
            let payload = length.checked_sub(8)?;
            if ports.1 == ROCE_PORT {
                let (qp, payload) = roce(udp.payload(), payload)?;
                (key(17, ports, qp), payload, None)
            } else {
                (key(17, ports, 0), payload, None)
            }
        }
        _ => return None,
    };
    (payload > 0 || opens).then_some(Seen {
        key,
        priority,
        payload,
        sequence,
    })
}

/// Queue pair and data of a RoCEv2 packet whose UDP payload has `length` bytes; none of an
/// acknowledgement or a CNP.
fn roce(payload: &[u8], length: u64) -> Option<(u32, u64)> {
    const ICRC: u64 = 4;
    let (bth, opcode, padding, _) = Bth::parse(payload).ok()?;
    if matches!(opcode, Opcode::ACKNOWLEDGE | Opcode::CNP) {
        return None;
    }
    let extension = match opcode.0 {
        // Of RDMA WRITE first and only, READ request: address, key, length (16 B).
        0x06 | 0x0a | 0x0c => 16,
        // Of RDMA READ response but the middle: AETH.
        0x0d | 0x0f | 0x10 => Aeth::LENGTH as u64,
        _ => 0,
    };
    let data = length.checked_sub(Bth::LENGTH as u64 + extension + padding as u64 + ICRC)?;
    Some((bth.destination_qp, data))
}

/// Writes flows as HPCC's simulator reads them: a line with their number, then for each source,
/// destination, priority, destination port, bytes, start in seconds.
///
/// # Errors
/// `out` cannot be written.
pub fn write_flow_file(flows: &Flows, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", flows.flows.len())?;
    for flow in &flows.flows {
        writeln!(
            out,
            "{} {} {} {} {} {}.{:09}",
            flow.src,
            flow.dst,
            flow.priority,
            flow.destination_port,
            flow.size_bytes,
            flow.start.as_secs(),
            flow.start.subsec_nanos()
        )?;
    }
    Ok(())
}
