//! The output side of a switch.

use rand_core::Rng;
use unpause_protocols::congestion_control::Hop;
use unpause_protocols::congestion_point;
use unpause_protocols::congestion_point::pint::Meter;
use unpause_protocols::scheduler::Scheduler;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::{LinkSpeed, Time};

use super::egress::ready::Ready;
use super::egress::shaper::Shapers;
use super::egress::{Egress, Port, Queue, scheduler, watches_inputs};
use crate::engine::heap::Heap;
use crate::engine::window::Window;
use crate::fabric::packet::{Kind, Packet};
use crate::fabric::ports::Transmitter;
use crate::fabric::{NodeId, PortId};
use crate::link::pause::Place;
use crate::plan::{Overrides, Plan};

/// The ports of a switch, their queues, and what decides when a packet leaves.
///
/// The chassis puts packets into queues and takes them out when a port is free; the methods here are what it needs for that and
/// knows nothing of PAUSE frames or of the switch model. `queues` and `egress` are indexed by [`Outputs::index`].
#[derive(Debug, Show)]
pub struct Outputs {
    /// Classes of each port.
    #[show(skip)]
    pub classes: usize,
    /// Egress ports.
    #[show(nested)]
    pub ports: Vec<Port>,
    /// Egress queues: by port, then class.
    #[show(nested)]
    pub queues: Vec<Queue>,
    /// The rest of each.
    #[show(nested)]
    pub egress: Vec<Egress>,
    /// Ports that become free.
    #[show(nested)]
    pub ready: Ready,
    /// PINT's meter of each port; none without PINT.
    #[show(refuse_if = !meters.is_empty())]
    pub meters: Vec<Meter>,
    /// By port; none where the most urgent class always goes first.
    #[show(refuse_if = !schedulers.is_empty())]
    pub schedulers: Vec<Scheduler>,
    /// Shapers of ports and queues, if there are any.
    #[show(refuse_if = shapers.is_some())]
    pub shapers: Option<Box<Shapers>>,
    /// Links have credits or ports shapers: what leaves is looked at.
    #[show(skip)]
    pub looks_at_leaving: bool,
    /// Links have credits.
    #[show(skip)]
    pub has_link_credits: bool,
    /// Bit c set: no packet of class c goes past its queue without a look, for links have credits, or ports or priorities have
    /// settings of their own.
    #[show(skip)]
    looked_at: u8,
    /// Congestion points stand at inputs, and are asked about every packet.
    #[show(skip)]
    watches_inputs: bool,
    /// Most packets in an egress queue of a lossy class.
    #[show(skip)]
    lossy_packets: u32,
}

impl Outputs {
    /// The outputs of switch `id`, with empty queues.
    pub fn new<R: Rng>(id: NodeId, plan: &Plan<'_>, rng: &mut R) -> Self {
        let transmitters = plan.ports.transmitters_of(id);
        let (ports, overrides) = (transmitters.len(), plan.overrides(id));
        let looked_at = looked_at(&overrides, plan);
        let classes = plan.classes.count();
        let mut queues = Vec::with_capacity(ports * classes);
        let mut egress = Vec::with_capacity(ports * classes);
        for (number, transmitter) in (0..).zip(transmitters) {
            let link = (transmitter.speed.rate(), transmitter.peer);
            for class in 0..classes as u8 {
                let rest = Egress::new(class, (&overrides, number), link, plan, rng);
                let looks = looked_at >> class & 1 == 1;
                queues.push(Queue::new(ports, &rest.congestion_point, looks, plan));
                egress.push(rest);
            }
        }
        let has_link_credits = plan.config.switch.cbfc.is_some();
        let shapers = Shapers::of(id, plan);
        Self {
            classes,
            ports: transmitters.iter().map(Port::new).collect(),
            queues,
            egress,
            ready: Ready::default(),
            meters: meters(transmitters, plan),
            schedulers: scheduler::schedulers(ports, plan),
            looks_at_leaving: has_link_credits || shapers.is_some(),
            shapers,
            has_link_credits,
            looked_at,
            watches_inputs: watches_inputs(&plan.config.scheme.congestion_point),
            lossy_packets: plan.config.switch.lossy_queue_packets.unwrap_or(u32::MAX),
        }
    }

