//! The results of a run, as plain columns-to-be. Times are in picoseconds ([`Time`]), sizes in bytes.

use std::fmt;

use serde::{Deserialize, Serialize};
use unpause_protocols::notification::Notification;
use unpause_protocols::units::{LinkSpeed, Rate, Time};

use crate::fabric::packet::{ALL, CE, CWR, ECE, ECT, INT, Packet};
use crate::fabric::{NodeId, PortId};
use crate::traffic::Transport;

mod links;

pub use links::{LinkChange, LossPlace, LossRecord};

pub use crate::fabric::packet::Kind as PacketKind;
pub use crate::jobs::{CollectiveRecord, JobFailure, JobLinkRecord, MessageRecord, RankIteration};
pub use crate::outcome::causes::{CauseRecord, FlowShare, Holder, Root, RootKind, VictimRecord};
pub use crate::outcome::delays::{DelayRecord, QueueWait};
pub use crate::outcome::storms::StormRecord;

/// Everything a run measured. Vectors are sorted as their types say, whatever the thread count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// One for each flow that started, by id.
    pub flows: Vec<FlowRecord>,
    /// One for each (node, port, priority) that carried or dropped anything, in that order.
    pub ports: Vec<PortRecord>,
    /// One for each PAUSE, by (start, node, port, priority), if [`crate::config::Probes::pauses`].
    pub pauses: Vec<PauseRecord>,
    /// One for each transition to XOFF, by (time, node, port, priority), if
    /// [`crate::config::Probes::causes`].
    pub causes: Vec<CauseRecord>,
    /// By (flow, node, port, priority), if the same.
    pub victims: Vec<VictimRecord>,
    /// Where the time of completed flows went, by flow, if the same.
    pub delays: Vec<DelayRecord>,
    /// By (time, node, port, priority).
    pub port_series: Vec<PortSample>,
    /// By (time, node, port), if [`crate::config::Probes::histogram`].
    pub histograms: Vec<QueueHistogram>,
    /// By (time, flow).
    pub flow_series: Vec<FlowSample>,
    /// By (time, node, port), if [`crate::config::Probes::packets`] names ports.
    pub packets: Vec<PacketRecord>,
    /// Messages of jobs, by (connection, number), of jobs that record them: those that had come.
    pub messages: Vec<MessageRecord>,
    /// Iterations of jobs, by (entry, iteration, rank): those that the rank has come through.
    pub rank_iterations: Vec<RankIteration>,
    /// Jobs that have failed, by entry, each with the first of its connections that gave up.
    pub job_failures: Vec<JobFailure>,
    /// Collective operations of jobs, by (entry, iteration, phase, group): those that all ranks of the group have ended.
    pub collectives: Vec<CollectiveRecord>,
    /// By (entry, node, port), if [`crate::config::Probes::job_links`].
    pub job_links: Vec<JobLinkRecord>,
    /// Packets lost to links that were down and routes that led nowhere, by (since, node, port, priority, place).
    pub losses: Vec<LossRecord>,
    /// Storms that PFC watchdogs detected, by (detected, node, port, priority).
    pub storms: Vec<StormRecord>,
    /// Flows that follow others which have ended, with the start that they had after the end of the run, by id.
    pub late: Vec<(u32, Time)>,
    /// When links failed and returned, and routes followed, in order.
    pub link_changes: Vec<LinkChange>,
    /// The deadlock that ended the run, if [`crate::config::Probes::deadlock`] looked for one.
    pub deadlock: Option<Deadlock>,
    /// Totals.
    pub totals: Totals,
}

/// Flow `id` of `flows`, which are sorted by id; numbers of flows that never started are left out.
pub fn flow(flows: &[FlowRecord], id: u32) -> Option<&FlowRecord> {
    let at_place = flows.get(id as usize).filter(|flow| flow.id == id);
    at_place.or_else(|| {
        let at = flows.binary_search_by_key(&id, |flow| flow.id).ok()?;
        flows.get(at)
    })
}

