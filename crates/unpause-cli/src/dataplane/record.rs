//! Sequences of one egress port from a run of the simulator.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use unpause_protocols::units::Time;
use unpause_scenario::{Error, Run};
use unpause_sim::config::{Config, NodeId, PortId, Queueing, SwitchModel};
use unpause_sim::results::{PacketKind, PacketRecord, Results};

use super::mistake::wrong;
use super::program::PORTS;
use super::sequence::{Counts, Event, Writer};
use super::tape::{Place, Tape};

/// Identifies a packet: kind, sender, receiver, flow, number.
type Key = (u8, NodeId, NodeId, u32, u32);

fn key(packet: &PacketRecord) -> Key {
    let PacketRecord {
        kind,
        src,
        dst,
        flow,
        seq,
        ..
    } = *packet;
    (kind as u8, src, dst, flow, seq)
}

/// A packet at the switch: when, by which of its ports, and as it came or left.
struct Seen<'a> {
    at: Time,
    ingress: PortId,
    packet: &'a PacketRecord,
}

/// The events of one priority of the port.
struct Priority<'a> {
    place: Place,
    arrivals: Vec<Seen<'a>>,
    departures: Vec<Seen<'a>>,
    pauses: Vec<(Time, Event)>,
    /// Departures after this are left out: packets of flows that never left by this port before the end of
    /// the run, and so are not known to wait for it, may have been waiting.
    until: Time,
}

/// Runs a scheme's scenario and writes what happened at the egress port named `NODE->PEER`, `start` later.
pub fn record(run: &Run, port: &str, start: Time, out: &Path) -> Result<Counts, Error> {
    let (node, egress) = find(run, port)?;
    let mut config = run.config.clone();
    if config.switch.model != SwitchModel::SharedBuffer || config.switch.queueing != Queueing::Fifo
    {
        return Err(wrong(
            "a sequence needs a shared-buffer switch with FIFO queues".into(),
            "other switches keep packets outside the egress queue, or in another order",
        ));
    }
    let inward = upstream(&config, node);
    config.probes.packets = inward.iter().map(|(from, _)| *from).collect();
    config.probes.packets.push((node, egress));
    config.probes.packets.sort_unstable();
    config.probes.packets.dedup();
    config.probes.packet_flows = Vec::new();
    config.probes.pauses = true;
    let results = unpause_sim::run_threads(&config, 1, &mut |_| ControlFlow::Continue(()))
        .map_err(|error| wrong(error.to_string(), ""))?;

    let control = config.host.control_priority;
    let writer = Writer::create(out)?;
    let mut tape = Tape::new(&config.scheme.congestion_point, control, writer);
    for priority in (0..8).filter(|it| *it != control) {
        let history = history(&results, &inward, (node, egress), priority, port)?;
        if let Some(history) = history {
            tape.run_idle(start, history.place)?;
            play(&history, start, &mut tape)?;
        }
    }
    tape.finish()
}

fn find(run: &Run, port: &str) -> Result<(NodeId, PortId), Error> {
    let names = &run.names;
    let refuse = |what: String, help: &str| wrong(format!("port `{port}`: {what}"), help);
    let Some((from, to)) = port.split_once("->") else {
        return Err(refuse(
            "it is not a port".into(),
            "write SWITCH->PEER, such as S0->H0",
        ));
    };
    let node = names.nodes.iter().position(|name| name == from);
    let node = node.ok_or_else(|| refuse(format!("there is no node `{from}`"), ""))?;
    let peers = &names.peers[node];
    let index = peers.iter().position(|peer| names.name(*peer) == to);
    let index = index.ok_or_else(|| {
        let peers: Vec<&str> = peers.iter().map(|peer| names.name(*peer)).collect();
        refuse(
            format!("`{from}` has no link to `{to}`"),
            &format!("it has links to {}", peers.join(", ")),
        )
    })?;
    if peers.len() < 2 {
        return Err(refuse(
            format!("`{from}` is a host"),
            "hosts have no congestion point",
        ));
    }
    if index >= PORTS {
        return Err(refuse(
            format!(
                "it is number {index} of `{from}`; the programs have registers for {PORTS} ports"
            ),
            "",
        ));
    }
    Ok((node as NodeId, index as PortId))
}

/// Ports that lead to `node`, each with the port of `node` that it leads to.
fn upstream(config: &Config, node: NodeId) -> Vec<((NodeId, PortId), PortId)> {
    let mut next = vec![0; config.fabric.nodes.len()];
    let mut found = Vec::new();
    for link in &config.fabric.links {
        let (a, b) = (next[link.a as usize], next[link.b as usize]);
        next[link.a as usize] += 1;
        next[link.b as usize] += 1;
        if link.a == node {
            found.push(((link.b, b), a));
        }
        if link.b == node {
            found.push(((link.a, a), b));
        }
    }
    found
}

