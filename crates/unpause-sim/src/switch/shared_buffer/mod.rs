//! Output-queued, store-and-forward switch with a shared buffer.
//!
//! Egress queues per (port, class) behind the port's scheduler, each with its congestion point; PFC
//! accounting per (ingress port, lossless class). A packet counts at its ingress from reception
//! until it starts to leave.

mod input;

use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_point::{CongestionPoint, Verdict};
use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::scheduler::Scheduler;
use unpause_protocols::units::{Rate, Time};

use crate::config::PfcThreshold;
use crate::engine::deadlock::Blocked;
use crate::engine::heap::{Entry, Heap};
use crate::engine::window::{NodeModel, Window};
use crate::engine::wire::GlobalPort;
use crate::fabric::{NodeId, PortId};
use crate::log::Log;
use crate::packet::{Kind, Packet};
use crate::plan::Plan;
use crate::results::{PortRecord, PortSample};
use crate::rng;
use crate::sampling;
use crate::sampling::Sampling;
use crate::switch::egress::{Port, Queue, view};
use crate::switch::ingress::{Ingress, Pool};
use crate::switch::pause::{Parts, Pausing, place};
use crate::switch::schedule;
use crate::throttle::Reactions;

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
    /// Congestion points of the ingress, if the scheme has any there: by port, then class.
    input_points: Vec<CongestionPoint>,
    pool: Pool,
    threshold: PfcThreshold,
    /// Largest lossy queue, in bytes and in packets.
    lossy_limit: (u64, u32),
    /// By port; none where the most urgent class always goes first.
    schedulers: Vec<Scheduler>,
    /// Arrivals of this window and ports that become free.
    events: Heap,
    timers: Heap,
    reactions: Reactions,
    sampling: Sampling,
    sampled_ports: Vec<PortId>,
    rng: Xoshiro256PlusPlus,
}

