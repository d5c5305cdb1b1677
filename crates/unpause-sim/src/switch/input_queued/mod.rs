//! Input-queued switch with a crossbar.
//!
//! A frame waits at its input, in a FIFO or in a virtual output queue, until iSLIP ([`islip`]) has matched
//! input and output. Matchings begin with slots of a cell; a pair stays matched until the last cell of its
//! frame has crossed (packet mode: Ajmone Marsan et al., "Packet-Mode Scheduling in Input-Queued Cell-Based
//! Switches", IEEE/ACM Transactions on Networking 10(5), 2002), when the frame joins its egress queue. It
//! counts at its input until then. An output without room for another frame takes no part.

mod islip;
mod lanes;

use unpause_protocols::flow_control::pfc;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use crate::chassis::{Chassis, InputBuffer, Model, Way, culprit};
use crate::config::{InputQueuedConfig, InputQueues, MOST_CROSSBAR_PORTS};
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId};
use crate::plan::Plan;

use islip::{Islip, Ports, members};
use lanes::Lanes;

/// The queues of the inputs, and the packets that cross.
#[derive(Debug, Show)]
#[show(refuse)]
pub struct InputQueued {
    buffer: InputBuffer,
    /// An egress queue with more bytes has no room for another frame.
    full_bytes: u64,
    cell_bytes: u32,
    slot: Time,
    lanes: Lanes,
    islip: Islip,
    /// By output: the frame that crosses.
    crossing: Vec<Option<Crossing>>,
    free_inputs: Ports,
    free_outputs: Ports,
    /// The next slot in which anything can happen.
    next_slot: Time,
    /// Data packets that are not in an egress queue.
    inside: u64,
    matched: Vec<Way>,
}

/// A frame between input and output.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// When its last cell is there.
    ends: Time,
    way: Way,
    packet: Packet,
}

impl InputQueued {
    /// An empty switch.
    pub fn switch(id: NodeId, config: &InputQueuedConfig, plan: &Plan<'_>) -> Chassis<Self> {
        let transmitters = plan.ports.transmitters_of(id);
        let (ports, classes) = (transmitters.len(), plan.classes.count());
        let fastest = transmitters.iter().map(|it| it.speed).max();
        let (voq, iterations) = match config.queues {
            // Every input asks for one output only.
            InputQueues::Fifo => (false, 1),
            InputQueues::Voq { iterations } => (true, iterations),
        };
        let all = Ports::MAX >> (MOST_CROSSBAR_PORTS - ports);
        let frame = u64::from(plan.config.largest_frame_bytes());
        let model = Self {
            buffer: InputBuffer::new(config.input_buffer_bytes, plan),
            full_bytes: config.output_buffer_bytes - frame,
            cell_bytes: config.cell_bytes,
            slot: fastest.map_or(Time::ZERO, |speed| config.slot(speed)),
            lanes: Lanes::new(ports, classes, voq),
            islip: Islip::new(ports, classes, iterations),
            crossing: vec![None; ports],
            free_inputs: all,
            free_outputs: all,
            next_slot: Time::NEVER,
            inside: 0,
            matched: Vec::new(),
        };
        let source = |_, _| pfc::Ingress::new();
        let watched = |class| class != plan.classes.control;
        Chassis::new(id, plan, source, watched, model)
    }

    /// Something may be matched from `now` on.
    fn wake(&mut self, now: Time) {
        let slot = now.as_ps().div_ceil(self.slot.as_ps());
        self.next_slot = self.next_slot.min(self.slot * slot);
    }
}

impl InputQueued {
    /// Frames whose last cell crosses at `now` join their egress queues.
    fn arrive(switch: &mut Chassis<Self>, now: Time, window: &mut Window<'_, '_>) {
        for output in 0..switch.model.crossing.len() {
            let crossing = &mut switch.model.crossing[output];
            let Some(Crossing { way, packet, .. }) = crossing.take_if(|it| it.ends <= now) else {
                continue;
            };
            switch.model.free_inputs |= 1 << way.from;
            switch.model.free_outputs |= 1 << way.to;
            switch.model.inside -= u64::from(packet.kind.is_data());
            let freed = (way.from, way.class, u32::from(packet.bytes));
            let buffer = switch.model.buffer;
            buffer.free(switch, now, freed, window);
            let packet = Packet {
                time: now,
                ..packet
            };
            switch.offer(now, &packet, way, window);
        }
    }

