//! Why PAUSE is sent: looks through what an ingress holds. Nothing here runs unless it is asked for.

use std::cmp::Reverse;

use unpause_protocols::units::Time;

use super::outputs::Outputs;
use super::records::mirror::Part;
use super::records::recorder::{Link, Paused, Recorder};
use super::state::{Chassis, Model};
use crate::fabric::packet::Packet;
use crate::fabric::ports::GlobalPort;
use crate::fabric::{NodeId, PortId};
use crate::outcome::causes::{CauseRecord, Held, Holder, Taken};
use crate::plan::Plan;

/// Packets that an ingress had counted when it went to XOFF.
#[derive(Clone, Copy, Debug)]
pub enum Counted<'a> {
    /// Those in egress queues, and a packet that is about to join the queue of the port.
    Queues(Option<(&'a Packet, PortId)>),
    /// Its own in the queue of this port, which a packet that came in by another is about to join.
    Queue(PortId, Option<(&'a Packet, PortId)>),
    /// Those on their way to egress queues, and a packet that goes to the queue of the port.
    Before(Option<(&'a Packet, PortId)>),
}

/// A packet that an ingress counts and that is in no egress queue yet.
struct Waiting {
    port: PortId,
    /// None if the switch itself holds it.
    to: Option<PortId>,
    packet: Packet,
}

/// A look through a switch at one instant, to see what holds the bytes of an ingress.
///
/// It is made when an ingress has gone to XOFF, and at the end of a run for those that still are. The recorder has been taken out of
/// the switch for that long: its copies of queues are brought up to date, and nothing in the switch changes.
#[derive(Debug)]
pub struct Inspection<'a, 'p, M: Model> {
    switch: &'a Chassis<M>,
    outputs: &'a Outputs,
    causes: &'a mut Recorder,
    now: Time,
    plan: &'a Plan<'p>,
}

impl<'a, 'p, M: Model> Inspection<'a, 'p, M> {
    /// Of `switch`, whose recorder is `causes`.
    pub fn new(
        switch: &'a Chassis<M>,
        causes: &'a mut Recorder,
        now: Time,
        plan: &'a Plan<'p>,
    ) -> Self {
        Self {
            switch,
            outputs: &switch.outputs,
            causes,
            now,
            plan,
        }
    }

    /// Why the ingress (`from`, `class`), which had `counted` that, has gone to XOFF.
    pub fn cause(&mut self, (from, class): (PortId, u8), counted: Counted<'_>) -> CauseRecord {
        let now = self.now;
        let mut holders = self.holders((from, class), counted);
        if holders.is_empty() {
            holders.push(Holder {
                flows: Held::default().into_shares(),
                ..Holder::empty(now)
            });
        }
        let taken = match counted {
            Counted::Queues(_) => self.taken((from, class), &holders),
            Counted::Queue(..) | Counted::Before(_) => None,
        };
        let held_bytes = holders.iter().map(|holder| holder.bytes).sum();
        let (taken, taker) = taken.unzip();
        holders.extend(taker);
        CauseRecord {
            node: self.switch.id,
            port: from,
            priority: self.plan.classes.priority(class),
            time: now,
            until: now,
            paused: Time::ZERO,
            expired: false,
            held_bytes,
            dropped_packets: 0,
            holders,
            taken,
            root: None,
        }
    }

    /// Holders of the bytes of an ingress now, the largest first.
    pub fn holders(&mut self, (from, class): (PortId, u8), counted: Counted<'_>) -> Vec<Holder> {
        let ports = 0..self.outputs.ports.len() as PortId;
        let mut before = Vec::new();
        if let Counted::Before(joining) = counted {
            let mut waiting = Vec::new();
            for port in ports.clone() {
                M::counted_before(self.switch, port, class, self.plan, &mut waiting);
                let found = waiting.drain(..);
                before.extend(found.map(|(to, packet)| Waiting { port, to, packet }));
            }
            before.extend(joining.map(|(packet, to)| Waiting {
                port: from,
                to: Some(to),
                packet: *packet,
            }));
        }
        let place = (from, class);
        let mut found: Vec<Holder> = ports
            .filter_map(|to| self.holder((place, to), (counted, &before)))
            .collect();
        let mut held = Held::default();
        let waiting = before.iter();
        for waiting in waiting.filter(|waiting| waiting.port == from && waiting.to.is_none()) {
            let bytes = u64::from(waiting.packet.bytes);
            held.add(waiting.packet.flow, bytes, bytes);
        }
        if held.bytes() > 0 {
            found.push(Holder {
                bytes: held.bytes(),
                queue_bytes: held.bytes(),
                flows: held.into_shares(),
                ..Holder::empty(self.now)
            });
        }
        found.sort_by_key(|holder| (Reverse(holder.bytes), holder.egress));
        found
    }

    /// Content of egress queue `index`, with a packet that is about to join it.
    fn parts(&mut self, index: usize, joining: Option<(&Packet, PortId)>) -> &[Part] {
        let mirror = self.causes.look(index, &self.outputs.queues[index].packets);
        if let Some((packet, ingress)) = joining {
            mirror.join(&Packet {
                time: self.now,
                ingress,
                ..*packet
            });
        }
        mirror.parts()
    }

    /// Bytes of an ingress that egress `to` holds, if any; `before` are those that each ingress counts that are not in an egress
    /// queue yet.
    fn holder(
        &mut self,
        ((from, class), to): ((PortId, u8), PortId),
        (counted, before): (Counted<'_>, &[Waiting]),
    ) -> Option<Holder> {
        let (now, index) = (self.now, self.outputs.index(to, class));
        let queue = &self.outputs.queues[index];
        let mut held = Held::default();
        let going = before.iter().filter(|waiting| waiting.to == Some(to));
        for waiting in going.clone().filter(|waiting| waiting.port == from) {
            held.add(waiting.packet.flow, u64::from(waiting.packet.bytes), 0);
        }
        let (in_queue, joining) = match counted {
            Counted::Queues(joining) => {
                let joining = joining.filter(|(_, port)| *port == to);
                (true, joining.map(|(packet, _)| (packet, from)))
            }
            Counted::Queue(port, joining) => (port == to, joining.filter(|_| port == to)),
            Counted::Before(_) => (false, None),
        };
        if held.bytes() == 0 && (!in_queue || queue.packets.is_empty() && joining.is_none()) {
            return None;
        }
        let parts = self.parts(index, joining);
        let own = |part: &&Part| in_queue && part.ingress == from;
        // A queue that has set a mark is named even if the input has nothing in it any more.
        let is_named = matches!(counted, Counted::Queue(..)) || held.bytes() > 0;
        if !is_named && !parts.iter().any(|part| own(&part)) {
            return None;
        }
        for part in parts {
            let own = if own(&part) { part.bytes } else { 0 };
            held.add(part.flow, own, part.bytes);
        }
        let ports = parts.iter().map(|part| part.ingress);
        let inputs = distinct(ports.chain(going.clone().map(|waiting| waiting.port)));
        let there = parts.iter().map(|part| part.src);
        let senders = distinct(there.chain(going.map(|waiting| waiting.packet.src)));
        let oldest = queue.packets.since().unwrap_or(now);
        let mut paused = self.causes.paused(index, oldest, now);
        let (input_bps, is_shared) = self.input_rate(&mut paused, (to, index), (&inputs, &senders));
        Some(Holder {
            at: now,
            egress: Some(to),
            bytes: held.bytes(),
            queue_bytes: held.queue_bytes(),
            inputs: inputs.len() as u32,
            senders: senders.len() as u32,
            input_bps,
            hosts_fit: is_shared.is_some(),
            is_shared: is_shared == Some(true),
            is_paused: paused.now,
            paused: paused.time,
            sent: paused.sent,
            paused_by: None,
            flows: held.into_shares(),
        })
    }

    /// How fast packets could come into egress queue `index` of port `to`, in bit/s: by these ports or, if they are
    /// left from a pause before, which is then noted in `paused`, from these hosts. And, if these hosts cannot send more than the
    /// link carries, whether other priorities had part of it.
    fn input_rate(
        &mut self,
        paused: &mut Paused,
        (to, index): (PortId, usize),
        (inputs, senders): (&[PortId], &[NodeId]),
    ) -> (u64, Option<bool>) {
        let (now, plan) = (self.now, self.plan);
        let by_ports = self.rate_of_links(inputs);
        let ports = senders.iter().flat_map(|host| plan.ports.of(*host));
        let by_hosts = rates(ports, now, plan).min(by_ports);
        let speed = self.outputs.ports[usize::from(to)].end.transmitter.speed;
        let shapers = self.outputs.shapers.as_ref();
        let link = Link {
            speed: shapers.map_or(speed, |shapers| shapers.slowest(to, index, speed)),
            slack_bytes: 2 * plan.mtu_wire_bytes,
        };
        if by_hosts > link.speed.rate().as_bps() {
            return (by_ports, None);
        }
        let is_shared = Some(self.is_shared(to, index));
        if paused.sent.is_some() {
            return (by_ports, is_shared);
        }
        let tx_bytes = self.outputs.queues[index].tx_bytes;
        paused.sent = self.causes.left_from(index, now, tx_bytes, link);
        match paused.sent {
            Some(_) => (by_hosts, is_shared),
            None => (by_ports, is_shared),
        }
    }

    /// Whether other classes had part of the link while what is in egress queue `index` of port `to` came together.
    fn is_shared(&mut self, to: PortId, index: usize) -> bool {
        let (all, own) = (self.outputs.sent_by(to), &self.outputs.queues[index]);
        self.causes.is_shared(index, (own.tx_bytes, all), own.bytes)
    }

    /// Where XOFF of ingress (`from`, `class`) moves with free memory, and would be at twice what the ingress holds or
    /// more if only the queue that holds most of that were there: the egress queue with the most memory, and what it
    /// holds. `holders` are those of the ingress, most first.
    fn taken(
        &mut self,
        (from, class): (PortId, u8),
        holders: &[Holder],
    ) -> Option<(Taken, Holder)> {
        let queues = &self.outputs.queues;
        let own = self.outputs.index(holders.first()?.egress?, class);
        let held: u64 = holders.iter().map(|holder| holder.bytes).sum();
        let others = || (0..queues.len()).filter(|index| *index != own);
        let free: u64 = others().map(|index| queues[index].bytes).sum();
        let xoff = M::xoff_with(self.switch, self.outputs.index(from, class), free)?;
        let share = 1.0 - held as f64 / xoff.max(1) as f64;
        // Of equal ones the first.
        let largest = others().max_by_key(|index| (queues[*index].bytes, Reverse(*index)))?;
        if share < 0.5 || queues[largest].bytes <= queues[own].bytes {
            return None;
        }
        let (port, _) = self.outputs.place(largest);
        let holder = self.taker((port, largest));
        Some((Taken { port, share }, holder))
    }

    /// Egress queue `index` of `port` as a holder, with no bytes of the ingress in question.
    fn taker(&mut self, (port, index): (PortId, usize)) -> Holder {
        let parts = self.parts(index, None);
        let mut held = Held::default();
        for part in parts {
            held.add(part.flow, 0, part.bytes);
        }
        let inputs = distinct(parts.iter().map(|part| part.ingress));
        let senders = distinct(parts.iter().map(|part| part.src)).len();
        Holder {
            egress: Some(port),
            queue_bytes: held.queue_bytes(),
            inputs: inputs.len() as u32,
            input_bps: self.rate_of_links(&inputs),
            senders: senders as u32,
            flows: held.into_shares(),
            ..Holder::empty(self.now)
        }
    }

    /// The rates at which the peers of these ports send now, added up, in bit/s.
    fn rate_of_links(&self, ports: &[PortId]) -> u64 {
        let transmitters = self.plan.ports.transmitters_of(self.switch.id);
        let peers = ports
            .iter()
            .map(|port| transmitters[usize::from(*port)].peer_port);
        rates(peers, self.now, self.plan)
    }
}

/// The rates at which ports send now, added up, in bit/s.
fn rates(ports: impl Iterator<Item = GlobalPort>, now: Time, plan: &Plan<'_>) -> u64 {
    ports
        .map(|port| plan.speed_at(port, now).rate().as_bps())
        .sum()
}

/// Each of them once, in order.
fn distinct<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}
