//! What the packets of a window will touch, asked of the memory before they are taken: in a large fabric none of
//! it is in the cache, and misses that overlap cost little more than one.

use super::chassis::{Chassis, Model, NO_WAY, Way};
use super::egress::Queue;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::packet::{Kind, Packet};
use crate::prefetch::prefetch;

impl<M: Model> Chassis<M> {
    /// Looks at the packet that arrives first at each port, and at ports that become free, in rounds: what one
    /// reads, the round before has asked for.
    #[inline(never)]
    pub(super) fn look_ahead(&mut self, window: &Window<'_, '_>) {
        let later = std::mem::take(&mut self.later);
        let free = || later.before(window.end).map(usize::from);
        let mut arriving = std::mem::take(&mut self.arriving);
        free().for_each(|port| prefetch(&self.ports[port]));
        arriving.clear();
        let range = self.first_port..self.first_port + self.ports.len() as u32;
        let heads = window.wires.heads(range, window.end).zip(0..);
        let heads = heads.filter(|(head, _)| *head < window.end);
        arriving.extend(heads.map(|(_, port)| port));

        free().for_each(|port| self.prefetch_queue(port, window));
        for &port in &arriving {
            if let Some(packet) = window.wires.front(self.first_port + u32::from(port)) {
                window.plan.routing.prefetch(packet);
                let class = window.plan.classes.of(packet.priority());
                prefetch(&self.ingress[self.index(port, class)]);
            }
        }
        for &port in &arriving {
            self.look_up(port, window);
        }

        for port in free() {
            if let Some(queue) = self.next_queue(port) {
                queue.packets.prefetch();
            }
        }
        let ways = arriving.iter().map(|port| self.ways[usize::from(*port)]);
        let ways = ways.filter(|to| *to != NO_WAY);
        let transmitters = ways.map(|to| self.ports[usize::from(to)].transmitter);
        for transmitter in transmitters.clone() {
            window.wires.prefetch_wire(transmitter.peer_port);
            window.calendar.prefetch(transmitter.peer);
        }
        let becoming_free = free().map(|port| self.ports[port].transmitter);
        for transmitter in becoming_free.chain(transmitters) {
            window.wires.prefetch_push(transmitter.peer_port);
        }
        self.arriving = arriving;
        self.later = later;
    }

    /// The queue that a port sends from next, if the most urgent is first.
    fn next_queue(&self, port: usize) -> Option<&Queue> {
        let eligible = self.ports[port].eligible();
        let class = 7_u32.checked_sub(eligible.leading_zeros())?;
        self.queues.get(port * self.classes + class as usize)
    }

    fn prefetch_queue(&self, port: usize, window: &Window<'_, '_>) {
        if let Some(queue) = self.next_queue(port) {
            prefetch(queue);
        }
        let peer_port = self.ports[port].transmitter.peer_port;
        window.wires.prefetch_wire(peer_port);
    }

    /// The way of the packet that has come in by `from`, looked up ahead or now.
    #[inline(always)]
    pub(super) fn way_of_next(
        &mut self,
        packet: &Packet,
        from: PortId,
        window: &Window<'_, '_>,
    ) -> Option<Way> {
        if window.looks_ahead {
            let to = std::mem::replace(&mut self.ways[usize::from(from)], NO_WAY);
            if to != NO_WAY {
                let class = window.plan.classes.of(packet.priority());
                let way = Some(Way { from, to, class });
                debug_assert_eq!(way, self.way(packet, from, window));
                return way;
            }
        }
        self.way(packet, from, window)
    }

    /// Looks up the way of the next packet into `port`, and asks the memory for what is there.
    #[inline]
    pub(super) fn look_up(&mut self, port: PortId, window: &Window<'_, '_>) {
        let packet = window.wires.front(self.first_port + u32::from(port));
        let packet = packet.filter(|packet| packet.kind != Kind::Pfc);
        let Some(way) = packet.and_then(|packet| self.way(packet, port, window)) else {
            return;
        };
        prefetch(&self.ports[usize::from(way.to)]);
        prefetch(&self.queues[self.index(way.to, way.class)]);
        self.ways[usize::from(port)] = way.to;
    }
}
