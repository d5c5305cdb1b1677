//! Records that nodes make while they run; [`crate::run::report`] turns them into results.

use serde::{Deserialize, Serialize};
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::{Rate, Time};

use crate::fabric::NodeId;
use crate::jobs::collected::Collected;
use crate::jobs::links::JobLinks;
use crate::jobs::{JobFailure, RankIteration};
use crate::outcome::causes::{CauseRecord, Expiry};
use crate::outcome::delays::Traces;
use crate::outcome::held_back::Egress;
use crate::outcome::losses::Losses;
use crate::outcome::results::{
    PacketRecord, PauseRecord, PortRecord, PortSample, QueueHistogram, StormRecord, Stuck,
};
use crate::traffic::{Ending, Transport};

/// Records of nodes.
#[derive(Debug, Default, Serialize, Deserialize, Show)]
pub struct Log {
    /// Flows completed, or at the end still open.
    #[show(same = flows.len())]
    pub flows: Vec<FlowEnd>,
    /// Records of senders at their end.
    #[show(same = senders.len())]
    pub senders: Vec<SenderEnd>,
    /// Flows that have waited for others to end, and when they start.
    #[show(same = released.len())]
    pub released: Vec<(u32, Time)>,
    /// Messages of jobs that have been posted.
    #[show(skip = "may grow: see Recorded")]
    pub message_starts: Vec<MessageStart>,
    /// Messages of jobs that have come.
    #[show(skip = "may grow: see Recorded")]
    pub message_ends: Vec<MessageEnd>,
    /// Messages of jobs whose ACK ranks waited for.
    #[show(same = message_acks.len() + message_timeouts.len())]
    pub message_acks: Vec<MessageAck>,
    /// Timeouts of connections of jobs, by flow.
    #[show(skip = "shown with the acknowledgements of messages")]
    pub message_timeouts: Vec<(u32, Time)>,
    /// Iterations of jobs that ranks have come through.
    #[show(same = rank_iterations.len())]
    pub rank_iterations: Vec<RankIteration>,
    /// Connections of jobs that have given up.
    #[show(skip = "hosts whose flows give up refuse")]
    pub job_failures: Vec<JobFailure>,
    /// Collective operations of jobs that ranks have ended.
    #[show(same = collectives.len())]
    pub collectives: Collected,
    /// Bytes that jobs have put on links, if they are counted.
    #[show(nested)]
    pub job_links: JobLinks,
    /// Flows of a driven run that have ended since this was last taken.
    #[serde(skip)]
    #[show(skip)]
    pub ended: Vec<Ended>,
    /// PAUSEs.
    #[show(skip = "may grow: see Recorded")]
    pub pauses: Vec<PauseRecord>,
    /// Why switches sent PAUSE.
    #[show(same = causes.len())]
    pub causes: Vec<CauseRecord>,
    /// Egresses that flows waited for.
    #[show(same = waits.len())]
    pub waits: Vec<Egress>,
    /// PAUSEs that ran out, if it is recorded why switches sent PAUSE.
    #[show(same = expiries.len())]
    pub expiries: Vec<Expiry>,
    /// Delays of flows, if it is recorded why switches sent PAUSE.
    #[show(same = delays.count())]
    pub delays: Traces,
    /// Totals of ports, reported by [`crate::engine::window::NodeModel::finish`].
    #[show(same = ports.len())]
    pub ports: Vec<PortRecord>,
    /// Samples of ports.
    #[show(same = port_series.len())]
    pub port_series: Vec<PortSample>,
    /// How long queues were.
    #[show(same = histograms.len())]
    pub histograms: Vec<QueueHistogram>,
    /// Samples of senders.
    #[show(same = sender_series.len())]
    pub sender_series: Vec<SenderSample>,
    /// Samples of receivers: (time, flow, payload bytes delivered).
    #[show(same = receiver_series.len())]
    pub receiver_series: Vec<(Time, u32, u64)>,
    /// Packets at the ports traced.
    #[show(same = packets.len())]
    pub packets: Vec<PacketRecord>,
    /// Packets lost to links that are down and routes that lead nowhere.
    #[show(nested)]
    pub losses: Losses,
    /// Storms that PFC watchdogs have detected.
    #[show(same = storms.len())]
    pub storms: Vec<StormRecord>,
    /// Sums over nodes.
    #[show(nested)]
    pub counts: Counts,
}

impl Log {
    /// Adds what another shard has recorded.
    pub fn merge(&mut self, other: Self) {
        join(&mut self.flows, other.flows);
        join(&mut self.senders, other.senders);
        join(&mut self.released, other.released);
        join(&mut self.message_starts, other.message_starts);
        join(&mut self.message_ends, other.message_ends);
        join(&mut self.message_acks, other.message_acks);
        join(&mut self.message_timeouts, other.message_timeouts);
        join(&mut self.rank_iterations, other.rank_iterations);
        join(&mut self.job_failures, other.job_failures);
        self.collectives.merge(other.collectives);
        self.job_links.merge(other.job_links);
        join(&mut self.pauses, other.pauses);
        join(&mut self.causes, other.causes);
        join(&mut self.waits, other.waits);
        join(&mut self.expiries, other.expiries);
        self.delays.merge(other.delays);
        join(&mut self.ports, other.ports);
        join(&mut self.port_series, other.port_series);
        join(&mut self.histograms, other.histograms);
        join(&mut self.sender_series, other.sender_series);
        join(&mut self.receiver_series, other.receiver_series);
        join(&mut self.packets, other.packets);
        self.losses.merge(other.losses);
        join(&mut self.storms, other.storms);
        self.counts.merge(&other.counts);
    }
}

