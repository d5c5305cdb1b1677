//! Hosts with several NICs: which one a packet leaves by, and the turn from one to another.
//!
//! A host works with one NIC at a time, [`Host::nic`], so that hosts with a single one pay nothing for this; the others rest
//! in [`Host::others`]. What happens at the host says which NIC it is about: the one
//! that a PAUSE came by, or the one by which packets of a flow leave, data at its sender and feedback at its receiver.

use std::collections::{BTreeMap, VecDeque};

use unpause_protocols::units::{LinkSpeed, Rate, Time};

use super::flow::sender::{Carries, Pace};
use super::flow::sprayed::Sprayed;
use super::nic::Nic;
use super::nic::item::{Handle, Item};
use super::state::Host;
use super::timer::Timer;
use crate::engine::window::Window;
use crate::fabric::packet::{FORWARD, Kind, Packet};
use crate::fabric::ports::GlobalPort;
use crate::fabric::{NodeId, PortId};
use crate::plan::Plan;
use crate::routing::Direction;
use crate::traffic::{FlowSpec, Transport};

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

    /// True if packets of a sprayed flow leave by several NICs.
    fn sprays_over_nics(&self) -> bool {
        self.has_several_nics() && self.selective.is_some()
    }

    /// The NIC of the next packet of a flow that this host sends by RoCE.
    pub(super) fn nic_of_sender(&self, slot: u32, plan: &Plan<'_>) -> Option<PortId> {
        let sender = self.senders.get(slot as usize)?;
        if self.sprays_over_nics() && sender.carries != Carries::Datagrams {
            let paths = self.selective.as_ref()?.paths_of(slot);
            if let Some(last) = paths.and_then(Sprayed::last_nic) {
                return self.nic_after(last, (sender.dst, sender.class), plan);
            }
        }
        let flow = (sender.flow, sender.source_port);
        Some(self.nic_towards(sender.dst, flow, false, plan))
    }

    /// The NICs that are nearest to a host, by the routes that hold now.
    fn nearest<'p>(&self, dst: NodeId, plan: &'p Plan<'_>) -> &'p [PortId] {
        plan.routes(self.routes).choices(self.id, dst)
    }

    /// The NIC after `last` of the nearest ones to a host, in turn; of those at which `class` is not stopped, if there are any.
    fn nic_after(
        &self,
        last: PortId,
        (dst, class): (NodeId, u8),
        plan: &Plan<'_>,
    ) -> Option<PortId> {
        let nearest = self.nearest(dst, plan);
        let first = nearest.iter().position(|nic| *nic == last);
        let first = first.map_or(0, |at| at + 1);
        let in_turn = || nearest[first..].iter().chain(&nearest[..first]).copied();
        let goes = |nic: &PortId| {
            let end = &self.nic_at(*nic).end;
            !end.is_paused(class) && !end.busy_until.is_never()
        };
        in_turn().find(goes).or_else(|| in_turn().next())
    }

    /// A NIC, at hand or not.
    pub(super) fn nic_at(&self, nic: PortId) -> &Nic {
        match nic == self.number {
            true => &self.nic,
            false => &self.others[usize::from(nic)],
        }
    }

    /// The same, to be changed.
    pub(super) fn nic_at_mut(&mut self, nic: PortId) -> &mut Nic {
        match nic == self.number {
            true => &mut self.nic,
            false => &mut self.others[usize::from(nic)],
        }
    }

    /// Puts a flow with a packet to send into the queue of the NIC by which it leaves: another one for each packet of a sprayed
    /// flow. Works with the same NIC afterwards.
    #[inline(never)]
    pub(super) fn enqueue_next(&mut self, now: Time, slot: u32, plan: &Plan<'_>) {
        let at_hand = self.number;
        let nic = self.nic_of_sender(slot, plan);
        self.turn_to(nic.unwrap_or(at_hand));
        // It may have been idle for long, also where a PAUSE has just moved the flow here.
        self.nic.end.busy_until = self.nic.end.busy_until.max(now);
        self.enqueue(slot);
        self.turn_to(at_hand);
    }

    /// The NIC at hand stops sending `class`: sprayed flows that wait there go to their next NIC.
    pub(super) fn leave_stopped(&mut self, now: Time, class: u8, plan: &Plan<'_>) {
        if !self.sprays_over_nics() {
            return;
        }
        let waiting = std::mem::take(&mut self.nic.classes[usize::from(class)].ready);
        let (sprayed, rest): (VecDeque<Handle>, _) = waiting
            .into_iter()
            .partition(|handle| self.is_sprayed(handle.item()));
        self.nic.classes[usize::from(class)].ready = rest;
        if self.nic.classes[usize::from(class)].ready.is_empty() {
            self.nic.end.backlog &= !(1 << class);
        }
        for handle in sprayed {
            if let Item::Roce(slot) = handle.item() {
                self.senders[slot as usize].pace = Pace::Idle;
                self.enqueue_next(now, slot, plan);
            }
        }
    }

    /// True of a flow whose packets take paths of their own.
    pub(super) fn is_sprayed(&self, item: Item) -> bool {
        let Item::Roce(slot) = item else {
            return false;
        };
        let selective = self.selective.as_ref();
        selective.is_some_and(|it| it.paths_of(slot).is_some())
    }

    /// What a RoCE flow takes for its line rate: that of the NIC at hand, or if it is sprayed of all that are nearest, together.
    #[cold]
    pub(super) fn speed_of(&self, spec: &FlowSpec, plan: &Plan<'_>) -> LinkSpeed {
        let is_sprayed = plan.config.host.sprays() && spec.transport == Transport::Roce;
        if !is_sprayed || !self.sprays_over_nics() {
            return self.line_speed(plan);
        }
        let first = plan.ports.of(self.id).start;
        let nearest = self.nearest(spec.dst, plan).iter();
        let rates = nearest.map(|nic| {
            let port = first + GlobalPort::from(*nic);
            plan.ports.transmitters[port as usize].speed.rate().as_bps()
        });
        let sum = Rate::from_bps(rates.sum());
        LinkSpeed::of(sum.min(LinkSpeed::MAX)).unwrap_or(self.line_speed(plan))
    }

    /// The NIC that a timer is about, if that is not the one at hand.
    fn nic_of_timer(&self, timer: Timer, plan: &Plan<'_>) -> Option<PortId> {
        match timer {
            Timer::Sender(slot) => self.nic_of_sender(slot, plan),
            Timer::Receiver(slot) => {
                let receiver = self.receivers.get(slot as usize)?;
                let flow = (receiver.flow, receiver.source_port());
                Some(self.nic_towards(receiver.src(), flow, true, plan))
            }
            Timer::TcpSender(slot) => {
                let sender = self.tcp.senders.get(slot as usize)?;
                let flow = (sender.flow, sender.spec.source_port);
                Some(self.nic_towards(sender.spec.dst, flow, false, plan))
            }
            Timer::TcpReceiver(slot) => {
                let receiver = self.tcp.receivers.get(slot as usize)?;
                let flow = (receiver.flow, receiver.spec.source_port);
                Some(self.nic_towards(receiver.spec.src, flow, true, plan))
            }
            Timer::Delayed(place) => {
                let packet = self.delayed.get(place as usize)?;
                Some(self.nic_of(packet, plan))
            }
            Timer::Notification => {
                let packet = self.notified.front()?;
                Some(self.nic_of(packet, plan))
            }
            Timer::Pause { nic, .. }
            | Timer::Retry { nic }
            | Timer::CreditUpdate { nic }
            | Timer::Buffer { nic, .. } => Some(nic),
            // Such hosts have one NIC.
            Timer::Pull => None,
        }
    }

    /// Works with the NIC that the first timer is about.
    #[cold]
    pub(super) fn turn_to_timer(&mut self, plan: &Plan<'_>) {
        let timer = self.timers.peek().map(Timer::of);
        let nic = timer.and_then(|timer| self.nic_of_timer(timer, plan));
        self.turn_to(nic.unwrap_or(self.number));
    }

    /// Works with the NIC that the arrival of `packet` is about.
    #[cold]
    pub(super) fn turn_to_packet(&mut self, packet: &Packet, plan: &Plan<'_>) {
        self.turn_to(self.nic_of(packet, plan));
    }

    /// The routes at this place of the plan hold from now on. Flows that wait at a NIC for their turn or their rate limiter go to
    /// the one by which their packets leave now. Packets that have been made stay.
    #[cold]
    pub fn follow_routes(&mut self, now: Time, routes: usize, window: &mut Window<'_, '_>) {
        if !self.has_several_nics() {
            return;
        }
        let before = self.nics_of_flows(window.plan);
        self.routes = routes;
        let mut moved = self.nics_of_flows(window.plan);
        moved.retain(|item, nics| before[item] != *nics && !nics.is_empty());
        for nic in 0..self.nics() {
            self.turn_to(nic);
            self.nic.remove(&moved);
            self.nic.end.busy_until = self.nic.end.busy_until.max(now);
        }
        for (item, nics) in moved {
            match item {
                Item::Roce(slot) => {
                    let next = self.nic_of_sender(slot, window.plan);
                    self.turn_to(next.unwrap_or(nics[0]));
                    self.line_up_again(slot);
                }
                Item::Tcp(slot) => {
                    self.turn_to(nics[0]);
                    self.queue_tcp_again(now, slot, window);
                }
                // They are of no flow.
                Item::Replies(_) | Item::Acks(_) => {}
            }
        }
        for nic in 0..self.nics() {
            self.turn_to(nic);
            self.set_nic(now);
            self.wake(now);
        }
    }

    /// The NICs by which packets of each flow that this host sends may leave: several, or none, if it is sprayed.
    fn nics_of_flows(&self, plan: &Plan<'_>) -> BTreeMap<Item, Vec<PortId>> {
        let sprays = self.sprays_over_nics();
        let roce = self.senders.iter().filter_map(|(slot, sender)| {
            let item = Item::Roce(slot as u32);
            let nics = match sprays && self.is_sprayed(item) {
                true => self.nearest(sender.dst, plan).to_vec(),
                false => vec![self.nic_of_sender(slot as u32, plan)?],
            };
            Some((item, nics))
        });
        let tcp = self.tcp.senders.iter().map(|(slot, it)| {
            let flow = (it.flow, it.spec.source_port);
            let nic = self.nic_towards(it.spec.dst, flow, false, plan);
            (Item::Tcp(slot as u32), vec![nic])
        });
        roce.chain(tcp).collect()
    }
}
