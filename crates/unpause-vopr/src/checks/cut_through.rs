//! The frames that cut-through switches send.

use std::collections::BTreeMap;

use unpause_protocols::units::{LinkSpeed, Time};
use unpause_sim::config::{Config, NodeId, PortId};
use unpause_sim::results::{PacketKind, PacketRecord, Results};

use super::facts::{Answer, Port, is_host, ports, records_all};
use super::service::{Name, name};

/// How long the bytes last that come behind the header that switches ask for; nothing if they ask for all.
pub(super) fn behind_header(config: &Config, packet: &PacketRecord, speed: LinkSpeed) -> Time {
    let header = config.switch.cut_through_bytes.unwrap_or(u32::MAX);
    speed.time_for(u64::from(packet.bytes).saturating_sub(header.into()))
}

/// A frame that has come to a switch.
#[derive(Clone, Copy, Debug)]
struct Come {
    taken: Time,
    last_bit: Time,
}

/// No frame leaves a switch before that has taken it, and none runs dry: its last bit has come when it is to be sent.
pub fn cut_through(config: &Config, results: &Results) -> Answer {
    if !records_all(config) {
        return Ok(());
    }
    let ports: BTreeMap<(NodeId, PortId), Port> = ports(config)
        .into_iter()
        .map(|port| ((port.node, port.number), port))
        .collect();
    let lasts = |packet: &PacketRecord, port: &Port| {
        let bytes = u64::from(packet.bytes) + u64::from(config.fabric.framing_bytes);
        port.speed.time_for(bytes)
    };
    // Nothing of what comes or leaves twice under the same name.
    let mut came: BTreeMap<(NodeId, Name), Option<Come>> = BTreeMap::new();
    let mut left: BTreeMap<(NodeId, Name), Option<&PacketRecord>> = BTreeMap::new();
    for packet in &results.packets {
        // Packets that switches create may look like others that pass.
        if matches!(
            packet.kind,
            PacketKind::Pfc | PacketKind::Cnm | PacketKind::Trimmed
        ) {
            continue;
        }
        let port = &ports[&(packet.node, packet.port)];
        let come = Come {
            taken: packet.arrival,
            last_bit: packet.time + lasts(packet, port) + Time::from_ps(port.delay_ps),
        };
        let name = name(packet);
        came.entry((port.peer, name))
            .and_modify(|it| *it = None)
            .or_insert(Some(come));
        left.entry((packet.node, name))
            .and_modify(|it| *it = None)
            .or_insert(Some(packet));
    }
    for (key, packet) in left {
        let come = came.get(&key).copied().flatten();
        let (Some(packet), Some(come), false) = (packet, come, is_host(config, key.0)) else {
            continue;
        };
        let port = &ports[&(packet.node, packet.port)];
        let sent = packet.time + lasts(packet, port);
        if packet.time < come.taken || sent < come.last_bit {
            return Err(format!(
                "a {:?} that ({}, {}) has taken at {}, and whose last bit comes at {}, is sent from {} to {sent}",
                packet.kind, packet.node, packet.port, come.taken, come.last_bit, packet.time
            ));
        }
    }
    Ok(())
}
