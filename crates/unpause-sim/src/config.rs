//! The input of one run: the fabric, its switches and hosts, one scheme, traffic and probes.
//!
//! A [`Config`] is one run. It holds indices and numbers only; names, files and comparisons of
//! several schemes belong to the scenario.

pub mod invalid;

use unpause_protocols::loss_recovery::newreno;
use unpause_protocols::names::Names;
use unpause_protocols::units::{Fraction, Rate, Time};
use unpause_protocols::{
    congestion_control, congestion_point, loss_recovery, notification_point, scheduler, spraying,
    tagging,
};

use crate::fabric::packet::{Kind, LARGEST_CONTROL_BYTES};
use crate::jobs::Job;
use crate::traffic::{Delays, Following, TrafficSpec, Transport};

pub use crate::fabric::packet::MIN_FRAME_BYTES;
pub use crate::fabric::{Ecmp, Fabric, Link, NodeId, NodeKind, PRIORITIES, PortId, check_rate};

mod balancing;
mod cbfc;
mod cioq;
mod credits;
mod direction;
mod errors;
mod events;
mod histogram;
mod input_queued;
mod nic;
mod overrides;
mod pfc;
mod pipeline;
mod probes;
mod retry;
mod shares;
mod skipping;
mod slow_receiver;
mod threshold;
mod trimming;
mod watchdog;

pub use self::pfc::PfcConfig;
pub use balancing::{AdaptiveBalancing, Balancing};
pub use cbfc::CbfcConfig;
pub use cioq::{CioqConfig, SpinesConfig};
pub use credits::Credits;
pub use direction::Direction;
pub use errors::{ErrorEvent, Fec, FrameErrors, frame_loss};
pub use events::{Events, LinkEvent, PauseStorm, RateEvent};
pub use histogram::HistogramProbe;
pub use input_queued::{InputQueuedConfig, InputQueues, MOST_CROSSBAR_PORTS};
pub use nic::NicModel;
pub use overrides::{QueueLimit, QueueMarking, RedThresholds, Shaper, SwitchOverride};
pub use pipeline::{FullQueue, Memory, PipelineConfig};
pub use probes::{DeadlockProbe, Probes};
pub use retry::RetryConfig;
pub use shares::NicShares;
pub use skipping::Skipping;
pub use slow_receiver::SlowReceiver;
pub use threshold::{MOST_ALPHA_SHIFT, PfcThreshold};
pub use trimming::{Cut, Trimming};
pub use watchdog::{WatchdogAction, WatchdogConfig};

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
    /// The traffic; generators are read as a stream during the run.
    pub traffic: Vec<TrafficSpec>,
    /// The entries of it whose flows start when others have ended.
    pub following: Vec<Following>,
    /// Entries of `traffic` with jitter: each flow starts later by a random time up to this.
    pub jitters: Vec<(u16, Time)>,
    /// Ranks that compute and exchange messages, over connections that are entries of `traffic`.
    pub jobs: Vec<Job>,
    /// The series that are recorded over time.
    pub probes: Probes,
    /// Root of every random stream of the run.
    pub seed: u64,
    /// Links that fail and return.
    pub events: Events,
    /// The run ends here.
    pub stop: Time,
    /// Whether what repeats itself is skipped; results are the same.
    pub skipping: Skipping,
}

