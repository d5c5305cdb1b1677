//! Egress of a pipelined switch: queues, marks of CaPFC, and what is sent next.

use unpause_protocols::congestion_point::Verdict;
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::units::Time;

use super::{Pipeline, READY};
use crate::config::Exit;
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::packet::Packet;
use crate::switch::egress::view;
use crate::switch::pause::Pausing;
use crate::switch::schedule;

/// What has happened to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Enqueue,
    Dequeue,
}

impl Pipeline {
    /// Puts a packet that fits into a queue, or through it if the port is free.
    pub(super) fn enqueue(
        &mut self,
        now: Time,
        packet: &Packet,
        to: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(to, class);
        let size = u64::from(packet.bytes);
        self.memory.join(to, self.queues[index].bytes, size);
        let queue = &mut self.queues[index];
        queue.bytes += size;
        queue.max_bytes = queue.max_bytes.max(queue.bytes);
        let mut packet = Packet {
            time: now,
            ..*packet
        };
        let mut feedback = None;
        let state = queue.state(1);
        let verdict = queue
            .congestion_point
            .on_enqueue(now, &view(&packet), state, &mut self.rng);
        match verdict {
            Verdict::Pass => {}
            Verdict::MarkCe => packet.bits |= queue.mark(&packet),
            Verdict::Notify(message) => feedback = Some(message),
            Verdict::Drop => {
                window.log.counts.dropped_packets += queue.count_drop(&packet);
                return self.leave(&packet, to, class);
            }
        }
        queue.packets.push(&packet, packet.ingress);
        if let Some(scheduler) = self.schedulers.get_mut(to as usize) {
            scheduler.on_backlog(class);
        }
        self.watch(now, &packet, index, Change::Enqueue, window);
        let port = &mut self.ports[to as usize];
        port.backlog |= 1 << class;
        if port.busy_until > now {
            self.schedule_ready(to);
        } else if !port.ready {
            self.send_next(now, to, window);
        }
        if let Some(message) = feedback {
            self.send_cnm(now, &packet, message, index, window);
        }
    }

    /// A packet leaves its queue and the switch.
    fn leave(&mut self, packet: &Packet, port: PortId, class: u8) {
        let size = u64::from(packet.bytes);
        let index = self.index(port, class);
        self.queues[index].bytes -= size;
        self.memory.leave(port, self.queues[index].bytes, size);
        self.memory.free(self.index(packet.ingress, class), size);
    }

    /// Sends what is most urgent out of a free port: PFC frames, then what the scheduler says.
    pub(super) fn send_next(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let first = self.index(port_id, 0);
        loop {
            let port = &mut self.ports[port_id as usize];
            debug_assert!(port.busy_until <= now, "a busy port does not send");
            if port.xoff | port.xon != 0 {
                return self.send_pfc(now, port_id, window);
            }
            let eligible = port.eligible();
            if eligible == 0 {
                return;
            }
            let mut scheduler = self.schedulers.get_mut(port_id as usize);
            let class = match &mut scheduler {
                None => 7 - eligible.leading_zeros() as u8,
                Some(it) => schedule::pick(it, &self.queues[first..], eligible),
            };
            let index = first + class as usize;
            let packet = self.queues[index].packets.pop();
            let more = !self.queues[index].packets.is_empty();
            if !more {
                port.backlog &= !(1 << class);
            }
            if let Some(scheduler) = scheduler {
                scheduler.on_dequeue(class, u32::from(packet.bytes), more);
            }
            self.leave(&packet, port_id, class);
            if self.depart(now, &packet, port_id, class, window) {
                return;
            }
        }
    }

    /// Sends a packet that has just left its queue; false if its congestion point drops it.
    fn depart(
        &mut self,
        now: Time,
        packet: &Packet,
        to: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let index = self.index(to, class);
        let queue = &mut self.queues[index];
        let state = queue.state(0);
        let mut flags = 0;
        let mut feedback = None;
        let verdict = queue
            .congestion_point
            .on_dequeue(now, &view(packet), state, &mut self.rng);
        let sent = verdict != Verdict::Drop;
        match verdict {
            Verdict::Pass => {}
            Verdict::MarkCe => flags = queue.mark(packet),
            Verdict::Notify(message) => feedback = Some(message),
            Verdict::Drop => window.log.counts.dropped_packets += queue.count_drop(packet),
        }
        if sent {
            queue.tx_packets += 1;
            queue.tx_bytes += window.ports.wire_bytes(packet);
            let port = &mut self.ports[to as usize];
            let transmitter = self.first_port + u32::from(to);
            port.busy_until = window.transmit(transmitter, now, packet, flags);
            if port.eligible() != 0 {
                self.schedule_ready(to);
            }
        }
        self.watch(now, packet, index, Change::Dequeue, window);
        if self.processor.is_stalled() {
            self.resume(now, window.plan);
        }
        if let Some(message) = feedback {
            self.send_cnm(now, packet, message, index, window);
        }
        sent
    }

    /// CaPFC: marks inputs at queue `index`, or clears their marks.
    #[inline]
    fn watch(
        &mut self,
        now: Time,
        packet: &Packet,
        index: usize,
        change: Change,
        window: &mut Window<'_, '_>,
    ) {
        let Exit::Capfc(params) = &self.exit else {
            return;
        };
        let watcher = &mut self.watchers[index];
        let bytes = u32::from(packet.bytes);
        let mut touched = std::mem::take(&mut self.touched);
        let touch = |input: usize| touched.push(input as PortId);
        match change {
            Change::Enqueue => {
                watcher.on_enqueue(usize::from(packet.ingress), bytes, params, touch);
            }
            Change::Dequeue => watcher.on_dequeue(bytes, params, touch),
        }
        let (port, class) = (index / self.classes, (index % self.classes) as u8);
        let frames = &window.plan.config.switch.pfc.params;
        // A packet that goes back where it came from says nothing of the others.
        for input in touched.drain(..).filter(|&it| usize::from(it) != port) {
            let at = self.index(input, class);
            let ingress = &mut self.ingress[at];
            let action = match change {
                Change::Enqueue => ingress.control.on_mark(now, ingress.pause, frames),
                Change::Dequeue => ingress.control.on_clear(now, ingress.pause, frames),
            };
            self.decided(now, input, class, action, window);
        }
        self.touched = touched;
    }

    #[inline]
    pub(super) fn schedule_ready(&mut self, port_id: PortId) {
        let port = &mut self.ports[port_id as usize];
        if !port.ready {
            port.ready = true;
            let entry = Entry::new(port.busy_until, READY | u32::from(port_id), 0);
            self.events.push(entry);
        }
    }

    /// Sends the source of `sampled` what the congestion point of queue `index` has to say. It goes
    /// through the switch as if it had come in by the port that the sampled packet came by.
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
            ..Packet::from_notification(&Notification::Qcn(message), priority)
        };
        self.receive(now, &cnm, sampled.ingress, window);
    }
}
