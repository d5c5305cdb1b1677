//! The NICs of a host, and the one that the present event is about.

use unpause_protocols::state_visitor::{Show, StateVisitor};
use unpause_protocols::units::{LinkSpeed, Rate, Time};

use super::super::nic::Nic;
use crate::fabric::ports::GlobalPort;
use crate::fabric::{NodeId, PortId};
use crate::outcome::causes::Expiry;
use crate::plan::Plan;
use crate::routing::Direction;

/// The NICs of a host. It alone knows which one is at hand: the one that the present event is about.
///
/// That is the NIC by which a PAUSE came, or the one by which packets of a flow leave: data at its sender, feedback at its receiver.
/// [`Machine`](super::Machine) turns to it, for the loop over events ([`turn_to`](super::Machine::turn_to)) and for a part of an event
/// that is about another NIC ([`at`](super::Machine::at)). All others reach only the NIC at hand, and [read](Self::get) any.
///
/// The NIC at hand is a field, and the others are in a list. So a host with one NIC, which is the usual one, pays nothing for this.
#[derive(Debug)]
#[repr(C)]
pub struct Nics {
    at_hand: Nic,
    host: NodeId,
    /// The number of the NIC at hand.
    number: PortId,
    /// All NICs if there are several. The place of the NIC at hand is a spare one.
    others: Vec<Nic>,
    /// The routes that choose among them: their place in the plan.
    pub routes: usize,
    /// PAUSEs that ran out, if causes are recorded.
    pub expiries: Vec<Expiry>,
}

impl Nics {
    /// Bytes at the beginning that most packets touch.
    pub const FRONT: usize = std::mem::offset_of!(Self, at_hand) + Nic::FRONT;

    /// The NICs of a host, at rest.
    pub fn new(host: NodeId, plan: &Plan<'_>) -> Self {
        let ports = plan.ports.of(host);
        let others = match ports.len() {
            0 | 1 => Vec::new(),
            _ => (ports.clone()).map(|port| Nic::new(port, plan)).collect(),
        };
        Self {
            at_hand: Nic::new(ports.start, plan),
            host,
            number: 0,
            others,
            routes: 0,
            expiries: Vec::new(),
        }
    }

    /// True if there are several.
    pub fn are_several(&self) -> bool {
        !self.others.is_empty()
    }

    /// How many there are.
    pub fn count(&self) -> PortId {
        self.others.len().max(1) as PortId
    }

    /// The NIC at hand.
    #[inline(always)]
    pub fn nic(&self) -> &Nic {
        &self.at_hand
    }

    /// The NIC at hand, to be changed.
    #[inline(always)]
    pub fn nic_mut(&mut self) -> &mut Nic {
        &mut self.at_hand
    }

    /// The number of the NIC at hand.
    #[inline(always)]
    pub fn number(&self) -> PortId {
        self.number
    }

    /// Any NIC.
    pub fn get(&self, nic: PortId) -> &Nic {
        if nic == self.number {
            &self.at_hand
        } else {
            &self.others[usize::from(nic)]
        }
    }

    /// Sets the speed of a link.
    pub fn set_speed(&mut self, nic: PortId, speed: LinkSpeed) {
        let nic = if nic == self.number {
            &mut self.at_hand
        } else {
            &mut self.others[usize::from(nic)]
        };
        nic.end.transmitter.speed = speed;
    }

    /// Takes another NIC at hand.
    #[inline]
    pub(super) fn turn_to(&mut self, nic: PortId) {
        if nic != self.number {
            self.swap(self.number);
            self.swap(nic);
            self.number = nic;
        }
    }

    /// Exchanges the NIC at hand and the content of a place.
    #[cold]
    fn swap(&mut self, place: PortId) {
        std::mem::swap(&mut self.at_hand, &mut self.others[usize::from(place)]);
    }

    /// The NIC that looks first for something to send; of several, the first by number.
    #[cold]
    pub fn first(&self) -> PortId {
        let nics = (0..self.count()).map(|nic| (self.get(nic).at, nic));
        nics.min().map_or(0, |(_, nic)| nic)
    }

    /// The NIC by which packets go to `dst`: data of a flow with this source port that this host sends, or feedback to one. If
    /// there is no path now, it is the NIC of the path that there was.
    pub fn towards(
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
            src: self.host,
            dst,
            source_port,
            flow: Some(flow),
            is_feedback,
        };
        let nic = plan.routes(self.routes).nic(&way);
        nic.or_else(|| plan.routing.nic(&way)).unwrap_or(0)
    }

    /// The NICs that are nearest to a host, by the routes in force.
    pub fn nearest<'p>(&self, dst: NodeId, plan: &'p Plan<'_>) -> &'p [PortId] {
        plan.routes(self.routes).choices(self.host, dst)
    }

    /// The NIC that follows `last` among the nearest ones to a host; one at which `class` may send, if there is any.
    pub fn after(
        &self,
        last: PortId,
        (dst, class): (NodeId, u8),
        plan: &Plan<'_>,
    ) -> Option<PortId> {
        let nearest = self.nearest(dst, plan);
        let first = nearest.iter().position(|nic| *nic == last);
        let first = first.map_or(0, |at| at + 1);
        let in_turn = || nearest[first..].iter().chain(&nearest[..first]).copied();
        let may_send = |nic: &PortId| {
            let end = &self.get(*nic).end;
            !end.is_paused(class) && !end.busy_until.is_never()
        };
        in_turn().find(may_send).or_else(|| in_turn().next())
    }

    /// The line rate of the NIC at hand for senders: that of the fabric, also while the link is slower.
    pub fn line_speed(&self, plan: &Plan<'_>) -> LinkSpeed {
        plan.ports.transmitters[self.at_hand.port as usize].speed
    }

    /// The sum of the line rates of the NICs that are nearest to `dst`.
    #[cold]
    pub fn nearest_speed(&self, dst: NodeId, plan: &Plan<'_>) -> LinkSpeed {
        let first = plan.ports.of(self.host).start;
        let rates = self.nearest(dst, plan).iter().map(|nic| {
            let port = first + GlobalPort::from(*nic);
            plan.ports.transmitters[port as usize].speed.rate().as_bps()
        });
        let sum = Rate::from_bps(rates.sum());
        LinkSpeed::of(sum.min(LinkSpeed::MAX)).unwrap_or(self.line_speed(plan))
    }

    /// Packets in the buffers of slow NICs.
    pub fn buffered_packets(&self) -> u64 {
        let buffers = (0..self.count()).filter_map(|nic| self.get(nic).buffer.as_ref());
        buffers.map(|buffer| buffer.packets()).sum()
    }

    /// The NIC at hand sends again from `now` on at the earliest, though it may have been idle for long.
    pub fn wait_until(&mut self, now: Time) {
        let end = &mut self.at_hand.end;
        end.busy_until = end.busy_until.max(now);
    }
}

impl Show for Nics {
    fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        // Routes change only where links do, and expiries decide nothing.
        self.at_hand.show(visitor);
        if self.others.is_empty() {
            return;
        }
        let number = self.number;
        visitor.same(u64::from(number));
        let resting = (0..).zip(&mut self.others);
        let resting = resting.filter(|(nic, _)| *nic != number);
        resting.for_each(|(_, nic)| nic.show(visitor));
    }
}
