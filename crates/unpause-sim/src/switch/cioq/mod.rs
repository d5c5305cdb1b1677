//! Combined-input-output-queued fabric: one node with every host on it.
//!
//! A frame that has been received takes units of its input's memory, in a virtual output queue, and asks
//! the credit arbiter of its output for room. Granted, it crosses the fabric ([`crossing`]: a pipe, or cells
//! over leaves and spines) into the output's buffer. Inside nothing is lost. PAUSE keeps the hosts from
//! overflowing the inputs: XOFF and XON act on the bytes of units in use by an (input, class).
//!
//! Congestion points stand at outputs, but those of QCN that watch inputs, which stand there.

mod arbiter;
mod crossing;
mod memory;
mod setup;
mod spines;
mod voq;

use std::collections::VecDeque;

use unpause_protocols::flow_control::pfc;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use crate::chassis::{Chassis, InputBuffer, Model, Way};
use crate::config::CioqConfig;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::{Kind, Packet};
use crate::plan::Plan;

use arbiter::Arbiter;
use crossing::Crossing;
use memory::Memory;
use voq::{Arrival, Shape, Voq};

/// Input memories, what frames cross, and who may.
#[derive(Debug, Show)]
#[show(refuse)]
pub struct Cioq {
    shape: Shape,
    config: CioqConfig,
    buffer: InputBuffer,
    /// By port.
    memories: Vec<Memory>,
    /// By port, then class.
    arbiters: Vec<Arbiter>,
    crossing: Crossing,
    /// CNMs of outputs on their way to the outputs of those whom they notify.
    cnms: VecDeque<Packet>,
    /// Data packets that are not at their output yet.
    inside: u64,
}

/// Number of the timers of CNMs; that of an arbiter's is its place.
const CNM: u32 = u32::MAX;

impl Cioq {
    /// The congestion point of an input sees a frame that waits there. A culprit is told by the port it came
    /// by.
    fn accuse_at_input(
        switch: &mut Chassis<Self>,
        now: Time,
        arrived: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let Way { from, class, .. } = way;
        let index = switch.index(from, class);
        let Some(message) = switch.inputs.watch(now, arrived, index, &mut switch.rng) else {
            return;
        };
        let Shape { ports, classes } = switch.model.shape;
        let queues = (0..ports).map(|output| output * classes + usize::from(class));
        let memory = &switch.model.memories[usize::from(from)];
        let selection = switch.inputs.selection;
        let found = memory.culprit(selection, arrived, class, queues, &mut switch.rng);
        if let Some(culprit) = found {
            let cnm = switch.inputs.accuse(&culprit, message, index, window);
            Self::deliver(switch, now, &cnm, from, window);
        }
    }

    fn on_crossed(
        switch: &mut Chassis<Self>,
        now: Time,
        arrival: Arrival,
        window: &mut Window<'_, '_>,
    ) {
        match arrival {
            Arrival::Request(voq) => {
                let index = switch.index(voq.output, voq.class);
                switch.model.arbiters[index].request(voq.input);
                Self::arbitrate(switch, now, voq.output, voq.class);
            }
            Arrival::Grant(voq) => {
                let local = switch.index(voq.output, voq.class);
                let (packet, head) = switch.model.memories[usize::from(voq.input)].pop(local);
                switch.model.crossing.inject(now, voq, head, &packet);
            }
            Arrival::Left { voq, head } => Self::on_left(switch, now, voq, head, window),
            Arrival::Frame { voq, packet } => {
                switch.model.inside -= u64::from(packet.kind.is_data());
                Self::deliver(switch, now, &packet, voq.output, window);
            }
        }
    }

    /// A frame has left its input, which may send XON.
    fn on_left(
        switch: &mut Chassis<Self>,
        now: Time,
        voq: Voq,
        head: u32,
        window: &mut Window<'_, '_>,
    ) {
        let bytes = switch.model.memories[usize::from(voq.input)].free(head);
        let buffer = switch.model.buffer;
        buffer.free(switch, now, (voq.input, voq.class, bytes), window);
    }

