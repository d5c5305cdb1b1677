//! Series that are recorded over time.

use unpause_protocols::units::Time;

use super::{HistogramProbe, NodeId, PortId};

/// Series that are recorded over time. Totals per port and priority, and each flow, are always recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Probes {
    /// Sampling interval of the series; flows are sampled if their [`crate::traffic::FlowSpec`] says so.
    pub interval: Time,
    /// Sampling interval of flows, a multiple of `interval`; `None` for the same.
    pub flow_interval: Option<Time>,
    /// The first sample is taken at the first multiple of the interval after this.
    pub start: Time,
    /// Egress ports sampled.
    pub ports: Vec<(NodeId, PortId)>,
    /// Record each PAUSE as an interval.
    pub pauses: bool,
    /// Record when the sender of a RoCE flow knows that all has arrived.
    pub acknowledged: bool,
    /// Record what held the bytes at each PAUSE, which flows it held up, and where the time of each flow went.
    pub causes: bool,
    /// Count what each job puts on each link; of no effect without jobs.
    pub job_links: bool,
    /// Count how long the queues of switches are.
    pub histogram: Option<HistogramProbe>,
    /// Egress ports whose packets are recorded one by one.
    pub packets: Vec<(NodeId, PortId)>,
    /// Of them, only packets of these flows; empty for all, PFC frames included.
    pub packet_flows: Vec<u32>,
    /// Look for deadlocks, and end the run at the first.
    pub deadlock: Option<DeadlockProbe>,
}

/// How deadlocks are looked for. A deadlock is a cycle of egress queues that are paused, have
/// packets and have sent nothing for long, each waiting for the next to take packets from the
/// ingress that paused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadlockProbe {
    /// Look at this interval.
    pub interval: Time,
    /// Queues that have sent nothing for this long are blocked.
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
            flow_interval: None,
            start: Time::ZERO,
            ports: Vec::new(),
            pauses: true,
            acknowledged: false,
            causes: false,
            job_links: false,
            histogram: None,
            packets: Vec::new(),
            packet_flows: Vec::new(),
            deadlock: None,
        }
    }
}
