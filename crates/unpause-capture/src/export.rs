//! Table `packets` as pcapng.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::Block;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use unpause_scenario::Tables;

use crate::addresses::Addresses;
use crate::error::Error;
use crate::frames::frame;
use crate::packets::{Row, rows_of, text};

/// Timestamps count nanoseconds: 10 to the minus 9 seconds.
const NANOSECONDS: u8 = 9;

/// Writes the packets that `run` of a result has traced as a capture with an interface for each port,
/// named `node->peer`, and gives their number. Of each frame `snap_bytes` are kept, all if that is 0.
/// The comment of a packet says what a capture cannot: flow, queue left behind, sojourn time.
///
/// # Errors
/// [`Error::NoPackets`] if the run has traced none; [`Error::Io`] if `out` cannot be written.
pub fn write_pcapng(
    tables: &Tables,
    run: u32,
    snap_bytes: u32,
    out: impl Write,
) -> Result<u64, Error> {
    let rows: Vec<(usize, Row<'_>)> = rows_of(&tables.packets, run)
        .map(|row| (row, Row::read(&tables.packets, row)))
        .collect();
    if rows.is_empty() {
        return Err(Error::NoPackets { run });
    }
    let flow_dsts: Vec<&str> = rows_of(&tables.flows, run)
        .map(|row| text(&tables.flows, "dst", row))
        .collect();
    let flow_srcs = rows_of(&tables.flows, run).map(|row| text(&tables.flows, "src", row));
    let hosts = flow_srcs.chain(flow_dsts.iter().copied());
    let named = rows
        .iter()
        .flat_map(|(_, row)| [row.node, row.peer, row.src, row.dst]);
    let addresses = Addresses::new(hosts.chain(named));
    let mut capture = Capture::new(out, &addresses, snap_bytes)?;
    let mut bytes = vec![0; usize::from(u16::MAX) + 128];
    for (number, row) in &rows {
        if matches!(row.kind, "pull" | "request") {
            return Err(Error::NoFrame {
                row: *number,
                kind: row.kind.to_owned(),
            });
        }
        let flow_dst = flow_dsts.get(row.flow_id as usize).copied().unwrap_or("");
        let frame = frame(&row.describe(flow_dst, &addresses));
        let length = frame.build(&mut bytes).map_err(|reason| Error::Frame {
            row: *number,
            reason,
        })?;
        capture.packet(row, &bytes[..length])?;
    }
    Ok(rows.len() as u64)
}

fn io(error: PcapError) -> Error {
    match error {
        PcapError::IoError(error) => Error::Io(error),
        other => Error::Io(std::io::Error::other(other)),
    }
}

/// A capture being written.
struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
    snap_bytes: u32,
    /// Interfaces by node and port.
    interfaces: HashMap<(String, u16), u32>,
}

impl<W: Write> Capture<W> {
    fn new(out: W, addresses: &Addresses, snap_bytes: u32) -> Result<Self, Error> {
        let application = Cow::Borrowed(concat!("unpause ", env!("CARGO_PKG_VERSION")));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(application)],
            ..SectionHeaderBlock::default()
        };
        let mut writer = PcapNgWriter::with_section_header(out, section).map_err(io)?;
        let record = |(ip, name): (std::net::Ipv4Addr, &str)| {
            Record::Ipv4(Ipv4Record {
                ip_addr: Cow::Owned(ip.octets().to_vec()),
                names: vec![Cow::Owned(name.to_owned())],
            })
        };
        let names = NameResolutionBlock {
            records: addresses.all().into_iter().map(record).collect(),
            options: vec![],
        };
        writer
            .write_block(&Block::NameResolution(names))
            .map_err(io)?;
        Ok(Self {
            writer,
            snap_bytes,
            interfaces: HashMap::new(),
        })
    }

    /// The interface of a port; the first packet of a port describes it.
    fn interface(&mut self, row: &Row<'_>) -> Result<u32, Error> {
        let next = self.interfaces.len() as u32;
        let key = (row.node.to_owned(), row.port);
        if let Some(&id) = self.interfaces.get(&key) {
            return Ok(id);
        }
        self.interfaces.insert(key, next);
        let name = format!("{}->{}", row.node, row.peer);
        let description = format!("port {} of {}, transmitted", row.port, row.node);
        let block = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: self.snap_bytes,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Owned(name)),
                InterfaceDescriptionOption::IfDescription(Cow::Owned(description)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        self.writer
            .write_block(&Block::InterfaceDescription(block))
            .map_err(io)?;
        Ok(next)
    }

    fn packet(&mut self, row: &Row<'_>, frame: &[u8]) -> Result<(), Error> {
        let interface_id = self.interface(row)?;
        let kept = match self.snap_bytes {
            0 => frame,
            most => &frame[..frame.len().min(most as usize)],
        };
        let block = EnhancedPacketBlock {
            interface_id,
            // Exact: a run is shorter than the 104 days up to which a float64 counts nanoseconds.
            timestamp: Duration::from_nanos(row.time_ns as u64),
            original_len: frame.len() as u32,
            data: Cow::Borrowed(kept),
            options: vec![EnhancedPacketOption::Comment(Cow::Owned(comment(row)))],
        };
        self.writer
            .write_block(&Block::EnhancedPacket(block))
            .map_err(io)?;
        Ok(())
    }
}

/// The facts about a packet that a capture has no field for.
fn comment(row: &Row<'_>) -> String {
    let mut parts = vec![format!("{}, {} B as simulated", row.kind, row.frame_bytes)];
    if row.kind != "pfc" {
        parts.push(format!("flow {}", row.flow_id));
    }
    if let Some(sojourn) = row.sojourn_ns {
        parts.push(format!("in the queue for {sojourn} ns"));
        parts.push(format!("left {} B behind", row.queue_bytes));
    }
    parts.join(", ")
}
