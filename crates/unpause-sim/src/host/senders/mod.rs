//! The senders of a host's RoCE and UDP flows.

mod connections;
mod delays;
mod feedback;
mod finish;

use std::collections::{BTreeMap, VecDeque};

use slab::Slab;
use unpause_protocols::congestion_control::Mechanism as _;
use unpause_protocols::congestion_control::receiver_credits::sender::Demand;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::{LinkSpeed, Time};

use super::flow::delays::Delays;
use super::flow::grants::most_credit;
use super::flow::no_repair;
use super::flow::posted::Posted;
use super::flow::retries::Retries;
use super::flow::selective::{Selective, if_selective, recovery};
use super::flow::sender::{Carries, Pace, Sender};
use super::flow::sprayed::Sprayed;
use super::machine::Machine;
use super::machine::nics::Nics;
use super::nic::item::{Handle, Item};
use super::slabs::{reserve_first, show_all};
use super::timer::Timer;
use crate::engine::batch::FlowStart;
use crate::engine::heap::Heap;
use crate::engine::log::{Log, SenderEnd};
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::{ACK_REQUEST, INT, MEASURE, Packet};
use crate::plan::Plan;
use crate::traffic::{Ending, FlowSpec, Transport};

pub use feedback::After;

/// The senders of a host's RoCE and UDP flows, and what it keeps beside them.
///
/// The host [opens](Self::open) a flow when it starts. When the NIC at hand has chosen one, [`Self::send`] makes its packet. Feedback
/// ([`Self::on_feedback`]) and [timers](Self::on_timer) change its rate and window, and may let it send again. A flow whose packets
/// have all been acknowledged is [forgotten](Self::forget), later if it still has a place at the NIC.
///
/// Of ranks they know the [messages](Self::posted) of connections. What a rank has to learn of acknowledgements, they answer
/// ([`After::Messages`]).
#[derive(Debug, Show)]
#[repr(C)]
#[show(pub fn show(ack_every: u32))]
pub struct Senders {
    #[show(by = show_all(flows, visitor, |sender, visitor| sender.show(ack_every, visitor)))]
    pub flows: Slab<Sender>,
    /// The state of selective repeat, if that is used.
    #[show(refuse_if = selective.is_some())]
    pub selective: Option<Box<Selective>>,
    // Fields that few packets touch.
    /// Timeouts in a row, where they are limited.
    #[show(refuse_if = retries.is_some())]
    retries: Option<Box<Retries>>,
    /// CNPs and CNMs that have not taken effect yet, in order.
    #[show(same = notified.len())]
    #[show(by = notified.iter_mut().for_each(|packet| packet.show(visitor)))]
    pub notified: VecDeque<Packet>,
    /// The messages of connections of ranks, by flow.
    #[show(same = posted.len())]
    #[show(by = posted.iter_mut().for_each(|(flow, posted)| posted.show(*flow, visitor)))]
    posted: BTreeMap<u32, Posted>,
    /// Where the time of flows goes, if causes are recorded.
    #[show(refuse_if = delays.is_some())]
    delays: Option<Box<Delays>>,
}

/// Sets the timer of the flow in `slot`, if it is due earlier than the one that is set.
#[inline(always)]
fn arm(timers: &mut Heap, sender: &mut Sender, slot: u32) {
    let due = sender.next_timer();
    if due < sender.timer_at {
        sender.timer_at = due;
        timers.push(Timer::Sender(slot).entry(due, sender.flow));
    }
}

/// All that a flow has to send except lost packets, at a port with this many flows in turn.
fn demand(sender: &Sender, flows: usize) -> Demand {
    let packet = u64::from(sender.packet_bytes);
    let unsent = sender.recovery.unsent();
    let short = match unsent {
        0 => 0,
        _ => u64::from(sender.full_bytes - sender.last_bytes),
    };
    Demand {
        backlog: (u64::from(unsent) * packet).saturating_sub(short),
        repairs: 0,
        window: sender.law.window(),
        flows: flows as u64,
    }
}

/// Flows in turn in the class of `sender`, and one more.
fn flows_in_turn(sender: &Sender, nics: &Nics) -> usize {
    nics.nic().classes[usize::from(sender.class)].ready.len() + 1
}

impl Senders {
    /// No flows.
    pub fn new(plan: &Plan<'_>) -> Self {
        Self {
            flows: Slab::new(),
            selective: if_selective(plan),
            retries: Retries::of(plan),
            notified: VecDeque::new(),
            posted: BTreeMap::new(),
            delays: plan.config.probes.causes.then(Box::default),
        }
    }

