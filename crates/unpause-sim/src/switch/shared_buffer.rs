//! Output-queued, store-and-forward switch with a shared buffer.
//!
//! Egress queues per (port, class) under strict priority, each with its congestion point; PFC
//! accounting per (ingress port, lossless class). A packet counts at its ingress from reception
//! until it starts to leave.

use std::collections::VecDeque;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_point::{self, CongestionPoint, Verdict};
use unpause_protocols::flow_control::pfc::{Action, Change};
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::units::{Rate, Time};

use crate::config::{NodeId, PfcThreshold, PortId};
use crate::engine::heap::{Entry, Heap};
use crate::engine::shard::{Log, NodeModel, Window};
use crate::engine::wire::GlobalPort;
use crate::host::Sampling;
use crate::packet::{CE, ECT, Kind, Packet};
use crate::plan::Plan;
use crate::results::{PortRecord, PortSample};
use crate::routing::mix;
use crate::switch::ingress::{Ingress, Pool};
use crate::throttle::{Place, Reaction, Reactions, Throttle};

/// The switch.
#[derive(Debug)]
pub struct SharedBuffer {
    id: NodeId,
    first_port: GlobalPort,
    classes: usize,
    ports: Vec<Port>,
    /// By port, then class.
    queues: Vec<Queue>,
    /// By port, then class.
    ingress: Vec<Ingress>,
    pool: Pool,
    threshold: PfcThreshold,
    lossy_limit: u64,
    /// Arrivals of this window and ports that become free.
    events: Heap,
    timers: Heap,
    reactions: Reactions,
    sampling: Sampling,
    sampled_ports: Vec<PortId>,
    rng: Xoshiro256PlusPlus,
}

#[derive(Clone, Debug, Default)]
struct Port {
    busy_until: Time,
    /// An event is pending for when the port is free.
    ready: bool,
    /// Bit c set: class c has packets.
    backlog: u8,
    /// Bit c set: class c is paused by the peer.
    paused: u8,
    /// Classes for which an XOFF, or an XON, is to be sent to the peer.
    xoff: u8,
    xon: u8,
}

#[derive(Debug)]
struct Queue {
    packets: VecDeque<Packet>,
    bytes: u64,
    congestion_point: CongestionPoint,
    throttle: Throttle,
    tx_packets: u64,
    tx_bytes: u64,
    marked_packets: u64,
    cnm_packets: u64,
    dropped_packets: u64,
    dropped_bytes: u64,
    max_bytes: u64,
}

// Keys of events: arrivals before ports that become free, each by port.
const ARRIVAL: u32 = 0;
const READY: u32 = 1 << 16;
// Payloads of timers.
const REFRESH: u32 = 0;
const EXPIRY: u32 = 1;

