//! A host: a NIC with one port, flows that it sends and flows that it receives.
//!
//! The NIC sends control packets first, then, by strict priority between classes, the flows whose
//! rate limiters allow it, in turn. PFC of the switch stops classes one by one; control packets are
//! never stopped. TCP connections (`tcp/`) share the port, in the same round-robin.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use slab::Slab;
use unpause_protocols::units::Time;

use crate::engine::heap::{Entry, Heap};
use crate::engine::mail::FlowStart;
use crate::engine::ring::Ring;
use crate::engine::window::{NodeModel, Window};
use crate::engine::wire::GlobalPort;
use crate::fabric::NodeId;
use crate::log::{Log, SenderSample};
use crate::packet::{Kind, Packet};
use crate::plan::Plan;
use crate::results::{PortRecord, PortSample};
use crate::rng;
use crate::sampling::{Sampling, grid_after};
use crate::throttle::{Reaction, Reactions, Throttle};
use crate::traffic::{FlowSpec, Transport};

mod delay;
mod nic;
mod pause;
pub mod receiver;
pub mod sender;
mod tcp;
mod transport;

use receiver::Receiver;
use sender::Sender;
use tcp::Tcp;

/// A host.
#[derive(Debug)]
pub struct Host {
    id: NodeId,
    port: GlobalPort,
    ps_per_byte: u64,
    busy_until: Time,
    /// When the NIC looks for something to send.
    nic_at: Time,
    control: Ring,
    /// Flows that may send, in turn, by class: slots of senders, or what `tcp` puts there.
    ready: Vec<VecDeque<u32>>,
    /// Bit c set: `ready[c]` is not empty.
    ready_mask: u8,
    paused_mask: u8,
    /// Flows that wait for their rate limiter.
    pacing: Heap,
    timers: Heap,
    starts: VecDeque<FlowStart>,
    senders: Slab<Sender>,
    receivers: Slab<Receiver>,
    throttles: Vec<Throttle>,
    reactions: Reactions,
    /// CNPs and CNMs that have not taken effect yet, in order.
    notified: VecDeque<Packet>,
    counters: Vec<Counters>,
    rng: Xoshiro256PlusPlus,
    sampling: Sampling,
    /// Flows are sampled at multiples of it only.
    flow_interval: Time,
    /// Some flow has an extra delay.
    delays: bool,
    /// Packets held back, by the payload of their timer.
    delayed: Slab<Packet>,
    tcp: Box<Tcp>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    tx_packets: u64,
    tx_bytes: u64,
}

// Timer entries: the kind in the upper three bits of the payload, a slot or class below. What is due
// for a flow at one instant happens in this order.
const SENDER: u32 = 0;
const RECEIVER: u32 = 1;
const PAUSE: u32 = 2;
const NOTIFICATION: u32 = 3;
const TCP_SENDER: u32 = 4;
const TCP_RECEIVER: u32 = 5;
const DELAYED: u32 = 6;
const KIND_SHIFT: u32 = 29;

enum Event {
    Timer,
    Arrival,
    Reaction,
    Start,
    Nic,
    Sample,
}