/// Adds `others`, which are not copied if they are the first.
fn join<T>(all: &mut Vec<T>, others: Vec<T>) {
    if all.is_empty() {
        *all = others
    } else {
        all.extend(others)
    }
}

impl Counts {
    fn merge(&mut self, other: &Self) {
        self.events += other.events;
        self.packet_hops += other.packet_hops;
        self.data_packets += other.data_packets;
        self.delivered_packets += other.delivered_packets;
        self.dropped_packets += other.dropped_packets;
        self.trimmed_packets += other.trimmed_packets;
        self.notifications += other.notifications;
        self.sequence_errors += other.sequence_errors;
        self.unrecorded_hops += other.unrecorded_hops;
        self.flows_started += other.flows_started;
    }
}

/// Sums over nodes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, Show)]
pub struct Counts {
    /// Events executed.
    #[show(total)]
    pub events: u64,
    /// Packets that went over a link.
    #[show(total)]
    pub packet_hops: u64,
    /// Data packets sent by hosts.
    #[show(total)]
    pub data_packets: u64,
    /// Data packets that reached their host.
    #[show(total)]
    pub delivered_packets: u64,
    /// Data packets dropped or lost.
    #[show(total)]
    pub dropped_packets: u64,
    /// Data packets trimmed by switches.
    #[show(total)]
    pub trimmed_packets: u64,
    /// CNPs and CNMs sent.
    #[show(total)]
    pub notifications: u64,
    /// Sequence errors that receivers saw.
    #[show(total)]
    pub sequence_errors: u64,
    /// Links crossed by packets whose telemetry was full.
    #[show(total)]
    pub unrecorded_hops: u64,
    /// Flows started by their senders.
    #[show(same)]
    pub flows_started: u64,
}

/// A flow of a driven run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ended {
    /// Flow.
    pub flow: u32,
    /// How.
    pub ending: Ending,
}

/// A flow as its receiver knew it at completion, or at the end of the run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FlowEnd {
    /// Flow.
    pub id: u32,
    /// Traffic entry.
    pub group: u16,
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Entropy of ECMP.
    pub source_port: u16,
    /// The destination port of flow files.
    pub destination_port: u16,
    /// Priority.
    pub priority: u8,
    /// Payload bytes to send.
    pub size_bytes: Option<u64>,
    /// Start.
    pub start: Time,
    /// Completion.
    pub fct: Option<Time>,
    /// Payload bytes delivered in order.
    pub delivered_bytes: u64,
    /// Its transport.
    pub transport: Transport,
    /// Delay at its receiving host.
    pub extra_delay: Time,
    /// It has opened a connection of its own.
    pub opened: bool,
}

/// A flow as its sender knew it when it was done, or at the end of the run.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct SenderEnd {
    /// Flow.
    pub flow: u32,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Times that a timeout made it start over.
    pub timeouts: u64,
    /// It has ended after too many timeouts in a row.
    pub gave_up: bool,
    /// When, if it is RoCE.
    pub gave_up_at: Option<Time>,
    /// CNPs and CNMs received.
    pub notifications: u64,
    /// When all was acknowledged, if that is recorded.
    pub acknowledged: Option<Time>,
    /// The obstacle it had waited for, if it had for long at the end of the run.
    pub stuck: Option<Stuck>,
}

/// One sample of a recorded flow at its sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SenderSample {
    /// When.
    pub time: Time,
    /// Flow.
    pub flow: u32,
    /// Rate allowed; `None` with TCP.
    pub rate: Option<Rate>,
    /// Congestion window, if it has one.
    pub cwnd_bytes: Option<u64>,
    /// Wire bytes sent.
    pub sent_bytes: u64,
    /// CNPs and CNMs received.
    pub notifications: u64,
}

/// A message of a job, as its sender knows it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct MessageStart {
    /// The flow of its connection.
    pub flow: u32,
    /// Messages posted there before.
    pub number: u32,
    /// When it was posted.
    pub start: Time,
}

/// A message of a job, as its receiver knows it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct MessageEnd {
    /// The flow of its connection.
    pub flow: u32,
    /// Messages that have come there before.
    pub number: u32,
    /// Entry of its job.
    pub entry: u16,
    /// Iteration.
    pub iteration: u32,
    /// Phase of that.
    pub phase: u32,
    /// Step of the receiver.
    pub step: u32,
    /// Channel.
    pub channel: u32,
    /// Slice.
    pub slice: u32,
    /// The rank that has sent it.
    pub from: u32,
    /// The rank that has received it.
    pub to: u32,
    /// Payload bytes.
    pub bytes: u64,
    /// When the last of them came.
    pub end: Time,
    /// When that counts.
    pub received: Time,
}

/// A message of a job whose ACK its sender's rank has waited for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct MessageAck {
    /// The flow of its connection.
    pub flow: u32,
    /// Messages posted there before.
    pub number: u32,
    /// When the ACK came.
    pub at: Time,
}
