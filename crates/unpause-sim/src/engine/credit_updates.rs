//! Credit-based flow control: where packets and updates of links meet what is counted of them.

use unpause_protocols::flow_control::credits::UPDATE_BYTES;
use unpause_protocols::units::Time;

use crate::engine::window::Window;
use crate::fabric::packet::{Kind, Packet};
use crate::fabric::ports::{GlobalPort, Transmitter};
use crate::fabric::{NodeId, PortId};

impl Window<'_, '_> {
    /// The number of a node's port among all.
    fn port_of(&self, node: NodeId, port: PortId) -> GlobalPort {
        self.ports.of(node).start + GlobalPort::from(port)
    }

    /// [`LinkCredits::may_send`].
    pub fn may_send(&mut self, at: (NodeId, PortId), class: u8, before: u32, bytes: u32) -> bool {
        let port = self.port_of(at.0, at.1);
        self.link_credits.may_send(port, class, before, bytes)
    }

    /// A packet has come in that takes credits.
    pub fn take_credits(&mut self, at: (NodeId, PortId), class: u8, packet: &Packet) {
        let port = self.port_of(at.0, at.1);
        self.link_credits
            .on_packet(port, class, packet.bytes.into());
    }

    /// [`LinkCredits::on_freed`]; an update that is due goes out at once.
    pub fn free_credits(
        &mut self,
        now: Time,
        at: (NodeId, PortId),
        class: u8,
        packet: &Packet,
    ) -> Option<Time> {
        let port = self.port_of(at.0, at.1);
        let due = self
            .link_credits
            .on_freed(now, port, class, packet.bytes.into())?;
        match due <= now {
            true => self.send_update(now, at),
            false => Some(due),
        }
    }

    /// An update has come in.
    pub fn on_update(&mut self, at: (NodeId, PortId), class: u8, packet: &Packet) {
        let port = self.port_of(at.0, at.1);
        self.link_credits.on_update(port, class, packet.seq);
    }

    /// Sends the update that is due at a port. It is inserted into the frame in transmission, so it waits for nothing and may
    /// overtake that frame; a frame that is smaller than it and starts meanwhile arrives before it. If it is lost to errors it is repeated: answers when the next one is due then.
    pub fn send_update(&mut self, now: Time, at: (NodeId, PortId)) -> Option<Time> {
        let port = self.port_of(at.0, at.1);
        let freed = self.link_credits.take_update(now, port);
        let transmitter: Transmitter = self.ports.transmitters[port as usize];
        if self.erring.hits_update(transmitter.peer_port, UPDATE_BYTES) {
            return self.link_credits.repeat_update(now, port, &freed);
        }
        let arrival = now + transmitter.speed.time_for(UPDATE_BYTES) + transmitter.delay;
        for (class, freed) in freed {
            let update = Packet {
                time: arrival,
                seq: freed,
                ..Packet::new(Kind::Credit, self.plan.classes.priority(class), 0, 8)
            };
            self.put_on_the_way(&transmitter, &update);
        }
        None
    }
}
