//! Through an egress queue and out of its port.

use unpause_protocols::congestion_control::Hop;
use unpause_protocols::congestion_point::Verdict;
use unpause_protocols::units::Time;

use super::chassis::{Chassis, Coming, Model, Way};
use super::egress::scheduler;
use super::egress::{Port, Queue, view};
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::{Kind, Packet};
use crate::outcome::results::Queued;

impl<M: Model> Chassis<M> {
    /// [`Chassis::enqueue`], unless that is of a lossy class and holds as many packets as it may.
    pub fn offer(&mut self, now: Time, packet: &Packet, way: Way, window: &mut Window<'_, '_>) {
        let index = self.index(way.to, way.class);
        if window.plan.classes.is_lossless(way.class) || self.has_place(index) {
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
        let port = &mut self.ports[to as usize];
        let queue = &mut self.queues[to as usize * self.classes + class as usize];
        let passes = port.sends_at_once(now, class) && queue.lets_alone_pass();
        debug_assert!(!passes || (queue.bytes == 0 && queue.packets.is_empty()));
        let ingress = from as usize * self.classes + class as usize;
        let ingress = (&mut self.ingress[..], ingress);
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
        match self.queues[self.index(way.to, way.class)].lets_join() {
            true => self.admitted(now, packet, 0, way, window),
            false => self.ask_and_join(now, packet, way, window),
        }
    }

    /// The same, if the congestion point has to be asked.
    #[inline(never)]
    fn ask_and_join(&mut self, now: Time, packet: &Packet, way: Way, window: &mut Window<'_, '_>) {
        if self.is_closed(way.to, way.class) {
            self.lose_at_port(packet, way, window);
            return M::refused(self, now, packet, way, window);
        }
        let index = self.index(way.to, way.class);
        if self.has_link_credits && self.queues[index].packets.is_empty() {
            self.stop_without_credits(now, way, (0, packet.bytes.into()), window);
        }
        let mut state = self.queues[index].state(1);
        state.bytes += u64::from(packet.bytes);
        let egress = &mut self.egress[index];
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
        self.admitted(now, packet, flags, way, window);
        if let Some(message) = feedback {
            self.egress[index].cnm_packets += 1;
            self.notify(now, packet, message, way.from, window);
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
            self.queues[index].bytes += size;
            M::joined(self, now, packet, way, window);
            self.queues[index].bytes -= size;
        }
        let queue = &mut self.queues[index];
        let port = &mut self.ports[to as usize];
        if port.sends_at_once(now, class) {
            return match queue.lets_leave() {
                true => self.leave(now, packet, now, flags, way, window),
                false => self.ask_and_leave(now, packet, flags, way, window),
            };
        }
        queue.keep(now, packet, from, flags);
        port.wait(now, class, to, &mut self.ready);
        if !self.schedulers.is_empty() {
            self.schedulers[to as usize].on_backlog(class);
        }
    }

    /// Sends what is most urgent out of a free port: PFC frames, then what the scheduler says.
    pub(super) fn send_next(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.ports[port_id as usize];
        debug_assert!(port.end.is_free(now), "a busy port does not send");
        if port.end.has_pfc() {
            return self.send_pfc(now, port_id, window);
        }
        let eligible = port.end.eligible();
        if eligible == 0 {
            return;
        }
        let first = port_id as usize * self.classes;
        let class = if self.schedulers.is_empty() {
            7 - eligible.leading_zeros() as u8
        } else {
            let queues = &self.queues[first..first + self.classes];
            scheduler::pick(&mut self.schedulers[port_id as usize], queues, eligible)
        };
        let index = first + class as usize;
        let queue = &mut self.queues[index];
        let packet = queue.packets.pop();
        queue.bytes -= u64::from(packet.bytes);
        let more = !queue.packets.is_empty();
        port.end.backlog &= !(u8::from(!more) << class);
        if !self.schedulers.is_empty() {
            self.schedulers[port_id as usize].on_dequeue(class, u32::from(packet.bytes), more);
        }
        let way = Way {
            from: packet.ingress,
            to: port_id,
            class,
        };
        let mut flags = 0;
        if !queue.lets_leave() {
            let (egress, rng) = (&mut self.egress[index], &mut self.rng);
            match egress.on_leave(now, &packet, queue.state(0), rng) {
                Ok(marks) if self.looks_at_leaving => {
                    if self.has_link_credits {
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
            port.schedule(port_id, &mut self.ready);
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
        let state = self.queues[index].state(0);
        match self.egress[index].on_leave(now, packet, state, &mut self.rng) {
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
        if self.has_link_credits && verdict != Verdict::Drop {
            self.look_behind(now, packet, way, window);
        }
        match verdict {
            Verdict::Drop => {
                self.discard(index, packet, window);
                if self.has_link_credits {
                    let head = self.queues[index].packets.head_bytes();
                    self.stop_without_credits(now, way, (0, head), window);
                }
                M::left(self, now, packet, way, window);
                return self.send_next(now, way.to, window);
            }
            Verdict::Record if !self.meters.is_empty() => {
                let packet = self.with_digest(now, packet, way.to);
                return self.leave(now, &packet, entered, flags, way, window);
            }
            Verdict::Record => self.write_telemetry(now, packet, way.to, window),
            Verdict::Notify(_) | Verdict::Pass | Verdict::MarkCe => {}
        }
        self.leave(now, packet, entered, flags, way, window);
        if let Verdict::Notify(message) = verdict {
            self.egress[index].cnm_packets += 1;
            self.notify(now, packet, message, way.from, window);
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
        let queue = &mut self.queues[index];
        let port = &mut self.ports[way.to as usize];
        send(now, packet, entered, flags, (port, queue), window);
        if self.looks_at_leaving {
            self.shape(now, window.ports.wire_bytes(packet), way);
        }
        let port = &mut self.ports[way.to as usize];
        if port.end.eligible() != 0 {
            port.schedule(way.to, &mut self.ready);
        }
        M::left(self, now, packet, way, window);
    }

    /// Tells a packet that leaves by port `to` of it, if it asks for that.
    #[inline(never)]
    fn write_telemetry(&self, now: Time, packet: &Packet, to: PortId, window: &mut Window<'_, '_>) {
        if !packet.has_telemetry() || !packet.kind.is_data() {
            return;
        }
        let first = self.index(to, 0);
        let queues = &self.queues[first..first + self.classes];
        let speed = self.ports[to as usize].end.transmitter.speed;
        let hop = Hop {
            time: now,
            tx_bytes: queues.iter().map(|queue| queue.tx_bytes).sum(),
            queue_bytes: queues.iter().map(|queue| queue.bytes).sum(),
            rate: speed.rate(),
        };
        let fits = window.telemetry.write(packet, hop);
        window.log.counts.unrecorded_hops += u64::from(!fits);
    }

    /// A packet that leaves by port `to`, with PINT's code if that is larger than the one that it carries.
    #[inline(never)]
    fn with_digest(&mut self, now: Time, packet: &Packet, to: PortId) -> Packet {
        let first = self.index(to, 0);
        let queues = &self.queues[first..first + self.classes];
        let waiting = queues.iter().map(|queue| queue.bytes).sum();
        let (bytes, is_data) = (packet.bytes.into(), packet.kind == Kind::Data);
        let meter = &mut self.meters[to as usize];
        let code = meter.on_departure(now, bytes, is_data, waiting, &mut self.rng);
        let mut packet = *packet;
        if let Some(code) = code.filter(|_| packet.has_telemetry()) {
            packet.stamp = packet.stamp.max(code.into());
        }
        packet
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