/// The events of a priority of a port, if it sent any packet.
fn history<'a>(
    results: &'a Results,
    inward: &[((NodeId, PortId), PortId)],
    (node, egress): (NodeId, PortId),
    priority: u8,
    name: &str,
) -> Result<Option<Priority<'a>>, Error> {
    let packets = || {
        let all = results.packets.iter();
        all.filter(|it| it.priority == priority && it.kind != PacketKind::Pfc)
    };
    let departures: Vec<Seen<'_>> = packets()
        .filter(|packet| (packet.node, packet.port) == (node, egress))
        .map(|packet| Seen {
            at: packet.time,
            ingress: 0,
            packet,
        })
        .collect();
    if departures.is_empty() {
        return Ok(None);
    }
    // ECMP keeps the packets of a flow on one path.
    let flow = |packet: &PacketRecord| {
        let (kind, src, dst, flow, _) = key(packet);
        (kind, src, dst, flow)
    };
    let flows: BTreeSet<_> = departures
        .iter()
        .map(|departure| flow(departure.packet))
        .collect();
    let mut arrivals: Vec<Seen<'_>> = packets()
        .filter(|packet| flows.contains(&flow(packet)))
        .filter_map(|packet| {
            let from = (packet.node, packet.port);
            let (_, ingress) = inward.iter().find(|(port, _)| *port == from)?;
            Some(Seen {
                at: packet.arrival,
                ingress: *ingress,
                packet,
            })
        })
        .collect();
    arrivals.sort_by_key(|arrival| (arrival.at, arrival.ingress));
    for (departure, arrival) in departures.iter().zip(&arrivals) {
        if key(departure.packet) != key(arrival.packet) {
            return Err(wrong(
                format!("port `{name}` lost a packet that came at {}", arrival.at),
                "a sequence needs queues that drop nothing: more buffer, or a lossless priority",
            ));
        }
    }
    let here = results
        .pauses
        .iter()
        .filter(|pause| (pause.node, pause.port, pause.priority) == (node, egress, priority));
    let pauses = here.flat_map(|it| [(it.obeyed, Event::Pause), (it.end, Event::Resume)]);
    Ok(Some(Priority {
        place: (egress, priority),
        until: arrivals[departures.len().min(arrivals.len()) - 1].at,
        pauses: pauses.collect(),
        arrivals,
        departures,
    }))
}

/// Puts what happened to a priority onto the tape, in the simulator's order of simultaneous events: arrivals by
/// port, departures, PAUSE. Checks that the marks are those that the simulator has set.
fn play(history: &Priority<'_>, start: Time, tape: &mut Tape) -> Result<(), Error> {
    let Priority {
        place,
        arrivals,
        departures,
        pauses,
        until,
    } = history;
    let (mut came, mut left, mut changed) = (0, 0, 0);
    let mut paused = false;
    loop {
        let next = [
            arrivals.get(came).map(|arrival| arrival.at),
            departures.get(left).map(|departure| departure.at),
            pauses.get(changed).map(|pause| pause.0),
        ];
        let Some(now) = next.into_iter().flatten().min().filter(|now| now <= until) else {
            return Ok(());
        };
        let mut depart = |tape: &mut Tape, came: usize| -> Result<bool, Error> {
            if left >= came
                || departures
                    .get(left)
                    .is_none_or(|departure| departure.at != now)
            {
                return Ok(false);
            }
            let mark = tape.depart(start + now, *place)?;
            let simulated = departures[left].packet.ce && !arrivals[left].packet.ce;
            if start == Time::ZERO && ecn(arrivals[left].packet) == 2 && mark != Some(simulated) {
                return Err(wrong(
                    format!("packet {left} left at {now}: the simulator marked otherwise"),
                    "simultaneous events were taken in another order; record another seed or port",
                ));
            }
            left += 1;
            Ok(true)
        };
        while let Some(arrival) = arrivals.get(came).filter(|arrival| arrival.at == now) {
            let packet = arrival.packet;
            tape.arrive(start + now, *place, u32::from(packet.bytes), ecn(packet));
            came += 1;
            // A free port sends what comes before it looks at other ports.
            if !paused && tape.waiting(*place) == 1 {
                depart(tape, came)?;
            }
        }
        while !paused && depart(tape, came)? {}
        while let Some((_, event)) = pauses.get(changed).filter(|pause| pause.0 == now) {
            paused = *event == Event::Pause;
            tape.pause(start + now, *place, *event)?;
            changed += 1;
        }
        while !paused && depart(tape, came)? {}
    }
}

/// The two bits of a packet that comes.
fn ecn(packet: &PacketRecord) -> u8 {
    match (packet.ect, packet.ce) {
        (false, _) => 0,
        (true, true) => 3,
        (true, false) => 2,
    }
}