/// Hosts: RoCEv2-like NICs, and TCP beside them.
#[derive(Clone, Debug, PartialEq)]
pub struct HostConfig {
    /// Largest payload of a data packet, bytes.
    pub payload_bytes: u32,
    /// Headers and trailers of a data packet, bytes.
    pub header_bytes: u32,
    /// A receiver acknowledges one data packet in this many, and the last one of a flow and of a window.
    pub ack_every: u32,
    /// A sender without progress for this long goes back to its oldest unacknowledged packet.
    pub retransmit_timeout: Time,
    /// A RoCE flow that has timed out so often in a row gives up at the next timeout; `None`: never.
    pub retry_count: Option<u32>,
    /// How the priorities of a NIC share its port; `None`: the most urgent first.
    pub shares: Option<NicShares>,
    /// Priority of CNP and CNM, and unless they have another of ACK and NAK: never paused.
    pub control_priority: u8,
    /// Priority of RoCE's ACKs and NAKs.
    pub ack_priority: AckPriority,
    /// PAUSE at a host stops RoCE's ACKs and NAKs, too, if their priority is paused.
    pub pause_acks: bool,
    /// Data packets of RoCE are padded to so much.
    pub min_frame_bytes: u32,
    /// Size of RoCE's ACKs and NAKs, bytes without framing.
    pub ack_bytes: u16,
    /// From which packet on a change of its rate counts for a RoCE flow.
    pub rate_change: RateChange,
    /// How a NIC chooses among its RoCE flows, and who wakes it.
    pub nic: NicModel,
    /// How it chooses the paths of their packets, by source ports.
    pub spraying: spraying::Config,
    /// Bytes that RoCE flows may have in flight, in addition to the window of their law.
    pub window: Option<WindowConfig>,
    /// A remaining gap is reported again after this time; `None`: when something else has arrived.
    pub nak_interval: Option<Time>,
    /// TCP, beside the law of [`SchemeConfig::tcp`].
    pub tcp: TcpConfig,
    /// The distributions that [`crate::traffic::ExtraDelay::Drawn`] draws from.
    pub extra_delays: Vec<Delays>,
    /// A CNP or CNM takes effect so long after it has arrived.
    pub notification_reaction: Time,
    /// NICs that take less than their links bring.
    pub slow_receiver: Option<SlowReceiver>,
    /// Hosts whose NICs do not obey PAUSE.
    pub ignores_pause: Vec<NodeId>,
    /// The clock of each port, of NICs and of switches, is fast or slow by up to this, drawn by the seed. A NIC limits rates by its clock,
    /// too. 0: all clocks are exact.
    pub clock_tolerance: Fraction,
}

/// From which packet on a change of rate counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum RateChange {
    /// The next one: the time until then is counted anew from the last one.
    #[default]
    AtOnce,
    /// The one after the next: when that goes was said when the last one went.
    NextPacket,
}

/// A window of a RoCE flow that no law sets: payload in flight is below it whenever a packet is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// Payload bytes; `None`: what the slowest link of the flow's path carries in the round trip of a full
    /// packet's payload, its serialisation at every hop included.
    pub bytes: Option<u64>,
    /// It shrinks with the rate that the law allows.
    pub by_rate: bool,
}

/// TCP connections, whatever their law.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Headers and trailers of every segment, bytes. SYN and ACK have nothing else, and are padded
    /// to Ethernet's minimum.
    pub header_bytes: u32,
    /// The first SYN is repeated after this time, further ones each after twice as long.
    pub syn_timeout: Time,
    /// SYNs sent before the sender gives up.
    pub syn_tries: u32,
    /// An ACK for several segments; `None`: one for each.
    pub delayed_ack: Option<DelayedAck>,
    /// Priority of SYNs and ACKs.
    pub ack_priority: AckPriority,
    /// Bytes that a connection may have in flight, whatever its window: the socket's buffers.
    pub buffer_bytes: u64,
    /// Where segments wait for the port.
    pub qdisc: Qdisc,
    /// A connection is closed when its flow is over: the receiver sends a FIN after its last ACK, and the sender
    /// acknowledges that. Neither is repeated, and connections of a pool stay open.
    pub fin: bool,
    /// Priorities of segments by their place in the flow. `None`: that of the flow.
    pub tags: Option<Tags>,
    /// Segments, and what is done about losses.
    pub recovery: newreno::Params,
}

/// When a receiver acknowledges at the latest. Out of order, and at the end of a flow, it does so at
/// once; under DCTCP's echo also before the first packet whose mark differs (RFC 8257, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Once per this many segments.
    pub every: u32,
    /// After this time.
    pub timeout: Time,
}

/// Where segments wait for the port of their host: its queueing discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Qdisc {
    /// In their connections, which take turns; a segment is made when its turn comes. SYNs and ACKs go ahead.
    #[default]
    Fq,
    /// In one FIFO for each class, without a limit, as soon as their window allows them; SYNs and ACKs, too. What
    /// waits there counts as in flight.
    Pfifo,
}

/// Which priority acknowledgements have, and SYNs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum AckPriority {
    /// That of the flow.
    #[default]
    Flow,
    /// [`HostConfig::control_priority`].
    Control,
}

/// Priorities of segments by their place in the flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Tags {
    /// Gives each segment a level.
    pub law: tagging::Config,
    /// The priority of each level; the last also of all levels beyond.
    pub priorities: Vec<u8>,
}

