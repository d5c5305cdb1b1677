//! Changes of links, and what was lost to them.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::{Rate, Time};

use crate::config::FrameErrors;
use crate::fabric::{NodeId, PortId};

/// Packets of one priority that were lost at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossRecord {
    /// When the link went down, its errors became what they were, or the routes came into force that lead nowhere.
    pub since: Time,
    /// Node that would have sent them on.
    pub node: NodeId,
    /// Its port to the link that was down or had errors; where there was no route the port by which they came in.
    pub port: PortId,
    /// Priority.
    pub priority: u8,
    /// Where they were.
    pub place: LossPlace,
    /// How many there were, of any kind.
    pub packets: u64,
    /// Their bytes, without framing.
    pub bytes: u64,
    /// Those of them that carried data.
    pub data_packets: u64,
}

/// Where a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LossPlace {
    /// On the wire when the link went down.
    Wire,
    /// In the egress queue before it at that moment.
    Queue,
    /// On its way into that queue while the link was down and routes still led there.
    Port,
    /// In a switch that had no route for it.
    Switch,
    /// On the wire, hit by an error.
    Error,
}

/// A change of a link in one direction, or of routes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkChange {
    /// The wire behind a port fails or returns.
    Wire {
        /// When.
        at: Time,
        /// Node that sends by it.
        node: NodeId,
        /// Its port.
        port: PortId,
        /// It works again.
        up: bool,
    },
    /// Other frames are lost to errors on the wire behind a port.
    Errors {
        /// When.
        at: Time,
        /// Node that sends by it.
        node: NodeId,
        /// Its port.
        port: PortId,
        /// The error rate from now on.
        errors: FrameErrors,
    },
    /// The wire behind a port has another rate.
    Rate {
        /// When: the first frame that leaves then or later has it.
        at: Time,
        /// Node that sends by it.
        node: NodeId,
        /// Its port.
        port: PortId,
        /// From now on.
        rate: Rate,
    },
    /// Switches have other routes.
    Routes {
        /// When.
        at: Time,
    },
}

impl LinkChange {
    /// When.
    pub fn at(&self) -> Time {
        match *self {
            Self::Wire { at, .. }
            | Self::Errors { at, .. }
            | Self::Rate { at, .. }
            | Self::Routes { at } => at,
        }
    }

    /// The port behind which the wire changed; none of routes.
    pub fn port(&self) -> Option<(NodeId, PortId)> {
        match *self {
            Self::Wire { node, port, .. }
            | Self::Errors { node, port, .. }
            | Self::Rate { node, port, .. } => Some((node, port)),
            Self::Routes { .. } => None,
        }
    }
}