impl Host {
    /// A host at rest.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> Self {
        let port = plan.ports.of(id).start;
        let classes = plan.classes.count();
        let probes = &plan.config.probes;
        let flow_interval = probes.flow_interval.unwrap_or(probes.interval);
        let samples_port = probes.ports.iter().any(|&(node, _)| node == id);
        let interval = if samples_port {
            probes.interval
        } else {
            flow_interval
        };
        Self {
            id,
            port,
            ps_per_byte: plan.ports.transmitters[port as usize].ps_per_byte,
            busy_until: Time::ZERO,
            nic_at: Time::NEVER,
            control: Ring::default(),
            ready: vec![VecDeque::new(); classes],
            ready_mask: 0,
            paused_mask: 0,
            pacing: Heap::default(),
            timers: Heap::default(),
            starts: VecDeque::new(),
            senders: Slab::new(),
            receivers: Slab::new(),
            throttles: vec![Throttle::default(); classes],
            reactions: Reactions::default(),
            notified: VecDeque::new(),
            counters: vec![Counters::default(); classes],
            rng: rng::of_node(plan.config.seed, id),
            sampling: Sampling {
                at: Time::NEVER,
                interval,
                first: grid_after(probes.start, interval),
                port: samples_port,
            },
            flow_interval,
            delays: false,
            delayed: Slab::new(),
            tcp: Box::new(Tcp::new(classes)),
        }
    }

    /// Makes place for a flow that this host will receive.
    pub fn expect(&mut self, flow: u32, spec: &FlowSpec, plan: &Plan<'_>) -> u32 {
        self.sample_from(spec);
        self.delays |= spec.extra_delay.time() > Time::ZERO;
        match spec.transport {
            Transport::Roce => self.receivers.insert(Receiver::new(flow, spec, plan)) as u32,
            Transport::Tcp => self.tcp.expect(flow, spec, plan),
        }
    }

    /// Adds a flow that this host will start. Flows come in order of start, but for those that
    /// another thread has sent.
    pub fn schedule(&mut self, start: FlowStart) {
        self.sample_from(&start.spec);
        let key = |start: &FlowStart| (start.spec.start, start.id);
        let at = self
            .starts
            .partition_point(|earlier| key(earlier) < key(&start));
        self.starts.insert(at, start);
    }

    /// Sampling begins with the first recorded flow, on the grid of the interval.
    fn sample_from(&mut self, spec: &FlowSpec) {
        if spec.recorded {
            let after = grid_after(spec.start, self.sampling.interval);
            self.sampling.at = self.sampling.at.min(after.max(self.sampling.first));
        }
    }

    /// Sampling of the port begins with the probes.
    pub fn first_sample(&mut self) -> Time {
        if self.sampling.port {
            self.sampling.at = self.sampling.first;
        }
        self.sampling.at
    }

    fn next_event(&self, arrival: Time) -> (Time, Event) {
        let start = self
            .starts
            .front()
            .map_or(Time::NEVER, |start| start.spec.start);
        // Simultaneous events happen in this order: mechanisms want their timers first.
        let mut next = (self.timers.next_time(), Event::Timer);
        for (time, event) in [
            (arrival, Event::Arrival),
            (self.reactions.next_time(), Event::Reaction),
            (start, Event::Start),
            (self.nic_at, Event::Nic),
            (self.sampling.at, Event::Sample),
        ] {
            if time < next.0 {
                next = (time, event);
            }
        }
        next
    }

    fn on_arrival(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        match packet.kind {
            Kind::Data | Kind::Segment if self.delays => self.delay(now, packet, window),
            Kind::Data => self.on_data(now, packet, window),
            Kind::Pfc => {
                let reaction = Reaction {
                    time: now + window.plan.config.switch.pfc.reaction,
                    port: 0,
                    priorities: packet.aux as u8,
                    pause: Time::from_ps(packet.stamp),
                };
                if reaction.time == now {
                    self.obey(now, reaction, window);
                } else {
                    self.reactions.push(reaction);
                }
            }
            Kind::Segment | Kind::TcpAck | Kind::Syn | Kind::SynAck => {
                self.on_tcp(now, packet, window);
            }
            _ => self.on_feedback(now, packet, window),
        }
    }

    fn arm_sender(&mut self, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        let due = sender.next_timer();
        if due < sender.timer_at {
            sender.timer_at = due;
            self.timers
                .push(Entry::new(due, sender.flow, SENDER << KIND_SHIFT | slot));
        }
    }

    fn arm_receiver(&mut self, slot: u32) {
        let receiver = &mut self.receivers[slot as usize];
        let due = receiver.notification_point.next_timer();
        if due < receiver.timer_at {
            receiver.timer_at = due;
            self.timers.push(Entry::new(
                due,
                receiver.flow,
                RECEIVER << KIND_SHIFT | slot,
            ));
        }
    }

    fn on_start(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let start = self.starts.pop_front().expect("a start is due");
        window.log.counts.flows_started += 1;
        let FlowStart {
            id,
            spec,
            receiver_slot,
        } = start;
        if spec.transport == Transport::Tcp {
            return self.connect(now, start, window);
        }
        let sender = Sender::new(id, &spec, receiver_slot, self.ps_per_byte, window.plan, now);
        let slot = self.senders.insert(sender) as u32;
        self.busy_until = self.busy_until.max(now);
        self.enqueue(slot);
        self.arm_sender(slot);
    }

    fn on_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let entry = self.timers.pop().expect("a timer is due");
        let slot = entry.payload() & !(u32::MAX << KIND_SHIFT);
        let flow = entry.key();
        match entry.payload() >> KIND_SHIFT {
            SENDER => {
                let Some(sender) = self.senders.get_mut(slot as usize) else {
                    return;
                };
                if sender.flow != flow || sender.timer_at != now {
                    return;
                }
                sender.timer_at = Time::NEVER;
                if sender.next_timer() <= now {
                    let timeout = window.plan.config.host.retransmit_timeout;
                    sender.on_timer(now, timeout, &mut self.rng);
                    self.after_change(now, slot);
                } else {
                    self.arm_sender(slot);
                }
            }
            RECEIVER => {
                let Some(receiver) = self.receivers.get_mut(slot as usize) else {
                    return;
                };
                if receiver.flow != flow || receiver.timer_at != now {
                    return;
                }
                receiver.timer_at = Time::NEVER;
                if receiver.notification_point.next_timer() <= now {
                    let notification = receiver.notification_point.on_timer(now);
                    let to = Packet {
                        flow,
                        src: receiver.src(),
                        aux: receiver.sender_slot,
                        source_port: receiver.source_port(),
                        ..Packet::new(Kind::Data, 0, 0, 0)
                    };
                    if let Some(notification) = notification {
                        self.notify(now, &to, &notification, window);
                    }
                }
                self.arm_receiver(slot);
            }
            TCP_SENDER => self.on_tcp_sender_timer(now, slot, flow, window),
            TCP_RECEIVER => self.on_tcp_receiver_timer(now, slot, flow, window),
            DELAYED => self.on_delayed(now, slot, window),
            NOTIFICATION => {
                if let Some(packet) = self.notified.pop_front() {
                    self.on_notification(now, &packet);
                }
            }
            _ => {
                let place = self.place(slot as u8, window.plan);
                let throttle = &mut self.throttles[slot as usize];
                throttle.on_timer(now, place, window.log);
                // A PAUSE that came later has an entry of its own.
                if throttle.next_timer().is_never() {
                    self.after_pause_change(now, slot as u8);
                }
            }
        }
    }

    fn on_sample(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        if now.as_ps().is_multiple_of(self.flow_interval.as_ps()) {
            self.sample_flows(now, log);
        }
        if self.sampling.port {
            self.sample_port(now, plan, log);
        }
    }

    fn sample_flows(&self, now: Time, log: &mut Log) {
        for (_, sender) in &self.senders {
            if sender.recorded {
                let (flow, sent_bytes) = (sender.flow, sender.sent_bytes);
                log.sender_series.push(SenderSample {
                    time: now,
                    flow,
                    rate: Some(sender.rate()),
                    cwnd_bytes: sender.window(),
                    sent_bytes,
                    notifications: sender.notifications,
                });
            }
        }
        for (_, receiver) in &self.receivers {
            if receiver.recorded() && receiver.start() <= now {
                log.receiver_series
                    .push((now, receiver.flow, receiver.delivered_bytes()));
            }
        }
        self.tcp.sample(now, log);
    }

    fn sample_port(&self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        for class in 0..self.counters.len() {
            log.port_series.push(PortSample {
                time: now,
                node: self.id,
                port: 0,
                priority: plan.classes.priority(class as u8),
                queue_bytes: 0,
                ingress_bytes: 0,
                tx_bytes: self.counters[class].tx_bytes,
                pause_frames: 0,
                paused: self.throttles[class].total(now),
            });
        }
    }
}

