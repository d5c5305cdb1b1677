//! What to simulate: the fabric, its switches and hosts, one scheme, traffic and probes.
//!
//! A [`Config`] is one run. It holds indices and numbers only; names, files and comparisons of
//! several schemes belong to the scenario.

use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::{Rate, Time};
use unpause_protocols::{congestion_point, notification_point, reaction_point, scheduler};

use crate::traffic::TrafficSpec;

mod pipeline;

pub use pipeline::{AdaptiveBalancing, Exit, Memory, PipelineConfig};

/// Index of a node in [`Fabric::nodes`].
pub type NodeId = u32;
/// Index of a port at its node: links in the order of [`Fabric::links`], from 0.
pub type PortId = u16;
/// Priorities are 0 to 7; strict priority serves the higher number first.
pub const PRIORITIES: usize = 8;

/// One run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Nodes and links.
    pub fabric: Fabric,
    /// Every host.
    pub host: HostConfig,
    /// Every switch.
    pub switch: SwitchConfig,
    /// The congestion management compared.
    pub scheme: SchemeConfig,
    /// What is sent; generators are read as a stream while the run goes on.
    pub traffic: Vec<TrafficSpec>,
    /// What is recorded over time.
    pub probes: Probes,
    /// Root of every random stream of the run.
    pub seed: u64,
    /// The run ends here.
    pub stop: Time,
}

/// Nodes and links.
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    /// Hosts and switches.
    pub nodes: Vec<NodeKind>,
    /// Full-duplex links. A host has exactly one.
    pub links: Vec<Link>,
    /// Bytes that a frame occupies on a wire beyond its own: 20 for preamble, start delimiter and
    /// inter-frame gap (IEEE 802.3), 0 to count as ns-3's RDMA models do.
    pub framing_bytes: u32,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A NIC with flows.
    Host,
    /// A switch of the model in [`SwitchConfig`].
    Switch,
}

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Data rate of each direction; a byte must last whole picoseconds ([`Rate::ps_per_byte`]).
    pub rate: Rate,
    /// Propagation delay, above zero.
    pub delay: Time,
}

/// Hosts: RoCEv2-like NICs.
#[derive(Clone, Debug, PartialEq)]
pub struct HostConfig {
    /// Largest payload of a data packet, bytes.
    pub payload_bytes: u32,
    /// Headers and trailers of a data packet, bytes.
    pub header_bytes: u32,
    /// A receiver acknowledges every so many data packets, and the last of a flow.
    pub ack_every: u32,
    /// A sender without progress for so long goes back to its oldest unacknowledged packet.
    pub retransmit_timeout: Time,
    /// Priority of ACK, NAK, CNP and CNM: never paused.
    pub control_priority: u8,
}

impl Default for HostConfig {
    /// 1000 B payload in 1048 B frames, an ACK per packet (PCN evaluation as read in
    /// `docs/reproductions/pcn.md`); 67.1 ms is IBTA's local ACK timeout 14, a NIC default.
    fn default() -> Self {
        Self {
            payload_bytes: 1000,
            header_bytes: 48,
            ack_every: 1,
            retransmit_timeout: Time::from_ns(67_108_864),
            control_priority: 7,
        }
    }
}

/// Every switch. Unless it says otherwise, a setting is of every model.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// How packets get from ingress to egress.
    pub model: SwitchModel,
    /// Bit n set: priority n is lossless, under PFC.
    pub lossless: u8,
    /// PFC of the lossless priorities.
    pub pfc: PfcConfig,
    /// Packet memory of the whole switch, bytes. `None`: what PFC of every lossless priority of
    /// every port can need, plus [`SwitchConfig::lossy_queue_bytes`] for each port.
    pub buffer_bytes: Option<u64>,
    /// In which order an egress queue serves packets.
    pub queueing: Queueing,
    /// A lossy packet is dropped when its egress queue would grow beyond this, bytes.
    pub lossy_queue_bytes: u64,
    /// A lossy packet is dropped when its egress queue would hold more packets than this.
    pub lossy_queue_packets: Option<u32>,
    /// Which priority of an egress port sends next; its queues are numbered by priority. Whatever it
    /// says, the control priority goes before all others.
    pub scheduler: scheduler::Config,
}