/// Egress queues that wait for one another forever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// When the last of them stopped.
    pub began: Time,
    /// Node, egress port and priority of each, which waits for the next, and the last for the first;
    /// from the lowest.
    pub cycle: Vec<(NodeId, PortId, u8)>,
}

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRecord {
    /// Order of start, from 0; flows that start when others have ended come after all others, by entry.
    pub id: u32,
    /// Index of its entry in [`crate::config::Config::traffic`].
    pub group: u16,
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Priority of its data packets.
    pub priority: u8,
    /// Payload bytes to send; `None` if it never ends by itself.
    pub size_bytes: Option<u64>,
    /// Start at the sender.
    pub start: Time,
    /// Flow completion time: from start to the arrival of the last byte. `None` if not complete.
    pub fct: Option<Time>,
    /// FCT of the same flow alone in the fabric at line rate, extra delay and, with TCP, the
    /// handshake included. Slow start is not.
    pub ideal_fct: Option<Time>,
    /// Payload bytes delivered in order by the end.
    pub delivered_bytes: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// The transport that carried it.
    pub transport: Transport,
    /// Delay of its data packets at the receiving host, before its transport saw them.
    pub extra_delay: Time,
    /// Times that its sender started over because nothing came back; SYNs sent again included.
    pub timeouts: u64,
    /// Its sender ended it after too many timeouts in a row.
    pub gave_up: bool,
    /// When it gave up.
    pub gave_up_at: Option<Time>,
    /// CNPs and CNMs that reached its sender.
    pub notifications: u64,
    /// When its sender knew that all had arrived, if that is recorded.
    pub acknowledged: Option<Time>,
    /// Set if the flow waited at the end of the run, and had for long.
    pub stuck: Option<Stuck>,
    /// Source port, the entropy of ECMP.
    pub source_port: u16,
    /// The destination port, as flow files call it.
    pub destination_port: u16,
}

/// A flow's wait at the end of a run, if it took far longer than its path's round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stuck {
    /// Since when.
    pub since: Time,
    /// For what.
    pub awaits: Awaits,
}

/// The event that a stuck flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Awaits {
    /// An ACK, with all sent that it may send: its retransmission timeout would have come after the end.
    Ack,
    /// Credit from its receiver, which it has asked for.
    Credit,
    /// Its NIC, which sleeps as that of HPCC's simulator does when a flow beside it waits for an ACK.
    Nic,
    /// TCP's retransmission timer, with all sent that its window allows.
    Timer {
        /// When it runs out.
        due: Time,
    },
}

/// Totals of one egress (node, port, priority), and of PFC on the link there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRecord {
    /// Node.
    pub node: NodeId,
    /// Port at the node.
    pub port: PortId,
    /// Priority.
    pub priority: u8,
    /// Frames sent, and their bytes with framing.
    pub tx_packets: u64,
    /// Bytes sent, with framing.
    pub tx_bytes: u64,
    /// Frames whose ECN field this queue set to CE.
    pub marked_packets: u64,
    /// CNMs that this queue's congestion point sent.
    pub cnm_packets: u64,
    /// Frames dropped on their way into this queue; of a pipelined switch, also those dropped at this
    /// port's **ingress**; of a slow receiver, those that are not lossless and found its buffer full.
    pub dropped_packets: u64,
    /// Bytes dropped on their way into this queue.
    pub dropped_bytes: u64,
    /// Frames on their way into this queue, or the newest ones in it, that were trimmed.
    pub trimmed_packets: u64,
    /// Frames that link-level retry sent again.
    pub replayed_packets: u64,
    /// Of those dropped, frames of a lossless priority: headroom exceeded. Counted at the **ingress** port.
    pub headroom_dropped_packets: u64,
    /// Their bytes, without framing.
    pub headroom_dropped_bytes: u64,
    /// Those of them that carried no data: ACKs and other control frames.
    pub headroom_dropped_control_packets: u64,
    /// Their bytes, without framing.
    pub headroom_dropped_control_bytes: u64,
    /// How long this queue waited for credits with packets in it and the port free.
    pub credit_wait: Time,
    /// Largest backlog of this queue.
    pub max_queue_bytes: u64,
    /// Largest number of bytes held for this **ingress** (port, priority).
    pub max_ingress_bytes: u64,
    /// XOFF frames sent out of this port (to pause the peer), refreshes included.
    pub pause_frames: u64,
    /// Transitions to XOFF at this port's ingress.
    pub pause_events: u64,
    /// Time that this egress queue was paused by its peer.
    pub paused: Time,
    /// How often this queue was full and so stopped the pipeline of its switch
    /// ([`crate::config::FullQueue::Stop`]).
    pub stalls: u64,
    /// For how long in total.
    pub stalled: Time,
}

