//! Combined-input-output-queued fabric: one node with every host on it.
//!
//! A frame that has been received takes units of its input's memory, in a virtual output queue, and asks
//! the credit arbiter of its output for room. Granted, it crosses the fabric ([`fabric`]: a pipe, or cells
//! over leaves and spines) into the output's buffer. Inside nothing is lost. PAUSE keeps the hosts from
//! overflowing the inputs: XOFF and XON act on the bytes of units in use by an (input, class).
//!
//! Congestion points stand at outputs, but those of QCN that watch inputs, which stand there.

mod arbiter;
mod crossing;
mod fabric;
mod memory;
mod pause;
mod setup;
mod spines;

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_point::qcn::Selection;
use unpause_protocols::congestion_point::{self, CongestionPoint, Verdict};
use unpause_protocols::flow_control::pfc::{self, Action};
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::units::Time;

use crate::config::CioqConfig;
use crate::engine::heap::{Entry, Heap};
use crate::engine::window::{NodeModel, Window};
use crate::engine::wire::GlobalPort;
use crate::fabric::{NodeId, PortId};
use crate::log::Log;
use crate::packet::{Kind, Packet};
use crate::plan::Plan;
use crate::results::{PortRecord, PortSample};
use crate::sampling::Sampling;
use crate::switch::egress::{Port, Queue, view};

use arbiter::Arbiter;
use crossing::{Arrival, Shape, Voq};
use fabric::Fabric;
use memory::Memory;

/// The fabric.
#[derive(Debug)]
pub struct Cioq {
    id: NodeId,
    first_port: GlobalPort,
    shape: Shape,
    config: CioqConfig,
    xoff_bytes: u64,
    xon_bytes: u64,
    /// Whom congestion points at inputs accuse.
    selection: Selection,
    /// By port.
    memories: Vec<Memory>,
    /// By port, then class.
    inputs: Vec<Input>,
    /// By port, then class.
    arbiters: Vec<Arbiter>,
    fabric: Fabric,
    ports: Vec<Port>,
    /// Output buffers, by port, then class.
    queues: Vec<Queue>,
    /// CNMs of outputs on their way to the outputs of those whom they notify.
    cnms: VecDeque<(Time, Packet)>,
    /// Arrivals of this window and ports that become free.
    events: Heap,
    timers: Heap,
    sampling: Sampling,
    sampled_ports: Vec<PortId>,
    rng: Xoshiro256PlusPlus,
    /// Data packets inside.
    held: u64,
}

/// The input buffer of one (port, class).
#[derive(Debug)]
struct Input {
    pfc: pfc::Ingress,
    congestion_point: CongestionPoint,
    packets: u32,
    max_bytes: u64,
    cnm_packets: u64,
    dropped_packets: u64,
    pause: Time,
    pause_events: u64,
    pause_frames: u64,
    /// Of the refresh entries among the timers, the one due then counts.
    timer_at: Option<Time>,
}

// Keys of events: arrivals before ports that become free, each by port.
const ARRIVAL: u32 = 0;
const READY: u32 = 1 << 16;
// Payloads of timers; their key is the index of a (port, class).
const PACE: u32 = 0;
const REFRESH: u32 = 1;

impl Cioq {
    /// When it first has something to do.
    pub fn first_event(&self) -> Time {
        self.sampling.at
    }

    fn index(&self, port: PortId, class: u8) -> usize {
        usize::from(port) * self.shape.classes + usize::from(class)
    }

    /// The place of a queue in its input's memory.
    fn local(&self, voq: Voq) -> usize {
        self.index(voq.output, voq.class)
    }