    /// Grants what an output has room for.
    fn arbitrate(switch: &mut Chassis<Self>, now: Time, output: PortId, class: u8) {
        let index = switch.index(output, class);
        let arbiter = &mut switch.model.arbiters[index];
        while let Some(input) = arbiter.next() {
            if now < arbiter.next_at {
                if !arbiter.armed {
                    arbiter.armed = true;
                    let at = arbiter.next_at;
                    switch.set_timer(at, index as u32);
                }
                return;
            }
            let memory = &mut switch.model.memories[usize::from(input)];
            let bytes = u64::from(memory.next_bytes(index));
            if arbiter.used + bytes > switch.model.config.output_buffer_bytes {
                return;
            }
            memory.grant(index);
            arbiter.grant(now, bytes);
            switch.model.crossing.grant(
                now,
                Voq {
                    input,
                    output,
                    class,
                },
            );
        }
    }

    /// Puts a frame or a CNM into the buffer of its output.
    fn deliver(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        to: PortId,
        window: &mut Window<'_, '_>,
    ) {
        let way = Way {
            from: packet.ingress,
            to,
            class: window.plan.classes.of(packet.priority()),
        };
        let packet = Packet {
            time: now,
            ..*packet
        };
        switch.offer(now, &packet, way, window);
    }
}

impl Model for Cioq {
    type PauseSource = pfc::Ingress;

    /// Stores a frame, and asks for room at its output.
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
        let packet = &Packet {
            time: now,
            ingress: from,
            ..*packet
        };
        let bytes = switch.model.memories[usize::from(from)].bytes_of(packet);
        let buffer = switch.model.buffer;
        if !buffer.take(switch, now, (packet, bytes), way, window) {
            return;
        }
        let Way { to, class, .. } = way;
        let local = switch.index(to, class);
        let model = &mut switch.model;
        model.inside += u64::from(packet.kind.is_data());
        model.memories[usize::from(from)].push(packet, class, local);
        let voq = Voq {
            input: from,
            output: to,
            class,
        };
        model.crossing.request(now, voq);
        if switch.inputs.are_watched() {
            Self::accuse_at_input(switch, now, packet, way, window);
        }
    }

    /// The buffer of an output has room again.
    fn left(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        _window: &mut Window<'_, '_>,
    ) {
        // CNMs are made here and had no grant.
        if packet.kind != Kind::Cnm {
            let index = switch.index(way.to, way.class);
            switch.model.arbiters[index].used -= u64::from(packet.bytes);
            Self::arbitrate(switch, now, way.to, way.class);
        }
    }

    /// A CNM of an output takes as long as a frame to get where it goes.
    fn send_cnm(
        switch: &mut Chassis<Self>,
        now: Time,
        cnm: &Packet,
        _from: PortId,
        _window: &mut Window<'_, '_>,
    ) {
        switch.model.cnms.push_back(*cnm);
        switch.set_timer(now + switch.model.config.latency, CNM);
    }

    #[inline]
    fn next_time(&self) -> Time {
        self.crossing.next_time()
    }

    fn step(switch: &mut Chassis<Self>, now: Time, window: &mut Window<'_, '_>) {
        if let Some(arrival) = switch.model.crossing.step() {
            Self::on_crossed(switch, now, arrival, window);
        }
    }

    fn on_timer(switch: &mut Chassis<Self>, now: Time, number: u32, window: &mut Window<'_, '_>) {
        if number != CNM {
            let index = number as usize;
            let (output, class) = (
                index / switch.outputs.classes,
                index % switch.outputs.classes,
            );
            switch.model.arbiters[index].armed = false;
            Self::arbitrate(switch, now, output as PortId, class as u8);
        } else if let Some(cnm) = switch.model.cnms.pop_front()
            && let Some(way) = switch.way(now, &cnm, cnm.ingress, window)
        {
            Self::deliver(switch, now, &cnm, way.to, window);
        }
    }

    /// Frames that are crossing have left their queue and are not among them.
    fn counted_before(
        switch: &Chassis<Self>,
        from: PortId,
        class: u8,
        _plan: &Plan<'_>,
        found: &mut Vec<(Option<PortId>, Packet)>,
    ) {
        let memory = &switch.model.memories[usize::from(from)];
        for to in 0..switch.model.memories.len() as PortId {
            let frames = memory.frames(switch.index(to, class));
            found.extend(frames.map(|packet| (Some(to), *packet)));
        }
    }

    fn held_data_packets(&self) -> u64 {
        self.inside
    }
}
