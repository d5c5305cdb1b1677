//! A NIC: its end of the link, what waits there, and who may send.

use std::collections::{BTreeMap, VecDeque};

use slab::Slab;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::flow::sender::{Pace, Sender};
use crate::config::{NicModel, Qdisc};
use crate::engine::heap::Heap;
use crate::engine::log::Log;
use crate::engine::ring::Ring;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;
use crate::fabric::ports::GlobalPort;
use crate::link::end::End;
use crate::link::pause::{PauseState, Place};
use crate::outcome::held_back::HeldBack;
use crate::outcome::results::{PortSample, Queued};
use crate::plan::Plan;

pub mod flow_list;
pub mod item;
pub mod receive_buffer;
pub mod shares;

use flow_list::FlowList;
use item::{Handle, Item};
use receive_buffer::{Line, ReceiveBuffer};
use shares::Shares;

/// A class of a NIC.
#[derive(Debug, Default, Show)]
pub struct Class {
    #[show(nested)]
    pub counters: Counters,
    /// Items that may send, in turn.
    #[show(same = ready.len())]
    #[show(by = ready.iter().for_each(|handle| handle.show_same(visitor)))]
    pub ready: VecDeque<Handle>,
    /// PAUSE that it obeys.
    #[show(nested)]
    pub pause: PauseState,
}

/// A NIC: its end of the link, what waits there, and who may send. It knows of no host.
///
/// Flows of RoCE and TCP ask it for their turn ([`enqueue`](Self::enqueue)); at [`Self::at`] its host looks for the next packet and
/// has it [transmitted](Self::transmit). After that, [`Self::set_next`] sets the next look.
#[derive(Debug, Show)]
#[repr(C)]
pub struct Nic {
    #[show(by = end.show(false, visitor))]
    pub end: End,
    #[show(skip)]
    pub port: GlobalPort,
    /// Flows get their turn by [`Self::list`], as at the NIC of HPCC's simulator ([`NicModel::Hpcc`]).
    #[show(refuse_if = *in_list)]
    pub in_list: bool,
    /// Its link has credits, which it checks before it chooses a class.
    #[show(skip)]
    pub has_link_credits: bool,
    /// Its classes share the port: [`Self::shares`].
    #[show(refuse_if = *has_shares)]
    pub has_shares: bool,
    /// When it looks for something to send.
    #[show(earliest)]
    pub at: Time,
    /// Flows that wait for their rate limiter.
    #[show(nested)]
    pub pacing: Heap,
    #[show(nested)]
    pub control: Ring,
    #[show(nested)]
    pub classes: Vec<Class>,
    // Fields that few packets touch.
    /// ACKs and NAKs that share the classes of data, by class; [`Acks`](super::item::Item::Acks) stands for them among
    /// flows that may send.
    #[show(nested)]
    pub acks: Vec<Ring>,
    /// TCP's SYNs, SYN-ACKs, ACKs and FINs, by class, as far as there have been any; with [`Qdisc::Pfifo`] segments, too.
    #[show(refuse_if = !replies.iter().all(Ring::is_empty))]
    pub replies: Vec<Ring>,
    /// How classes share the port, if the most urgent does not go first.
    #[show(skip = "see `has_shares`")]
    pub shares: Option<Box<Shares>>,
    /// Its RoCE flows, if it is that of HPCC's simulator.
    #[show(skip = "see `in_list`")]
    pub list: FlowList,
    /// By class, when the PAUSE that last stopped it had left the switch; empty if causes are not recorded.
    #[show(refuse_if = !stopped_by.is_empty())]
    pub stopped_by: Vec<Time>,
    /// The pauses that flows have waited for.
    #[show(skip = "grows only where `stopped_by` is kept")]
    pub waits: Vec<HeldBack>,
    /// Packets that have arrived and that a slow host has not taken yet.
    #[show(refuse_if = buffer.is_some())]
    pub buffer: Option<Box<ReceiveBuffer>>,
}

impl Nic {
    /// Bytes at the beginning that most packets touch.
    pub const FRONT: usize = std::mem::offset_of!(Self, acks);