impl Default for TcpConfig {
    /// The ECN# authors' simulator (snowzjx/ns3-ecn-sharp): headers of its `large-scale`, timeout and
    /// tries of its `queue-track`, buffers of both.
    fn default() -> Self {
        Self {
            header_bytes: 54,
            syn_timeout: Time::from_ms(1),
            syn_tries: 10,
            delayed_ack: None,
            ack_priority: AckPriority::Flow,
            buffer_bytes: 160_000_000,
            qdisc: Qdisc::Fq,
            fin: false,
            tags: None,
            recovery: newreno::Params::default(),
        }
    }
}

impl HostConfig {
    /// True if packets of a RoCE flow may take different paths.
    pub fn sprays(&self) -> bool {
        self.spraying != spraying::Config::None
    }

    /// Payload bytes that a flow can have at most: packets have numbers of 32 bits.
    pub fn most_bytes(&self) -> u64 {
        u64::from(u32::MAX - 1) * u64::from(self.payload_bytes)
    }
}

impl Default for HostConfig {
    /// 1000 B payload in 1048 B frames, an ACK per packet (PCN evaluation as read in
    /// `papers/pcn/notes.md`); 67.1 ms is IBTA's local ACK timeout 14, a NIC default.
    fn default() -> Self {
        Self {
            payload_bytes: 1000,
            header_bytes: 48,
            ack_every: 1,
            retransmit_timeout: Time::from_ns(67_108_864),
            retry_count: None,
            shares: None,
            control_priority: 7,
            ack_priority: AckPriority::Control,
            pause_acks: true,
            min_frame_bytes: MIN_FRAME_BYTES,
            ack_bytes: Kind::Ack.control_bytes(),
            rate_change: RateChange::AtOnce,
            nic: NicModel::Own,
            spraying: spraying::Config::None,
            window: None,
            nak_interval: None,
            tcp: TcpConfig::default(),
            extra_delays: Vec::new(),
            notification_reaction: Time::ZERO,
            slow_receiver: None,
            ignores_pause: Vec::new(),
            clock_tolerance: Fraction::ZERO,
        }
    }
}

/// Every switch. Unless it says otherwise, a setting is of every model.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// How packets get from ingress to egress.
    pub model: SwitchModel,
    /// Cut-through: a frame is taken when this many of its bytes are there, and no sooner than that it cannot run dry
    /// on its way out. `None`: store-and-forward.
    pub cut_through_bytes: Option<u32>,
    /// Bit n set: priority n is lossless, under PFC.
    pub lossless: u8,
    /// PFC of the lossless priorities.
    pub pfc: PfcConfig,
    /// Packet memory of the whole switch, bytes. `None`: what PFC of every lossless priority of
    /// every port can need, plus [`SwitchConfig::lossy_queue_bytes`] for each port.
    pub buffer_bytes: Option<u64>,
    /// In which order an egress queue serves packets.
    pub queueing: Queueing,
    /// Which of several equal next hops a packet takes.
    pub balancing: Balancing,
    /// A lossy packet is dropped when its egress queue would grow beyond this, bytes.
    pub lossy_queue_bytes: u64,
    /// In a shared buffer such a queue takes no more than the free shared memory divided by 2 to the power of this; `None`:
    /// whatever is free.
    pub lossy_shift: Option<i32>,
    /// A lossy packet is dropped when its egress queue would hold more packets than this, in every model.
    pub lossy_queue_packets: Option<u32>,
    /// Which priority of an egress port sends next; its queues are numbered by priority. Whatever it
    /// says, the control priority goes before all others.
    pub scheduler: scheduler::Config,
    /// Lossy data packets for which there is no room are trimmed; `None`: dropped.
    pub trimming: Option<Trimming>,
    /// Credits stop what is sent into lossless priorities; `None`: PFC.
    pub cbfc: Option<CbfcConfig>,
    /// Links resend corrupted frames; `None`: corrupted frames are lost.
    pub retry: Option<RetryConfig>,
    /// Switches with settings of their own.
    pub overrides: Vec<SwitchOverride>,
    /// PFC watchdog; `None`: PAUSE is obeyed however long it lasts.
    pub watchdog: Option<WatchdogConfig>,
    /// NVSwitches send no PAUSE, and drop what does not fit, as in SimAI's network (`nvswitch-node.cc` of ns-3-alibabacloud).
    /// Otherwise all data is lossless there: PFC stands for the credits of NVLink.
    pub nvlink_drops: bool,
}

/// Models of a switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SwitchModel {
    /// Output-queued, with a shared buffer.
    #[default]
    SharedBuffer,
    /// Ingress FIFOs before one packet processor, which nothing can wait behind.
    Pipeline(PipelineConfig),
    /// Combined-input-output-queued: one node is a whole fabric.
    Cioq(CioqConfig),
    /// Input-queued, with a crossbar.
    InputQueued(InputQueuedConfig),
}