    /// The place of (`port`, `class`) among queues and ingress.
    #[inline]
    pub fn index(&self, port: PortId, class: u8) -> usize {
        port as usize * self.classes + class as usize
    }

    /// The port and the class of place `index`.
    #[inline]
    pub fn place(&self, index: usize) -> (PortId, u8) {
        let (port, class) = (index / self.classes, index % self.classes);
        (port as PortId, class as u8)
    }

    /// The queues of a port, by class.
    pub fn queues_of(&self, port: PortId) -> &[Queue] {
        let first = self.index(port, 0);
        &self.queues[first..first + self.classes]
    }

    /// Frame bytes, with framing, that have left by a port.
    pub fn sent_by(&self, port: PortId) -> u64 {
        let queues = self.queues_of(port).iter();
        queues.map(|queue| queue.tx_bytes).sum()
    }

    /// Bytes that wait for a port.
    pub fn waiting_for(&self, port: PortId) -> u64 {
        let queues = self.queues_of(port).iter();
        queues.map(|queue| queue.bytes).sum()
    }

    /// True if egress queue `index`, of a lossy class, may hold another packet.
    #[inline]
    pub fn has_place(&self, index: usize) -> bool {
        self.queues[index].packets.len() < self.lossy_packets
    }

    /// True if no packet may join a queue.
    #[inline]
    pub fn is_closed(&self, port: PortId, class: u8) -> bool {
        self.ports[usize::from(port)].closed >> class & 1 == 1
    }

    /// The wire behind `port` has another speed from the next frame on.
    pub fn set_speed(&mut self, port: PortId, speed: LinkSpeed) {
        self.ports[usize::from(port)].end.transmitter.speed = speed;
        if let Some(meter) = self.meters.get_mut(usize::from(port)) {
            meter.set_link_rate(speed.rate());
        }
    }

    /// The wire behind `port` fails or returns: its queues are closed or opened.
    pub fn set_link(&mut self, port: PortId, up: bool) {
        self.ports[usize::from(port)].down = !up;
        for class in 0..self.classes as u8 {
            self.let_join(port, class);
        }
    }

    /// The watchdog closes a queue, or opens it again.
    pub fn set_shut(&mut self, port: PortId, class: u8, shut: bool) {
        let shuts = &mut self.ports[usize::from(port)].shut;
        *shuts = *shuts & !(1 << class) | u8::from(shut) << class;
        self.let_join(port, class);
    }

    /// Lets packets join a queue, or none: the wire has failed, or the watchdog drops them.
    fn let_join(&mut self, port: PortId, class: u8) {
        let own = &mut self.ports[usize::from(port)];
        own.closed = if own.down { u8::MAX } else { own.shut };
        let open = own.closed >> class & 1 == 0;
        let index = self.index(port, class);
        let point = &self.egress[index].congestion_point;
        let looks = self.looked_at >> class & 1 == 1;
        self.queues[index].let_join(open, point, self.watches_inputs, looks);
    }

    /// Takes the next packet out of a queue, not to send it.
    pub fn take(&mut self, port: PortId, class: u8) -> Option<Packet> {
        let index = self.index(port, class);
        let queue = &mut self.queues[index];
        if queue.packets.is_empty() {
            return None;
        }
        let packet = queue.packets.pop();
        queue.bytes -= u64::from(packet.bytes);
        let more = !queue.packets.is_empty();
        self.ports[usize::from(port)].end.backlog &= !(u8::from(!more) << class);
        if let Some(scheduler) = self.schedulers.get_mut(usize::from(port)) {
            scheduler.on_dequeue(class, u32::from(packet.bytes), more);
        }
        Some(packet)
    }

    /// The queue that a port sends from next, if the most urgent is first.
    pub fn next_queue(&self, port: usize) -> Option<&Queue> {
        let eligible = self.ports[port].end.eligible();
        let class = 7_u32.checked_sub(eligible.leading_zeros())?;
        self.queues.get(port * self.classes + class as usize)
    }

