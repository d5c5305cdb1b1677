//! Packet by packet, of ports whose packets are recorded.

use std::collections::BTreeMap;

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeId, PortId};
use unpause_sim::results::{PacketKind, PacketRecord, PauseRecord, Results};

use super::cut_through;
use super::facts::{Answer, Port, is_host, ports, queue_of, sprays};

type Place = (NodeId, PortId);

fn by_port(results: &Results) -> BTreeMap<Place, Vec<&PacketRecord>> {
    let mut all: BTreeMap<Place, Vec<&PacketRecord>> = BTreeMap::new();
    for packet in &results.packets {
        all.entry((packet.node, packet.port))
            .or_default()
            .push(packet);
    }
    all
}

/// Transmissions take their time and do not overlap, none starts under PAUSE, which holds from when the one under
/// way has ended, only ECT packets are marked; where everything is recorded, records are as many as are counted.
pub fn packets(config: &Config, results: &Results) -> Answer {
    let recorded = by_port(results);
    let all = ports(config);
    for port in &all {
        if let Some(packets) = recorded.get(&(port.node, port.number)) {
            link(port, packets, config)?;
            paused(packets, results, config)?;
            held(port, packets, results, config)?;
        }
    }
    for packet in &results.packets {
        if packet.ce && !packet.ect {
            return Err(format!(
                "a packet of flow {} is CE but not ECT",
                packet.flow
            ));
        }
        if packet.time >= results.totals.simulated {
            return Err(format!("a packet leaves at {}, after the end", packet.time));
        }
    }
    if config.probes.packet_flows.is_empty() {
        counted(config, results)?;
    }
    Ok(())
}

fn link(port: &Port, packets: &[&PacketRecord], config: &Config) -> Answer {
    let mut free = 0;
    for packet in packets {
        let bytes = u64::from(packet.bytes) + u64::from(config.fabric.framing_bytes);
        let lasts = port.speed.time_for(bytes).as_ps();
        let start = packet.time.as_ps();
        if start < free {
            return Err(format!(
                "({}, {}) starts a {:?} at {start} ps and is busy up to {free} ps",
                port.node, port.number, packet.kind
            ));
        }
        free = start + lasts;
        let last_bit = Time::from_ps(free + port.delay_ps);
        let earliest = if is_host(config, port.peer) || packet.kind == PacketKind::Pfc {
            last_bit
        } else {
            last_bit - cut_through::behind_header(config, packet, port.speed)
        };
        if !(earliest..=last_bit).contains(&packet.arrival) {
            return Err(format!(
                "a {:?} of ({}, {}) leaves at {start} ps and arrives at {}",
                packet.kind, port.node, port.number, packet.arrival
            ));
        }
    }
    Ok(())
}

/// No packet starts while its queue is paused.
fn paused(packets: &[&PacketRecord], results: &Results, config: &Config) -> Answer {
    let is_ack = |kind: PacketKind| matches!(kind, PacketKind::Ack | PacketKind::Nak);
    for pause in &results.pauses {
        let at_host = is_host(config, pause.node);
        let own = at_host && !config.host.pause_acks;
        let queue = |packet: &PacketRecord| queue_of(config, packet.node, packet.priority);
        let within = packets.iter().find(|packet| {
            (packet.node, packet.port, queue(packet)) == (pause.node, pause.port, pause.priority)
                && packet.kind != PacketKind::Pfc
                && !(own && is_ack(packet.kind))
                && packet.time > pause.obeyed
                && packet.time < pause.end
        });
        if let Some(packet) = within.filter(|_| config.probes.pauses) {
            return Err(format!(
                "a {:?} leaves ({}, {}) at {}, paused from {} to {}",
                packet.kind, packet.node, packet.port, packet.time, pause.obeyed, pause.end
            ));
        }
    }
    Ok(())
}