    /// A NIC at rest.
    pub fn new(port: GlobalPort, plan: &Plan<'_>) -> Self {
        let classes = plan.classes.count();
        Self {
            end: End::new(&plan.ports.transmitters[port as usize]),
            port,
            in_list: plan.config.host.nic == NicModel::Hpcc,
            has_link_credits: plan.config.switch.cbfc.is_some(),
            has_shares: plan.config.host.shares.is_some(),
            at: Time::NEVER,
            pacing: Heap::default(),
            control: Ring::default(),
            classes: (0..classes).map(|_| Class::default()).collect(),
            acks: if plan.config.host.pause_acks {
                (0..classes).map(|_| Ring::default()).collect()
            } else {
                Vec::new()
            },
            list: FlowList::default(),
            stopped_by: if plan.config.probes.causes {
                vec![Time::ZERO; classes]
            } else {
                Vec::new()
            },
            waits: Vec::new(),
            replies: Vec::new(),
            shares: Shares::new(plan),
            buffer: ReceiveBuffer::new(port, plan),
        }
    }

    /// TCP's replies of a class.
    pub fn replies_of(&mut self, class: u8) -> &mut Ring {
        let class = usize::from(class);
        if self.replies.len() <= class {
            self.replies.resize_with(class + 1, Ring::default);
        }
        &mut self.replies[class]
    }

    /// Puts a packet onto the wire.
    // Always inlined: a packet that is made field by field is then written to the wire in the same pieces, and never read in
    // larger ones.
    #[inline(always)]
    pub fn transmit(&mut self, now: Time, class: u8, packet: &Packet, window: &mut Window<'_, '_>) {
        let counters = &mut self.classes[class as usize].counters;
        counters.tx_packets += 1;
        counters.tx_bytes += window.ports.wire_bytes(packet);
        self.end.transmit(now, packet, 0, Queued::default(), window);
    }

    /// Sends a control packet: now, or before all others when the port is free.
    #[inline(always)]
    pub fn send_control(&mut self, now: Time, packet: Packet, window: &mut Window<'_, '_>) {
        if self.end.is_free(now) && self.control.is_empty() {
            let class = window.plan.classes.of(packet.priority());
            self.transmit(now, class, &packet, window);
            self.set_next();
        } else {
            self.control.push(&packet);
            self.look(now);
        }
    }

    /// Sends an ACK or a NAK first in the class of its flow.
    #[inline(never)]
    pub fn send_ack(&mut self, now: Time, packet: Packet, window: &mut Window<'_, '_>) {
        let class = window.plan.classes.of(packet.priority());
        if class == window.plan.classes.control {
            return self.send_control(now, packet, window);
        }
        let waiting = &mut self.acks[class as usize];
        let first = waiting.is_empty();
        let paused = self.end.is_paused(class);
        if first && !paused && self.end.is_free(now) && self.control.is_empty() {
            self.transmit(now, class, &packet, window);
            return self.set_next();
        }
        waiting.push(&packet);
        if first {
            self.put_first(Item::Acks(class), class);
            if !paused {
                self.look(now);
            }
        }
    }

    /// Sends the first ACK or NAK that waits in `class`.
    #[cold]
    pub fn send_waiting_ack(&mut self, now: Time, class: u8, window: &mut Window<'_, '_>) {
        let packet = self.acks[class as usize].pop();
        if !self.acks[class as usize].is_empty() {
            self.put_first(Item::Acks(class), class);
        }
        self.transmit(now, class, &packet, window);
    }

    /// Puts an item before all others of its class.
    fn put_first(&mut self, item: Item, class: u8) {
        self.classes[class as usize].ready.push_front(item.handle());
        self.end.backlog |= 1 << class;
    }

    /// Puts an item behind all others of its class.
    #[inline(always)]
    fn put_last(&mut self, item: Item, class: u8) {
        self.classes[class as usize].ready.push_back(item.handle());
        self.end.backlog |= 1 << class;
    }

    /// Lets a packet of TCP wait in its class for the port.
    pub fn wait(&mut self, now: Time, class: u8, packet: &Packet, qdisc: Qdisc) {
        let replies = self.replies_of(class);
        replies.push(packet);
        if replies.len() == 1 {
            self.put_replies(class, qdisc);
        }
        self.look(now);
    }

    /// Puts the waiting `replies` into the round-robin: first, or in turn with flows of RoCE if they are a FIFO of all that TCP
    /// sends.
    fn put_replies(&mut self, class: u8, qdisc: Qdisc) {
        match qdisc {
            Qdisc::Fq => self.put_first(Item::Replies(class), class),
            Qdisc::Pfifo => self.put_last(Item::Replies(class), class),
        }
    }