    /// A frame has started to leave by `port`: its shapers may hold the next one.
    #[cold]
    #[inline(never)]
    pub fn shape(
        &mut self,
        now: Time,
        wire_bytes: u64,
        (port, class): (PortId, u8),
        timers: &mut Heap,
    ) {
        let place = (self.index(port, class), port, class);
        let Some(shapers) = &mut self.shapers else {
            return;
        };
        let end = &mut self.ports[usize::from(port)].end;
        for timer in shapers.on_leave((now, end.busy_until), wire_bytes, place) {
            timers.push(timer);
        }
        end.paused |= shapers.held(port);
    }

    /// The shaper of a bucket releases its class or its port; returns the port.
    pub fn release_shaper(&mut self, bucket: usize) -> Option<PortId> {
        let shapers = self.shapers.as_mut()?;
        let port = shapers.release(bucket);
        let held = shapers.held(port);
        let first = usize::from(port) * self.classes;
        let of_port = &self.egress[first..first + self.classes];
        let paused = of_port.iter().enumerate();
        let paused = paused.filter(|(_, egress)| egress.pause.is_paused());
        let end = &mut self.ports[usize::from(port)].end;
        end.paused = paused.fold(held, |all, (class, _)| all | 1 << class);
        Some(port)
    }

    /// Stops a class of a port of `node` if it has no credits for the packet of `bytes` that is to leave next, once one of
    /// `before` bytes has left, which starts now.
    #[cold]
    #[inline(never)]
    pub fn stop_without_credits(
        &mut self,
        now: Time,
        (node, port, class): (NodeId, PortId, u8),
        (before, bytes): (u32, u32),
        window: &mut Window<'_, '_>,
    ) {
        let end = &mut self.ports[usize::from(port)].end;
        if bytes == 0 || end.is_paused(class) {
            return;
        }
        if window.may_send((node, port), class, before, bytes) {
            return;
        }
        let free = match before {
            0 => end.busy_until,
            _ => {
                let wire = u64::from(before) + window.ports.framing_bytes;
                now + end.transmitter.speed.time_for(wire)
            }
        };
        let place = Place::of((node, port), class, window.plan);
        let egress = &mut self.egress[usize::from(port) * self.classes + usize::from(class)];
        end.wait_for_credits(now, (class, free), &mut egress.pause, place, window.log);
        egress.congestion_point.on_pause(now);
    }

    /// The record of in-band telemetry of a port that a packet leaves by.
    pub fn hop(&self, now: Time, port: PortId) -> Hop {
        Hop {
            time: now,
            tx_bytes: self.sent_by(port),
            queue_bytes: self.waiting_for(port),
            rate: self.ports[usize::from(port)].end.transmitter.speed.rate(),
        }
    }

    /// A packet that leaves by a port, with PINT's code if that is larger than the one that it carries.
    #[inline(never)]
    pub fn with_digest<R: Rng>(
        &mut self,
        now: Time,
        packet: &Packet,
        port: PortId,
        rng: &mut R,
    ) -> Packet {
        let waiting = self.waiting_for(port);
        let (bytes, is_data) = (packet.bytes.into(), packet.kind == Kind::Data);
        let meter = &mut self.meters[usize::from(port)];
        let code = meter.on_departure(now, bytes, is_data, waiting, rng);
        let mut packet = *packet;
        if let Some(code) = code.filter(|_| packet.has_telemetry()) {
            packet.stamp = packet.stamp.max(code.into());
        }
        packet
    }
}

/// Bit c set: each packet of class c is looked at. If causes are recorded, it may be one whose delays are.
fn looked_at(overrides: &Overrides<'_>, plan: &Plan<'_>) -> u8 {
    match plan.config.switch.cbfc {
        _ if overrides.differ_within() || plan.config.probes.causes => u8::MAX,
        Some(_) => plan.classes.lossless,
        None => 0,
    }
}

/// PINT's meters of these ports; none if it is not used.
fn meters(transmitters: &[Transmitter], plan: &Plan<'_>) -> Vec<Meter> {
    let congestion_point::Config::Pint(params) = &plan.config.scheme.congestion_point else {
        return Vec::new();
    };
    let rates = transmitters.iter().map(|link| link.speed.rate());
    rates.map(|rate| Meter::new(params, rate)).collect()
}