/// Models of a switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SwitchModel {
    /// Output-queued, with a shared buffer.
    #[default]
    SharedBuffer,
    /// Ingress FIFOs before one packet processor, which nothing can wait behind.
    Pipeline(PipelineConfig),
}

/// In which order the packets of one priority leave an egress port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queueing {
    /// In order of arrival: who sends more gets more.
    #[default]
    Fifo,
    /// From virtual output queues, a packet of each ingress port in turn: ports get equal shares.
    Voq,
}

/// PFC at the ingress of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct PfcConfig {
    /// Pause time, refresh and counting.
    pub params: pfc::Params,
    /// When to send XOFF and XON.
    pub threshold: PfcThreshold,
    /// Bytes per (ingress port, priority) for what arrives after XOFF was sent. `None`: by the
    /// formula of IEEE 802.1Q for each link ([`pfc::headroom`]).
    pub headroom_bytes: Option<u64>,
    /// How long a transmitter takes to obey a PAUSE it has received.
    pub reaction: Time,
}

/// Thresholds on the bytes held for one (ingress port, priority).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PfcThreshold {
    /// The same at all times.
    Static {
        /// PAUSE above this many bytes.
        xoff_bytes: u64,
        /// Resume at or below this many bytes.
        xon_bytes: u64,
    },
    /// A share of the free shared buffer: `XOFF = (shared size - shared used) >> shift`.
    Dynamic {
        /// 3 for one eighth (HPCC's simulator).
        shift: u32,
        /// Resume this many bytes below XOFF.
        xon_gap_bytes: u64,
    },
}

/// One congestion management scheme: what its three points run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemeConfig {
    /// Every switch egress queue of a data priority.
    pub congestion_point: congestion_point::Config,
    /// Every flow at its receiver.
    pub notification_point: notification_point::Config,
    /// Every controlled flow at its sender.
    pub reaction_point: reaction_point::Config,
}

/// What is recorded over time. Totals per port and priority, and each flow, are always recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Probes {
    /// Sampling interval of the series; flows are sampled if their [`crate::traffic::FlowSpec`] says so.
    pub interval: Time,
    /// Egress ports sampled.
    pub ports: Vec<(NodeId, PortId)>,
    /// Record each PAUSE as an interval.
    pub pauses: bool,
    /// Look for deadlocks, and end the run at the first.
    pub deadlock: Option<DeadlockProbe>,
}

/// How deadlocks are looked for. A deadlock is a cycle of egress queues that are paused, have
/// packets and have sent nothing for long, each waiting for the next to take packets from the
/// ingress that paused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockProbe {
    /// Look every so often.
    pub interval: Time,
    /// Queues that have sent nothing for so long are blocked.
    pub hold: Time,
}

impl Default for DeadlockProbe {
    /// Our reading of the PCN paper's appendix B.5, which names no detector.
    fn default() -> Self {
        Self {
            interval: Time::from_ms(1),
            hold: Time::from_ms(5),
        }
    }
}

impl Default for Probes {
    fn default() -> Self {
        Self {
            interval: Time::from_us(100),
            ports: Vec::new(),
            pauses: true,
            deadlock: None,
        }
    }
}

impl Default for SwitchConfig {
    fn default() -> Self {
        Self {
            model: SwitchModel::default(),
            lossless: 1 << 3,
            pfc: PfcConfig::default(),
            buffer_bytes: None,
            queueing: Queueing::Fifo,
            lossy_queue_bytes: 1_000_000,
            lossy_queue_packets: None,
            scheduler: scheduler::Config::default(),
        }
    }
}

impl Default for PfcConfig {
    /// XOFF 512 KB is the PCN paper's; XON two 1048 B packets below it is our reading.
    fn default() -> Self {
        Self {
            params: pfc::Params::default(),
            threshold: PfcThreshold::Static {
                xoff_bytes: 512_000,
                xon_bytes: 512_000 - 2 * 1048,
            },
            headroom_bytes: None,
            reaction: Time::ZERO,
        }
    }
}