/// One PAUSE, seen by the transmitter that it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseRecord {
    /// Node that was stopped.
    pub node: NodeId,
    /// Its egress port.
    pub port: PortId,
    /// Priority stopped.
    pub priority: u8,
    /// When it took effect.
    pub obeyed: Time,
    /// From when it held the transmitter: later than `obeyed` if a frame, of any priority, was in transmission then. No
    /// later than `end`, which it equals if PAUSE was over before that frame was.
    pub start: Time,
    /// Until when; the end of the run if it was still paused.
    pub end: Time,
}

/// One egress (port, priority) at a sampling instant; counters are since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortSample {
    /// Sampling instant.
    pub time: Time,
    /// Node.
    pub node: NodeId,
    /// Port.
    pub port: PortId,
    /// Priority.
    pub priority: u8,
    /// Backlog now.
    pub queue_bytes: u64,
    /// The same in packets.
    pub queue_packets: u32,
    /// Bytes held for this **ingress** (port, priority) now; of lossless priorities, and in input buffers.
    pub ingress_bytes: u64,
    /// Bytes sent, with framing.
    pub tx_bytes: u64,
    /// Frames dropped before this egress queue.
    pub dropped_packets: u64,
    /// XOFF frames sent out of this port.
    pub pause_frames: u64,
    /// Time spent paused by the peer.
    pub paused: Time,
}

/// How long the queues of an egress port of a switch, all priorities together, were until an instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueHistogram {
    /// That instant.
    pub time: Time,
    /// Node.
    pub node: NodeId,
    /// Port.
    pub port: PortId,
    /// How often they were this many times 1000 B long, rounded down.
    pub counts: Vec<u64>,
}

/// One recorded flow at a sampling instant; counters are since the start of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Sampling instant.
    pub time: Time,
    /// Flow.
    pub flow: u32,
    /// Rate that congestion control allows, or the flow's own limit if lower; `None` with TCP.
    pub controller_rate: Option<Rate>,
    /// The congestion window, if there is one.
    pub cwnd_bytes: Option<u64>,
    /// Bytes that the sender has put on the wire, with headers and framing, retransmissions included.
    pub sent_bytes: u64,
    /// Payload bytes delivered in order at the receiver.
    pub delivered_bytes: u64,
    /// CNPs and CNMs that reached its sender.
    pub notifications: u64,
}

/// One packet that left by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketRecord {
    /// Start of its transmission.
    pub time: Time,
    /// When its last bit is at the other end of the link, or a switch there that cuts through takes it.
    pub arrival: Time,
    /// Node that sends it.
    pub node: NodeId,
    /// By this port.
    pub port: PortId,
    /// The kind of packet.
    pub kind: PacketKind,
    /// Flow; of no meaning for PFC frames.
    pub flow: u32,
    /// Host that it comes from.
    pub src: NodeId,
    /// Host that it goes to.
    pub dst: NodeId,
    /// Priority.
    pub priority: u8,
    /// Bytes without framing.
    pub bytes: u16,
    /// Number of a packet, or of a byte, modulo 2^32; in acknowledgements the next one expected.
    pub seq: u32,
    /// It may be marked.
    pub ect: bool,
    /// It is marked: Congestion Experienced.
    pub ce: bool,
    /// A TCP segment: the sender has cut its window.
    pub cwr: bool,
    /// A TCP acknowledgement: the receiver has seen a mark. One of RoCE: so it has, and that is a CNP.
    pub ece: bool,
    /// A TCP acknowledgement of the whole flow, whatever the number says.
    pub all: bool,
    /// The content of a CNP or CNM.
    pub notification: Option<Notification>,
    /// The content of a PFC frame.
    pub pfc: Option<PfcFrame>,
    /// Entropy of ECMP; of no meaning for CNMs and PFC frames.
    pub source_port: u16,
    /// RoCE data, ACK, NAK: when the data packet that it is, or that it answers, began to leave its host; not known
    /// if switches write into packets.
    pub sent: Option<Time>,
    /// How it left its egress queue.
    pub queued: Queued,
}