    /// Stores a frame that has been received, and asks for room at its output.
    fn receive(&mut self, now: Time, packet: &Packet, from: PortId, window: &mut Window<'_, '_>) {
        debug_assert_ne!(packet.kind, Kind::Pfc, "hosts take whatever comes");
        let class = window.plan.classes.of(packet.priority());
        let routing = &window.plan.routing;
        let Some(to) = routing.port(self.id, packet.src, packet.dst, packet.source_port) else {
            debug_assert!(false, "traffic without a way is rejected before the run");
            return;
        };
        let packet = &Packet {
            time: now,
            ingress: from,
            ..*packet
        };
        let memory = &mut self.memories[usize::from(from)];
        let bytes = memory.bytes_of(packet);
        let index = usize::from(from) * self.shape.classes + usize::from(class);
        let input = &mut self.inputs[index];
        let lossless = window.plan.classes.is_lossless(class);
        if input.pfc.bytes() + u64::from(bytes) > self.config.input_buffer_bytes {
            input.dropped_packets += u64::from(lossless);
            let queue = usize::from(to) * self.shape.classes + usize::from(class);
            window.log.counts.dropped_packets += self.queues[queue].count_drop(packet);
            return;
        }
        self.held += u64::from(packet.kind.is_data());
        let xoff = if lossless { self.xoff_bytes } else { u64::MAX };
        let params = &window.plan.config.switch.pfc.params;
        let was_off = input.pfc.is_xoff();
        let action = input.pfc.on_admit(now, bytes, xoff, input.pause, params);
        input.pause_events += u64::from(!was_off && input.pfc.is_xoff());
        input.packets += 1;
        input.max_bytes = input.max_bytes.max(input.pfc.bytes());
        let voq = Voq {
            input: from,
            output: to,
            class,
        };
        memory.push(
            packet,
            class,
            usize::from(to) * self.shape.classes + usize::from(class),
        );
        let held = congestion_point::Queue {
            bytes: input.pfc.bytes(),
            packets: input.packets,
        };
        let verdict = input
            .congestion_point
            .on_enqueue(now, &view(packet), held, &mut self.rng);
        self.fabric.request(now, voq);
        if action != Action::None {
            self.request_pfc(now, from, class, action, window);
        }
        if let Verdict::Notify(message) = verdict {
            self.accuse(now, packet, message, from, class, window);
        }
    }

    /// The congestion point of an input has found congestion: the culprit is told by the port it came by.
    fn accuse(
        &mut self,
        now: Time,
        arrived: &Packet,
        message: QcnFeedback,
        from: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let classes = self.shape.classes;
        let queues = (0..self.shape.ports).map(|output| output * classes + usize::from(class));
        let memory = &self.memories[usize::from(from)];
        let found = memory.culprit(self.selection, arrived, class, queues, &mut self.rng);
        let Some(culprit) = found else { return };
        let index = self.index(from, class);
        self.inputs[index].cnm_packets += 1;
        window.log.counts.notifications += 1;
        let cnm = cnm(&culprit, message, window.plan);
        self.deliver(now, &cnm, from, window);
    }

    fn on_arrival(&mut self, now: Time, arrival: Arrival, window: &mut Window<'_, '_>) {
        match arrival {
            Arrival::Request(voq) => {
                let index = self.index(voq.output, voq.class);
                self.arbiters[index].request(voq.input);
                self.arbitrate(now, voq.output, voq.class);
            }
            Arrival::Grant(voq) => {
                let local = self.local(voq);
                let (packet, head) = self.memories[usize::from(voq.input)].pop(local);
                self.fabric.inject(now, voq, head, &packet);
            }
            Arrival::Left { voq, head } => self.on_left(now, voq, head, window),
            Arrival::Frame { voq, packet } => self.deliver(now, &packet, voq.output, window),
        }
    }

    /// A frame has left its input, which may send XON.
    fn on_left(&mut self, now: Time, voq: Voq, head: u32, window: &mut Window<'_, '_>) {
        let bytes = self.memories[usize::from(voq.input)].free(head);
        let index = self.index(voq.input, voq.class);
        let input = &mut self.inputs[index];
        input.packets -= 1;
        let action = input.pfc.on_release(now, bytes, self.xon_bytes);
        if action != Action::None {
            self.request_pfc(now, voq.input, voq.class, action, window);
        }
    }

    /// Grants what an output has room for.
    fn arbitrate(&mut self, now: Time, output: PortId, class: u8) {
        let index = self.index(output, class);
        let arbiter = &mut self.arbiters[index];
        while let Some(input) = arbiter.next() {
            if now < arbiter.next_at {
                if !arbiter.armed {
                    arbiter.armed = true;
                    self.timers
                        .push(Entry::new(arbiter.next_at, index as u32, PACE));
                }
                return;
            }
            let memory = &mut self.memories[usize::from(input)];
            let bytes = u64::from(memory.next_bytes(index));
            if arbiter.used + bytes > self.config.output_buffer_bytes {
                return;
            }
            memory.grant(index);
            arbiter.grant(now, bytes);
            self.fabric.grant(
                now,
                Voq {
                    input,
                    output,
                    class,
                },
            );
        }
    }