    /// The sender in `slot`, if it is that of the flow.
    pub fn get(&self, slot: u32, flow: u32) -> Option<&Sender> {
        let sender = self.flows.get(slot as usize)?;
        (sender.flow == flow).then_some(sender)
    }

    /// Opens a flow, which leaves by the NIC at hand; answers its slot. It gets no turn yet.
    #[inline(always)]
    pub fn open(&mut self, now: Time, start: &FlowStart, nics: &Nics, plan: &Plan<'_>) -> u32 {
        let speed = if nics.are_several() {
            self.speed_of(&start.spec, nics, plan)
        } else {
            nics.line_speed(plan)
        };
        let sender = Sender::new(start, speed, plan, now);
        reserve_first(&mut self.flows);
        if let Some(delays) = &mut self.delays {
            delays.begin(now, sender.flow);
        }
        let slot = self.flows.insert(sender) as u32;
        self.begin(slot, plan);
        slot
    }

    fn begin(&mut self, slot: u32, plan: &Plan<'_>) {
        let sender = &mut self.flows[slot as usize];
        if sender.carries == Carries::Datagrams {
            return;
        }
        if let Some(selective) = &mut self.selective {
            let by = (sender.speed.rate(), sender.source_port);
            selective.send_from(slot as usize, by, plan);
        }
        let timeout = plan.config.host.retransmit_timeout;
        let mut recovery = recovery(&mut self.selective, slot, timeout);
        sender.begin(&mut recovery);
    }

    /// The flow in `slot` begins where receivers grant credits, and speculates.
    #[cold]
    pub fn begin_on_credit(&mut self, slot: u32, machine: &Machine, plan: &Plan<'_>) {
        let sender = &self.flows[slot as usize];
        let way = (machine.id, sender.dst, sender.source_port);
        if let Some(selective) = &mut self.selective
            && let Some(most) = most_credit(way, plan)
        {
            selective.credit(slot as usize, sender.packet_bytes, most);
        }
    }

    /// Gives the flow in `slot` its turn at the NIC at hand. A connection has no data yet.
    #[inline(always)]
    pub fn line_up(&mut self, now: Time, slot: u32, has_data: bool, machine: &mut Machine) {
        let sender = &mut self.flows[slot as usize];
        machine.nics.nic_mut().add(now, sender, slot, has_data);
        arm(&mut machine.timers, sender, slot);
    }

    /// True if the flow in `slot` has a place in line: when it is over, it is forgotten when its turn comes.
    fn is_in_line(&self, slot: u32, nics: &Nics) -> bool {
        nics.nic().in_list || self.flows[slot as usize].pace == Pace::Ready
    }