/// A PAUSE holds its priority from when it takes effect, or from the end of the frame under way then.
fn held(port: &Port, packets: &[&PacketRecord], results: &Results, config: &Config) -> Answer {
    // Frames of other flows may have been under way.
    // Nor are those recorded that a link sends again.
    if !config.probes.packet_flows.is_empty() || config.switch.retry.is_some() {
        return Ok(());
    }
    let place = (port.node, port.number);
    let of_port = |pause: &&PauseRecord| (pause.node, pause.port) == place;
    for pause in results.pauses.iter().filter(of_port) {
        let end = |packet: &&&PacketRecord| {
            let bytes = u64::from(packet.bytes) + u64::from(config.fabric.framing_bytes);
            packet.time + port.speed.time_for(bytes)
        };
        let of = |until: fn(Time, Time) -> bool| {
            let started = packets.partition_point(|packet| until(packet.time, pause.obeyed));
            let busy = packets[..started].last().as_ref().map(end);
            busy.map_or(pause.obeyed, |end| end.max(pause.obeyed))
                .min(pause.end)
        };
        // One that starts as PAUSE takes effect may have started before or after that.
        let (least, most) = (of(|at, obeyed| at < obeyed), of(|at, obeyed| at <= obeyed));
        if pause.start != least && pause.start != most {
            return Err(format!(
                "{pause:?} does not hold from the end of the frame under way, {least} or {most}"
            ));
        }
    }
    Ok(())
}

/// Rows of `ports` count what was recorded.
fn counted(config: &Config, results: &Results) -> Answer {
    let mut sent: BTreeMap<(NodeId, PortId, u8), (u64, u64)> = BTreeMap::new();
    for packet in results.packets.iter().filter(|p| p.kind != PacketKind::Pfc) {
        let queue = queue_of(config, packet.node, packet.priority);
        let place = (packet.node, packet.port, queue);
        let count = sent.entry(place).or_default();
        count.0 += 1;
        count.1 += u64::from(packet.bytes) + u64::from(config.fabric.framing_bytes);
    }
    for row in &results.ports {
        let place = (row.node, row.port, row.priority);
        if config.probes.packets.contains(&(row.node, row.port)) {
            let recorded = sent.get(&place).copied().unwrap_or_default();
            if recorded != (row.tx_packets, row.tx_bytes) {
                return Err(format!(
                    "{place:?} sent {} packets and {} B, recorded are {recorded:?}",
                    row.tx_packets, row.tx_bytes
                ));
            }
        }
    }
    Ok(())
}

/// Packets of a flow and priority arrive in the order in which they were sent, unless each may go
/// its own way.
pub fn order(config: &Config, results: &Results) -> Answer {
    if sprays(config) {
        return Ok(());
    }
    let recorded = by_port(results);
    let mut sent: BTreeMap<(u32, u8), Vec<u32>> = BTreeMap::new();
    let mut arrived = sent.clone();
    let has = |place: Place| config.probes.packets.contains(&place);
    for port in ports(config) {
        let place = (port.node, port.number);
        if !has(place) {
            continue;
        }
        for packet in recorded.get(&place).into_iter().flatten() {
            let list = match packet {
                packet if !packet.kind.is_data() => continue,
                packet if packet.src == port.node => &mut sent,
                packet if packet.dst == port.peer && is_host(config, port.peer) => &mut arrived,
                _ => continue,
            };
            let key = (packet.flow, packet.priority);
            list.entry(key).or_default().push(packet.seq);
        }
    }
    for (key, numbers) in &arrived {
        // Both ends must be recorded.
        let Some(of_sender) = sent.get(key) else {
            continue;
        };
        let mut rest = of_sender.iter();
        if let Some(number) = numbers
            .iter()
            .find(|number| !rest.any(|sent| sent == *number))
        {
            return Err(format!(
                "packet {number} of flow {} (priority {}) arrives out of order, or twice",
                key.0, key.1
            ));
        }
    }
    Ok(())
}
