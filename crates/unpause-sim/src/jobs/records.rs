//! What is recorded of jobs.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

/// A message of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// Entry of its job in [`crate::config::Config::traffic`].
    pub entry: u16,
    /// Iteration.
    pub iteration: u32,
    /// Phase of that; of a program, the label of the receive.
    pub phase: u32,
    /// Step of the receiver there; of a program, the number of the receive within its rank.
    pub step: u32,
    /// Channel.
    pub channel: u32,
    /// Slice.
    pub slice: u32,
    /// The rank that has sent it.
    pub from: u32,
    /// The rank that has received it.
    pub to: u32,
    /// The flow of its connection, and messages before it there.
    pub flow: u32,
    /// Those messages.
    pub number: u32,
    /// Payload bytes.
    pub bytes: u64,
    /// When the sender's rank handed it to its NIC.
    pub start: Time,
    /// When its last byte came, all before being there.
    pub end: Time,
    /// When the receiver's rank was told of that, at least if it waited: later where it waits for the sender's ACK.
    pub received: Time,
    /// When its sender knew of that, if a rank waited for it.
    pub acknowledged: Option<Time>,
    /// How long it takes if it is alone on its way; `None` if that way is not known.
    pub ideal: Option<Time>,
}

/// A rank has come through an iteration of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankIteration {
    /// Entry of its job in [`crate::config::Config::traffic`].
    pub entry: u16,
    /// Iteration.
    pub iteration: u32,
    /// Rank.
    pub rank: u32,
    /// When it began with it.
    pub start: Time,
    /// When it had ended all.
    pub end: Time,
    /// How long it has computed.
    pub computed: Time,
}
