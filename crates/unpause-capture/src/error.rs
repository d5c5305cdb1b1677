//! Errors in captures.

use std::io;

/// Why a capture cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The run has traced no packets.
    #[error("no packets of run {run} were traced: name ports under [probes] packets and run again")]
    NoPackets {
        /// Number of the run.
        run: u32,
    },
    /// A frame cannot be built.
    #[error("row {row} of table packets: {reason}")]
    Frame {
        /// Row of the table, from 0.
        row: usize,
        /// Why it does not fit.
        reason: unpause_wire::Error,
    },
    /// A packet that no frame of RoCEv2 says.
    #[error(
        "row {row} of table packets: a {kind} of receiver credits has no RoCEv2 frame; trace ports or flows without them"
    )]
    NoFrame {
        /// Row of the table, from 0.
        row: usize,
        /// The kind of packet.
        kind: String,
    },
    /// The file is no capture.
    #[error("it is no pcap or pcapng file: {found}")]
    NoCapture {
        /// The format found instead, as far as it can be recognised.
        found: String,
    },
    /// The capture is damaged, or of an unknown kind.
    #[error("packet {packet}: {reason}")]
    Capture {
        /// Number of the packet that was being read, from 1, as Wireshark counts.
        packet: usize,
        /// Description of the fault.
        reason: String,
    },
    /// The capture has no flow.
    #[error("no UDP or TCP packet with data among {packets} packets")]
    NoFlows {
        /// Packets read.
        packets: usize,
    },
    /// A file cannot be written or read.
    #[error(transparent)]
    Io(#[from] io::Error),
}
