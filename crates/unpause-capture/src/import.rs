//! Flows from a capture.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::time::Duration;

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::Block;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};

use crate::error::Error;
use crate::link::is_known;
use crate::priority::{Class, HIGHEST, PriorityFrom};
use crate::seen::{Identity, Key, is_fragment, seen};
use crate::views::{View, Views};

/// A flow of a capture: packets of one direction of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedFlow {
    /// Number of the sending host in [`Flows::hosts`].
    pub src: usize,
    /// Number of the receiving host.
    pub dst: usize,
    /// 0 to 6: 7 is the priority of control frames.
    pub priority: u8,
    /// Destination port.
    pub destination_port: u16,
    /// Payload, bytes; retransmissions of TCP count once, and so does a packet seen at several interfaces.
    pub size_bytes: u64,
    /// First packet, since the earliest packet of the capture.
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
    /// Packets that are part of no flow: other protocols, acknowledgements without data, fragments.
    pub skipped: usize,
    /// Fragments of IP packets, whose bytes no flow has.
    pub fragments: usize,
    /// Further views of packets that another interface had shown.
    pub seen_again: usize,
    /// Packets of interfaces of other kinds of link than are read.
    pub other_links: usize,
    /// The file ends within a packet, which is not among those read.
    pub cut_off: bool,
    /// How priorities were found; never `Auto`.
    pub priority: PriorityFrom,
    /// Flows of priority 7, which have 6 here.
    pub lowered: usize,
}

/// How a capture is read.
#[derive(Clone, Debug)]
pub struct Reader {
    /// A pause longer than this ends a flow; what follows on the same connection is another. A packet seen at
    /// another interface within this time is the same.
    pub idle: Duration,
    /// Where priorities come from.
    pub priority: PriorityFrom,
}

/// Of a packet in a pcap file, bytes: what libpcap takes for damage is longer.
const LONGEST: u32 = 262_144;

/// How many of the latest flows of a connection are searched for one that is near enough in time to a packet.
const LATEST: usize = 8;

#[derive(Debug)]
struct Open {
    key: Key,
    class: Class,
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

impl Reader {
    /// Reads a pcap or pcapng file. Of a file that ends within a packet, those before it count.
    ///
    /// # Errors
    /// [`Error::Capture`] with the number of the packet where the file is damaged, or of a link that is not
    /// read; [`Error::NoFlows`]; [`Error::Io`].
    pub fn read(&self, mut input: impl Read) -> Result<Flows, Error> {
        let magic = magic(&mut input)?;
        let input = magic.chain(input);
        let mut reading = Reading {
            idle: self.idle,
            read: Flows::default(),
            first: None,
            open: HashMap::new(),
            flows: Vec::new(),
            views: Views::new(self.idle),
        };
        // A section header block opens pcapng.
        let done = if magic == [0x0a, 0x0d, 0x0d, 0x0a] {
            reading.pcapng(input)
        } else {
            reading.pcap(input)
        };
        match done {
            Err(Stop::CutOff) => reading.read.cut_off = true,
            Err(Stop::Failed(error)) => return Err(error),
            Ok(()) => {}
        }
        reading.finish(&self.priority)
    }
}

/// The first bytes of a capture.
fn magic(input: &mut impl Read) -> Result<[u8; 4], Error> {
    let mut first = Vec::new();
    input.take(4).read_to_end(&mut first)?;
    let wrong = |found| Err(Error::NoCapture { found });
    match first[..] {
        [] => wrong("it is empty".to_owned()),
        [0x0a, 0x0d, 0x0d, 0x0a]
        | [0xa1, 0xb2, 0xc3 | 0x3c, 0xd4 | 0x4d]
        | [0xd4 | 0x4d, 0xc3 | 0x3c, 0xb2, 0xa1] => Ok([first[0], first[1], first[2], first[3]]),
        _ => wrong(format!(
            "it begins with {:?}",
            first.escape_ascii().to_string()
        )),
    }
}

/// Why reading ends before the end of the file.
enum Stop {
    CutOff,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

struct Reading {
    idle: Duration,
    read: Flows,
    /// Time of the earliest packet so far.
    first: Option<Duration>,
    /// Flows of each connection, in the order in which they were found.
    open: HashMap<Key, Vec<usize>>,
    flows: Vec<Open>,
    views: Views<Identity>,
}

impl Reading {
    fn refused(&self, reason: String) -> Stop {
        Stop::Failed(Error::Capture {
            packet: self.read.packets + 1,
            reason,
        })
    }