    /// Sends the first packet of TCP's FIFO of a class.
    #[inline(never)]
    pub fn send_reply(&mut self, now: Time, class: u8, qdisc: Qdisc, window: &mut Window<'_, '_>) {
        let replies = &mut self.replies[class as usize];
        let packet = replies.pop();
        if !replies.is_empty() {
            self.put_replies(class, qdisc);
        }
        window.log.counts.data_packets += u64::from(packet.kind.is_data());
        self.transmit(now, class, &packet, window);
    }

    /// Puts a TCP connection into the round-robin of `class`: last, or first within a burst.
    pub fn enqueue_tcp(&mut self, slot: u32, class: u8, in_burst: bool, free_at: Time) {
        if in_burst {
            self.put_first(Item::Tcp(slot), class);
        } else {
            self.put_last(Item::Tcp(slot), class);
        }
        self.at = self.at.min(free_at);
    }

    /// Puts a flow with a packet to send into the round-robin, or behind its rate limiter if that allows the packet only after the
    /// port is free again. In a list it has its place.
    #[inline(always)]
    pub fn enqueue(&mut self, sender: &mut Sender, slot: u32) {
        if self.in_list {
            return;
        }
        let start = sender.next_start;
        if start <= self.end.busy_until {
            sender.pace = Pace::Ready;
            self.put_last(Item::Roce(slot), sender.class);
            self.at = self.at.min(self.end.busy_until);
        } else {
            sender.pace = Pace::Until(start);
            self.pacing.push(Item::Roce(slot).entry(start, sender.flow));
            self.at = self.at.min(start);
        }
    }

    /// Adds a flow that begins. A connection has nothing to send yet: it gets its turn when a message is posted, except in a list.
    #[inline(always)]
    pub fn add(&mut self, now: Time, sender: &mut Sender, slot: u32, has_data: bool) {
        self.end.busy_until = self.end.busy_until.max(now);
        if self.in_list {
            self.list.add(slot);
            self.look(now);
        } else if has_data {
            self.enqueue(sender, slot);
        }
    }

    /// Adds a flow that waited at another NIC.
    pub fn add_moved(&mut self, sender: &mut Sender, slot: u32) {
        if self.in_list {
            return self.list.add(slot);
        }
        if sender.pace != Pace::Idle {
            sender.pace = Pace::Idle;
            self.enqueue(sender, slot);
        }
    }

    /// Wakes a NIC with a list: after an ACK, a post, a timeout, or when the link returns. Another NIC knows when it has something to
    /// send.
    #[inline(always)]
    pub fn wake(&mut self, now: Time) {
        if self.in_list {
            self.look(now);
        }
    }

    /// Looks for something to send as soon as the port is free.
    pub fn look(&mut self, now: Time) {
        self.at = self.at.min(self.end.busy_until.max(now));
    }

    /// Sets the next look of a port that is busy.
    #[inline]
    pub fn set_next(&mut self) {
        let sendable = !self.control.is_empty() || self.end.eligible() != 0;
        self.at = if sendable || self.in_list {
            self.end.busy_until
        } else {
            self.pacing.next_time().max(self.end.busy_until)
        };
    }

    /// Sets the next look of a port that may be free.
    #[inline]
    pub fn set_next_of(&mut self, now: Time, senders: &Slab<Sender>) {
        let sendable = !self.control.is_empty() || self.end.eligible() != 0;
        self.at = if sendable {
            self.end.busy_until
        } else if self.in_list {
            self.next_of_list(now, senders)
        } else {
            self.pacing.next_time().max(self.end.busy_until)
        };
    }

    #[cold]
    fn next_of_list(&mut self, now: Time, senders: &Slab<Sender>) -> Time {
        if self.end.is_free(now) {
            self.list.wake(now, senders)
        } else {
            self.end.busy_until
        }
    }

    /// The next of the round-robin, and its class.
    #[inline(always)]
    pub fn next_ready(&mut self) -> Option<(Handle, u8)> {
        let eligible = self.end.eligible();
        if eligible == 0 {
            return None;
        }
        let class = if self.has_shares {
            self.by_share(eligible)
        } else {
            7 - eligible.leading_zeros() as usize
        };
        let ready = &mut self.classes[class].ready;
        let handle = ready.pop_front()?;
        if ready.is_empty() {
            self.end.backlog &= !(1 << class);
        }
        Some((handle, class as u8))
    }

    /// The class whose turn it is, out of several `eligible` that share the port.
    #[cold]
    fn by_share(&mut self, eligible: u8) -> usize {
        let shares = self.shares.as_mut().expect("the NIC has shares");
        shares.pick(eligible, |class| {
            let class = self.classes.get(class);
            class.map_or(0, |class| class.counters.tx_bytes)
        })
    }