impl SharedBuffer {
    /// An empty switch.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> Self {
        let config = &plan.config.switch;
        let transmitters = plan.ports.transmitters_of(id);
        let classes = plan.classes.count();
        let mut rng =
            Xoshiro256PlusPlus::seed_from_u64(mix(plan.config.seed ^ mix(u64::from(id) + 1)));
        let mut queues = Vec::with_capacity(transmitters.len() * classes);
        let mut ingress = Vec::with_capacity(transmitters.len() * classes);
        let mut headroom = 0;
        for transmitter in transmitters {
            for class in 0..classes as u8 {
                queues.push(Queue::new(class, plan, &mut rng));
                let mut entry = Ingress::default();
                if plan.classes.is_lossless(class) {
                    let rate = Rate::from_bps(8_000_000_000_000 / transmitter.ps_per_byte);
                    entry.headroom_size = plan.headroom(transmitter.ps_per_byte, transmitter.delay);
                    entry.pause = config.pfc.params.pause_duration(rate);
                    headroom += entry.headroom_size;
                }
                ingress.push(entry);
            }
        }
        let lossless = u64::from(plan.classes.lossless.count_ones());
        let lossy = classes as u64 - lossless;
        let size = match (config.buffer_bytes, config.pfc.threshold) {
            (Some(bytes), _) => bytes.saturating_sub(headroom),
            (None, PfcThreshold::Static { xoff_bytes, .. }) => {
                let per_port = lossless * (xoff_bytes + plan.mtu_wire_bytes())
                    + lossy * config.lossy_queue_bytes;
                per_port * transmitters.len() as u64
            }
            (None, PfcThreshold::Dynamic { .. }) => DEFAULT_DYNAMIC_POOL_BYTES,
        };
        let probes = &plan.config.probes;
        let sampled_ports: Vec<PortId> = probes
            .ports
            .iter()
            .filter(|(node, _)| *node == id)
            .map(|&(_, port)| port)
            .collect();
        Self {
            id,
            first_port: plan.ports.of(id).start,
            classes,
            ports: vec![Port::default(); transmitters.len()],
            queues,
            ingress,
            pool: Pool { size, used: 0 },
            threshold: config.pfc.threshold,
            lossy_limit: config.lossy_queue_bytes,
            events: Heap::default(),
            timers: Heap::default(),
            reactions: Reactions::default(),
            sampling: Sampling {
                at: if sampled_ports.is_empty() {
                    Time::NEVER
                } else {
                    probes.interval
                },
                interval: probes.interval,
                port: !sampled_ports.is_empty(),
            },
            sampled_ports,
            rng,
        }
    }

    /// When it first has something to do.
    pub fn first_event(&self) -> Time {
        self.sampling.at
    }

    #[inline]
    fn index(&self, port: PortId, class: u8) -> usize {
        port as usize * self.classes + class as usize
    }

    fn place(&self, port: PortId, class: u8, plan: &Plan<'_>) -> Place {
        let record = plan.config.probes.pauses;
        Place {
            node: self.id,
            port,
            priority: plan.classes.priority(class),
            record,
        }
    }

    #[inline]
    fn on_arrival(
        &mut self,
        now: Time,
        from: PortId,
        mut packet: Packet,
        window: &mut Window<'_, '_>,
    ) {
        if packet.kind == Kind::Pfc {
            return self.on_pfc(now, from, &packet, window);
        }
        packet.ingress = from;
        self.forward(now, packet, window);
    }

    /// Finds the way out for a packet and puts it into the queue there.
    fn forward(&mut self, now: Time, packet: Packet, window: &mut Window<'_, '_>) {
        let class = window.plan.classes.of(packet.priority());
        let routing = &window.plan.routing;
        let Some(to) = routing.port(self.id, packet.src, packet.dst, packet.source_port) else {
            debug_assert!(false, "traffic without a way is rejected before the run");
            return;
        };
        if !self.admit(now, &packet, to, class, window) {
            let queue_index = self.index(to, class);
            let queue = &mut self.queues[queue_index];
            queue.dropped_packets += 1;
            queue.dropped_bytes += u64::from(packet.bytes);
            window.log.counts.dropped_packets += u64::from(packet.kind == Kind::Data);
            return;
        }
        self.enqueue(now, packet, to, class, window);
    }

    /// Buffer space for a packet; may send an XOFF.
    #[inline]
    fn admit(
        &mut self,
        now: Time,
        packet: &Packet,
        to: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) -> bool {
        if !window.plan.classes.is_lossless(class) {
            let size = u64::from(packet.bytes);
            let queue_index = self.index(to, class);
            return self.queues[queue_index].bytes + size <= self.lossy_limit
                && self.pool.take(size);
        }
        let params = &window.plan.config.switch.pfc.params;
        let bytes = u32::from(packet.bytes);
        let index = self.index(packet.ingress, class);
        let ingress = &mut self.ingress[index];
        match ingress.admit(now, bytes, &mut self.pool, self.threshold, params) {
            None => false,
            Some(Action::None) => true,
            Some(action) => {
                self.request_pfc(now, packet.ingress, class, action, window);
                true
            }
        }
    }

    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        mut packet: Packet,
        to: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        packet.time = now;
        let index = self.index(to, class);
        let queue = &mut self.queues[index];
        queue.bytes += u64::from(packet.bytes);
        queue.max_bytes = queue.max_bytes.max(queue.bytes);
        let state = queue.state(1);
        let verdict = queue
            .congestion_point
            .on_enqueue(now, &view(&packet), state, &mut self.rng);
        let mut feedback = None;
        match verdict {
            Verdict::Pass => {}
            Verdict::MarkCe => queue.mark(&mut packet),
            Verdict::Notify(message) => feedback = Some(message),
            Verdict::Drop => {
                queue.bytes -= u64::from(packet.bytes);
                queue.dropped_packets += 1;
                queue.dropped_bytes += u64::from(packet.bytes);
                window.log.counts.dropped_packets += u64::from(packet.kind == Kind::Data);
                return self.release(now, &packet, class, window);
            }
        }
        queue.packets.push_back(packet);
        let port = &mut self.ports[to as usize];
        port.backlog |= 1 << class;
        if port.ready {
            // The port will see to it.
        } else if port.busy_until > now {
            port.ready = true;
            let at = port.busy_until;
            self.events.push(Entry::new(at, READY | u32::from(to), 0));
        } else {
            self.send_next(now, to, window);
        }
        if let Some(message) = feedback {
            self.send_cnm(now, &packet, message, index, window);
        }
    }

    /// Sends what is most urgent out of a free port: PFC frames, then classes by strict priority.
    fn send_next(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.ports[port_id as usize];
        debug_assert!(port.busy_until <= now, "a busy port does not send");
        if port.xoff | port.xon != 0 {
            return self.send_pfc(now, port_id, window);
        }
        let eligible = port.backlog & !port.paused;
        if eligible == 0 {
            return;
        }
        let class = 7 - eligible.leading_zeros() as u8;
        let index = port_id as usize * self.classes + class as usize;
        let queue = &mut self.queues[index];
        let mut packet = queue.packets.pop_front().expect("the backlog mask is true");
        queue.bytes -= u64::from(packet.bytes);
        if queue.packets.is_empty() {
            port.backlog &= !(1 << class);
        }
        let state = queue.state(0);
        let verdict = queue
            .congestion_point
            .on_dequeue(now, &view(&packet), state, &mut self.rng);
        let mut feedback = None;
        match verdict {
            Verdict::Pass => {}
            Verdict::MarkCe => queue.mark(&mut packet),
            Verdict::Notify(message) => feedback = Some(message),
            Verdict::Drop => {
                queue.dropped_packets += 1;
                queue.dropped_bytes += u64::from(packet.bytes);
                window.log.counts.dropped_packets += u64::from(packet.kind == Kind::Data);
                self.release(now, &packet, class, window);
                return self.send_next(now, port_id, window);
            }
        }
        queue.tx_packets += 1;
        queue.tx_bytes += window.ports.wire_bytes(&packet);
        let port = &mut self.ports[port_id as usize];
        port.busy_until = window.transmit(self.first_port + u32::from(port_id), now, packet);
        if port.backlog & !port.paused != 0 {
            self.schedule_ready(port_id);
        }
        self.release(now, &packet, class, window);
        if let Some(message) = feedback {
            self.send_cnm(now, &packet, message, index, window);
        }
    }

    #[inline]
    fn schedule_ready(&mut self, port_id: PortId) {
        let port = &mut self.ports[port_id as usize];
        if !port.ready {
            port.ready = true;
            self.events
                .push(Entry::new(port.busy_until, READY | u32::from(port_id), 0));
        }
    }

    /// A packet leaves the buffer; may send an XON.
    #[inline]
    fn release(&mut self, now: Time, packet: &Packet, class: u8, window: &mut Window<'_, '_>) {
        if !window.plan.classes.is_lossless(class) {
            return self.pool.give(u64::from(packet.bytes));
        }
        let index = self.index(packet.ingress, class);
        let ingress = &mut self.ingress[index];
        let action = ingress.release(now, u32::from(packet.bytes), &mut self.pool, self.threshold);
        if action != Action::None {
            self.request_pfc(now, packet.ingress, class, action, window);
        }
    }

    /// Sends, or has sent as soon as the port is free, a PFC frame to the peer at `port_id`.
    fn request_pfc(
        &mut self,
        now: Time,
        port_id: PortId,
        class: u8,
        action: Action,
        window: &mut Window<'_, '_>,
    ) {
        let port = &mut self.ports[port_id as usize];
        match action {
            Action::None => return,
            Action::Xoff => {
                port.xoff |= 1 << class;
                port.xon &= !(1 << class);
            }
            Action::Xon => {
                port.xon |= 1 << class;
                port.xoff &= !(1 << class);
            }
        }
        if port.busy_until <= now && !port.ready {
            self.send_next(now, port_id, window);
        } else {
            self.schedule_ready(port_id);
        }
        let index = self.index(port_id, class);
        let ingress = &mut self.ingress[index];
        let due = ingress.pfc.next_timer();
        if !due.is_never() && ingress.timer_at.is_none_or(|at| due < at) {
            ingress.timer_at = Some(due);
            self.timers.push(Entry::new(due, index as u32, REFRESH));
        }
    }

    fn send_pfc(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.ports[port_id as usize];
        let pausing = port.xoff != 0;
        let classes = std::mem::take(if pausing {
            &mut port.xoff
        } else {
            &mut port.xon
        });
        let mut priorities = 0;
        let mut pause = Time::ZERO;
        for class in 0..self.classes as u8 {
            if classes >> class & 1 == 0 {
                continue;
            }
            priorities |= 1 << window.plan.classes.priority(class);
            if pausing {
                let index = self.index(port_id, class);
                self.ingress[index].pause_frames += 1;
                pause = self.ingress[index].pause;
            }
        }
        let frame = Packet {
            aux: priorities,
            stamp: pause.as_ps(),
            ..Packet::new(Kind::Pfc, 7, 0, Kind::Pfc.control_bytes())
        };
        let port = &mut self.ports[port_id as usize];
        port.busy_until = window.transmit(self.first_port + u32::from(port_id), now, frame);
        if port.backlog & !port.paused != 0 || port.xoff | port.xon != 0 {
            self.schedule_ready(port_id);
        }
    }

    fn on_pfc(&mut self, now: Time, from: PortId, packet: &Packet, window: &mut Window<'_, '_>) {
        let reaction = Reaction {
            time: now + window.plan.config.switch.pfc.reaction,
            port: from,
            priorities: packet.aux as u8,
            pause: Time::from_ps(packet.stamp),
        };
        if reaction.time == now {
            self.obey(now, reaction, window);
        } else {
            self.reactions.push(reaction);
        }
    }

    fn obey(&mut self, now: Time, reaction: Reaction, window: &mut Window<'_, '_>) {
        for class in 0..self.classes as u8 {
            if reaction.priorities >> window.plan.classes.priority(class) & 1 == 1 {
                let place = self.place(reaction.port, class, window.plan);
                let index = self.index(reaction.port, class);
                let throttle = &mut self.queues[index].throttle;
                let change = throttle.on_frame(now, reaction.pause, place, window.log);
                let expiry = throttle.next_timer();
                if !expiry.is_never() {
                    self.timers.push(Entry::new(expiry, index as u32, EXPIRY));
                }
                self.after_pause_change(now, reaction.port, class, change, window);
            }
        }
    }

    fn after_pause_change(
        &mut self,
        now: Time,
        port_id: PortId,
        class: u8,
        change: Change,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(port_id, class);
        let queue = &mut self.queues[index];
        let port = &mut self.ports[port_id as usize];
        match change {
            Change::None => {}
            Change::Paused => {
                port.paused |= 1 << class;
                queue.congestion_point.on_pause(now);
            }
            Change::Resumed => {
                port.paused &= !(1 << class);
                let state = queue.state(0);
                queue.congestion_point.on_resume(now, state);
                if port.backlog & !port.paused == 0 || port.ready {
                    return;
                }
                if port.busy_until <= now {
                    self.send_next(now, port_id, window);
                } else {
                    self.schedule_ready(port_id);
                }
            }
        }
    }

    fn send_cnm(
        &mut self,
        now: Time,
        sampled: &Packet,
        message: QcnFeedback,
        index: usize,
        window: &mut Window<'_, '_>,
    ) {
        self.queues[index].cnm_packets += 1;
        window.log.counts.notifications += 1;
        let priority = window.plan.config.host.control_priority;
        let cnm = Packet {
            flow: sampled.flow,
            src: sampled.dst,
            dst: sampled.src,
            slot: sampled.aux,
            source_port: sampled.source_port,
            ingress: sampled.ingress,
            ..Packet::from_notification(&Notification::Qcn(message), priority)
        };
        self.forward(now, cnm, window);
    }

    fn on_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let entry = self.timers.pop().expect("a timer is due");
        let index = entry.key() as usize;
        let (port, class) = (
            (index / self.classes) as PortId,
            (index % self.classes) as u8,
        );
        if entry.payload() == REFRESH {
            let ingress = &mut self.ingress[index];
            if ingress.timer_at != Some(now) {
                return;
            }
            ingress.timer_at = None;
            let params = &window.plan.config.switch.pfc.params;
            let pause = ingress.pause;
            let due = ingress.pfc.next_timer();
            if due <= now {
                let action = ingress.pfc.on_timer(now, pause, params);
                self.request_pfc(now, port, class, action, window);
            } else if !due.is_never() {
                ingress.timer_at = Some(due);
                self.timers.push(Entry::new(due, index as u32, REFRESH));
            }
        } else {
            let place = self.place(port, class, window.plan);
            let throttle = &mut self.queues[index].throttle;
            if throttle.next_timer() <= now {
                let change = throttle.on_timer(now, place, window.log);
                self.after_pause_change(now, port, class, change, window);
            }
        }
    }

    fn on_sample(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        for &port in &self.sampled_ports {
            for class in 0..self.classes as u8 {
                let index = self.index(port, class);
                let queue = &self.queues[index];
                log.port_series.push(PortSample {
                    time: now,
                    node: self.id,
                    port,
                    priority: plan.classes.priority(class),
                    queue_bytes: queue.bytes,
                    tx_bytes: queue.tx_bytes,
                    pause_frames: self.ingress[index].pause_frames,
                    paused: queue.throttle.total(now),
                });
            }
        }
    }

    /// When the next event other than an arrival is due.
    fn next_own(&self) -> Time {
        self.events
            .next_time()
            .min(self.timers.next_time())
            .min(self.reactions.next_time())
            .min(self.sampling.at)
    }
}