/// In which order the packets of one priority leave an egress port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Queueing {
    /// In order of arrival: who sends more gets more.
    #[default]
    Fifo,
    /// From virtual output queues, a packet of each ingress port in turn: ports get equal shares.
    Voq,
}

/// One congestion management scheme: what its three points run.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeConfig {
    /// Every switch egress queue of a data priority.
    pub congestion_point: congestion_point::Config,
    /// Instead of it, before links of these rates: all there are, or none.
    pub congestion_points: Vec<(Rate, congestion_point::Config)>,
    /// Every flow at its receiver.
    pub notification_point: notification_point::Config,
    /// Every controlled RoCE flow at its sender.
    pub roce: congestion_control::Config,
    /// Every TCP flow at its sender.
    pub tcp: congestion_control::Config,
    /// The same of entries of [`Config::traffic`], by index, whose TCP flows have another law.
    pub tcp_of_entry: Vec<(u16, congestion_control::Config)>,
    /// How every RoCE flow repairs losses.
    pub loss_recovery: loss_recovery::Config,
    /// Controlled RoCE flows need credits of their receivers, beside what their law says.
    pub credits: Option<Credits>,
}

impl SchemeConfig {
    /// The law of TCP flows of an entry of [`Config::traffic`].
    pub fn tcp_law(&self, entry: u16) -> &congestion_control::Config {
        let own = self.tcp_of_entry.iter().find(|(of, _)| *of == entry);
        own.map_or(&self.tcp, |(_, law)| law)
    }
}

impl Default for SchemeConfig {
    /// PFC alone; TCP flows under DCTCP.
    fn default() -> Self {
        Self {
            congestion_point: Default::default(),
            congestion_points: Vec::new(),
            notification_point: Default::default(),
            roce: Default::default(),
            tcp: congestion_control::Config::Dctcp(Default::default()),
            tcp_of_entry: Vec::new(),
            loss_recovery: Default::default(),
            credits: None,
        }
    }
}

impl Config {
    /// True if what jobs put on links is counted.
    pub fn counts_job_links(&self) -> bool {
        self.probes.job_links && !self.jobs.is_empty()
    }

    /// Bit p set: some data packet can have priority p.
    pub fn data_priorities(&self) -> u8 {
        let of_flows = self
            .traffic
            .iter()
            .fold(0, |used, spec| used | spec.priorities());
        match &self.host.tcp.tags {
            Some(tags) if self.uses(Transport::Tcp) => tags
                .priorities
                .iter()
                .fold(of_flows, |used, priority| used | 1 << priority),
            _ => of_flows,
        }
    }

    /// True if `node` is an NVSwitch that loses nothing.
    pub fn has_lossless_nvlink(&self, node: NodeId) -> bool {
        !self.switch.nvlink_drops && self.fabric.is_nvswitch(node)
    }

    /// True if some flow uses this transport.
    pub fn uses(&self, transport: Transport) -> bool {
        self.traffic.iter().any(|spec| spec.uses(transport))
    }

    /// Bytes of the largest frame, data or control, without framing.
    pub fn largest_frame_bytes(&self) -> u32 {
        let roce = self.host.payload_bytes + self.host.header_bytes;
        let tcp = self.host.tcp.recovery.mss;
        let tcp = tcp.saturating_add(self.host.tcp.header_bytes);
        let is_roce = self.uses(Transport::Roce) || self.uses(Transport::Udp);
        let data = match (is_roce, self.uses(Transport::Tcp)) {
            (false, true) => tcp,
            (true, true) => tcp.max(roce),
            _ => roce,
        };
        data.max(LARGEST_CONTROL_BYTES)
            .max(self.host.ack_bytes.into())
    }
}

impl Default for SwitchConfig {
    fn default() -> Self {
        Self {
            model: SwitchModel::default(),
            cut_through_bytes: None,
            lossless: 1 << 3,
            pfc: PfcConfig::default(),
            buffer_bytes: None,
            queueing: Queueing::Fifo,
            balancing: Balancing::Ecmp,
            lossy_queue_bytes: 1_000_000,
            lossy_shift: None,
            lossy_queue_packets: None,
            scheduler: scheduler::Config::default(),
            trimming: None,
            cbfc: None,
            retry: None,
            overrides: Vec::new(),
            watchdog: None,
            nvlink_drops: false,
        }
    }
}
