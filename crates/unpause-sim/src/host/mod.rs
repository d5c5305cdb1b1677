//! A host: a NIC with one port, flows that it sends and flows that it receives.
//!
//! The NIC sends control packets first, then, by strict priority between classes, the flows whose
//! rate limiters allow it, in turn. PFC of the switch stops classes one by one; control packets are
//! never stopped.

use std::collections::VecDeque;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use slab::Slab;
use unpause_protocols::notification::Notification;
use unpause_protocols::units::Time;

use crate::config::NodeId;
use crate::engine::heap::{Entry, Heap};
use crate::engine::ring::Ring;
use crate::engine::shard::{Log, NodeModel, SenderSample, Window};
use crate::engine::wire::GlobalPort;
use crate::packet::{ACK_REQUEST, CE, Kind, MEASURE, Packet};
use crate::plan::Plan;
use crate::results::{PortRecord, PortSample};
use crate::routing::mix;
use crate::throttle::{Place, Reaction, Reactions, Throttle};
use crate::traffic::FlowSpec;

pub mod receiver;
pub mod sender;

use receiver::{Receiver, Reception};
use sender::{Pace, Sender};

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
    /// Flows that may send, in turn, by class.
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
    counters: Vec<Counters>,
    rng: Xoshiro256PlusPlus,
    sampling: Sampling,
}

/// A flow to come.
#[derive(Clone, Copy, Debug)]
pub struct FlowStart {
    /// Flow.
    pub id: u32,
    /// What it is.
    pub spec: FlowSpec,
    /// Its place in the receiver's table.
    pub receiver_slot: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    tx_packets: u64,
    tx_bytes: u64,
}

/// When to sample, and whether ports.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Next sampling instant; [`Time::NEVER`] when nothing is sampled.
    pub at: Time,
    /// Interval.
    pub interval: Time,
    /// Sample the port, not only flows.
    pub port: bool,
}

