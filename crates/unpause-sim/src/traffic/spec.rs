//! The traffic of a run, entry by entry.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unpause_protocols::names::Names;
use unpause_protocols::units::{Rate, Time};

use super::by_size::PriorityBySize;
use super::cdf::Cdf;
use super::delay::ExtraDelay;
use crate::fabric::NodeId;

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// Index of its entry in [`crate::config::Config::traffic`]; [`super::Traffic`] sets it.
    pub group: u16,
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Payload bytes; `None` to send until `stop`.
    pub size_bytes: Option<u64>,
    /// When it starts.
    pub start: Time,
    /// When it stops sending new data, [`Time::NEVER`] for never.
    pub stop: Time,
    /// Priority of its data packets.
    pub priority: u8,
    /// Upper limit of its sending rate, frames with framing; `None` for line rate.
    pub rate_limit: Option<Rate>,
    /// Its source makes a frame at this interval, to be sent at this rate, framing included; one that could
    /// not be sent in time waits for the next, and no longer. `None`: there is always a frame to send.
    pub offered: Option<Rate>,
    /// Obeys the scheme's congestion control. If not, it obeys PFC only.
    pub controlled: bool,
    /// Sampled into the flow series.
    pub recorded: bool,
    /// Entropy of ECMP, as a RoCEv2 source port.
    pub source_port: u16,
    /// The destination port, as flow files call it; [`DESTINATION_PORT`] of other flows. Only [`crate::config::Ecmp::Hpcc`] reads it.
    pub destination_port: u16,
    /// The transport that carries it.
    pub transport: Transport,
    /// Delay of its data packets at the receiving host, before its transport sees them.
    pub extra_delay: ExtraDelay,
    /// Over which TCP connection it goes.
    pub connections: Connections,
}

impl FlowSpec {
    /// An endless one from time zero, with the settings that are the default.
    pub fn between(src: NodeId, dst: NodeId) -> Self {
        FlowSettings::default().flow(src, dst)
    }

    /// True if it obeys the scheme's congestion control of RoCE flows.
    pub(crate) fn obeys_roce(&self) -> bool {
        self.controlled && self.transport == Transport::Roce
    }

    /// True if it goes over a connection that is open already.
    pub(crate) fn is_pooled(&self) -> bool {
        matches!(self.connections, Connections::Pool(_)) && self.size_bytes != Some(0)
    }
}

/// Over which TCP connection a flow goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Connections {
    /// One of its own, which it opens.
    #[default]
    New,
    /// An idle one of those that flows of the entry have left between the two hosts, the oldest first. If
    /// all are busy, one more that is open already. Window and RTT estimate are those of the connection, as are
    /// its source port and extra delay. A flow without bytes opens one of its own.
    Pool(Pool),
}

/// How connections are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// One that has been idle for longer than its retransmission timeout starts with the initial window, if
    /// its own is larger (RFC 5681, 4.1).
    pub slow_start_after_idle: bool,
    /// Its extra delay is drawn from this entry of [`crate::config::HostConfig::extra_delays`]; `None`: it
    /// is that of its flows. Set by the run.
    pub(crate) delays: Option<u16>,
}

impl Pool {
    /// Connections with an extra delay of their own where flows would have one.
    pub const fn new(slow_start_after_idle: bool) -> Self {
        Self {
            slow_start_after_idle,
            delays: None,
        }
    }
}

/// Destination port of flows that name none: that of most in HPCC's own files.
pub const DESTINATION_PORT: u16 = 100;

/// The transport of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Names)]
pub enum Transport {
    /// RoCEv2: go-back-N at the rate and the window of the scheme's law.
    #[default]
    Roce,
    /// TCP with the scheme's window law.
    Tcp,
    /// UDP: datagrams at the flow's rate, whatever happens to them. Nobody answers, nothing is sent again; only PFC, or
    /// credits of links, stop them. A flow ends when all of it has arrived, so one that loses a datagram never does.
    Udp,
}

/// The settings that all flows of a generator share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSettings {
    /// Priority of the data packets.
    pub priority: u8,
    /// Priorities of flows up to some sizes, instead of `priority`.
    pub by_size: PriorityBySize,
    /// Upper limit of the sending rate, frames with framing; `None` for line rate.
    pub rate_limit: Option<Rate>,
    /// Rate at which sources make frames; `None`: there is always a frame to send.
    pub offered: Option<Rate>,
    /// Obey the scheme's congestion control. If not, they obey PFC only.
    pub controlled: bool,
    /// Sampled into the flow series.
    pub recorded: bool,
    /// The transport that carries them.
    pub transport: Transport,
    /// Delay of data packets at the receiving host, before its transport sees them.
    pub extra_delay: ExtraDelay,
    /// Over which TCP connections they go.
    pub connections: Connections,
}

