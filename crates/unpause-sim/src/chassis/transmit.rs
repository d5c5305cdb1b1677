//! Through an egress queue and out of its port.

use unpause_protocols::congestion_point::Verdict;
use unpause_protocols::notification::QcnFeedback;
use unpause_protocols::units::Time;

use super::egress::{Port, Queue, scheduler, view};
use super::inputs::notification;
use super::records::recorder::Stops;
use super::state::{Chassis, Coming, Model, Way};
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;
use crate::outcome::results::Queued;

impl<M: Model> Chassis<M> {
    /// [`Chassis::enqueue`], unless that is of a lossy class and holds as many packets as it may.
    pub fn offer(&mut self, now: Time, packet: &Packet, way: Way, window: &mut Window<'_, '_>) {
        let index = self.index(way.to, way.class);
        if window.plan.classes.is_lossless(way.class) || self.outputs.has_place(index) {
            self.enqueue(now, packet, way, window);
        } else {
            self.discard(index, packet, window);
            M::refused(self, now, packet, way, window);
        }
    }

    /// Puts a packet into its egress queue, or through it if the port is free.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, packet: &Packet, way: Way, window: &mut Window<'_, '_>) {
        let size = u64::from(packet.bytes);
        if !M::JOINS && self.pass(now, size, Coming::Here(packet), way, window) {
            M::left(self, now, packet, way, window);
        } else {
            self.join(now, packet, way, window);
        }
    }

    /// Puts a packet of `size` bytes through its empty egress queue and out of its port, if it leaves in the instant
    /// in which it joins, the congestion point is not asked, and the model lets it.
    #[inline(always)]
    pub fn pass(
        &mut self,
        now: Time,
        size: u64,
        coming: Coming<'_>,
        way: Way,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let Way { from, to, class } = way;
        let port = &mut self.outputs.ports[to as usize];
        let queue = &mut self.outputs.queues[to as usize * self.outputs.classes + class as usize];
        let passes = port.sends_at_once(now, class) && queue.lets_alone_pass();
        debug_assert!(!passes || (queue.bytes == 0 && queue.packets.is_empty()));
        let ingress = from as usize * self.outputs.classes + class as usize;
        let ingress = (&mut self.inputs.ingress[..], ingress);
        if !passes || !M::lets_pass(&self.model, ingress, size, class, window.plan) {
            return false;
        }
        let wire_bytes = size + window.ports.framing_bytes;
        queue.count(wire_bytes);
        let queued = Queued {
            sojourn: Some(Time::ZERO),
            queue_bytes: 0,
        };
        let end = &mut port.end;
        match coming {
            Coming::Here(packet) => end.transmit(now, packet, 0, queued, window),
            Coming::Taken(place) => end.pass_on(now, place, wire_bytes, window),
        }
        true
    }

    /// Puts a packet into its egress queue.
    #[inline(always)]
    pub fn join(&mut self, now: Time, packet: &Packet, way: Way, window: &mut Window<'_, '_>) {
        if self.outputs.queues[self.index(way.to, way.class)].lets_join() {
            self.admitted(now, packet, 0, way, window)
        } else {
            self.ask_and_join(now, packet, way, window)
        }
    }

    /// The same, if the congestion point has to be asked.
    #[inline(never)]
    fn ask_and_join(&mut self, now: Time, packet: &Packet, way: Way, window: &mut Window<'_, '_>) {
        if self.outputs.is_closed(way.to, way.class) {
            self.lose_at_port(packet, way, window);
            return M::refused(self, now, packet, way, window);
        }
        let index = self.index(way.to, way.class);
        if self.outputs.has_link_credits && self.outputs.queues[index].packets.is_empty() {
            self.stop_without_credits(now, way, (0, packet.bytes.into()), window);
        }
        let mut state = self.outputs.queues[index].state(1);
        state.bytes += u64::from(packet.bytes);
        let egress = &mut self.outputs.egress[index];
        let point = &mut egress.congestion_point;
        let mut flags = 0;
        let mut feedback = None;
        match point.on_enqueue(now, &view(packet), state, &mut self.rng) {
            Verdict::Pass | Verdict::Record => {}
            Verdict::MarkCe => flags = egress.mark(packet),
            Verdict::Notify(message) => feedback = Some(message),
            Verdict::Drop => {
                self.discard(index, packet, window);
                return M::refused(self, now, packet, way, window);
            }
        }
        if packet.trace_number().is_some() {
            self.note_join(now, packet, way, window);
        }
        self.admitted(now, packet, flags, way, window);
        if let Some(message) = feedback {
            self.notify(now, packet, message, way, window);
        }
    }

    /// A packet joins its queue; it may leave at once.
    #[inline(always)]
    fn admitted(
        &mut self,
        now: Time,
        packet: &Packet,
        flags: u8,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let size = u64::from(packet.bytes);
        let Way { from, to, class } = way;
        let index = self.index(to, class);
        if M::JOINS {
            // It is there even if it leaves at once.
            self.outputs.queues[index].bytes += size;
            M::joined(self, now, packet, way, window);
            self.outputs.queues[index].bytes -= size;
        }
        let queue = &mut self.outputs.queues[index];
        let port = &mut self.outputs.ports[to as usize];
        if port.sends_at_once(now, class) {
            return if queue.lets_leave() {
                self.leave(now, packet, now, flags, way, window)
            } else {
                self.ask_and_leave(now, packet, flags, way, window)
            };
        }
        queue.keep(now, packet, from, flags);
        port.wait(now, class, to, &mut self.outputs.ready);
        if !self.outputs.schedulers.is_empty() {
            self.outputs.schedulers[to as usize].on_backlog(class);
        }
    }

    /// A packet whose delays are recorded is about to join its egress queue, unless it leaves at once.
    #[cold]
    #[inline(never)]
    fn note_join(&mut self, now: Time, packet: &Packet, way: Way, window: &mut Window<'_, '_>) {
        let Some(causes) = &mut self.causes else {
            return;
        };
        if self.outputs.ports[usize::from(way.to)].sends_at_once(now, way.class) {
            return;
        }
        let index = self.outputs.index(way.to, way.class);
        let stops = Stops {
            paused: self.outputs.egress[index].pause.total(now),
            resent: window.resent((self.id, way.to)),
        };
        let queue = &self.outputs.queues[index].packets;
        causes.on_join(now, packet, (index, queue), ((self.id, way.to), stops));
    }

    /// Sends what is most urgent out of a free port: PFC frames, then what the scheduler says.
    pub(super) fn send_next(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.outputs.ports[port_id as usize];
        debug_assert!(port.end.is_free(now), "a busy port does not send");
        if port.end.has_pfc() {
            return self.send_pfc(now, port_id, window);
        }
        let eligible = port.end.eligible();
        if eligible == 0 {
            return;
        }
        let first = port_id as usize * self.outputs.classes;
        let class = if self.outputs.schedulers.is_empty() {
            7 - eligible.leading_zeros() as u8
        } else {
            let queues = &self.outputs.queues[first..first + self.outputs.classes];
            scheduler::pick(
                &mut self.outputs.schedulers[port_id as usize],
                queues,
                eligible,
            )
        };
        let index = first + class as usize;
        let queue = &mut self.outputs.queues[index];
        let packet = queue.packets.pop();
        queue.bytes -= u64::from(packet.bytes);
        let more = !queue.packets.is_empty();
        port.end.backlog &= !(u8::from(!more) << class);
        if !self.outputs.schedulers.is_empty() {
            self.outputs.schedulers[port_id as usize].on_dequeue(
                class,
                u32::from(packet.bytes),
                more,
            );
        }
        let way = Way {
            from: packet.ingress,
            to: port_id,
            class,
        };
        let mut flags = 0;
        if !queue.lets_leave() {
            let (egress, rng) = (&mut self.outputs.egress[index], &mut self.rng);
            if let (Some(number), Some(causes)) = (packet.trace_number(), &mut self.causes) {
                let stops = Stops {
                    paused: egress.pause.total(now),
                    resent: window.resent((self.id, port_id)),
                };
                causes.on_leave(now, (packet.flow, number), stops, window.log);
            }
            match egress.on_leave(now, &packet, queue.state(0), rng) {
                Ok(marks) if self.outputs.looks_at_leaving => {
                    if self.outputs.has_link_credits {
                        self.look_behind(now, &packet, way, window);
                    }
                    return self.leave(now, &packet, packet.time, marks, way, window);
                }
                Ok(marks) => flags = marks,
                Err(verdict) => {
                    let entered = packet.time;
                    return self.leave_otherwise(now, &packet, entered, (0, verdict), way, window);
                }
            }
        }
        send(now, &packet, packet.time, flags, (port, queue), window);
        if port.end.eligible() != 0 {
            port.schedule(port_id, &mut self.outputs.ready);
        }
        M::left(self, now, &packet, way, window);
    }

    /// Sends a packet that has not waited, if the congestion point has to be asked.
    #[inline(never)]
    fn ask_and_leave(
        &mut self,
        now: Time,
        packet: &Packet,
        flags: u8,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(way.to, way.class);
        let state = self.outputs.queues[index].state(0);
        match self.outputs.egress[index].on_leave(now, packet, state, &mut self.rng) {
            Ok(marks) => self.leave(now, packet, now, flags | marks, way, window),
            Err(verdict) => self.leave_otherwise(now, packet, now, (flags, verdict), way, window),
        }
    }

    /// The congestion point neither lets the packet go as it is nor marks it.
    #[inline(never)]
    fn leave_otherwise(
        &mut self,
        now: Time,
        packet: &Packet,
        entered: Time,
        (flags, verdict): (u8, Verdict),
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(way.to, way.class);
        if self.outputs.has_link_credits && verdict != Verdict::Drop {
            self.look_behind(now, packet, way, window);
        }
        match verdict {
            Verdict::Drop => {
                self.discard(index, packet, window);
                if self.outputs.has_link_credits {
                    let head = self.outputs.queues[index].packets.head_bytes();
                    self.stop_without_credits(now, way, (0, head), window);
                }
                M::left(self, now, packet, way, window);
                return self.send_next(now, way.to, window);
            }
            Verdict::Record if !self.outputs.meters.is_empty() => {
                let rng = &mut self.rng;
                let packet = self.outputs.with_digest(now, packet, way.to, rng);
                return self.leave(now, &packet, entered, flags, way, window);
            }
            Verdict::Record => self.write_telemetry(now, packet, way.to, window),
            Verdict::Notify(_) | Verdict::Pass | Verdict::MarkCe => {}
        }
        self.leave(now, packet, entered, flags, way, window);
        if let Verdict::Notify(message) = verdict {
            self.notify(now, packet, message, way, window);
        }
    }

    /// Puts a packet onto the wire that was in its queue since `entered`.
    fn leave(
        &mut self,
        now: Time,
        packet: &Packet,
        entered: Time,
        flags: u8,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(way.to, way.class);
        let queue = &mut self.outputs.queues[index];
        let port = &mut self.outputs.ports[way.to as usize];
        send(now, packet, entered, flags, (port, queue), window);
        if self.outputs.looks_at_leaving {
            let wire_bytes = window.ports.wire_bytes(packet);
            let place = (way.to, way.class);
            self.outputs.shape(now, wire_bytes, place, &mut self.timers);
        }
        let port = &mut self.outputs.ports[way.to as usize];
        if port.end.eligible() != 0 {
            port.schedule(way.to, &mut self.outputs.ready);
        }
        M::left(self, now, packet, way, window);
    }

    /// Writes the state of port `to` into a packet that leaves by it, if the packet asks for that.
    #[inline(never)]
    fn write_telemetry(&self, now: Time, packet: &Packet, to: PortId, window: &mut Window<'_, '_>) {
        if !packet.has_telemetry() || !packet.kind.is_data() {
            return;
        }
        let fits = window.telemetry.write(packet, self.outputs.hop(now, to));
        window.log.counts.unrecorded_hops += u64::from(!fits);
    }

    /// Drops a packet on its way into egress queue `index`, and counts it there.
    #[cold]
    pub fn discard(&mut self, index: usize, packet: &Packet, window: &mut Window<'_, '_>) {
        window.telemetry.take(packet);
        window.log.counts.dropped_packets += self.outputs.egress[index].count_drop(packet);
    }

    /// Sends the source of a packet the feedback of the congestion point of its egress queue.
    fn notify(
        &mut self,
        now: Time,
        sampled: &Packet,
        message: QcnFeedback,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(way.to, way.class);
        self.outputs.egress[index].cnm_packets += 1;
        let cnm = notification(sampled, message, window);
        M::send_cnm(self, now, &cnm, way.from, window);
    }
}

/// Puts a packet onto the wire behind a port that was in its queue since `entered`.
#[inline(always)]
fn send(
    now: Time,
    packet: &Packet,
    entered: Time,
    flags: u8,
    (port, queue): (&mut Port, &mut Queue),
    window: &mut Window<'_, '_>,
) {
    queue.count(window.ports.wire_bytes(packet));
    let queued = Queued {
        sojourn: Some(now - entered),
        queue_bytes: queue.bytes,
    };
    port.end.transmit(now, packet, flags, queued, window);
}
