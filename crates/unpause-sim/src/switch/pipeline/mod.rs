//! Switch with one packet processor behind its ingress FIFOs, as in the CaPFC paper (IFIP Networking
//! 2016, section II).
//!
//! The processor serves ingress ports in turn, decides on the way out, and puts a packet into its
//! egress queue after a fixed latency. Nothing can wait between: if the queue is full, [`FullQueue`] says
//! whether the packet is dropped or everything stops. An ingress counts a packet from reception until
//! it is in its egress queue.

mod memory;
mod processor;
mod watch;

use unpause_protocols::flow_control::capfc::{self, Input};
use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use crate::chassis::{Chassis, Counted, Model, Way};
use crate::config::{FullQueue, PipelineConfig};
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId};
use crate::outcome::results::LossPlace;
use crate::plan::Plan;

use memory::Memory;
use processor::Processor;

/// The processor, and the memory around it.
#[derive(Debug, Show)]
#[show(refuse)]
pub struct Pipeline {
    thresholds: capfc::IngressParams,
    full_queue: FullQueue,
    /// By port, then class: how often the queue stopped the processor, and for how long.
    stalls: Vec<(u64, Time)>,
    /// By port, then class: who filled the queue; none but with CaPFC.
    watchers: Vec<capfc::Egress<Box<[Input]>>>,
    memory: Memory,
    processor: Processor,
    /// Inputs of which a queue has just set or cleared the mark.
    touched: Vec<PortId>,
}

impl Pipeline {
    /// An empty switch.
    pub fn switch(id: NodeId, config: &PipelineConfig, plan: &Plan<'_>) -> Chassis<Self> {
        let ports = plan.ports.of(id).len();
        let classes = plan.classes.count();
        let watcher = || capfc::Egress::new(vec![Input::default(); ports].into_boxed_slice());
        let watched = match config.full_queue {
            FullQueue::Capfc(_) => ports * classes,
            FullQueue::Drop | FullQueue::Stop => 0,
        };
        let model = Self {
            thresholds: config.ingress,
            full_queue: config.full_queue,
            stalls: vec![(0, Time::ZERO); ports * classes],
            watchers: (0..watched).map(|_| watcher()).collect(),
            memory: Memory::new(config.memory, ports, classes),
            processor: Processor::new(config, ports),
            touched: Vec::new(),
        };
        let source = |_, _| capfc::Ingress::default();
        Chassis::new(id, plan, source, |_| false, model)
    }

    /// The egress queue that has stopped the processor.
    fn stalled(switch: &Chassis<Self>, plan: &Plan<'_>) -> Option<usize> {
        let processor = &switch.model.processor;
        let head = processor.head().filter(|_| processor.is_stalled())?;
        let class = plan.classes.of(head.packet.priority());
        Some(switch.index(head.to, class))
    }
}

impl Pipeline {
    /// The ingress (`from`, `class`) has decided; only lossless priorities have PAUSE.
    #[inline]
    pub(super) fn decided(
        switch: &mut Chassis<Self>,
        now: Time,
        from: PortId,
        class: u8,
        action: Action,
        counted: Counted<'_>,
        window: &mut Window<'_, '_>,
    ) {
        if action == Action::None || !window.plan.classes.is_lossless(class) {
            return;
        }
        let index = switch.index(from, class);
        // A repeated XOFF is the timer's.
        switch.inputs.totals[index].pause_events += u64::from(action == Action::Xoff);
        switch.request_pfc(now, from, class, action, window);
        if action == Action::Xoff {
            switch.note_xoff(now, from, class, counted, window.plan);
        }
    }

    /// The processor takes a packet and finds its egress.
    fn serve(switch: &mut Chassis<Self>, now: Time, window: &mut Window<'_, '_>) {
        let packet = switch.model.processor.serve();
        let Some(to) = switch.next_hop(now, &packet, window) else {
            switch.model.processor.discard(now);
            let class = window.plan.classes.of(packet.priority());
            Self::release(switch, now, &packet, class, window);
            let index = switch.index(packet.ingress, class);
            switch.model.memory.free(index, u64::from(packet.bytes));
            return window.lose((switch.id, packet.ingress), LossPlace::Switch, &packet);
        };
        switch.model.processor.process(now, packet, to);
    }

    /// A packet comes out of the processor.
    fn exit(switch: &mut Chassis<Self>, now: Time, window: &mut Window<'_, '_>) {
        let Some(head) = switch.model.processor.head() else {
            return;
        };
        let (packet, to) = (head.packet, head.to);
        let class = window.plan.classes.of(packet.priority());
        let index = switch.index(to, class);
        let size = u64::from(packet.bytes);
        let fits = switch
            .model
            .memory
            .fits(to, switch.outputs.queues[index].bytes, size);
        if !fits
            && switch.model.full_queue == FullQueue::Stop
            && window.plan.classes.is_lossless(class)
        {
            switch.model.stalls[index].0 += 1;
            return switch.model.processor.stall(now);
        }
        switch.model.processor.exit();
        Self::release(switch, now, &packet, class, window);
        if fits {
            let packet = Packet {
                time: now,
                ..packet
            };
            let from = packet.ingress;
            switch.offer(now, &packet, Way { from, to, class }, window);
        } else {
            switch
                .model
                .memory
                .free(switch.index(packet.ingress, class), size);
            switch.discard(index, &packet, window);
        }
    }