impl Default for FlowSettings {
    /// Controlled flows at line rate in priority 3, the lossless one of
    /// [`crate::config::SwitchConfig`] and of most RoCE deployments; not sampled.
    fn default() -> Self {
        Self {
            priority: 3,
            by_size: PriorityBySize::default(),
            rate_limit: None,
            offered: None,
            controlled: true,
            recorded: false,
            transport: Transport::Roce,
            extra_delay: ExtraDelay::NONE,
            connections: Connections::New,
        }
    }
}

impl FlowSettings {
    /// An endless flow with these, from time zero.
    pub fn flow(&self, src: NodeId, dst: NodeId) -> FlowSpec {
        FlowSpec {
            group: 0,
            src,
            dst,
            size_bytes: None,
            start: Time::ZERO,
            stop: Time::NEVER,
            priority: self.priority_of(None),
            rate_limit: self.rate_limit,
            offered: self.offered,
            controlled: self.controlled,
            recorded: self.recorded,
            source_port: 0,
            destination_port: DESTINATION_PORT,
            transport: self.transport,
            extra_delay: self.extra_delay,
            connections: self.connections,
        }
    }

    /// The priority of a flow of this many payload bytes; `None` for one without end.
    pub fn priority_of(&self, size_bytes: Option<u64>) -> u8 {
        let by_size = size_bytes.and_then(|bytes| self.by_size.of(bytes));
        by_size.unwrap_or(self.priority)
    }

    /// Bit p set: flows may have priority p.
    fn priorities(&self) -> u8 {
        let all = self.by_size.priorities();
        all.fold(1 << self.priority, |all, priority| all | 1 << priority)
    }
}

/// One entry of a scenario's traffic.
///
/// The random stream of an entry comes from the run's seed and the entry's index. To leave an entry
/// out of one scheme and keep the others' flows, put `Flows(vec![])` in its place.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a run has few entries")]
pub enum TrafficSpec {
    /// Flows named one by one, in any order.
    Flows(Vec<FlowSpec>),
    /// Flows that are generated during the run.
    Pattern(Pattern),
}

impl TrafficSpec {
    /// Bit p set: some flow has priority p.
    pub fn priorities(&self) -> u8 {
        match self {
            Self::Flows(flows) => flows.iter().fold(0, |all, flow| all | 1 << flow.priority),
            Self::Pattern(pattern) => pattern.flow.priorities(),
        }
    }

    /// True if some flow uses this transport.
    pub fn uses(&self, transport: Transport) -> bool {
        match self {
            Self::Flows(flows) => flows.iter().any(|flow| flow.transport == transport),
            Self::Pattern(pattern) => pattern.flow.transport == transport,
        }
    }

    /// The settings that flows of a pattern share; `None` for flows named one by one.
    pub fn settings(&self) -> Option<&FlowSettings> {
        match self {
            Self::Flows(_) => None,
            Self::Pattern(pattern) => Some(&pattern.flow),
        }
    }

    /// True if its events come at random times.
    pub fn is_random(&self) -> bool {
        matches!(self, Self::Pattern(pattern) if pattern.arrivals.is_random())
    }

    /// Makes random events `factor` times as frequent; those at fixed times stay.
    pub fn scale_load(&mut self, factor: f64) {
        if let Self::Pattern(pattern) = self
            && let Interval::Exponential { events_per_second } = &mut pattern.arrivals.interval
        {
            *events_per_second *= factor;
        }
    }
}

/// Flows that start at each of some events: between whom, of which size, when, and how they are sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Who sends to whom.
    pub pairs: Pairs,
    /// Payload of each flow; `None` for flows that send until `lifetime` or `arrivals.stop` ends them.
    pub size: Option<Size>,
    /// How long a flow sends at most, [`Time::NEVER`] for no limit.
    pub lifetime: Time,
    /// When flows start.
    pub arrivals: Arrivals,
    /// How they are sent.
    pub flow: FlowSettings,
}

