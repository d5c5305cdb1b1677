//! Table `packets`.

use arrow_array::RecordBatch;
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_sim::config::MIN_FRAME_BYTES;
use unpause_sim::results::{self, FlowRecord, PacketKind, PacketRecord, Results};

use super::builder::Builder;
use crate::columns;
use crate::run::Run;
use crate::run::measured::Measured;

/// Packets, each with its flow.
fn with_flows(measured: &Measured) -> Vec<(&PacketRecord, Option<&FlowRecord>)> {
    let Results { flows, packets, .. } = &measured.results;
    let flow = |packet: &PacketRecord| results::flow(flows, packet.flow);
    packets.iter().map(|it| (it, flow(it))).collect()
}

pub fn packets(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::PORT, columns::PACKETS], measured, with_flows)
        .column("time_ns", |_, (p, _)| p.time)
        .column("arrival_ns", |_, (p, _)| p.arrival)
        .port(|(p, _)| (p.node, p.port, p.priority))
        .column("kind", |_, (p, _)| kind(p.kind))
        .column("flow_id", |_, (p, _)| p.flow)
        .column("src", |run, (p, _)| run.names.name(p.src))
        .column("dst", |run, (p, _)| run.names.name(p.dst))
        .column("frame_bytes", |_, (p, _)| p.bytes)
        .column("payload_bytes", |run, (p, flow)| {
            payload(run, p, flow.and_then(|flow| flow.size_bytes))
        })
        .column("seq", |_, (p, _)| p.seq)
        .column("ect", |_, (p, _)| p.ect)
        .column("ce", |_, (p, _)| p.ce)
        .column("cwr", |_, (p, _)| p.cwr)
        .column("ece", |_, (p, _)| p.ece)
        .column("source_port", |_, (p, _)| p.source_port)
        .column("sojourn_ns", |_, (p, _)| p.queued.sojourn)
        .column("queue_bytes", |_, (p, _)| p.queued.queue_bytes)
        .column("rec_rate", |_, (p, _)| rec_rate(p))
        .column("cnm_feedback", |_, (p, _)| feedback(p).map(|f| f.qfb))
        .column("cnm_offset_bytes", |_, (p, _)| {
            feedback(p).map(|f| f.q_offset)
        })
        .column("cnm_delta_bytes", |_, (p, _)| {
            feedback(p).map(|f| f.q_delta)
        })
        .column("pause_priorities", |_, (p, _)| {
            p.pfc.map(|pfc| pfc.priorities)
        })
        .column("pause_quanta", |_, (p, _)| p.pfc.map(|pfc| pfc.quanta))
        .build()
}

/// Bytes of a flow of `size` bytes that a packet carries.
fn payload(run: &Run, packet: &PacketRecord, size: Option<u64>) -> u16 {
    let host = &run.config.host;
    let (header, start) = match packet.kind {
        PacketKind::Data | PacketKind::Datagram => {
            let start = u64::from(packet.seq) * u64::from(host.payload_bytes);
            (host.header_bytes, start)
        }
        PacketKind::Segment => (host.tcp.header_bytes, u64::from(packet.seq)),
        _ => return 0,
    };
    let most = u32::from(packet.bytes).saturating_sub(header) as u16;
    if u32::from(packet.bytes) > MIN_FRAME_BYTES {
        return most;
    }
    // Padded: what is left of the flow, whose bytes TCP numbers modulo 2^32.
    let left = size.map_or(u64::MAX, |size| size.wrapping_sub(start) & 0xffff_ffff);
    most.min(left.try_into().unwrap_or(u16::MAX))
}

fn rec_rate(packet: &PacketRecord) -> Option<u32> {
    match packet.notification {
        Some(Notification::Pcn {
            congested: true,
            rec_rate,
        }) => Some(rec_rate),
        _ => None,
    }
}

fn feedback(packet: &PacketRecord) -> Option<QcnFeedback> {
    match packet.notification {
        Some(Notification::Qcn(feedback)) => Some(feedback),
        _ => None,
    }
}

/// The kind of a packet in table `packets`.
fn kind(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Data => "data",
        PacketKind::Ack => "ack",
        PacketKind::Nak => "nak",
        PacketKind::Trimmed => "trimmed",
        PacketKind::TrimNak => "trim-nak",
        PacketKind::Segment => "tcp-data",
        PacketKind::TcpAck => "tcp-ack",
        PacketKind::Syn => "syn",
        PacketKind::SynAck => "syn-ack",
        PacketKind::Fin => "fin",
        PacketKind::Cnp => "cnp",
        PacketKind::PcnDecrease => "pcn-decrease",
        PacketKind::PcnIncrease => "pcn-increase",
        PacketKind::Cnm => "cnm",
        PacketKind::Pfc => "pfc",
        PacketKind::Pull => "pull",
        PacketKind::Request => "request",
        PacketKind::Datagram => "udp",
        PacketKind::Credit => "credit",
    }
}
