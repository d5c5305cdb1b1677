//! Packets for which a shared buffer has no room: trimmed or dropped.

use rand_core::Rng;
use unpause_protocols::units::Time;

use super::SharedBuffer;
use crate::chassis::{Chassis, Model, Way};
use crate::config::Cut;
use crate::engine::window::Window;
use crate::fabric::packet::{ACK_REQUEST, CE, ECT, INT, Kind, LAST_HOP, MEASURE, Packet};

impl SharedBuffer {
    /// There is no room for a packet: drops or trims it, or the newest one in its queue.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        if Self::cuts_newest(switch, packet, way, window) {
            return Self::replace_newest(switch, now, packet, way, window);
        }
        match Self::trim(switch, packet, way, window) {
            Some((header, way)) => Self::take_in(switch, now, &header, way, window),
            None => switch.discard(switch.index(way.to, way.class), packet, window),
        }
    }

    /// True if the newest packet in the queue is to be trimmed instead of the one that arrives, for which there is room then.
    fn cuts_newest(
        switch: &mut Chassis<Self>,
        packet: &Packet,
        way: Way,
        window: &Window<'_, '_>,
    ) -> bool {
        let Some(trimming) = &window.plan.config.switch.trimming else {
            return false;
        };
        let lossless = switch.pfc.lossless >> way.class & 1 == 1;
        if trimming.cut == Cut::Arriving || packet.kind != Kind::Data || lossless {
            return false;
        }
        let heads = switch.rng.next_u32() & 1 == 1;
        let index = switch.index(way.to, way.class);
        let queue = &switch.outputs.queues[index];
        let (size, model) = (u64::from(packet.bytes), &switch.model);
        heads
            && queue.packets.newest().is_some_and(|newest| {
                let freed = u64::from(newest.bytes);
                let (bytes, used) = (queue.bytes - freed, model.pool.used - freed);
                let fits = bytes + size <= model.most(index) && used + size <= model.pool.size;
                fits && newest.kind == Kind::Data && newest.bytes > trimming.bytes
            })
    }

    /// Trims the newest packet in a queue, and takes in the one that arrives.
    fn replace_newest(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let index = switch.index(way.to, way.class);
        let queue = &mut switch.outputs.queues[index];
        let newest = queue.packets.pop_newest().expect("the queue has a packet");
        queue.bytes -= u64::from(newest.bytes);
        let from = Way {
            from: newest.ingress,
            ..way
        };
        Self::left(switch, now, &newest, from, window);
        Self::take_in(switch, now, packet, way, window);
        if let Some((header, way)) = Self::trim(switch, &newest, from, window) {
            Self::take_in(switch, now, &header, way, window);
        }
    }

    /// The header of a data packet that this switch has no room for, and its way through the control queue of the same port.
    /// `None` if the packet is to be dropped: switches do not trim, or not such packets.
    fn trim(
        switch: &mut Chassis<Self>,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) -> Option<(Packet, Way)> {
        let plan = window.plan;
        let trimming = plan.config.switch.trimming.as_ref()?;
        let control = plan.classes.control;
        let lossy = switch.pfc.lossless >> way.class & 1 == 0 && way.class != control;
        if packet.kind != Kind::Data || !lossy || packet.bytes <= trimming.bytes {
            return None;
        }
        let index = switch.index(way.to, way.class);
        switch.outputs.egress[index].trimmed_packets += 1;
        window.log.counts.trimmed_packets += 1;
        // With telemetry the time of sending is not in the packet.
        let mut flags = if packet.is(INT) {
            packet.bits & (ECT | CE)
        } else {
            packet.bits & (ECT | CE | MEASURE | ACK_REQUEST)
        };
        window.telemetry.take(packet);
        let peer = switch.outputs.ports[usize::from(way.to)]
            .end
            .transmitter
            .peer;
        if plan.is_host(peer) {
            flags |= LAST_HOP;
        }
        let priority = plan.config.host.control_priority;
        let header = Packet {
            kind: Kind::Trimmed,
            bytes: trimming.bytes,
            bits: priority | flags,
            ..*packet
        };
        let class = control;
        Some((header, Way { class, ..way }))
    }
}
