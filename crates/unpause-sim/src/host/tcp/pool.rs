//! Connections that outlive the flows which go over them.

use std::collections::BTreeMap;

use unpause_protocols::congestion_control::CongestionControl;
use unpause_protocols::loss_recovery::newreno;
use unpause_protocols::units::Time;

use crate::fabric::NodeId;
use crate::traffic::FlowSpec;

/// A connection that no flow uses.
#[derive(Debug)]
pub struct Idle {
    /// Its window, its RTT, and how many bytes have gone over it.
    pub recovery: newreno::Sender<CongestionControl>,
    /// Since when nothing is in flight.
    pub since: Time,
}

/// A connection.
#[derive(Debug)]
struct Connection {
    source_port: u16,
    /// `None` while a flow uses it, and forever after one that nobody has answered.
    idle: Option<Idle>,
}

/// The connections of a host as sender, by traffic entry and receiver; the oldest first.
#[derive(Debug, Default)]
pub struct Pool {
    connections: BTreeMap<(u16, NodeId), Vec<Connection>>,
}

/// The connection that a flow gets.
#[derive(Debug)]
pub struct Taken {
    /// The connection's number among those of the entry and the receiver.
    pub number: u32,
    /// Its source port.
    pub source_port: u16,
    /// Its state; `None` if it is new.
    pub idle: Option<Idle>,
}

impl Pool {
    /// True if it has never had a connection.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }
    /// The oldest idle connection for a flow; a new one if there is none.
    pub fn take(&mut self, spec: &FlowSpec) -> Taken {
        let all = self.connections.entry((spec.group, spec.dst)).or_default();
        let number = match all.iter().position(|it| it.idle.is_some()) {
            Some(number) => number,
            None => {
                all.push(Connection {
                    source_port: spec.source_port,
                    idle: None,
                });
                all.len() - 1
            }
        };
        let connection = &mut all[number];
        Taken {
            number: number as u32,
            source_port: connection.source_port,
            idle: connection.idle.take(),
        }
    }

    /// The flow is over.
    pub fn give_back(&mut self, spec: &FlowSpec, number: u32, idle: Idle) {
        let all = self.connections.get_mut(&(spec.group, spec.dst));
        if let Some(connection) = all.and_then(|all| all.get_mut(number as usize)) {
            connection.idle = Some(idle);
        }
    }
}