    fn stopped(&self, error: PcapError) -> Stop {
        match error {
            PcapError::IncompleteBuffer => Stop::CutOff,
            PcapError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Stop::CutOff
            }
            PcapError::IoError(error) => Stop::Failed(Error::Io(error)),
            other => self.refused(other.to_string()),
        }
    }

    fn pcap(&mut self, input: impl Read) -> Result<(), Stop> {
        let mut reader = PcapReader::new(input).map_err(|error| self.refused(error.to_string()))?;
        let header = reader.header();
        if !is_known(header.datalink) {
            return Err(self.refused(format!(
                "link type {:?}, expected Ethernet, Linux-cooked (SLL, SLL2), NULL, LOOP or raw IP",
                header.datalink
            )));
        }
        let ns = match header.ts_resolution {
            TsResolution::MicroSecond => 1000,
            TsResolution::NanoSecond => 1,
        };
        // Raw: the library refuses packets that are longer than what is kept of them.
        while let Some(packet) = reader.next_raw_packet() {
            let packet = packet.map_err(|error| self.stopped(error))?;
            if packet.incl_len > LONGEST {
                return Err(self.refused(format!("a packet of {} bytes", packet.incl_len)));
            }
            let part = Duration::from_nanos(u64::from(packet.ts_frac) * ns);
            let time = Duration::from_secs(packet.ts_sec.into()) + part;
            self.begin(time);
            self.packet(time, 0, header.datalink, &packet.data);
        }
        Ok(())
    }

    fn pcapng(&mut self, input: impl Read) -> Result<(), Stop> {
        let mut reader = PcapNgReader::new(input).map_err(|error| self.stopped(error))?;
        let mut interfaces = Interfaces::default();
        interfaces.next_section(reader.section().endianness);
        let mut last = Duration::ZERO;
        loop {
            let Some(block) = reader.next_block() else {
                return Ok(());
            };
            match block.map_err(|error| self.stopped(error))? {
                Block::SectionHeader(section) => interfaces.next_section(section.endianness),
                Block::InterfaceDescription(interface) => interfaces.add(&interface),
                Block::EnhancedPacket(packet) => {
                    // The reader takes every timestamp for nanoseconds.
                    let time = packet.timestamp.as_nanos();
                    let id = packet.interface_id;
                    last = self.of_interface(&interfaces, id, Some(time), last, &packet.data)?;
                }
                Block::Packet(packet) => {
                    let time = interfaces.obsolete_time(packet.timestamp);
                    let id = packet.interface_id.into();
                    last = self.of_interface(&interfaces, id, Some(time), last, &packet.data)?;
                }
                // Has no time of its own; what fills up its block is beyond the length that IP states.
                Block::SimplePacket(packet) => {
                    last = self.of_interface(&interfaces, 0, None, last, &packet.data)?;
                }
                _ => {}
            }
        }
    }

    /// Takes a packet; answers when it was seen, which is at `last` if it does not say.
    fn of_interface(
        &mut self,
        interfaces: &Interfaces,
        id: u32,
        units: Option<u128>,
        last: Duration,
        data: &[u8],
    ) -> Result<Duration, Stop> {
        let known = interfaces.known.get(id as usize).copied();
        let (link, per_second) =
            known.ok_or_else(|| self.refused(format!("interface {id} is not described")))?;
        let time = units.map_or(last, |units| {
            let ns = units.saturating_mul(1_000_000_000) / per_second;
            Duration::from_nanos(ns.try_into().unwrap_or(u64::MAX))
        });
        if units.is_some() {
            self.begin(time);
        }
        if is_known(link) {
            self.packet(time, interfaces.number(id), link, data);
        } else {
            self.read.packets += 1;
            self.read.other_links += 1;
        }
        Ok(time)
    }

