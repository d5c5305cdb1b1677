//! Packets that a switch cannot take: it drops them, or trims them to their headers.

use super::chassis::{Chassis, Model, Way};
use crate::engine::window::Window;
use crate::fabric::packet::{ACK_REQUEST, CE, ECT, INT, Kind, LAST_HOP, MEASURE, Packet};

impl<M: Model> Chassis<M> {
    /// Drops a packet on its way into egress queue `index`, and counts it there.
    #[cold]
    pub fn discard(&mut self, index: usize, packet: &Packet, window: &mut Window<'_, '_>) {
        window.telemetry.take(packet);
        window.log.counts.dropped_packets += self.egress[index].count_drop(packet);
    }

    /// What is left of a data packet that this switch has no room for, and its way through the control queue of the same
    /// port. `None` if the packet is to be dropped: switches do not trim, or not such packets.
    #[cold]
    pub fn trim(
        &mut self,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) -> Option<(Packet, Way)> {
        let plan = window.plan;
        let trimming = plan.config.switch.trimming.as_ref()?;
        let control = plan.classes.control;
        let lossy = self.lossless >> way.class & 1 == 0 && way.class != control;
        if packet.kind != Kind::Data || !lossy || packet.bytes <= trimming.bytes {
            return None;
        }
        let index = self.index(way.to, way.class);
        self.egress[index].trimmed_packets += 1;
        window.log.counts.trimmed_packets += 1;
        // With telemetry the time of sending is not in the packet.
        let mut flags = match packet.is(INT) {
            true => packet.bits & (ECT | CE),
            false => packet.bits & (ECT | CE | MEASURE | ACK_REQUEST),
        };
        window.telemetry.take(packet);
        if plan.is_host(self.ports[usize::from(way.to)].end.transmitter.peer) {
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