    /// A flow's rate, window, packets or timers may have changed.
    pub fn after_change(&mut self, now: Time, slot: u32, machine: &mut Machine) {
        if self.delays.is_some() {
            self.note_change(now, slot);
        }
        let nic = machine.nics.nic_mut();
        if nic.in_list {
            return self.after_change_in_list(now, slot, machine);
        }
        let sender = &mut self.flows[slot as usize];
        sender.after_change(now);
        arm(&mut machine.timers, sender, slot);
        let pace = sender.pace;
        match pace {
            Pace::Idle if sender.has_packet(now) => nic.enqueue(sender, slot),
            Pace::Until(at) if sender.next_start < at => {
                sender.pace = Pace::Until(sender.next_start);
                let entry = Item::Roce(slot).entry(sender.next_start, sender.flow);
                nic.pacing.push(entry);
                nic.at = nic.at.min(entry.time().max(nic.end.busy_until));
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn after_change_in_list(&mut self, now: Time, slot: u32, machine: &mut Machine) {
        let nic = machine.nics.nic_mut();
        let sender = &mut self.flows[slot as usize];
        sender.after_change(now);
        // Another rate sets the timer of the list only if it takes effect at once.
        if sender.repaces()
            && let Some(at) = nic.list.advance_timer(now, sender.next_start)
        {
            nic.at = nic.at.min(at.max(nic.end.busy_until));
        }
        arm(&mut machine.timers, sender, slot);
    }

    /// The flow in `handle` has got its turn: true if it sends now. It leaves the line, and gets in again if its rate limiter
    /// does not allow a packet yet.
    #[inline(always)]
    pub fn may_send(&mut self, now: Time, slot: u32, machine: &mut Machine, log: &mut Log) -> bool {
        let sender = &mut self.flows[slot as usize];
        debug_assert_eq!(sender.pace, Pace::Ready);
        sender.pace = Pace::Idle;
        if !sender.has_packet(now) {
            if sender.is_over() {
                self.forget(slot, log);
            }
            return false;
        }
        if sender.next_start > now {
            machine.nics.nic_mut().enqueue(sender, slot);
            return false;
        }
        true
    }

    /// The rate limiter of the flow in `slot` allows a packet at `at`, unless that entry of flow `flow` is out of date. True if it
    /// may send at once, as the only one; else it gets its turn.
    #[inline(always)]
    pub fn release(
        &mut self,
        now: Time,
        slot: u32,
        (flow, at): (u32, Time),
        machine: &mut Machine,
    ) -> bool {
        let Some(sender) = self.flows.get_mut(slot as usize) else {
            return false;
        };
        if sender.flow != flow || sender.pace != Pace::Until(at) {
            return false;
        }
        let nic = machine.nics.nic_mut();
        let others = nic.end.backlog != 0 || nic.pacing.next_time() <= now;
        let paused = nic.end.paused != 0 || nic.has_link_credits;
        let waits = paused || !nic.control.is_empty();
        if !others && !waits && sender.next_start <= now && sender.has_packet(now) {
            return true;
        }
        nic.enqueue(sender, slot);
        false
    }

    /// Sends the next packet of the flow in `slot`, which [may send](Self::may_send), by the NIC at hand.
    #[inline(always)]
    pub fn send(
        &mut self,
        now: Time,
        slot: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let plan = window.plan;
        let mut sender = &mut self.flows[slot as usize];
        let class = sender.class;
        let timeout = plan.config.host.retransmit_timeout;
        let recovery = match sender.carries {
            Carries::Datagrams => no_repair(),
            _ => recovery(&mut self.selective, slot, timeout),
        };
        let mut packet = sender.send(now, machine.id, slot, plan, recovery, &mut machine.rng);
        if sender.carries == Carries::Datagrams {
            sender.turn_to_datagram(&mut packet);
        } else if let Some(selective) = &mut self.selective {
            let by = (slot, machine.nics.number(), sender.timeouts);
            selective.spray(now, by, &mut packet, &mut machine.rng);
            if plan.config.scheme.credits.is_some() {
                self.spend_credit(slot, &mut packet, &machine.nics, plan);
                sender = &mut self.flows[slot as usize];
            }
        }
        if packet.is(INT) {
            let rng = &mut machine.rng;
            (packet.stamp, packet.bits) =
                sender.ask((packet.stamp, packet.bits), window.telemetry, rng);
        }
        if sender.is_connection() && (!sender.has_left() || self.selective.is_some()) {
            self.end_message(slot);
            sender = &mut self.flows[slot as usize];
        }
        sender.pace = Pace::Idle;
        let more = sender.has_packet(now);
        arm(&mut machine.timers, sender, slot);
        window.log.counts.data_packets += 1;
        if self.delays.is_some() {
            return self.send_noted((now, slot), packet, more, machine, window);
        }
        let nic = machine.nics.nic_mut();
        nic.transmit(now, class, &packet, window);
        if more && self.selective.is_some() {
            self.enqueue_next(now, slot, machine, plan);
        } else if more {
            nic.enqueue(&mut self.flows[slot as usize], slot);
        } else {
            self.end_datagrams(now, slot, machine, window.log);
        }
    }

    /// The sender in `slot` has nothing to send at present. One of datagrams is over.
    #[inline]
    fn end_datagrams(&mut self, now: Time, slot: u32, machine: &mut Machine, log: &mut Log) {
        let sender = &self.flows[slot as usize];
        if sender.carries == Carries::Datagrams && sender.is_done() {
            machine.end_flow(now, sender.flow, Ending::Acknowledged, log);
            self.forget(slot, log);
        }
    }

    /// All of a flow has been acknowledged. True if its sender is forgotten.
    #[inline(always)]
    pub fn end(
        &mut self,
        now: Time,
        slot: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let sender = &mut self.flows[slot as usize];
        if window.plan.config.probes.acknowledged {
            sender.note_end(now);
        }
        let flow = sender.flow;
        let is_over = !self.is_in_line(slot, &machine.nics);
        machine.end_flow(now, flow, Ending::Acknowledged, window.log);
        if is_over {
            self.forget(slot, window.log);
        }
        is_over
    }

    /// Removes a sender, and records its end.
    pub fn forget(&mut self, slot: u32, log: &mut Log) {
        let sender = self.flows.remove(slot as usize);
        if let Some(delays) = &mut self.delays {
            delays.end(sender.flow);
        }
        self.record_end(slot, sender.end(None), log);
    }

    fn record_end(&mut self, slot: u32, mut end: Option<SenderEnd>, log: &mut Log) {
        if let Some(retries) = &mut self.retries {
            retries.record(slot, end.as_mut());
        }
        log.senders.extend(end);
    }

    /// The flow in `slot` has sent a packet: takes it off its credit, and writes the flow's pull target into it.
    #[inline(never)]
    fn spend_credit(&mut self, slot: u32, packet: &mut Packet, nics: &Nics, plan: &Plan<'_>) {
        let sender = &mut self.flows[slot as usize];
        let bytes = plan.ports.wire_bytes(packet) as u32;
        let Some(selective) = &mut self.selective else {
            return;
        };
        let demand = demand(sender, flows_in_turn(sender, nics));
        if let Some(target) = selective.spend((slot, &mut sender.recovery), bytes, demand) {
            packet.set_target(target);
            if !sender.recovery.has_packet() {
                // It waits for an answer.
                packet.bits |= ACK_REQUEST | MEASURE;
            }
        }
    }

    /// True if packets of a sprayed flow leave by several NICs.
    fn sprays_over(&self, nics: &Nics) -> bool {
        nics.are_several() && self.selective.is_some()
    }

    /// True if the packets of the flow in `slot` take paths of their own.
    fn is_sprayed(&self, slot: u32) -> bool {
        let selective = self.selective.as_ref();
        selective.is_some_and(|selective| selective.paths_of(slot).is_some())
    }

    /// The line rate of a RoCE flow: that of the NIC at hand, or if it is sprayed the sum of all NICs that are nearest.
    #[cold]
    fn speed_of(&self, spec: &FlowSpec, nics: &Nics, plan: &Plan<'_>) -> LinkSpeed {
        let is_sprayed = plan.config.host.sprays() && spec.transport == Transport::Roce;
        if is_sprayed && self.sprays_over(nics) {
            nics.nearest_speed(spec.dst, plan)
        } else {
            nics.line_speed(plan)
        }
    }

    /// The NIC of the next packet of the flow in `slot`.
    pub fn nic_of(&self, slot: u32, nics: &Nics, plan: &Plan<'_>) -> Option<PortId> {
        let sender = self.flows.get(slot as usize)?;
        if self.sprays_over(nics) && sender.carries != Carries::Datagrams {
            let paths = self.selective.as_ref()?.paths_of(slot);
            if let Some(last) = paths.and_then(Sprayed::last_nic) {
                return nics.after(last, (sender.dst, sender.class), plan);
            }
        }
        let flow = (sender.flow, sender.source_port);
        Some(nics.towards(sender.dst, flow, false, plan))
    }

    /// The NICs by which packets of each flow may leave: several if it is sprayed, or none.
    pub fn nics_of_flows(
        &self,
        nics: &Nics,
        plan: &Plan<'_>,
    ) -> impl Iterator<Item = (u32, Vec<PortId>)> {
        let sprays = self.sprays_over(nics);
        self.flows.iter().filter_map(move |(slot, sender)| {
            let slot = slot as u32;
            let nics = if sprays && self.is_sprayed(slot) {
                nics.nearest(sender.dst, plan).to_vec()
            } else {
                vec![self.nic_of(slot, nics, plan)?]
            };
            Some((slot, nics))
        })
    }

    /// Puts a flow with a packet to send into the queue of the NIC by which that leaves: another NIC for each packet of a sprayed
    /// flow.
    #[inline(never)]
    fn enqueue_next(&mut self, now: Time, slot: u32, machine: &mut Machine, plan: &Plan<'_>) {
        let nic = self.nic_of(slot, &machine.nics, plan);
        let sender = &mut self.flows[slot as usize];
        machine.at(nic.unwrap_or(machine.nics.number()), |machine| {
            // The NIC may have been idle for long, also where a PAUSE has just moved the flow here.
            machine.nics.wait_until(now);
            machine.nics.nic_mut().enqueue(sender, slot);
        });
    }

    /// The NIC at hand stops sending `class`: sprayed flows that wait there go to their next NIC.
    pub fn leave_stopped(&mut self, now: Time, class: u8, machine: &mut Machine, plan: &Plan<'_>) {
        if !self.sprays_over(&machine.nics) {
            return;
        }
        let nic = machine.nics.nic_mut();
        let waiting = std::mem::take(&mut nic.classes[usize::from(class)].ready);
        let is_sprayed =
            |handle: &Handle| matches!(handle.item(), Item::Roce(slot) if self.is_sprayed(slot));
        let (sprayed, rest): (VecDeque<Handle>, _) = waiting.into_iter().partition(is_sprayed);
        nic.classes[usize::from(class)].ready = rest;
        if nic.classes[usize::from(class)].ready.is_empty() {
            nic.end.backlog &= !(1 << class);
        }
        for handle in sprayed {
            if let Item::Roce(slot) = handle.item() {
                self.flows[slot as usize].pace = Pace::Idle;
                self.enqueue_next(now, slot, machine, plan);
            }
        }
    }
}
