//! Why PAUSE is sent: looks through what an ingress holds. Nothing here runs unless it is asked for.

use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model};
use super::egress::discipline::Discipline;
use super::records::mirror::Part;
use super::records::recorder::{Link, Paused, Recorder};
use crate::engine::log::Log;
use crate::fabric::packet::Packet;
use crate::fabric::ports::GlobalPort;
use crate::fabric::{NodeId, PortId};
use crate::outcome::causes::{CauseRecord, Expiry, Held, Holder};
use crate::outcome::held_back::Pause;
use crate::plan::Plan;

/// What an ingress had counted when it went to XOFF.
#[derive(Clone, Copy, Debug)]
pub enum Counted<'a> {
    /// What is in egress queues, and a packet that is about to join that of the port.
    Queues(Option<(&'a Packet, PortId)>),
    /// What it has in the queue of this port, which a packet that came in by another is about to join.
    Queue(PortId, Option<(&'a Packet, PortId)>),
    /// What is on its way to egress queues, and a packet that is going to that of the port.
    Before(Option<(&'a Packet, PortId)>),
}

/// A packet that an ingress counts and that is in no egress queue yet.
struct Waiting {
    port: PortId,
    /// None if the switch itself holds it.
    to: Option<PortId>,
    packet: Packet,
}

impl<M: Model> Chassis<M> {
    /// The ingress (`from`, `class`) has gone to XOFF, or has repeated it.
    #[cold]
    #[inline(never)]
    pub fn note_xoff(
        &mut self,
        now: Time,
        from: PortId,
        class: u8,
        counted: Counted<'_>,
        plan: &Plan<'_>,
    ) {
        let index = self.index(from, class);
        let Some(mut causes) = self.causes.take_if(|causes| !causes.is_open(index)) else {
            return;
        };
        let mut holders = self.holders(&mut causes, now, (from, class), counted, plan);
        if holders.is_empty() {
            holders.push(Holder {
                flows: Held::default().into_shares(),
                ..Holder::empty(now)
            });
        }
        let taken = match counted {
            Counted::Queues(_) => self.taken(&mut causes, now, (from, class), &holders, plan),
            Counted::Queue(..) | Counted::Before(_) => None,
        };
        let held_bytes = holders.iter().map(|it| it.bytes).sum();
        let (taken, taker) = taken.unzip();
        holders.extend(taker);
        let cause = CauseRecord {
            node: self.id,
            port: from,
            priority: plan.classes.priority(class),
            time: now,
            until: now,
            paused: Time::ZERO,
            expired: false,
            held_bytes,
            dropped_packets: 0,
            holders,
            taken,
            root: None,
        };
        causes.on_xoff(index, cause, self.ingress_totals[index].dropped_packets);
        self.causes = Some(causes);
    }

    /// The ingress (`from`, `class`) has gone to XON.
    #[cold]
    #[inline(never)]
    pub(super) fn note_xon(&mut self, now: Time, from: PortId, class: u8) {
        let index = self.index(from, class);
        let dropped = self.ingress_totals[index].dropped_packets;
        if let Some(causes) = &mut self.causes {
            causes.on_xon(index, now, dropped);
        }
    }

    /// A PAUSE that has just taken effect stops the egress (`port`, `class`), or is about to.
    #[cold]
    #[inline(never)]
    pub(super) fn note_stop(&mut self, now: Time, port: PortId, class: u8, plan: &Plan<'_>) {
        let sent = plan.pause_sent(now, self.id, port);
        let index = self.index(port, class);
        let from = self.egress[index].pause.held_since();
        if let Some(causes) = &mut self.causes {
            causes.on_stop(index, from.unwrap_or(now), sent);
        }
    }

    /// The PAUSE that stopped the egress (`port`, `class`) has run out.
    #[cold]
    #[inline(never)]
    pub(super) fn note_expiry(&mut self, now: Time, port: PortId, class: u8, plan: &Plan<'_>) {
        let index = self.index(port, class);
        let (node, priority) = (self.id, plan.classes.priority(class));
        if let Some(causes) = &mut self.causes {
            causes.on_expiry(index, |sent| Expiry {
                time: now,
                node,
                port,
                priority,
                sent,
                next_sent: None,
            });
        }
    }

    /// The egress (`port`, `class`) may go on: what would have left meanwhile has waited.
    #[cold]
    #[inline(never)]
    pub(super) fn note_go(&mut self, now: Time, port: PortId, class: u8, plan: &Plan<'_>) {
        let index = self.index(port, class);
        let queue = &self.queues[index];
        let oldest = queue.packets.since().unwrap_or(now);
        let Some(causes) = &mut self.causes else {
            return;
        };
        let stop = causes.on_go(index, now, oldest, queue.tx_bytes);
        let Some(stop) = stop.filter(|stop| stop.start < now) else {
            return;
        };
        let held = causes.held(index);
        held.on_go(Pause {
            start: stop.start,
            end: now,
            sent: stop.sent,
            each: 0,
        });
        let speed = self.ports[usize::from(port)].end.transmitter.speed;
        let could_send = speed.bytes_in(now - stop.start);
        let mut sent = 0;
        let mut flows: Vec<u32> = Vec::new();
        for packet in queue.packets.iter() {
            if sent >= could_send {
                break;
            }
            sent += plan.ports.wire_bytes(packet);
            if packet.kind.is_data() && !flows.contains(&packet.flow) && packet.time < now {
                flows.push(packet.flow);
                held.part(packet.flow, packet.time.max(stop.start), 0);
            }
        }
    }

    /// Closes what is open at the end of the run, looks once more at what holds the bytes of ingresses that
    /// are still XOFF, and hands everything over.
    pub(super) fn record_causes(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        let Some(mut causes) = self.causes.take() else {
            return;
        };
        for index in 0..self.ingress.len() {
            let (port, class) = (index / self.classes, (index % self.classes) as u8);
            let place = (port as PortId, class);
            let dropped = self.ingress_totals[index].dropped_packets;
            let counted = match M::COUNTS_QUEUES {
                true => Counted::Queues(None),
                false => Counted::Before(None),
            };
            let known = causes.is_open(index);
            let holders = known.then(|| self.holders(&mut causes, now, place, counted, plan));
            if let Some(cause) = causes.on_xon(index, now, dropped) {
                cause.holders.extend(holders.into_iter().flatten());
            }
        }
        self.causes = Some(causes);
        for index in 0..self.queues.len() {
            if self.egress[index].pause.held_since().is_some() {
                let (port, class) = (index / self.classes, (index % self.classes) as u8);
                self.note_go(now, port as PortId, class, plan);
            }
        }
        if let Some(causes) = self.causes.take() {
            let (node, classes) = (self.id, self.classes);
            let place = |index: usize| {
                let class = (index % classes) as u8;
                let port = (index / classes) as PortId;
                (node, port, plan.classes.priority(class))
            };
            causes.into_log(place, log);
        }
    }

    /// What holds the bytes of an ingress now, most first.
    fn holders(
        &self,
        causes: &mut Recorder,
        now: Time,
        (from, class): (PortId, u8),
        counted: Counted<'_>,
        plan: &Plan<'_>,
    ) -> Vec<Holder> {
        let ports = 0..self.ports.len() as PortId;
        let mut before = Vec::new();
        if let Counted::Before(joining) = counted {
            let mut waiting = Vec::new();
            for port in ports.clone() {
                M::counted_before(self, port, class, plan, &mut waiting);
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
            .filter_map(|to| self.holder(causes, now, (place, to), (counted, &before), plan))
            .collect();
        let mut held = Held::default();
        let waiting = before.iter();
        for it in waiting.filter(|it| it.port == from && it.to.is_none()) {
            let bytes = u64::from(it.packet.bytes);
            held.add(it.packet.flow, bytes, bytes);
        }
        if held.bytes() > 0 {
            found.push(Holder {
                bytes: held.bytes(),
                queue_bytes: held.bytes(),
                flows: held.into_shares(),
                ..Holder::empty(now)
            });
        }
        found.sort_by_key(|it| (std::cmp::Reverse(it.bytes), it.egress));
        found
    }

    /// What is in egress queue `index`, with a packet that is about to join it.
    pub(super) fn parts<'c>(
        &self,
        causes: &'c mut Recorder,
        now: Time,
        index: usize,
        joining: Option<(&Packet, PortId)>,
    ) -> &'c [Part] {
        let mirror = causes.mirror(index);
        match &self.queues[index].packets {
            Discipline::Fifo(ring) => mirror.follow(ring),
            other => mirror.count(other.iter()),
        }
        if let Some((packet, ingress)) = joining {
            mirror.join(&Packet {
                time: now,
                ingress,
                ..*packet
            });
        }
        mirror.parts()
    }

    /// What egress `to` holds of an ingress, if anything; `before` is what each ingress counts that is not in an egress
    /// queue yet.
    fn holder(
        &self,
        causes: &mut Recorder,
        now: Time,
        ((from, class), to): ((PortId, u8), PortId),
        (counted, before): (Counted<'_>, &[Waiting]),
        plan: &Plan<'_>,
    ) -> Option<Holder> {
        let index = self.index(to, class);
        let queue = &self.queues[index];
        let mut held = Held::default();
        let going = before.iter().filter(|it| it.to == Some(to));
        for it in going.clone().filter(|it| it.port == from) {
            held.add(it.packet.flow, u64::from(it.packet.bytes), 0);
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
        let parts = self.parts(causes, now, index, joining);
        let own = |part: &&Part| in_queue && part.ingress == from;
        // A queue that has set a mark is told of even if the input has nothing in it any more.
        let is_told = matches!(counted, Counted::Queue(..)) || held.bytes() > 0;
        if !is_told && !parts.iter().any(|part| own(&part)) {
            return None;
        }
        for part in parts {
            let own = if own(&part) { part.bytes } else { 0 };
            held.add(part.flow, own, part.bytes);
        }
        let ports = parts.iter().map(|part| part.ingress);
        let inputs = distinct(ports.chain(going.clone().map(|it| it.port)));
        let there = parts.iter().map(|part| part.src);
        let senders = distinct(there.chain(going.map(|it| it.packet.src)));
        let mut paused = causes.paused(index, queue.packets.since().unwrap_or(now), now);
        let (input_bps, is_shared) = self.came(
            &mut paused,
            causes,
            now,
            (to, index),
            (&inputs, &senders),
            plan,
        );
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
    /// left from a pause before, which is then told of, from these hosts. And, if these hosts cannot send more than the
    /// link carries, whether other priorities had part of it.
    fn came(
        &self,
        paused: &mut Paused,
        causes: &mut Recorder,
        now: Time,
        (to, index): (PortId, usize),
        (inputs, senders): (&[PortId], &[NodeId]),
        plan: &Plan<'_>,
    ) -> (u64, Option<bool>) {
        let transmitters = plan.ports.transmitters_of(self.id);
        let into = |port: &PortId| transmitters[usize::from(*port)].peer_port;
        let by_ports = rates(inputs.iter().map(into), now, plan);
        let by_hosts = rates(
            senders.iter().flat_map(|host| plan.ports.of(*host)),
            now,
            plan,
        );
        let by_hosts = by_hosts.min(by_ports);
        let speed = self.ports[usize::from(to)].end.transmitter.speed;
        let shapers = self.shapers.as_ref();
        let link = Link {
            speed: shapers.map_or(speed, |it| it.slowest(to, index, speed)),
            slack_bytes: 2 * plan.mtu_wire_bytes,
        };
        if by_hosts > link.speed.rate().as_bps() {
            return (by_ports, None);
        }
        let is_shared = Some(self.is_shared(causes, to, index));
        if paused.sent.is_some() {
            return (by_ports, is_shared);
        }
        paused.sent = causes.left_from(index, now, self.queues[index].tx_bytes, link);
        match paused.sent {
            Some(_) => (by_hosts, is_shared),
            None => (by_ports, is_shared),
        }
    }

    /// Whether other classes had part of the link while what is in egress queue `index` of port `to` came together.
    fn is_shared(&self, causes: &mut Recorder, to: PortId, index: usize) -> bool {
        let first = self.index(to, 0);
        let of_port = &self.queues[first..first + self.classes];
        let all: u64 = of_port.iter().map(|queue| queue.tx_bytes).sum();
        let own = &self.queues[index];
        causes.is_shared(index, (own.tx_bytes, all), own.bytes)
    }
}

/// The rates at which ports send now, added up, in bit/s.
pub(super) fn rates(ports: impl Iterator<Item = GlobalPort>, now: Time, plan: &Plan<'_>) -> u64 {
    ports
        .map(|port| plan.speed_at(port, now).rate().as_bps())
        .sum()
}

/// Each of them once, in order.
pub(super) fn distinct<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}
