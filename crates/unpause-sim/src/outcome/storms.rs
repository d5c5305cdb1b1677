//! Storms that PFC watchdogs detect.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use crate::config::WatchdogAction;
use crate::fabric::{NodeId, PortId};

/// A storm that a PFC watchdog found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormRecord {
    /// Switch.
    pub node: NodeId,
    /// Its port, whose peer sends PAUSE.
    pub port: PortId,
    /// Priority.
    pub priority: u8,
    /// The action of the watchdog.
    pub action: WatchdogAction,
    /// When the pause took effect that was in force when it was found.
    pub began: Time,
    /// When it was found.
    pub detected: Time,
    /// When it was over; none if it was not.
    pub restored: Option<Time>,
    /// Packets dropped: that waited at the port, were to join its queue, or came in by it.
    pub dropped_packets: u64,
    /// Their bytes, without framing.
    pub dropped_bytes: u64,
    /// Those of them that carried data.
    pub dropped_data_packets: u64,
    /// Those of them that came in by the port.
    pub input_dropped_packets: u64,
}