    /// Puts a frame into the buffer of its output, or through it if the port is free.
    fn deliver(&mut self, now: Time, packet: &Packet, to: PortId, window: &mut Window<'_, '_>) {
        let class = window.plan.classes.of(packet.priority());
        let index = self.index(to, class);
        let queue = &mut self.queues[index];
        let packet = &mut Packet {
            time: now,
            ..*packet
        };
        queue.bytes += u64::from(packet.bytes);
        let state = queue.state(1);
        let verdict = queue
            .congestion_point
            .on_enqueue(now, &view(packet), state, &mut self.rng);
        match verdict {
            Verdict::Pass => {}
            Verdict::MarkCe => packet.bits |= queue.mark(packet),
            Verdict::Notify(message) => {
                queue.cnm_packets += 1;
                window.log.counts.notifications += 1;
                let at = now + self.config.latency;
                self.cnms.push_back((at, cnm(packet, message, window.plan)));
            }
            Verdict::Drop => {
                queue.bytes -= u64::from(packet.bytes);
                return self.discard(now, packet, to, class, window);
            }
        }
        let port = &mut self.ports[usize::from(to)];
        if port.sends_at_once(now, class) {
            queue.bytes -= u64::from(packet.bytes);
            return self.depart(now, packet, to, class, window);
        }
        queue.max_bytes = queue.max_bytes.max(queue.bytes);
        queue.packets.push(packet, packet.ingress);
        port.backlog |= 1 << class;
        self.schedule_ready(to);
    }

    /// A congestion point has had a frame dropped.
    fn discard(
        &mut self,
        now: Time,
        packet: &Packet,
        to: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(to, class);
        window.log.counts.dropped_packets += self.queues[index].count_drop(packet);
        self.give_credit(now, packet, to, class);
    }

    /// The buffer of an output has room again.
    fn give_credit(&mut self, now: Time, packet: &Packet, to: PortId, class: u8) {
        self.held -= u64::from(packet.kind.is_data());
        // CNMs are made here and had no grant.
        if packet.kind != Kind::Cnm {
            let index = self.index(to, class);
            self.arbiters[index].used -= u64::from(packet.bytes);
            self.arbitrate(now, to, class);
        }
    }

    /// Sends what is most urgent out of a free port: PFC frames, then classes by strict priority.
    fn send_next(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.ports[usize::from(port_id)];
        if port.xoff | port.xon != 0 {
            return self.send_pfc(now, port_id, window);
        }
        let eligible = port.eligible();
        if eligible == 0 {
            return;
        }
        let class = 7 - eligible.leading_zeros() as u8;
        let index = self.index(port_id, class);
        let queue = &mut self.queues[index];
        let packet = queue.packets.pop();
        queue.bytes -= u64::from(packet.bytes);
        if queue.packets.is_empty() {
            self.ports[usize::from(port_id)].backlog &= !(1 << class);
        }
        self.depart(now, &packet, port_id, class, window);
    }

    /// Sends a frame that has just left its queue.
    fn depart(
        &mut self,
        now: Time,
        packet: &Packet,
        to: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(to, class);
        let queue = &mut self.queues[index];
        let state = queue.state(0);
        let mut flags = 0;
        match queue
            .congestion_point
            .on_dequeue(now, &view(packet), state, &mut self.rng)
        {
            Verdict::MarkCe => flags = queue.mark(packet),
            Verdict::Drop => {
                self.discard(now, packet, to, class, window);
                return self.send_next(now, to, window);
            }
            Verdict::Pass | Verdict::Notify(_) => {}
        }
        queue.tx_packets += 1;
        queue.tx_bytes += window.ports.wire_bytes(packet);
        let port = &mut self.ports[usize::from(to)];
        port.busy_until = window.transmit(self.first_port + u32::from(to), now, packet, flags);
        if port.eligible() != 0 {
            self.schedule_ready(to);
        }
        self.give_credit(now, packet, to, class);
    }

    fn schedule_ready(&mut self, port_id: PortId) {
        let port = &mut self.ports[usize::from(port_id)];
        if !port.ready {
            port.ready = true;
            self.events
                .push(Entry::new(port.busy_until, READY | u32::from(port_id), 0));
        }
    }