// Timer entries: the kind in the upper two bits of the payload, a slot or class below.
const SENDER: u32 = 0;
const RECEIVER: u32 = 1;
const PAUSE: u32 = 2;
const KIND_SHIFT: u32 = 30;

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
        let seed = mix(plan.config.seed ^ mix(u64::from(id) + 1));
        let probes = &plan.config.probes;
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
            counters: vec![Counters::default(); classes],
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            sampling: Sampling {
                at: Time::NEVER,
                interval: probes.interval,
                port: probes.ports.iter().any(|&(node, _)| node == id),
            },
        }
    }

    /// Makes place for a flow that this host will receive.
    pub fn expect(&mut self, flow: u32, spec: &FlowSpec, plan: &Plan<'_>) -> u32 {
        self.sample_from(spec);
        self.receivers.insert(Receiver::new(flow, spec, plan)) as u32
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
        if spec.recorded && self.sampling.at.is_never() {
            self.sampling.at = grid_after(spec.start, self.sampling.interval);
        }
    }

    /// Sampling of the port begins with the run.
    pub fn first_sample(&mut self) -> Time {
        if self.sampling.port {
            self.sampling.at = self.sampling.interval;
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
            _ => self.on_feedback(now, packet, window),
        }
    }

    fn on_data(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        window.log.counts.delivered_packets += 1;
        let slot = packet.slot;
        let receiver = match self.receivers.get_mut(slot as usize) {
            Some(receiver) if receiver.flow == packet.flow => receiver,
            // The flow is complete: whatever comes again has arrived before.
            _ => return self.acknowledge(now, Kind::Ack, packet.seq + 1, packet, window),
        };
        let bytes = window.ports.wire_bytes(packet) as u32;
        receiver.sender_slot = packet.aux;
        let notification = receiver
            .notification_point
            .on_data(now, bytes, packet.is(CE));
        let reception = receiver.on_data(packet.seq);
        let expected = receiver.expected;
        if reception == Reception::Complete {
            window.log.flows.push(receiver.end(Some(now)));
            if receiver.recorded() {
                let delivered = receiver.delivered_bytes();
                window
                    .log
                    .receiver_series
                    .push((now, packet.flow, delivered));
            }
            self.receivers.remove(slot as usize);
        } else {
            if let Some(notification) = notification {
                self.notify(now, packet, &notification, window);
            }
            self.arm_receiver(slot);
        }
        match reception {
            Reception::Complete | Reception::Duplicate => {
                self.acknowledge(now, Kind::Ack, expected, packet, window);
            }
            Reception::InOrder if packet.is(ACK_REQUEST) => {
                self.acknowledge(now, Kind::Ack, expected, packet, window);
            }
            Reception::InOrder => {}
            Reception::Gap => {
                window.log.counts.sequence_errors += 1;
                self.acknowledge(now, Kind::Nak, expected, packet, window);
            }
            Reception::KnownGap => window.log.counts.sequence_errors += 1,
        }
    }

    fn acknowledge(
        &mut self,
        now: Time,
        kind: Kind,
        seq: u32,
        data: &Packet,
        window: &mut Window<'_, '_>,
    ) {
        let flags = if data.is(MEASURE) { MEASURE } else { 0 };
        let priority = window.plan.config.host.control_priority;
        let ack = Packet {
            stamp: data.stamp,
            flow: data.flow,
            seq,
            src: self.id,
            dst: data.src,
            slot: data.aux,
            aux: u32::from(data.bytes),
            source_port: data.source_port,
            ..Packet::new(kind, priority, flags, kind.control_bytes())
        };
        self.send_control(now, ack, window);
    }

    fn notify(
        &mut self,
        now: Time,
        data: &Packet,
        notification: &Notification,
        window: &mut Window<'_, '_>,
    ) {
        window.log.counts.notifications += 1;
        let priority = window.plan.config.host.control_priority;
        let packet = Packet {
            flow: data.flow,
            src: self.id,
            dst: data.src,
            slot: data.aux,
            source_port: data.source_port,
            ..Packet::from_notification(notification, priority)
        };
        self.send_control(now, packet, window);
    }

    fn on_feedback(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let slot = packet.slot;
        let Some(sender) = self.senders.get_mut(slot as usize) else {
            return;
        };
        if sender.flow != packet.flow {
            return;
        }
        let timeout = window.plan.config.host.retransmit_timeout;
        match packet.kind {
            Kind::Nak => sender.on_nak(now, packet.seq, timeout),
            Kind::Ack => {
                let own = (u64::from(packet.aux) + window.ports.framing_bytes) * self.ps_per_byte;
                let departed = Time::from_ps(packet.stamp + own);
                let rtt = packet.is(MEASURE).then(|| now.saturating_sub(departed));
                sender.on_ack(now, packet.seq, rtt, timeout);
                // In the round-robin, it is forgotten when its turn comes.
                if sender.is_done() && sender.pace != Pace::Ready {
                    return self.forget(slot, window.log);
                }
            }
            _ => {
                if let Some(notification) = packet.notification() {
                    sender.on_notification(now, &notification, &mut self.rng);
                }
            }
        }
        self.after_change(now, slot);
    }

    /// A flow's rate, window of packets or timers may have changed.
    fn after_change(&mut self, now: Time, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        sender.repace(now);
        match sender.pace {
            Pace::Idle => {
                if sender.has_packet(now) {
                    self.enqueue(slot);
                }
            }
            Pace::Until(at) if sender.next_start < at => {
                sender.pace = Pace::Until(sender.next_start);
                let entry = Entry::new(sender.next_start, sender.flow, slot);
                self.pacing.push(entry);
                self.nic_at = self.nic_at.min(entry.time().max(self.busy_until));
            }
            _ => {}
        }
        self.arm_sender(slot);
    }

    /// Puts a flow with a packet to send into the round-robin, or behind its rate limiter if that
    /// allows it only after the port is free again.
    fn enqueue(&mut self, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        let start = sender.next_start;
        if start <= self.busy_until {
            sender.pace = Pace::Ready;
            self.ready[sender.class as usize].push_back(slot);
            self.ready_mask |= 1 << sender.class;
            self.nic_at = self.nic_at.min(self.busy_until);
        } else {
            sender.pace = Pace::Until(start);
            self.pacing.push(Entry::new(start, sender.flow, slot));
            self.nic_at = self.nic_at.min(start);
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

    fn forget(&mut self, slot: u32, log: &mut Log) {
        let sender = self.senders.remove(slot as usize);
        if sender.retransmitted > 0 {
            log.retransmissions
                .push((sender.flow, sender.retransmitted));
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
            _ => {
                let place = self.place(slot as u8, window.plan);
                let throttle = &mut self.throttles[slot as usize];
                throttle.on_timer(now, place, window.log);
                self.after_pause_change(now, slot as u8);
            }
        }
    }

    fn obey(&mut self, now: Time, reaction: Reaction, window: &mut Window<'_, '_>) {
        for class in 0..self.throttles.len() as u8 {
            if reaction.priorities >> window.plan.classes.priority(class) & 1 == 1 {
                let place = self.place(class, window.plan);
                let throttle = &mut self.throttles[class as usize];
                throttle.on_frame(now, reaction.pause, place, window.log);
                self.after_pause_change(now, class);
            }
        }
    }

    fn after_pause_change(&mut self, now: Time, class: u8) {
        let until = self.throttles[class as usize].next_timer();
        if until.is_never() {
            self.paused_mask &= !(1 << class);
            if self.ready_mask & !self.paused_mask != 0 {
                self.nic_at = self.nic_at.min(self.busy_until.max(now));
            }
        } else {
            self.paused_mask |= 1 << class;
            self.timers.push(Entry::new(
                until,
                u32::from(class),
                PAUSE << KIND_SHIFT | u32::from(class),
            ));
        }
    }

    fn place(&self, class: u8, plan: &Plan<'_>) -> Place {
        let record = plan.config.probes.pauses;
        Place {
            node: self.id,
            port: 0,
            priority: plan.classes.priority(class),
            record,
        }
    }

    #[inline]
    fn send_control(&mut self, now: Time, packet: Packet, window: &mut Window<'_, '_>) {
        if self.busy_until <= now && self.control.is_empty() {
            let class = window.plan.classes.control;
            self.transmit(now, class, &packet, window);
            self.set_nic();
        } else {
            self.control.push(&packet);
            self.nic_at = self.nic_at.min(self.busy_until.max(now));
        }
    }

    #[inline]
    fn transmit(&mut self, now: Time, class: u8, packet: &Packet, window: &mut Window<'_, '_>) {
        let counters = &mut self.counters[class as usize];
        counters.tx_packets += 1;
        counters.tx_bytes += window.ports.wire_bytes(packet);
        self.busy_until = window.transmit(self.port, now, packet, 0);
    }

    /// When to look again for something to send.
    #[inline]
    fn set_nic(&mut self) {
        let sendable = !self.control.is_empty() || self.ready_mask & !self.paused_mask != 0;
        self.nic_at = if sendable {
            self.busy_until
        } else {
            self.pacing.next_time().max(self.busy_until)
        };
    }

    fn on_nic(&mut self, now: Time, window: &mut Window<'_, '_>) {
        self.busy_until = self.busy_until.max(now);
        self.release_paced(now);
        if !self.control.is_empty() {
            let packet = self.control.pop();
            let class = window.plan.classes.control;
            self.transmit(now, class, &packet, window);
        } else if let Some(slot) = self.next_ready(now, window.log) {
            let sender = &mut self.senders[slot as usize];
            let class = sender.class;
            let packet = sender.send(now, self.id, slot, window.plan, &mut self.rng);
            sender.pace = Pace::Idle;
            let more = sender.has_packet(now);
            window.log.counts.data_packets += 1;
            self.transmit(now, class, &packet, window);
            if more {
                self.enqueue(slot);
            }
            self.arm_sender(slot);
        }
        self.set_nic();
    }

    /// Moves flows whose rate limiters have come to allow a packet into the round-robin.
    fn release_paced(&mut self, now: Time) {
        while let Some(entry) = self.pacing.peek() {
            if entry.time() > now {
                break;
            }
            self.pacing.pop();
            let slot = entry.payload();
            let Some(sender) = self.senders.get_mut(slot as usize) else {
                continue;
            };
            if sender.flow == entry.key() && sender.pace == Pace::Until(entry.time()) {
                self.enqueue(slot);
            }
        }
    }

    /// The flow whose turn it is, out of the round-robin.
    fn next_ready(&mut self, now: Time, log: &mut Log) -> Option<u32> {
        loop {
            let eligible = self.ready_mask & !self.paused_mask;
            if eligible == 0 {
                return None;
            }
            let class = 7 - eligible.leading_zeros() as usize;
            let slot = self.ready[class].pop_front()?;
            if self.ready[class].is_empty() {
                self.ready_mask &= !(1 << class);
            }
            let sender = &mut self.senders[slot as usize];
            debug_assert_eq!(sender.pace, Pace::Ready);
            sender.pace = Pace::Idle;
            if !sender.has_packet(now) {
                if sender.is_done() {
                    self.forget(slot, log);
                }
                continue;
            }
            if sender.next_start > now {
                self.enqueue(slot);
                continue;
            }
            return Some(slot);
        }
    }

    fn on_sample(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        for (_, sender) in &self.senders {
            if sender.recorded {
                let (flow, sent_bytes) = (sender.flow, sender.sent_bytes);
                let rate_bps = sender.rate().as_bps();
                log.sender_series.push(SenderSample {
                    time: now,
                    flow,
                    rate_bps,
                    sent_bytes,
                });
            }
        }
        for (_, receiver) in &self.receivers {
            if receiver.recorded() && receiver.start() <= now {
                log.receiver_series
                    .push((now, receiver.flow, receiver.delivered_bytes()));
            }
        }
        if self.sampling.port {
            for class in 0..self.counters.len() {
                log.port_series.push(PortSample {
                    time: now,
                    node: self.id,
                    port: 0,
                    priority: plan.classes.priority(class as u8),
                    queue_bytes: 0,
                    tx_bytes: self.counters[class].tx_bytes,
                    pause_frames: 0,
                    paused: self.throttles[class].total(now),
                });
            }
        }
    }
}

/// The first multiple of `interval` after `time`.
pub fn grid_after(time: Time, interval: Time) -> Time {
    interval * (time.as_ps() / interval.as_ps() + 1)
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
        for (_, sender) in &self.senders {
            if sender.retransmitted > 0 {
                log.retransmissions
                    .push((sender.flow, sender.retransmitted));
            }
        }
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
        0
    }
}