/// Packet memory of a switch with dynamic thresholds when none is given: 12 MB less headroom.
const DEFAULT_DYNAMIC_POOL_BYTES: u64 = 12_000_000;

impl Queue {
    fn new(class: u8, plan: &Plan<'_>, rng: &mut Xoshiro256PlusPlus) -> Self {
        let none = congestion_point::Config::None;
        let managed = class != plan.classes.control;
        let config = if managed {
            &plan.config.scheme.congestion_point
        } else {
            &none
        };
        Self {
            packets: VecDeque::new(),
            bytes: 0,
            congestion_point: CongestionPoint::new(config, rng),
            throttle: Throttle::default(),
            tx_packets: 0,
            tx_bytes: 0,
            marked_packets: 0,
            cnm_packets: 0,
            dropped_packets: 0,
            dropped_bytes: 0,
            max_bytes: 0,
        }
    }

    /// The queue as a congestion point sees it, with `joining` packets about to be pushed.
    #[inline]
    fn state(&self, joining: u32) -> congestion_point::Queue {
        congestion_point::Queue {
            bytes: self.bytes,
            packets: self.packets.len() as u32 + joining,
        }
    }

    #[inline]
    fn mark(&mut self, packet: &mut Packet) {
        if !packet.is(CE) {
            packet.set(CE);
            self.marked_packets += 1;
        }
    }
}

