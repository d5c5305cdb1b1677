//! What to simulate: the fabric, its switches and hosts, one scheme, traffic and probes.
//!
//! A [`Config`] is one run. It holds indices and numbers only; names, files and comparisons of
//! several schemes belong to the scenario.

use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::{Rate, Time};
use unpause_protocols::{congestion_point, notification_point, reaction_point};

use crate::traffic::TrafficSpec;

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
    /// A CNP or CNM takes effect so long after it has arrived.
    pub notification_reaction: Time,
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
            notification_reaction: Time::ZERO,
        }
    }
}

/// How switches are built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SwitchModel {
    /// Output-queued, with a shared buffer.
    #[default]
    SharedBuffer,
    /// Combined-input-output-queued: one node is a whole fabric.
    Cioq(CioqConfig),
}

impl SwitchModel {
    /// What an empty switch adds to the latency of a frame beyond store-and-forward.
    pub fn crossing(&self) -> Time {
        match self {
            Self::SharedBuffer => Time::ZERO,
            // Request, grant and crossing.
            Self::Cioq(config) => config.latency * 2,
        }
    }
}

/// A combined-input-output-queued fabric: virtual output queues in the buffers of inputs, frames that
/// cross when the output's credit arbiter has granted them room, buffers at outputs.
///
/// XOFF and XON of [`PfcConfig`] are Qhigh and Qlow of the input buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CioqConfig {
    /// Buffer of each (input port, priority), bytes.
    pub input_buffer_bytes: u64,
    /// Buffer of each (output port, priority), bytes.
    pub output_buffer_bytes: u64,
    /// Size of a cell and of a unit of input memory, bytes. Inputs count whole units.
    pub cell_bytes: u32,
    /// How long a cell takes to cross the empty fabric; a request or a grant takes half of it.
    pub latency: Time,
    /// An arbiter grants at most so many times its output's link rate, in per cent.
    pub speedup_percent: u32,
    /// What frames cross. `None`: a pipe of [`CioqConfig::latency`] without limit of rate.
    pub spines: Option<SpinesConfig>,
}

/// A spine-leaf fabric of cells inside a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinesConfig {
    /// Spines; each leaf has a link to each.
    pub count: u16,
    /// Rate of these links; a byte must last whole picoseconds.
    pub rate: Rate,
    /// Hosts of a leaf.
    pub hosts_per_leaf: u16,
    /// Cells that a spine holds for each of its inputs, and for each of its outputs.
    pub buffer_cells: u16,
}

impl Default for CioqConfig {
    /// The fabric of the QCN-at-inputs paper (Chrysos et al.), as its minimal model: a pipe.
    fn default() -> Self {
        Self {
            input_buffer_bytes: 150_000,
            output_buffer_bytes: 150_000,
            cell_bytes: 256,
            latency: Time::from_us(1),
            speedup_percent: 160,
            spines: None,
        }
    }
}

impl Default for SpinesConfig {
    /// The same paper: 32 spines, 5 hosts a leaf, 16 cells.
    fn default() -> Self {
        Self {
            count: 32,
            rate: Rate::from_gbps(25),
            hosts_per_leaf: 5,
            buffer_cells: 16,
        }
    }
}

/// Every switch.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// How it is built.
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
            model: SwitchModel::SharedBuffer,
            lossless: 1 << 3,
            pfc: PfcConfig::default(),
            buffer_bytes: None,
            queueing: Queueing::Fifo,
            lossy_queue_bytes: 1_000_000,
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