    /// A packet no longer counts at its ingress.
    fn release(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let index = switch.index(packet.ingress, class);
        let ingress = &mut switch.inputs.ingress[index];
        let frames = &window.plan.config.switch.pfc.params;
        let pause = ingress.pause;
        let bytes = u32::from(packet.bytes);
        let action = ingress
            .source
            .on_release(now, bytes, &switch.model.thresholds, pause, frames);
        Self::decided(
            switch,
            now,
            packet.ingress,
            class,
            action,
            Counted::Before(None),
            window,
        );
    }

    /// There is more room at an egress: continues if the next packet was waiting for it.
    fn resume(switch: &mut Chassis<Self>, now: Time, plan: &Plan<'_>) {
        let Some(head) = switch.model.processor.head() else {
            return;
        };
        let class = plan.classes.of(head.packet.priority());
        let index = switch.index(head.to, class);
        let size = u64::from(head.packet.bytes);
        if switch
            .model
            .memory
            .fits(head.to, switch.outputs.queues[index].bytes, size)
            && let Some(since) = switch.model.processor.resume(now)
        {
            switch.model.stalls[index].1 += now - since;
        }
    }
}

impl Model for Pipeline {
    type PauseSource = capfc::Ingress;
    const JOINS: bool = true;

    /// The packet waits for the processor in the FIFO of its port.
    fn receive(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        from: PortId,
        window: &mut Window<'_, '_>,
    ) {
        let class = window.plan.classes.of(packet.priority());
        let index = switch.index(from, class);
        let ingress = &mut switch.inputs.ingress[index];
        let model = &mut switch.model;
        let bytes = u32::from(packet.bytes);
        let waiting = ingress.source.bytes();
        if !model.memory.admit(index, waiting, u64::from(bytes)) {
            if window.plan.classes.is_lossless(class) {
                switch.inputs.totals[index].count_drop(packet);
            }
            return switch.discard(index, packet, window);
        }
        let frames = &window.plan.config.switch.pfc.params;
        let pause = ingress.pause;
        let action = ingress
            .source
            .on_admit(now, bytes, &model.thresholds, pause, frames);
        ingress.max_bytes = ingress.max_bytes.max(ingress.source.bytes());
        model.processor.arrive(packet, from);
        Self::decided(
            switch,
            now,
            from,
            class,
            action,
            Counted::Before(None),
            window,
        );
        if switch.model.processor.next_service() <= now {
            Self::serve(switch, now, window);
        }
    }

    fn joined(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let size = u64::from(packet.bytes);
        let queue = &mut switch.outputs.queues
            [way.to as usize * switch.outputs.classes + way.class as usize];
        // It has been there even if it leaves at once.
        queue.max_bytes = queue.max_bytes.max(queue.bytes);
        switch.model.memory.join(way.to, queue.bytes - size, size);
        Self::watch_joined(switch, now, packet, way, window);
    }

    /// There is more room at an egress: the processor continues if it was waiting for it.
    fn left(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let size = u64::from(packet.bytes);
        let waiting = switch.outputs.queues[switch.index(way.to, way.class)].bytes;
        let ingress = switch.index(way.from, way.class);
        switch.model.memory.leave(way.to, waiting, size);
        switch.model.memory.free(ingress, size);
        Self::watch_left(switch, now, packet, way, window);
        if switch.model.processor.is_stalled() {
            Self::resume(switch, now, window.plan);
        }
    }

    fn refused(
        switch: &mut Chassis<Self>,
        _now: Time,
        packet: &Packet,
        way: Way,
        _window: &mut Window<'_, '_>,
    ) {
        let ingress = switch.index(way.from, way.class);
        let size = u64::from(packet.bytes);
        switch.model.memory.free(ingress, size);
    }

    #[inline]
    fn next_time(&self) -> Time {
        self.processor
            .next_service()
            .min(self.processor.next_exit())
    }

    fn step(switch: &mut Chassis<Self>, now: Time, window: &mut Window<'_, '_>) {
        if switch.model.processor.next_service() == now {
            Self::serve(switch, now, window);
        } else {
            Self::exit(switch, now, window);
        }
    }

    fn finish(switch: &mut Chassis<Self>, now: Time, plan: &Plan<'_>) {
        if let Some(index) = Self::stalled(switch, plan)
            && let Some(since) = switch.model.processor.resume(now)
        {
            switch.model.stalls[index].1 += now - since;
        }
    }

    /// Behind a packet that has stopped the processor, all wait for its egress.
    fn counted_before(
        switch: &Chassis<Self>,
        from: PortId,
        class: u8,
        plan: &Plan<'_>,
        found: &mut Vec<(Option<PortId>, Packet)>,
    ) {
        let stalled =
            Self::stalled(switch, plan).map(|index| (index / switch.outputs.classes) as PortId);
        let own =
            |packet: &Packet| (packet.ingress, plan.classes.of(packet.priority())) == (from, class);
        let held = switch
            .model
            .processor
            .held()
            .filter(|(_, packet)| own(packet));
        found.extend(held.map(|(to, packet)| (stalled.or(to), *packet)));
    }

    fn held_data_packets(&self) -> u64 {
        let data = self.processor.iter().filter(|it| it.kind.is_data());
        data.count() as u64
    }

    fn stalls(&self, index: usize) -> (u64, Time) {
        self.stalls[index]
    }

    /// Behind a packet that has stopped the processor, everything waits that is in the processor.
    fn waiting_before(
        switch: &Chassis<Self>,
        index: usize,
        plan: &Plan<'_>,
        found: &mut Vec<(PortId, u8)>,
    ) {
        if Self::stalled(switch, plan) == Some(index) {
            let packets = switch.model.processor.iter();
            found.extend(packets.map(|it| (it.ingress, it.priority())));
        }
    }
}
