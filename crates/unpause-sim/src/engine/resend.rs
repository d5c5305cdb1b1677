//! Link-level retry: frames and timers of nodes reach both ends of their link.

use unpause_protocols::units::Time;

use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::fabric::ports::{GlobalPort, Transmitter};
use crate::fabric::{NodeId, PortId};
use crate::outcome::results::LossPlace;
use crate::wires::retry::Sent;

impl Window<'_, '_> {
    /// Sends a packet over a link with retry, from `now` on. Returns when it starts, and when the port may send the next one.
    #[cold]
    #[inline(never)]
    pub(crate) fn send_kept(
        &mut self,
        own: GlobalPort,
        now: Time,
        packet: &Packet,
    ) -> (Time, Time) {
        let wire_bytes = self.ports.wire_bytes(packet);
        let transmitter = self.ports.transmitters[own as usize];
        let mut sent = Sent::default();
        let Some(port) = self.link_retries.port(own) else {
            unreachable!("every port has retry, or none");
        };
        let link = (&transmitter, &mut *self.erring);
        let (start, free) = port.send(now, (packet, wire_bytes), link, &mut sent);
        self.after_retry(now, own, &transmitter, sent);
        (start, free)
    }

    /// A port of a node may have to resend. Returns until when it is busy.
    pub(crate) fn send_again(&mut self, now: Time, (node, port): (NodeId, PortId)) -> Time {
        let own = self.ports.of(node).start + GlobalPort::from(port);
        let transmitter = self.ports.transmitters[own as usize];
        let mut sent = Sent::default();
        let Some(port) = self.link_retries.port(own) else {
            return now;
        };
        let link = (&transmitter, &mut *self.erring);
        let free = port.on_wake(now, link, &mut sent);
        self.after_retry(now, own, &transmitter, sent);
        free
    }

    /// When which ports of the running node may have to resend.
    #[inline]
    pub(crate) fn take_wakes(&mut self) -> Vec<(Time, PortId)> {
        std::mem::take(&mut self.link_retries.wakes)
    }

    /// Forwards delivered frames, counts lost ones, and notes the timer that the port needs.
    fn after_retry(&mut self, now: Time, own: GlobalPort, transmitter: &Transmitter, sent: Sent) {
        let (node, port) = self.ports.place(own);
        for packet in &sent.lost {
            self.lose((node, port), LossPlace::Error, packet);
            let class = self.plan.classes.of(packet.priority());
            self.link_credits.on_lost(own, class, packet.bytes.into());
        }
        if !sent.lost.is_empty() && !self.link_credits.are_unused() {
            // Its credits may be what a queue waits for.
            self.link_retries.wakes.push((now, port));
        }
        for packet in &sent.delivered {
            self.put_on_the_way(transmitter, packet);
        }
        let retry = self.link_retries.port(own);
        if let Some(due) = retry.and_then(|it| it.takes_wake()) {
            self.link_retries.wakes.push((due, port));
        }
    }
}