    /// The receive buffer, if there is one, and the port and timers that it uses.
    pub fn buffer<'n>(
        &'n mut self,
        timers: &'n mut Heap,
    ) -> Option<(&'n mut ReceiveBuffer, Line<'n>)> {
        let buffer = self.buffer.as_deref_mut()?;
        let line = Line {
            port: self.port,
            end: &mut self.end,
            at: &mut self.at,
            timers,
        };
        Some((buffer, line))
    }

    /// The place of a class, for records.
    pub fn place(&self, class: u8, plan: &Plan<'_>) -> Place {
        Place::of(plan.ports.place(self.port), class, plan)
    }

    /// A PAUSE of `class` has begun or ended.
    pub fn after_pause_change(&mut self, now: Time, class: u8) {
        let may_send = self.in_list || self.end.eligible() != 0;
        if may_send && !self.end.is_paused(class) {
            self.look(now);
        }
    }

    /// There may be credits again for `class`.
    #[cold]
    pub fn resume(&mut self, now: Time, class: u8, window: &mut Window<'_, '_>) {
        let stopped = self.end.is_paused(class);
        if !stopped || !window.wires.credits.may_send_any(self.port, class) {
            return;
        }
        let place = self.place(class, window.plan);
        let pause = &mut self.classes[usize::from(class)].pause;
        let xon = (class, Time::ZERO);
        self.end.obey(now, xon, pause, place, window.log);
        if self.end.backlog >> class & 1 == 1 {
            self.look(now);
        }
    }

    /// Stops classes that have no credits, before a class is chosen.
    #[cold]
    #[inline(never)]
    pub fn check_credits(&mut self, now: Time, window: &mut Window<'_, '_>) {
        for class in 0..self.classes.len() as u8 {
            let waits = self.end.backlog >> class & 1 == 1;
            let stopped = self.end.is_paused(class);
            if !waits || stopped || window.wires.credits.lets_pass(class) {
                continue;
            }
            if !window.wires.credits.may_send_any(self.port, class) {
                let place = self.place(class, window.plan);
                let pause = &mut self.classes[usize::from(class)].pause;
                let from = (class, self.end.busy_until);
                self.end
                    .wait_for_credits(now, from, pause, place, window.log);
            }
        }
    }

    /// Samples its queues; TCP's segments wait by `qdisc`.
    pub fn sample(&self, now: Time, qdisc: Qdisc, plan: &Plan<'_>, log: &mut Log) {
        let (node, port) = plan.ports.place(self.port);
        for (number, class) in (0..).zip(&self.classes) {
            let buffer = self.buffer.as_ref();
            let held = buffer.map(|buffer| buffer.sample(number));
            let (ingress_bytes, pause_frames) = held.unwrap_or_default();
            let fifo = self.replies.get(usize::from(number));
            let (queue_packets, queue_bytes) = match (qdisc, fifo) {
                (Qdisc::Fq, _) | (_, None) => (0, 0),
                (Qdisc::Pfifo, Some(fifo)) => {
                    let bytes = fifo.iter().map(|packet| u64::from(packet.bytes)).sum();
                    (fifo.len(), bytes)
                }
            };
            log.port_series.push(PortSample {
                time: now,
                node,
                port,
                priority: plan.classes.priority(number),
                queue_bytes,
                queue_packets,
                ingress_bytes,
                tx_bytes: class.counters.tx_bytes,
                dropped_packets: 0,
                pause_frames,
                paused: plan.waited(class.pause.total(now)).0,
            });
        }
    }

    /// Removes flows, which wait elsewhere from now on.
    pub fn remove(&mut self, flows: &BTreeMap<Item, Vec<PortId>>) {
        for (class, it) in self.classes.iter_mut().enumerate() {
            it.ready
                .retain(|handle| !flows.contains_key(&handle.item()));
            if it.ready.is_empty() {
                self.end.backlog &= !(1 << class);
            }
        }
        self.list
            .remove(|slot| flows.contains_key(&Item::Roce(slot)));
        let mut pacing = Heap::default();
        while let Some(entry) = self.pacing.pop() {
            if !flows.contains_key(&Handle::of(entry).item()) {
                pacing.push(entry);
            }
        }
        self.pacing = pacing;
    }
}

/// Packets and bytes that a class has sent.
#[derive(Clone, Copy, Debug, Default, Show)]
pub struct Counters {
    #[show(total)]
    pub tx_packets: u64,
    #[show(total)]
    pub tx_bytes: u64,
}
