//! Hosts with several NICs: which one a packet leaves by, and the turn from one to another.
//!
//! A host works with one NIC at a time, [`Host::nic`], so that hosts with a single one pay nothing for this; the others rest
//! in [`Host::others`]. What happens at the host says which NIC it is about: the one
//! that a PAUSE came by, or the one by which packets of a flow leave, data at its sender and feedback at its receiver.

use super::state::{
    DELAYED, Host, KIND_SHIFT, NOTIFICATION, PAUSE, RECEIVER, SENDER, TCP_RECEIVER, TCP_SENDER,
};
use crate::fabric::packet::{FORWARD, Kind, Packet};
use crate::fabric::{NodeId, PortId};
use crate::plan::Plan;
use crate::routing::Direction;

impl Host {
    /// True if it has more than one.
    pub fn has_several_nics(&self) -> bool {
        !self.others.is_empty()
    }

    /// How many NICs it has.
    pub(super) fn nics(&self) -> PortId {
        self.others.len().max(1) as PortId
    }

    /// Works with another NIC from now on.
    #[inline]
    pub(super) fn turn_to(&mut self, nic: PortId) {
        if nic != self.number {
            self.swap(self.number);
            self.swap(nic);
            self.number = nic;
        }
    }

    /// The NIC at hand changes places with what rests at `place`.
    #[cold]
    fn swap(&mut self, place: PortId) {
        std::mem::swap(&mut self.nic, &mut self.others[usize::from(place)]);
    }

    /// Works with the NIC that has something to do first, the first of these by number.
    #[cold]
    pub(super) fn turn_to_next(&mut self) {
        let others = (0..).zip(&self.others).map(|(nic, it)| match nic {
            _ if nic == self.number => (self.nic.at, nic),
            _ => (it.at, nic),
        });
        if let Some((_, nic)) = others.min() {
            self.turn_to(nic);
        }
    }

    /// The NIC by which packets go to `dst`: of a flow with this source port that this host sends, or feedback. If there is no
    /// path to it now, the one by which there was.
    pub(super) fn nic_towards(
        &self,
        dst: NodeId,
        (flow, source_port): (u32, u16),
        is_feedback: bool,
        plan: &Plan<'_>,
    ) -> PortId {
        if self.others.is_empty() {
            return 0;
        }
        let way = Direction {
            src: self.id,
            dst,
            source_port,
            flow: Some(flow),
            is_feedback,
        };
        let nic = plan.routes(self.routes).nic(&way);
        nic.or_else(|| plan.routing.nic(&way)).unwrap_or(0)
    }

    /// The NIC that the arrival of a packet is about.
    fn nic_of(&self, packet: &Packet, plan: &Plan<'_>) -> PortId {
        let from_sender = match packet.kind {
            Kind::Pfc | Kind::Credit => return packet.ingress,
            Kind::Data | Kind::Segment | Kind::Datagram | Kind::Syn | Kind::Request => true,
            Kind::TcpAck => packet.is(FORWARD),
            Kind::SynAck | Kind::Fin => false,
            // One that a switch has sent comes in its own name.
            _ => return self.nic_of_sender(packet.slot, plan).unwrap_or(self.number),
        };
        let flow = (packet.flow, packet.source_port);
        self.nic_towards(packet.src, flow, from_sender, plan)
    }

    /// The NIC of a flow that this host sends by RoCE.
    pub(super) fn nic_of_sender(&self, slot: u32, plan: &Plan<'_>) -> Option<PortId> {
        let sender = self.senders.get(slot as usize)?;
        let flow = (sender.flow, sender.source_port);
        Some(self.nic_towards(sender.dst, flow, false, plan))
    }

    /// The NIC that a timer is about.
    fn nic_of_timer(&self, payload: u32, plan: &Plan<'_>) -> Option<PortId> {
        let slot = payload & !(u32::MAX << KIND_SHIFT);
        match payload >> KIND_SHIFT {
            SENDER => self.nic_of_sender(slot, plan),
            RECEIVER => {
                let receiver = self.receivers.get(slot as usize)?;
                let flow = (receiver.flow, receiver.source_port());
                Some(self.nic_towards(receiver.src(), flow, true, plan))
            }
            TCP_SENDER => {
                let sender = self.tcp.senders.get(slot as usize)?;
                let flow = (sender.flow, sender.spec.source_port);
                Some(self.nic_towards(sender.spec.dst, flow, false, plan))
            }
            TCP_RECEIVER => {
                let receiver = self.tcp.receivers.get(slot as usize)?;
                let flow = (receiver.flow, receiver.spec.source_port);
                Some(self.nic_towards(receiver.spec.src, flow, true, plan))
            }
            DELAYED => {
                let packet = self.delayed.get(slot as usize)?;
                Some(self.nic_of(packet, plan))
            }
            NOTIFICATION => {
                let packet = self.notified.front()?;
                Some(self.nic_of(packet, plan))
            }
            PAUSE => Some((slot >> 3) as PortId),
            _ => None,
        }
    }

    /// Works with the NIC that the first timer is about.
    #[cold]
    pub(super) fn turn_to_timer(&mut self, plan: &Plan<'_>) {
        let payload = self.timers.peek().map(|entry| entry.payload());
        let nic = payload.and_then(|payload| self.nic_of_timer(payload, plan));
        self.turn_to(nic.unwrap_or(self.number));
    }

    /// Works with the NIC that the arrival of `packet` is about.
    #[cold]
    pub(super) fn turn_to_packet(&mut self, packet: &Packet, plan: &Plan<'_>) {
        self.turn_to(self.nic_of(packet, plan));
    }
}
