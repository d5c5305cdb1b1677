//! Flows, and generators of flows.
//!
//! A [`TrafficSpec`] is one entry of a scenario. All of a run's entries are merged into one stream
//! of flows in order of start time, which is read while the run goes on.

use unpause_protocols::units::{Rate, Time};

use crate::config::NodeId;

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSpec {
    /// Index of its entry in [`crate::config::Config::traffic`].
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
    /// Obeys the scheme's reaction point. If not, it obeys PFC only.
    pub controlled: bool,
    /// Sampled into the flow series.
    pub recorded: bool,
    /// Entropy of ECMP, as a RoCEv2 source port.
    pub source_port: u16,
}

/// One entry of a scenario's traffic.
#[derive(Clone, Debug)]
pub enum TrafficSpec {
    /// Flows named one by one, in any order.
    Flows(Vec<FlowSpec>),
}