    fn on_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let entry = self.timers.pop().expect("a timer is due");
        let index = entry.key() as usize;
        let port = (index / self.shape.classes) as PortId;
        let class = (index % self.shape.classes) as u8;
        if entry.payload() == PACE {
            self.arbiters[index].armed = false;
            self.arbitrate(now, port, class);
        } else {
            self.on_refresh(now, port, class, window);
        }
    }

    fn on_sample(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        for &port in &self.sampled_ports {
            for class in 0..self.shape.classes as u8 {
                let index = self.index(port, class);
                let (queue, input) = (&self.queues[index], &self.inputs[index]);
                log.port_series.push(PortSample {
                    time: now,
                    node: self.id,
                    port,
                    priority: plan.classes.priority(class),
                    queue_bytes: queue.bytes,
                    ingress_bytes: input.pfc.bytes(),
                    tx_bytes: queue.tx_bytes,
                    pause_frames: input.pause_frames,
                    paused: Time::ZERO,
                });
            }
        }
    }

    fn next_cnm(&self) -> Time {
        self.cnms.front().map_or(Time::NEVER, |cnm| cnm.0)
    }

    /// When the next event other than an arrival or a port that becomes free is due.
    fn next_other(&self) -> Time {
        self.fabric
            .next_time()
            .min(self.timers.next_time())
            .min(self.next_cnm())
            .min(self.sampling.at)
    }

    /// Runs what [`Cioq::next_other`] announced.
    fn run_other(&mut self, now: Time, window: &mut Window<'_, '_>) {
        if self.fabric.next_time() == now {
            if let Some(arrival) = self.fabric.step() {
                self.on_arrival(now, arrival, window);
            }
        } else if self.timers.next_time() == now {
            self.on_timer(now, window);
        } else if self.next_cnm() == now {
            if let Some((_, cnm)) = self.cnms.pop_front()
                && let Some(to) = window.plan.routing.port(self.id, cnm.src, cnm.dst, 0)
            {
                self.deliver(now, &cnm, to, window);
            }
        } else {
            self.sampling.at = now + self.sampling.interval;
            self.on_sample(now, window.plan, window.log);
        }
    }
}

/// The CNM for the source of `culprit`.
fn cnm(culprit: &Packet, message: QcnFeedback, plan: &Plan<'_>) -> Packet {
    let priority = plan.config.host.control_priority;
    Packet {
        flow: culprit.flow,
        src: culprit.dst,
        dst: culprit.src,
        slot: culprit.aux,
        source_port: culprit.source_port,
        ..Packet::from_notification(&Notification::Qcn(message), priority)
    }
}

impl NodeModel for Cioq {
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        let end = window.end;
        let range = self.first_port..self.first_port + self.ports.len() as u32;
        for (port, &head) in window.wires.heads(range).iter().enumerate() {
            if head < end {
                self.events.push(Entry::new(head, ARRIVAL | port as u32, 0));
            }
        }
        loop {
            let other = self.next_other();
            let now = self.events.next_time().min(other);
            if now >= end {
                return now;
            }
            window.log.counts.events += 1;
            if other < self.events.next_time() {
                self.run_other(other, window);
                continue;
            }
            let Some(entry) = self.events.pop() else {
                continue;
            };
            let port = entry.key() as PortId;
            if entry.key() & READY == 0 {
                let (packet, next) = window.wires.pop(self.first_port + u32::from(port));
                if next < end {
                    self.events
                        .push(Entry::new(next, ARRIVAL | u32::from(port), 0));
                }
                self.receive(now, &packet, port, window);
            } else {
                self.ports[usize::from(port)].ready = false;
                self.send_next(now, port, window);
            }
        }
    }

    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        if self.sampling.at == now {
            self.on_sample(now, plan, log);
        }
        for port in 0..self.shape.ports as PortId {
            for class in 0..self.shape.classes as u8 {
                let index = self.index(port, class);
                let (queue, input) = (&self.queues[index], &self.inputs[index]);
                let identity = PortRecord {
                    node: self.id,
                    port,
                    priority: plan.classes.priority(class),
                    ..PortRecord::default()
                };
                let record = PortRecord {
                    tx_packets: queue.tx_packets,
                    tx_bytes: queue.tx_bytes,
                    marked_packets: queue.marked_packets,
                    cnm_packets: queue.cnm_packets + input.cnm_packets,
                    dropped_packets: queue.dropped_packets,
                    dropped_bytes: queue.dropped_bytes,
                    headroom_dropped_packets: input.dropped_packets,
                    max_queue_bytes: queue.max_bytes,
                    max_ingress_bytes: input.max_bytes,
                    pause_frames: input.pause_frames,
                    pause_events: input.pause_events,
                    ..identity
                };
                if record != identity {
                    log.ports.push(record);
                }
            }
        }
    }

    fn held_data_packets(&self) -> u64 {
        self.held
    }
}
