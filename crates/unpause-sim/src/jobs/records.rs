//! Records of jobs.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use crate::fabric::{NodeId, PortId};

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
    /// When the sender's rank passed it to its NIC.
    pub start: Time,
    /// When its last byte came, all before being there.
    pub end: Time,
    /// When the receiver's rank learned of that, at least if it waited: later where it waits for the sender's ACK.
    pub received: Time,
    /// When its sender knew of that, if a rank waited for it.
    pub acknowledged: Option<Time>,
    /// Timeouts of its connection from when it was posted until it came.
    pub timeouts: u32,
    /// How long it takes if it is alone on its path; `None` if that way is not known.
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

/// A connection of a rank has given up: the job has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobFailure {
    /// Entry of the job in [`crate::config::Config::traffic`].
    pub entry: u16,
    /// When.
    pub at: Time,
    /// When the other ranks stop.
    pub stops: Time,
    /// The rank whose connection it is.
    pub rank: u32,
    /// The rank that has not answered.
    pub peer: u32,
    /// The flow of the connection.
    pub flow: u32,
}

/// All ranks of a group have come through a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveRecord {
    /// Entry of its job in [`crate::config::Config::traffic`].
    pub entry: u16,
    /// Iteration.
    pub iteration: u32,
    /// Phase of that; of a program, the label of its operations.
    pub phase: u32,
    /// Place of the group among those of the phase; of a program, operations before it with that label.
    pub group: u32,
    /// Place of the operation among the phases, or among the collective operations of a program.
    pub number: u32,
    /// The channel of which this is told; `None`: of all together.
    pub channel: Option<u32>,
    /// Ranks of the group.
    pub ranks: u32,
    /// When the first rank began it.
    pub start: Time,
    /// When the last rank did.
    pub all_began: Time,
    /// When the last rank had ended it.
    pub end: Time,
    /// How long it takes alone in the fabric ([`super::ideal`]); `None` if that is not known.
    pub ideal: Option<Time>,
}

/// The bytes of a job on a link in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLinkRecord {
    /// Entry of the job in [`crate::config::Config::traffic`].
    pub entry: u16,
    /// Node that sent it.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
    /// Data packets, including those sent again.
    pub data_packets: u64,
    /// Their bytes, with preamble and gap.
    pub data_bytes: u64,
    /// Bytes of the other packets of its flows: acknowledgements, notifications, requests.
    pub control_bytes: u64,
}
