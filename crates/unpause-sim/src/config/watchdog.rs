//! The PFC watchdog of switches.

use serde::{Deserialize, Serialize};
use unpause_protocols::flow_control::watchdog::Params;
use unpause_protocols::names::Names;

/// The PFC watchdog of (ports, lossless priorities) of every switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// When it finds a storm, and when that is over.
    pub params: Params,
    /// The action during a storm.
    pub action: WatchdogAction,
    /// Only ports that lead to hosts have one.
    pub hosts_only: bool,
}

/// The action of a watchdog during a storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Names)]
pub enum WatchdogAction {
    /// Drops what waits at the port in that priority, what is to join it, and what comes in by the port in that
    /// priority; PFC of the priority is off at the port.
    #[default]
    Drop,
    /// PFC of the priority is off at the port: it sends although the peer says PAUSE, and sends no PAUSE.
    Forward,
    /// Says so.
    Alert,
}
