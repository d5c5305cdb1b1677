//! Rows of table `packets`.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float64Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_sim::results::PacketKind;

use crate::addresses::Addresses;
use crate::frames::Described;

/// One packet; fields are the columns of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub time_ns: f64,
    pub node: &'a str,
    pub port: u16,
    pub peer: &'a str,
    pub priority: u8,
    pub kind: &'a str,
    pub flow_id: u32,
    pub src: &'a str,
    pub dst: &'a str,
    pub frame_bytes: u16,
    pub payload_bytes: u16,
    pub seq: u32,
    pub ect: bool,
    pub ce: bool,
    pub cwr: bool,
    pub ece: bool,
    pub source_port: u16,
    pub sojourn_ns: Option<f64>,
    pub queue_bytes: u64,
    pub rec_rate: Option<u32>,
    pub cnm_feedback: Option<u8>,
    pub cnm_offset_bytes: Option<i32>,
    pub cnm_delta_bytes: Option<i32>,
    pub pause_priorities: Option<u8>,
    pub pause_quanta: Option<u16>,
}

/// The value of a column that [`unpause_scenario`] declares, and checks where it reads a file.
fn value<T: ArrowPrimitiveType>(table: &RecordBatch, name: &str, row: usize) -> Option<T::Native> {
    let column = table.column_by_name(name).expect("a declared column");
    let column = column.as_primitive::<T>();
    column.is_valid(row).then(|| column.value(row))
}

fn number<T: ArrowPrimitiveType>(table: &RecordBatch, name: &str, row: usize) -> T::Native {
    value::<T>(table, name, row).expect("a column without nulls")
}

pub(crate) fn text<'a>(table: &'a RecordBatch, name: &str, row: usize) -> &'a str {
    let column = table.column_by_name(name).expect("a declared column");
    column.as_string::<i32>().value(row)
}

/// The rows of `run` in a table, whose rows are in the order of runs.
pub(crate) fn rows_of(table: &RecordBatch, run: u32) -> impl Iterator<Item = usize> {
    let column = table.column_by_name("run").expect("a declared column");
    let runs = column.as_primitive::<UInt32Type>().values();
    let first = runs.partition_point(|&other| other < run);
    let end = runs.partition_point(|&other| other <= run);
    first..end
}

impl<'a> Row<'a> {
    pub(crate) fn read(table: &'a RecordBatch, row: usize) -> Self {
        let flag = |name| number::<UInt8Type>(table, name, row) != 0;
        let short = |name| number::<UInt16Type>(table, name, row);
        let word = |name| number::<UInt32Type>(table, name, row);
        Self {
            time_ns: number::<Float64Type>(table, "time_ns", row),
            node: text(table, "node", row),
            port: short("port"),
            peer: text(table, "peer", row),
            priority: number::<UInt8Type>(table, "priority", row),
            kind: text(table, "kind", row),
            flow_id: word("flow_id"),
            src: text(table, "src", row),
            dst: text(table, "dst", row),
            frame_bytes: short("frame_bytes"),
            payload_bytes: short("payload_bytes"),
            seq: word("seq"),
            ect: flag("ect"),
            ce: flag("ce"),
            cwr: flag("cwr"),
            ece: flag("ece"),
            source_port: short("source_port"),
            sojourn_ns: value::<Float64Type>(table, "sojourn_ns", row),
            queue_bytes: number::<UInt64Type>(table, "queue_bytes", row),
            rec_rate: value::<UInt32Type>(table, "rec_rate", row),
            cnm_feedback: value::<UInt8Type>(table, "cnm_feedback", row),
            cnm_offset_bytes: value::<Int32Type>(table, "cnm_offset_bytes", row),
            cnm_delta_bytes: value::<Int32Type>(table, "cnm_delta_bytes", row),
            pause_priorities: value::<UInt8Type>(table, "pause_priorities", row),
            pause_quanta: value::<UInt16Type>(table, "pause_quanta", row),
        }
    }

    /// The headers of the packet; `flow_dst` is the destination of the flow's data.
    pub(crate) fn describe(&self, flow_dst: &str, addresses: &Addresses) -> Described {
        let (kind, notification) = self.meaning();
        let pfc = self.pause_priorities.zip(self.pause_quanta);
        Described {
            kind,
            priority: self.priority,
            flow: self.flow_id,
            src: addresses.number(self.src),
            dst: addresses.number(self.dst),
            node: addresses.number(self.node),
            flow_dst: addresses.number(flow_dst),
            payload_bytes: self.payload_bytes,
            seq: self.seq,
            ect: self.ect,
            ce: self.ce,
            // Not in the table.
            ack_request: false,
            cwr: self.cwr,
            ece: self.ece,
            source_port: self.source_port,
            notification,
            pfc,
        }
    }

    fn meaning(&self) -> (PacketKind, Option<Notification>) {
        let pcn = |congested| Notification::Pcn {
            congested,
            rec_rate: self.rec_rate.unwrap_or(0),
        };
        let kind = match self.kind {
            "data" => PacketKind::Data,
            "ack" => PacketKind::Ack,
            "nak" => PacketKind::Nak,
            "trimmed" => PacketKind::Trimmed,
            "trim-nak" => PacketKind::TrimNak,
            "tcp-data" => PacketKind::Segment,
            "tcp-ack" => PacketKind::TcpAck,
            "syn" => PacketKind::Syn,
            "syn-ack" => PacketKind::SynAck,
            "fin" => PacketKind::Fin,
            "cnp" => return (PacketKind::Cnp, Some(Notification::Cnp)),
            "pcn-decrease" => return (PacketKind::PcnDecrease, Some(pcn(true))),
            "pcn-increase" => return (PacketKind::PcnIncrease, Some(pcn(false))),
            "cnm" => {
                let feedback = QcnFeedback {
                    qfb: self.cnm_feedback.unwrap_or(0),
                    q_offset: self.cnm_offset_bytes.unwrap_or(0),
                    q_delta: self.cnm_delta_bytes.unwrap_or(0),
                };
                return (PacketKind::Cnm, Some(Notification::Qcn(feedback)));
            }
            "pull" => PacketKind::Pull,
            "request" => PacketKind::Request,
            "udp" => PacketKind::Datagram,
            _ => PacketKind::Pfc,
        };
        (kind, None)
    }
}
