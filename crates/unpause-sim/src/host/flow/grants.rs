//! The credits that a receiving host grants: its pacer, and the numbers of flows there.

use std::collections::VecDeque;

use rand_core::Rng;
use unpause_protocols::congestion_control::receiver_credits::oversubscribed::Share;
use unpause_protocols::congestion_control::receiver_credits::pacer::{Flow, Flows, Pacer, Pull};
use unpause_protocols::units::{Rate, Time};

use super::window::PathOf;
use crate::fabric::NodeId;
use crate::fabric::packet::{CE, Kind, LAST_HOP, Packet};
use crate::plan::Plan;
use crate::plan::credits::MOST_CREDIT;
use crate::traffic::FlowSpec;

/// No number of the pacer.
const NOBODY: u32 = u32::MAX;

/// The base RTT where no path says one.
const USUAL_RTT: Time = Time::from_us(12);

/// The base RTT of a flow, and the most credit that it may have.
pub fn most_credit(
    (src, dst, source_port): (NodeId, NodeId, u16),
    plan: &Plan<'_>,
) -> Option<(Time, u64)> {
    let credits = plan.config.scheme.credits.as_ref()?;
    let of_path = || PathOf::between(src, dst, source_port, plan).map(|path| path.rtt);
    let rtt = credits.base_rtt.or_else(of_path).unwrap_or(USUAL_RTT);
    let links = plan.ports.transmitters_of(src).iter();
    let rate = links
        .map(|link| link.speed.rate())
        .max()
        .unwrap_or(Rate::ZERO);
    let bytes = rate.bytes_in(rtt).min(MOST_CREDIT);
    Some((rtt, (bytes + bytes / 2).min(MOST_CREDIT)))
}

/// The entropy value of a pull or a request, if flows are sprayed: all values in turn.
pub fn entropy(count: u32, plan: &Plan<'_>) -> u16 {
    (count % plan.config.host.spraying.paths()) as u16
}

/// The flows of a pacer, by its numbers.
#[derive(Debug, Default)]
struct Granted(Vec<Flow>);

impl Flows for Granted {
    fn flow(&mut self, number: u32) -> &mut Flow {
        &mut self.0[number as usize]
    }
}

/// The credits that a host grants to the flows that come to it.
#[derive(Debug)]
pub struct Credits {
    pacer: Pacer,
    /// How much of its link's rate it grants, if that is not always all of it.
    share: Option<Share>,
    flows: Granted,
    /// By number of the pacer: the slot of the receiver.
    slots: Vec<u32>,
    /// By slot: the number of the pacer, if the flow needs credits.
    numbers: Vec<u32>,
    /// Numbers of flows that have ended, which the pacer may still have in its lists.
    ended: VecDeque<u32>,
    /// The time of the timer that counts; other entries among the timers are out of date.
    pub timer_at: Time,
    /// Pulls so far.
    pub pulls: u32,
}

impl Credits {
    /// Those of a host with a link of this rate, if receivers give any.
    pub fn of(line_rate: Rate, plan: &Plan<'_>) -> Option<Box<Self>> {
        plan.config.scheme.credits.map(|_| {
            Box::new(Self {
                pacer: Pacer::new(line_rate),
                share: None,
                flows: Granted::default(),
                slots: Vec::new(),
                numbers: Vec::new(),
                ended: VecDeque::new(),
                timer_at: Time::NEVER,
                pulls: 0,
            })
        })
    }

    /// A flow is to arrive at the receiver in `slot`.
    pub fn receive_at(&mut self, slot: u32, spec: &FlowSpec, plan: &Plan<'_>, rng: &mut impl Rng) {
        if self.numbers.len() <= slot as usize {
            self.numbers.resize(slot as usize + 1, NOBODY);
        }
        self.numbers[slot as usize] = NOBODY;
        let way = (spec.src, spec.dst, spec.source_port);
        let Some((rtt, most)) = most_credit(way, plan).filter(|_| spec.obeys_roce()) else {
            return;
        };
        if let Some(least) = plan.least_grant
            && self.share.is_none()
        {
            self.share = Some(Share::new(rtt, least, Time::ZERO, rng));
        }
        let flow = Flow::new(most);
        let is_free = |number: &u32| !self.flows.0[*number as usize].is_listed();
        let number = match self.ended.front().copied().filter(is_free) {
            Some(number) => {
                self.ended.pop_front();
                self.flows.0[number as usize] = flow;
                self.slots[number as usize] = slot;
                number
            }
            None => {
                self.flows.0.push(flow);
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.numbers[slot as usize] = number;
    }

    /// The number of the pacer for the flow in `slot`.
    fn number(&self, slot: u32) -> Option<u32> {
        let number = self.numbers.get(slot as usize).copied();
        number.filter(|number| *number != NOBODY)
    }

    /// The flow at the receiver in `slot` is complete.
    pub fn end(&mut self, slot: u32) {
        if let Some(number) = self.number(slot) {
            self.numbers[slot as usize] = NOBODY;
            self.flows.0[number as usize].end();
            self.ended.push_back(number);
        }
    }

    /// A data packet has come, whole or trimmed, or a request to send: where the fabric carries less than hosts, this shows
    /// how much less.
    pub fn note(&mut self, packet: &Packet) {
        let Some(share) = &mut self.share else {
            return;
        };
        match packet.kind {
            Kind::Trimmed => share.on_trim(packet.is(LAST_HOP)),
            Kind::Request => {}
            _ => share.on_data(packet.is(CE)),
        }
    }

    /// When to call [`Self::on_timer`], if not at once; [`Time::NEVER`] while no flow needs a pull.
    pub fn next_timer(&self) -> Time {
        let pull = self.pacer.next_timer();
        match &self.share {
            Some(share) if !pull.is_never() => pull.min(share.next_timer()),
            _ => pull,
        }
    }

    /// A packet has come to the receiver in `slot`: takes its pull target off it, and tells the pacer. `asks`: it asks for
    /// credit whatever that is.
    pub fn take_target(&mut self, now: Time, slot: u32, packet: &mut Packet, asks: bool) {
        let number = self.number(slot);
        let near = number.map_or(0, |number| self.flows.0[number as usize].granted());
        let target = packet.take_target(near);
        if let Some(number) = number {
            let flows = &mut self.flows;
            self.pacer.on_target(flows, number, now, target);
            if asks {
                self.pacer.on_trim(flows, number, now);
            }
        }
    }

    /// Does what is due; answers the pull that is due, and the slot of its receiver.
    pub fn on_timer(&mut self, now: Time, rng: &mut impl Rng) -> Option<(u32, Pull)> {
        if let Some(share) = &mut self.share {
            share.on_timer(now, rng);
            self.pacer.set_share(share.share());
        }
        let pull = self.pacer.on_timer(&mut self.flows, now)?;
        self.pulls = self.pulls.wrapping_add(1);
        Some((self.slots[pull.flow as usize], pull))
    }
}