impl NodeModel for Host {
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        window.wires.prefetch(self.port);
        loop {
            let (now, event) = self.next_event(window.wires.head(self.port));
            if now >= window.end {
                return now;
            }
            window.log.counts.events += 1;
            match event {
                Event::Timer => self.on_timer(now, window),
                Event::Arrival => {
                    let (packet, _) = window.wires.pop(self.port);
                    self.on_arrival(now, &packet, window);
                }
                Event::Reaction => {
                    if let Some(reaction) = self.reactions.pop() {
                        self.obey(now, reaction, window);
                    }
                }
                Event::Start => self.on_start(now, window),
                Event::Nic => self.on_nic(now, window),
                Event::Sample => {
                    self.sampling.at = now + self.sampling.interval;
                    self.on_sample(now, window.plan, window.log);
                }
            }
        }
    }

    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        if self.sampling.at == now {
            self.on_sample(now, plan, log);
        }
        for (_, receiver) in &self.receivers {
            if receiver.start() < now {
                log.flows.push(receiver.end(None));
            }
        }
        log.senders
            .extend(self.senders.iter().filter_map(|(_, sender)| sender.end()));
        self.tcp.finish(now, log);
        for class in 0..self.counters.len() as u8 {
            let place = self.place(class, plan);
            let throttle = &mut self.throttles[class as usize];
            let paused = throttle.total(now);
            throttle.finish(now, place, log);
            let Counters {
                tx_packets,
                tx_bytes,
            } = self.counters[class as usize];
            if tx_packets > 0 || paused > Time::ZERO {
                log.ports.push(PortRecord {
                    node: self.id,
                    port: 0,
                    priority: place.priority,
                    tx_packets,
                    tx_bytes,
                    paused,
                    ..PortRecord::default()
                });
            }
        }
    }

    fn held_data_packets(&self) -> u64 {
        self.delayed.len() as u64
    }
}