    /// Matches inputs and outputs, and has frames cross; answers when there is more to do.
    fn schedule(switch: &mut Chassis<Self>, now: Time) -> Time {
        let model = &mut switch.model;
        let (lanes, queues, classes) =
            (&model.lanes, &switch.outputs.queues, switch.outputs.classes);
        let asking = |output: PortId, class: u8| {
            let queue = &queues[usize::from(output) * classes + usize::from(class)];
            if queue.bytes <= model.full_bytes {
                lanes.asking(output, class)
            } else {
                0
            }
        };
        let (inputs, outputs) = (model.free_inputs, model.free_outputs);
        let done = model.islip.run(inputs, outputs, asking, &mut model.matched);
        for way in model.matched.drain(..) {
            let packet = model.lanes.pop(way);
            let cells = u32::from(packet.bytes).div_ceil(model.cell_bytes);
            model.free_inputs &= !(1 << way.from);
            model.free_outputs &= !(1 << way.to);
            model.crossing[usize::from(way.to)] = Some(Crossing {
                ends: now + model.slot * u64::from(cells),
                way,
                packet,
            });
        }
        if !done {
            return now + model.slot;
        }
        let ends = model.crossing.iter().flatten().map(|it| it.ends);
        ends.min().unwrap_or(Time::NEVER)
    }

    /// The congestion point of an input sees a frame that waits there.
    fn accuse_at_input(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let index = switch.index(way.from, way.class);
        let Some(message) = switch.inputs.watch(now, packet, index, &mut switch.rng) else {
            return;
        };
        let frames = switch.model.lanes.frames(way.from, way.class);
        let selection = switch.inputs.selection;
        if let Some(culprit) = culprit::choose(selection, packet, frames, &mut switch.rng) {
            let cnm = switch.inputs.accuse(&culprit, message, index, window);
            Self::receive(switch, now, &cnm, way.from, window);
        }
    }
}

impl Model for InputQueued {
    type PauseSource = pfc::Ingress;

    /// Finds the egress, and has the frame wait for it.
    fn receive(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        from: PortId,
        window: &mut Window<'_, '_>,
    ) {
        let Some(way) = switch.way(now, packet, from, window) else {
            return;
        };
        let (bytes, buffer) = (u32::from(packet.bytes), switch.model.buffer);
        if !buffer.take(switch, now, (packet, bytes), way, window) {
            return;
        }
        let packet = Packet {
            time: now,
            ingress: from,
            ..*packet
        };
        switch.model.inside += u64::from(packet.kind.is_data());
        switch.model.lanes.push(&packet, way);
        switch.model.wake(now);
        if switch.inputs.are_watched() {
            Self::accuse_at_input(switch, now, &packet, way, window);
        }
    }

    /// An egress queue has room again.
    fn left(
        switch: &mut Chassis<Self>,
        now: Time,
        _packet: &Packet,
        way: Way,
        _window: &mut Window<'_, '_>,
    ) {
        if switch.model.lanes.asking(way.to, way.class) != 0 {
            switch.model.wake(now);
        }
    }

    #[inline]
    fn next_time(&self) -> Time {
        self.next_slot
    }

    fn step(switch: &mut Chassis<Self>, now: Time, window: &mut Window<'_, '_>) {
        Self::arrive(switch, now, window);
        switch.model.next_slot = Self::schedule(switch, now);
    }

    fn counted_before(
        switch: &Chassis<Self>,
        from: PortId,
        class: u8,
        _plan: &Plan<'_>,
        found: &mut Vec<(Option<PortId>, Packet)>,
    ) {
        let waiting = switch.model.lanes.waiting(from, class);
        found.extend(waiting.map(|(to, packet)| (Some(*to), *packet)));
        let crossing = switch.model.crossing.iter().flatten();
        let own = crossing.filter(|it| (it.way.from, it.way.class) == (from, class));
        found.extend(own.map(|it| (Some(it.way.to), it.packet)));
    }

    fn held_data_packets(&self) -> u64 {
        self.inside
    }

    /// Inputs that ask for the queue's output; behind the first frame of a FIFO all others wait, too.
    fn waiting_before(
        switch: &Chassis<Self>,
        index: usize,
        plan: &Plan<'_>,
        found: &mut Vec<(PortId, u8)>,
    ) {
        let (output, class) = (
            index / switch.outputs.classes,
            (index % switch.outputs.classes) as u8,
        );
        let inputs = members(switch.model.lanes.asking(output as PortId, class));
        let priority = plan.classes.priority(class);
        found.extend(inputs.map(|input| (input, priority)));
    }
}