#[inline]
fn view(packet: &Packet) -> congestion_point::Packet {
    congestion_point::Packet {
        bytes: u32::from(packet.bytes),
        ect: packet.is(ECT),
        enqueued_at: packet.time,
    }
}

impl NodeModel for SharedBuffer {
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        let end = window.end;
        let range = self.first_port..self.first_port + self.ports.len() as u32;
        for (port, &head) in window.wires.heads(range).iter().enumerate() {
            if head < end {
                self.events.push(Entry::new(head, ARRIVAL | port as u32, 0));
            }
        }
        loop {
            let other = self.timers.next_time().min(self.reactions.next_time());
            let other = other.min(self.sampling.at);
            let Some(entry) = self.events.peek().filter(|entry| entry.time() <= other) else {
                if other >= end {
                    return self.next_own();
                }
                window.log.counts.events += 1;
                if self.reactions.next_time() == other {
                    if let Some(reaction) = self.reactions.pop() {
                        self.obey(other, reaction, window);
                    }
                } else if self.timers.next_time() == other {
                    self.on_timer(other, window);
                } else {
                    self.sampling.at = other + self.sampling.interval;
                    self.on_sample(other, window.plan, window.log);
                }
                continue;
            };
            let now = entry.time();
            if now >= end {
                return self.next_own();
            }
            window.log.counts.events += 1;
            let port = entry.key() as PortId;
            if entry.key() & READY == 0 {
                let wire = self.first_port + u32::from(port);
                let packet = window.wires.pop(wire);
                let next = window.wires.head(wire);
                if next < end {
                    self.events
                        .replace_top(Entry::new(next, ARRIVAL | u32::from(port), 0));
                } else {
                    self.events.pop();
                }
                self.on_arrival(now, port, packet, window);
            } else {
                self.events.pop();
                self.ports[port as usize].ready = false;
                self.send_next(now, port, window);
            }
        }
    }

    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        if self.sampling.at == now {
            self.on_sample(now, plan, log);
        }
        for port in 0..self.ports.len() as PortId {
            for class in 0..self.classes as u8 {
                let place = self.place(port, class, plan);
                let index = self.index(port, class);
                let queue = &mut self.queues[index];
                let paused = queue.throttle.total(now);
                queue.throttle.finish(now, place, log);
                let ingress = &self.ingress[index];
                let record = PortRecord {
                    node: self.id,
                    port,
                    priority: place.priority,
                    tx_packets: queue.tx_packets,
                    tx_bytes: queue.tx_bytes,
                    marked_packets: queue.marked_packets,
                    cnm_packets: queue.cnm_packets,
                    dropped_packets: queue.dropped_packets,
                    dropped_bytes: queue.dropped_bytes,
                    headroom_dropped_packets: ingress.dropped_packets,
                    max_queue_bytes: queue.max_bytes,
                    max_ingress_bytes: ingress.max_bytes,
                    pause_frames: ingress.pause_frames,
                    pause_events: ingress.pause_events,
                    paused,
                };
                let identity = PortRecord {
                    node: self.id,
                    port,
                    priority: place.priority,
                    ..PortRecord::default()
                };
                if record != identity {
                    log.ports.push(record);
                }
            }
        }
    }

    fn held_data_packets(&self) -> u64 {
        let held = |queue: &Queue| {
            queue
                .packets
                .iter()
                .filter(|p| p.kind == Kind::Data)
                .count()
        };
        self.queues.iter().map(|queue| held(queue) as u64).sum()
    }
}