    /// A packet of this time was captured. Packets of several queues or files are in no order.
    fn begin(&mut self, time: Duration) {
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
    }

    fn packet(&mut self, time: Duration, interface: u32, link: DataLink, data: &[u8]) {
        self.read.packets += 1;
        let Some(seen) = seen(link, data) else {
            self.read.skipped += 1;
            self.read.fragments += usize::from(is_fragment(link, data));
            return;
        };
        let view = View {
            interface: (interface, seen.interface),
            hops_left: seen.hops_left,
        };
        // TCP's bytes have numbers; of others every packet counts.
        let is_new =
            seen.sequence.is_some() || self.views.is_first((seen.key, seen.number), view, time);
        let own = self.open.entry(seen.key).or_default();
        let is_near = |flow: &Open| {
            let (early, late) = (
                flow.start.saturating_sub(time),
                time.saturating_sub(flow.last),
            );
            early.max(late) <= self.idle
        };
        let mut latest = own.iter().rev().take(LATEST);
        let at = match latest.find(|&&at| is_near(&self.flows[at])) {
            Some(at) => *at,
            None => {
                own.push(self.flows.len());
                self.flows.push(Open {
                    key: seen.key,
                    class: seen.class,
                    start: time,
                    last: time,
                    bytes: 0,
                    next: None,
                });
                self.flows.len() - 1
            }
        };
        let flow = &mut self.flows[at];
        flow.start = flow.start.min(time);
        flow.last = flow.last.max(time);
        if !is_new {
            self.read.seen_again += 1;
            return;
        }
        flow.bytes += match seen.sequence {
            None => seen.payload,
            Some(sequence) => flow.new_bytes(sequence, seen.payload),
        };
    }

    fn finish(self, priority: &PriorityFrom) -> Result<Flows, Error> {
        let first = self.first.unwrap_or_default();
        let mut read = self.read;
        let mut open = self.flows;
        open.retain(|flow| flow.bytes > 0);
        if open.is_empty() {
            return Err(Error::NoFlows {
                packets: read.packets,
            });
        }
        let addresses = open.iter().flat_map(|flow| [flow.key.src, flow.key.dst]);
        let mut hosts: Vec<IpAddr> = addresses.collect();
        hosts.sort_unstable();
        hosts.dedup();
        let number = |address: &IpAddr| hosts.binary_search(address).expect("a host of a flow");
        let priority = priority.settled(open.iter().map(|flow| flow.class));
        let given = |flow: &&Open| priority.of(flow.class) > HIGHEST;
        read.lowered = open.iter().filter(given).count();
        read.flows = open
            .iter()
            .map(|flow| CapturedFlow {
                src: number(&flow.key.src),
                dst: number(&flow.key.dst),
                priority: priority.of(flow.class).min(HIGHEST),
                destination_port: flow.key.ports.1,
                size_bytes: flow.bytes,
                start: flow.start.saturating_sub(first),
            })
            .collect();
        read.flows.sort_by_key(|flow| flow.start);
        read.hosts = hosts;
        read.priority = priority;
        Ok(read)
    }
}

/// Interfaces of the sections of a pcapng file.
#[derive(Default)]
struct Interfaces {
    /// Of this section: link and units of time per second.
    known: Vec<(DataLink, u128)>,
    /// Those of the sections before.
    before: u32,
    is_little: bool,
}

impl Interfaces {
    fn next_section(&mut self, endianness: Endianness) {
        self.before = self.before.saturating_add(self.known.len() as u32);
        self.known.clear();
        self.is_little = endianness == Endianness::Little;
    }

    fn add(&mut self, interface: &InterfaceDescriptionBlock<'_>) {
        self.known
            .push((interface.linktype, units_per_second(interface)));
    }

    fn number(&self, id: u32) -> u32 {
        self.before.saturating_add(id)
    }

    /// Obsolete blocks have the time in two halves, the high one first, as enhanced ones do; the library reads them
    /// as one number.
    fn obsolete_time(&self, timestamp: u64) -> u128 {
        if self.is_little {
            timestamp.rotate_left(32).into()
        } else {
            timestamp.into()
        }
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