/// How a packet left its egress queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// How long it was in the queue; none at hosts, whose packets wait in their flows, and of PFC
    /// frames, which do not wait.
    pub sojourn: Option<Time>,
    /// Bytes in the queue as it left, without its own.
    pub queue_bytes: u64,
}

/// A PFC frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcFrame {
    /// Bit p set: it is about priority p.
    pub priorities: u8,
    /// How long to stop; zero to go on.
    pub pause: Time,
    /// The same in quanta of the link, by [`pause_quanta`].
    pub quanta: u16,
}

/// Bytes that a link sends in a quantum of PAUSE, 512 bit times (IEEE 802.3, Annex 31B.2).
const QUANTUM_BYTES: u64 = 64;
/// The longest pause of a frame, quanta.
const MOST_QUANTA: u64 = 65_535;

/// A pause in quanta of a link of this speed, as a PFC frame says it: the fewest that last as long, at most
/// 65,535.
pub fn pause_quanta(pause: Time, speed: LinkSpeed) -> u16 {
    let whole = speed.bytes_in(pause) / QUANTUM_BYTES;
    // The time of quanta is rounded up, so as many may last as long as it is, or one more.
    let lasts = |quanta: u64| speed.time_for(quanta.saturating_mul(QUANTUM_BYTES));
    let quanta = whole.min(MOST_QUANTA);
    (quanta + u64::from(lasts(quanta) < pause)).min(MOST_QUANTA) as u16
}

impl PacketRecord {
    pub(crate) fn new(
        time: Time,
        node: NodeId,
        port: PortId,
        packet: &Packet,
        queued: Queued,
        speed: LinkSpeed,
    ) -> Self {
        let ack = packet.kind == PacketKind::TcpAck;
        let is_roce = matches!(
            packet.kind,
            PacketKind::Data | PacketKind::Ack | PacketKind::Nak
        );
        Self {
            time,
            arrival: packet.time,
            node,
            port,
            kind: packet.kind,
            flow: packet.flow,
            src: packet.src,
            dst: packet.dst,
            priority: packet.priority(),
            bytes: packet.bytes,
            seq: packet.seq,
            ect: packet.is(ECT),
            ce: packet.is(CE),
            cwr: packet.kind == PacketKind::Segment && packet.is(CWR),
            ece: (ack || packet.kind == PacketKind::Ack) && packet.is(ECE),
            all: ack && packet.is(ALL),
            notification: packet.notification(),
            pfc: (packet.kind == PacketKind::Pfc).then_some(PfcFrame {
                priorities: packet.aux as u8,
                pause: Time::from_ps(packet.stamp),
                quanta: pause_quanta(Time::from_ps(packet.stamp), speed),
            }),
            source_port: packet.source_port,
            sent: (is_roce && !packet.is(INT)).then(|| Time::from_ps(packet.stamp)),
            queued,
        }
    }
}

/// How many windows a run was cut into. That depends on who ran it, and is no result: any two are equal.
#[derive(Clone, Copy, Default)]
pub struct Windows(pub u64);

impl PartialEq for Windows {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Windows {}

/// The same of any two, as results are compared by what this writes, too.
impl fmt::Debug for Windows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Windows(_)")
    }
}

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Simulated time, up to where a deadlock was found.
    pub simulated: Time,
    /// Packets, data and control, that went over one link.
    pub packet_hops: u64,
    /// Events executed.
    pub events: u64,
    /// Windows run.
    pub windows: Windows,
    /// Data packets sent by hosts, retransmissions included.
    pub data_packets: u64,
    /// Data packets delivered to receivers, in order or not.
    pub delivered_packets: u64,
    /// Data packets dropped in switches or lost on links.
    pub dropped_packets: u64,
    /// Data packets that switches have trimmed; their headers do not count as dropped, delivered or not.
    pub trimmed_packets: u64,
    /// Packets set to CE.
    pub marked_packets: u64,
    /// CNPs and CNMs sent.
    pub notifications: u64,
    /// Links crossed by packets whose telemetry was full: senders do not see the queues there.
    pub unrecorded_hops: u64,
    /// XOFF frames sent.
    pub pause_frames: u64,
    /// Flows started.
    pub flows_started: u64,
    /// Flows completed.
    pub flows_completed: u64,
    /// Flows that never started, since others that they follow have not ended, or ended too late ([`Results::late`]).
    pub flows_waiting: u64,
}