// Keys of events: arrivals before ports that become free, each by port.
const ARRIVAL: u32 = 0;
const READY: u32 = 1 << 16;
impl SharedBuffer {
    /// An empty switch.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> Self {
        let config = &plan.config.switch;
        let transmitters = plan.ports.transmitters_of(id);
        let classes = plan.classes.count();
        let mut rng = rng::of_node(plan.config.seed, id);
        let mut queues = Vec::with_capacity(transmitters.len() * classes);
        let mut ingress = Vec::with_capacity(transmitters.len() * classes);
        let mut headroom = 0;
        for transmitter in transmitters {
            let rate = Rate::from_bps(8_000_000_000_000 / transmitter.ps_per_byte);
            for class in 0..classes as u8 {
                queues.push(Queue::new(class, rate, transmitters.len(), plan, &mut rng));
                let mut entry = Ingress::default();
                if plan.classes.is_lossless(class) {
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
                let lossy = lossy.saturating_mul(config.lossy_queue_bytes);
                let per_port =
                    lossy.saturating_add(lossless * (xoff_bytes + plan.mtu_wire_bytes()));
                per_port.saturating_mul(transmitters.len() as u64)
            }
            (None, PfcThreshold::Dynamic { .. }) => DEFAULT_DYNAMIC_POOL_BYTES,
        };
        let sampled_ports = sampling::sampled_ports(id, plan);
        Self {
            id,
            first_port: plan.ports.of(id).start,
            classes,
            ports: vec![Port::default(); transmitters.len()],
            queues,
            ingress,
            input_points: input::points(transmitters.len(), plan, &mut rng),
            pool: Pool { size, used: 0 },
            threshold: config.pfc.threshold,
            lossy_limit: (
                config.lossy_queue_bytes,
                config.lossy_queue_packets.unwrap_or(u32::MAX),
            ),
            schedulers: schedule::schedulers(transmitters.len(), plan),
            events: Heap::default(),
            timers: Heap::default(),
            reactions: Reactions::default(),
            sampling: sampling::of_ports(&sampled_ports, plan),
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

    /// Finds the way out for a packet that came in by port `from`, and puts it into the queue there.
    fn forward(&mut self, now: Time, packet: &Packet, from: PortId, window: &mut Window<'_, '_>) {
        let class = window.plan.classes.of(packet.priority());
        let routing = &window.plan.routing;
        let Some(to) = routing.port(self.id, packet.src, packet.dst, packet.source_port) else {
            debug_assert!(false, "traffic without a way is rejected before the run");
            return;
        };
        if self.admit(now, packet, from, to, class, window) {
            if !self.input_points.is_empty() {
                self.watch_input(now, packet, from, class, window);
            }
            self.enqueue(now, packet, from, to, class, window);
        } else {
            let index = self.index(to, class);
            window.log.counts.dropped_packets += self.queues[index].count_drop(packet);
        }
    }

    /// Buffer space for a packet; may send an XOFF.
    #[inline]
    fn admit(
        &mut self,
        now: Time,
        packet: &Packet,
        from: PortId,
        to: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) -> bool {
        if !window.plan.classes.is_lossless(class) {
            let size = u64::from(packet.bytes);
            let queue = &self.queues[self.index(to, class)];
            let (bytes, packets) = self.lossy_limit;
            let fits = queue.bytes + size <= bytes && queue.packets.len() < packets;
            return fits && self.pool.take(size);
        }
        let params = &window.plan.config.switch.pfc.params;
        let bytes = u32::from(packet.bytes);
        let index = self.index(from, class);
        let ingress = &mut self.ingress[index];
        match ingress.admit(now, bytes, &mut self.pool, self.threshold, params) {
            None => false,
            Some(Action::None) => true,
            Some(action) => {
                self.request_pfc(now, from, class, action, window);
                true
            }
        }
    }

    /// Puts a packet into a queue, or through it if the port is free.
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &Packet,
        from: PortId,
        to: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(to, class);
        let queue = &mut self.queues[index];
        let size = u64::from(packet.bytes);
        queue.bytes += size;
        let state = queue.state(1);
        let mut flags = 0;
        let mut feedback = None;
        match queue
            .congestion_point
            .on_enqueue(now, &view(packet), state, &mut self.rng)
        {
            Verdict::Pass => {}
            Verdict::MarkCe => flags = queue.mark(packet),
            Verdict::Notify(message) => feedback = Some(message),
            Verdict::Drop => {
                queue.bytes -= size;
                window.log.counts.dropped_packets += queue.count_drop(packet);
                return self.release(now, packet, from, class, window);
            }
        }
        let port = &mut self.ports[to as usize];
        if port.sends_at_once(now, class) {
            queue.bytes -= size;
            self.depart(now, packet, flags, from, to, class, window);
        } else {
            queue.max_bytes = queue.max_bytes.max(queue.bytes);
            let slot = queue.packets.push(packet, from);
            slot.time = now;
            slot.ingress = from;
            slot.bits = packet.bits | flags;
            if !self.schedulers.is_empty() {
                self.schedulers[to as usize].on_backlog(class);
            }
            port.backlog |= 1 << class;
            if port.busy_until > now {
                self.schedule_ready(to);
            }
        }
        if let Some(message) = feedback {
            self.send_cnm(now, packet, message, from, index, window);
        }
    }

    /// Sends what is most urgent out of a free port: PFC frames, then what the scheduler says.
    fn send_next(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.ports[port_id as usize];
        debug_assert!(port.busy_until <= now, "a busy port does not send");
        if port.xoff | port.xon != 0 {
            return self.send_pfc(now, port_id, window);
        }
        let eligible = port.eligible();
        if eligible == 0 {
            return;
        }
        let class = if self.schedulers.is_empty() {
            7 - eligible.leading_zeros() as u8
        } else {
            let first = self.index(port_id, 0);
            let queues = &self.queues[first..first + self.classes];
            schedule::pick(&mut self.schedulers[port_id as usize], queues, eligible)
        };
        let port = &mut self.ports[port_id as usize];
        let index = port_id as usize * self.classes + class as usize;
        let queue = &mut self.queues[index];
        let packet = queue.packets.pop();
        queue.bytes -= u64::from(packet.bytes);
        let more = !queue.packets.is_empty();
        if !more {
            port.backlog &= !(1 << class);
        }
        if !self.schedulers.is_empty() {
            self.schedulers[port_id as usize].on_dequeue(class, u32::from(packet.bytes), more);
        }
        self.depart(now, &packet, 0, packet.ingress, port_id, class, window);
    }

    /// Sends a packet that has just left its queue.
    #[inline(always)]
    #[allow(
        clippy::too_many_arguments,
        reason = "the packet's way through the switch"
    )]
    fn depart(
        &mut self,
        now: Time,
        packet: &Packet,
        mut flags: u8,
        from: PortId,
        to: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(to, class);
        let queue = &mut self.queues[index];
        let state = queue.state(0);
        let mut feedback = None;
        match queue
            .congestion_point
            .on_dequeue(now, &view(packet), state, &mut self.rng)
        {
            Verdict::Pass => {}
            Verdict::MarkCe => flags |= queue.mark(packet),
            Verdict::Notify(message) => feedback = Some(message),
            Verdict::Drop => {
                window.log.counts.dropped_packets += queue.count_drop(packet);
                self.release(now, packet, from, class, window);
                return self.send_next(now, to, window);
            }
        }
        queue.tx_packets += 1;
        queue.tx_bytes += window.ports.wire_bytes(packet);
        let port = &mut self.ports[to as usize];
        port.busy_until = window.transmit(self.first_port + u32::from(to), now, packet, flags);
        if port.eligible() != 0 {
            self.schedule_ready(to);
        }
        self.release(now, packet, from, class, window);
        if let Some(message) = feedback {
            self.send_cnm(now, packet, message, from, index, window);
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
    fn release(
        &mut self,
        now: Time,
        packet: &Packet,
        from: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        if !window.plan.classes.is_lossless(class) {
            return self.pool.give(u64::from(packet.bytes));
        }
        let index = self.index(from, class);
        let ingress = &mut self.ingress[index];
        let action = ingress.release(now, u32::from(packet.bytes), &mut self.pool, self.threshold);
        if action != Action::None {
            self.request_pfc(now, from, class, action, window);
        }
    }

    /// Sends the source of `sampled` what the congestion point of queue `index` has to say. It is
    /// routed like any packet, as if it had come in by the port that the sampled packet came by.
    fn send_cnm(
        &mut self,
        now: Time,
        sampled: &Packet,
        message: QcnFeedback,
        from: PortId,
        index: usize,
        window: &mut Window<'_, '_>,
    ) {
        self.queues[index].cnm_packets += 1;
        self.forward_cnm(now, sampled, message, from, window);
    }

    fn forward_cnm(
        &mut self,
        now: Time,
        sampled: &Packet,
        message: QcnFeedback,
        from: PortId,
        window: &mut Window<'_, '_>,
    ) {
        window.log.counts.notifications += 1;
        let priority = window.plan.config.host.control_priority;
        let cnm = Packet {
            flow: sampled.flow,
            src: sampled.dst,
            dst: sampled.src,
            slot: sampled.aux,
            source_port: sampled.source_port,
            ..Packet::from_notification(&Notification::Qcn(message), priority)
        };
        self.forward(now, &cnm, from, window);
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
                    ingress_bytes: self.ingress[index].pfc.bytes(),
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

impl Pausing for SharedBuffer {
    type Ingress = Ingress;

    fn parts(&mut self) -> Parts<'_, Ingress> {
        Parts {
            id: self.id,
            first_port: self.first_port,
            classes: self.classes,
            ports: &mut self.ports,
            queues: &mut self.queues,
            ingress: &mut self.ingress,
            timers: &mut self.timers,
            reactions: &mut self.reactions,
        }
    }
    fn send_next(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) {
        self.send_next(now, port, window);
    }
    fn schedule_ready(&mut self, port: PortId) {
        self.schedule_ready(port);
    }
}

/// Shared memory, beside headroom, of a switch with dynamic thresholds when no buffer is given.
const DEFAULT_DYNAMIC_POOL_BYTES: u64 = 12_000_000;

impl NodeModel for SharedBuffer {
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        let end = window.end;
        let range = self.first_port..self.first_port + self.ports.len() as u32;
        for (port, &head) in window.wires.heads(range).iter().enumerate() {
            if head < end {
                window.wires.prefetch(self.first_port + port as u32);
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
                let (packet, next) = window.wires.pop(self.first_port + u32::from(port));
                if next < end {
                    self.events
                        .replace_top(Entry::new(next, ARRIVAL | u32::from(port), 0));
                } else {
                    self.events.pop();
                }
                if packet.kind == Kind::Pfc {
                    self.on_pfc(now, port, &packet, window);
                } else {
                    self.forward(now, &packet, port, window);
                }
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
                let place = place(self.id, port, class, plan);
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
                    cnm_packets: queue.cnm_packets + ingress.cnm_packets,
                    dropped_packets: queue.dropped_packets,
                    dropped_bytes: queue.dropped_bytes,
                    headroom_dropped_packets: ingress.dropped_packets,
                    max_queue_bytes: queue.max_bytes,
                    max_ingress_bytes: ingress.max_bytes,
                    pause_frames: ingress.pause_frames,
                    pause_events: ingress.pause_events,
                    paused,
                    ..PortRecord::default()
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
        let held = |queue: &Queue| queue.packets.iter().filter(|p| p.kind.is_data()).count();
        self.queues.iter().map(|queue| held(queue) as u64).sum()
    }

    fn blocked(&self, since: Time, plan: &Plan<'_>, found: &mut Vec<Blocked>) {
        for (number, port) in self.ports.iter().enumerate() {
            let waiting = port.backlog & port.paused;
            for class in (0..self.classes as u8).filter(|class| waiting >> class & 1 == 1) {
                let queue = &self.queues[self.index(number as PortId, class)];
                let (Some(paused), Some(waiting)) =
                    (queue.throttle.paused_since(), queue.packets.since())
                else {
                    continue;
                };
                let stopped = paused.max(waiting);
                if stopped > since {
                    continue;
                }
                let places = queue.packets.iter().map(|p| (p.ingress, p.priority()));
                let mut ingress: Vec<(PortId, u8)> = places.collect();
                ingress.sort_unstable();
                ingress.dedup();
                found.push(Blocked {
                    node: self.id,
                    port: number as PortId,
                    priority: plan.classes.priority(class),
                    since: stopped,
                    ingress,
                });
            }
        }
    }
}