impl Pattern {
    /// Flows of a `size`, with the settings that are the default.
    pub fn new(pairs: Pairs, size: Size, arrivals: Arrivals) -> Self {
        Self {
            pairs,
            size: Some(size),
            lifetime: Time::NEVER,
            arrivals,
            flow: FlowSettings::default(),
        }
    }
}

/// Who sends to whom at an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Pairs {
    /// Every sender to one receiver.
    Burst {
        /// Senders.
        from: Vec<NodeId>,
        /// Receiver.
        to: NodeId,
        /// How many flows.
        flows: BurstFlows,
    },
    /// One random sender, or each.
    ///
    /// The Poisson processes of many senders together are one process with a random sender at each
    /// event, so a rate is always that of the whole entry.
    Random {
        /// Senders, each as likely as another.
        from: Vec<NodeId>,
        /// Receivers.
        to: Receivers,
        /// All senders share one clock: each starts a flow of its own size at each event.
        synchronised: bool,
    },
    /// Several random senders to a random receiver. The receiver is drawn first, then the number of
    /// senders, then as many distinct hosts other than the receiver.
    Incast {
        /// Possible senders.
        from: Vec<NodeId>,
        /// Possible receivers, each as likely as another.
        to: Vec<NodeId>,
        /// Least and largest number of senders, each number between as likely as another.
        senders: (u32, u32),
    },
}

impl Pairs {
    /// Each of `hosts` sends one flow, each receives one, none its own: a random permutation.
    pub fn permutation(hosts: Vec<NodeId>) -> Self {
        Self::Random {
            from: hosts,
            to: Receivers::Permutation,
            synchronised: true,
        }
    }

    /// All hosts that may send.
    pub fn senders(&self) -> &[NodeId] {
        match self {
            Self::Burst { from, .. } | Self::Random { from, .. } | Self::Incast { from, .. } => {
                from
            }
        }
    }
}

/// Number of flows that [`Pairs::Burst`] starts at each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstFlows {
    /// This many of each sender.
    PerHost(u32),
    /// This many in total, from one sender after the other, in turn.
    InAll(u32),
}

/// Receivers of [`Pairs::Random`].
#[derive(Clone, Debug, PartialEq)]
pub enum Receivers {
    /// To any of these but the sender itself, each as likely as another.
    Any(Vec<NodeId>),
    /// To any of `to` that is behind another switch than the sender, each as likely as another.
    BehindOtherSwitch {
        /// Receivers.
        to: Vec<NodeId>,
        /// By node: the switch that a host is connected to.
        switch_of: Arc<[NodeId]>,
    },
    /// Each to one of the senders, by a random permutation that stays the same for the run.
    Permutation,
}

/// Sizes of flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// Every flow has this many payload bytes.
    Fixed(u64),
    /// Each flow draws its own.
    Cdf(Arc<Cdf>),
}

impl Size {
    /// Mean payload bytes of a flow.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes as f64,
            Self::Cdf(cdf) => cdf.mean(),
        }
    }
}

/// When the events of a generator happen. At each event it starts one flow or several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Time from event to event.
    pub interval: Interval,
    /// The first event of a periodic generator; from when on a Poisson one counts its intervals.
    pub start: Time,
    /// No event at or after it.
    pub stop: Time,
    /// At most this many events.
    pub max_events: Option<u64>,
    /// At most this many flows; the last event may be cut short.
    pub max_flows: Option<u64>,
}

impl Arrivals {
    /// One event.
    pub fn once(at: Time) -> Self {
        Self {
            max_events: Some(1),
            ..Self::every(Time::NEVER, at)
        }
    }

    /// Events at `start`, `start + period`, and so on without end.
    pub fn every(period: Time, start: Time) -> Self {
        Self {
            interval: Interval::Fixed(period),
            start,
            stop: Time::NEVER,
            max_events: None,
            max_flows: None,
        }
    }

    /// A Poisson process from `start` on, without end.
    pub fn poisson(events_per_second: f64, start: Time) -> Self {
        Self {
            interval: Interval::Exponential { events_per_second },
            ..Self::every(Time::NEVER, start)
        }
    }

    /// True if events come at random times.
    pub fn is_random(&self) -> bool {
        matches!(self.interval, Interval::Exponential { .. })
    }
}

/// Time from one event to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// Always the same.
    Fixed(Time),
    /// Exponentially distributed, rounded to a picosecond.
    Exponential {
        /// Mean number of events in a second.
        events_per_second: f64,
    },
}
