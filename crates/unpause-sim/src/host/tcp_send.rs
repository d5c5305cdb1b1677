//! TCP at a host: what is sent, when, and timers.
//!
//! Segments are made when the port is free, by the same round-robin as RoCE flows: what waits in a
//! network card counts as sent in no window. SYNs, SYN-ACKs and ACKs go ahead of the segments of their
//! class. With a FIFO in front of the port they are made as soon as the window allows them, and all wait there
//! in the order in which they came.

use unpause_protocols::units::Time;

use super::nic::item::Item;
use super::state::Host;
use super::tcp::receiver::Reply;
use super::tcp::sender::Sender;
use super::timer::Timer;
use crate::config::{AckPriority, Qdisc};
use crate::engine::batch::FlowStart;
use crate::engine::log::Log;
use crate::engine::window::Window;
use crate::fabric::packet::{ECE, Kind, Packet};
use crate::plan::Plan;
use crate::traffic::Ending;

impl Host {
    /// A flow starts: its SYN, or over a connection that is open its first segments.
    pub(super) fn connect(&mut self, now: Time, start: &FlowStart, window: &mut Window<'_, '_>) {
        let spec = &start.spec;
        if spec.is_pooled() {
            let taken = self.tcp.pool.take(spec);
            let own = (start.id, taken.source_port);
            self.turn_to(self.nic_towards(spec.dst, own, false, window.plan));
            let sender = Sender::new(start, self.line_speed(window.plan), window.plan, now);
            let sender = sender.over(taken, window.plan, now);
            let slot = self.tcp.senders.insert(sender) as u32;
            self.enqueue_tcp(now, slot, window);
            return self.arm_tcp_sender(slot);
        }
        let sender = Sender::new(start, self.line_speed(window.plan), window.plan, now);
        let slot = self.tcp.senders.insert(sender) as u32;
        let syn = self.tcp.senders[slot as usize].syn(now, slot, window.plan);
        self.reply(now, syn, window);
        self.arm_tcp_sender(slot);
    }

    /// A packet back to where `packet` came from.
    pub(super) fn answer(&self, kind: Kind, packet: &Packet, plan: &Plan<'_>) -> Packet {
        let priority = match packet.kind {
            Kind::Segment => plan.tcp.first_priority(packet.priority()),
            _ => packet.priority(),
        };
        Packet {
            stamp: packet.stamp,
            flow: packet.flow,
            src: self.id,
            dst: packet.src,
            slot: packet.aux,
            aux: packet.slot,
            source_port: packet.source_port,
            ..Packet::new(kind, priority, 0, plan.tcp.control_bytes)
        }
    }

    /// A packet from the receiver at `slot` to its sender.
    pub(super) fn receiver_packet(
        &self,
        kind: Kind,
        slot: u32,
        reply: Reply,
        plan: &Plan<'_>,
    ) -> Packet {
        let receiver = &self.tcp.receivers[slot as usize];
        let flags = if reply.ece { ECE } else { 0 };
        Packet {
            stamp: reply.stamp,
            flow: receiver.flow,
            seq: reply.number as u32,
            src: self.id,
            dst: receiver.spec.src,
            slot: receiver.sender_slot,
            aux: slot,
            source_port: receiver.spec.source_port,
            ..Packet::new(kind, receiver.spec.priority, flags, plan.tcp.control_bytes)
        }
    }

    pub(super) fn acknowledge_tcp(
        &mut self,
        now: Time,
        slot: u32,
        reply: Reply,
        window: &mut Window<'_, '_>,
    ) {
        let ack = self.receiver_packet(Kind::TcpAck, slot, reply, window.plan);
        self.reply(now, ack, window);
    }

    /// Sends a SYN, a SYN-ACK, an ACK or a FIN: at once, ahead of the segments of its class, or behind them in
    /// their FIFO.
    pub(super) fn reply(&mut self, now: Time, mut packet: Packet, window: &mut Window<'_, '_>) {
        let host = &window.plan.config.host;
        if host.tcp.ack_priority == AckPriority::Control {
            packet.set_priority(host.control_priority);
            return self.send_control(now, packet, window);
        }
        let class = window.plan.classes.of(packet.priority());
        let nothing_waits = self.nic.control.is_empty() && self.nic.end.eligible() == 0;
        if nothing_waits && self.nic.end.is_free(now) && !self.nic.end.is_paused(class) {
            self.transmit(now, class, &packet, window);
            return self.set_nic(now);
        }
        self.wait(now, class, &packet);
    }

    /// Lets a packet wait in its class for the port.
    fn wait(&mut self, now: Time, class: u8, packet: &Packet) {
        let replies = self.nic.replies_of(class);
        replies.push(packet);
        if replies.len() == 1 {
            self.put_replies(class);
        }
        self.nic.at = self.nic.at.min(self.nic.end.busy_until.max(now));
    }

    /// Puts what waits in `replies` into the round-robin: first, or in turn with flows of RoCE if it is a FIFO of
    /// all that TCP sends.
    fn put_replies(&mut self, class: u8) {
        let handle = Item::Replies(class).handle();
        let ready = &mut self.nic.classes[class as usize].ready;
        match self.tcp.qdisc {
            Qdisc::Fq => ready.push_front(handle),
            Qdisc::Pfifo => ready.push_back(handle),
        }
        self.nic.end.backlog |= 1 << class;
    }

    /// Puts a connection that may send a segment into the round-robin of that segment's class, or
    /// behind its rate limiter; or all segments that it may send into a FIFO.
    pub(super) fn enqueue_tcp(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) {
        if self.tcp.qdisc == Qdisc::Pfifo {
            return self.fill(now, slot, window);
        }
        let plan = window.plan;
        let free_at = self.nic.end.busy_until.max(now);
        let sender = &mut self.tcp.senders[slot as usize];
        if sender.queued {
            return;
        }
        let Some(priority) = sender.next_priority(now, &plan.tcp) else {
            return;
        };
        sender.queued = true;
        if sender.next_start > free_at {
            let entry = Item::Tcp(slot).entry(sender.next_start, sender.flow);
            self.nic.pacing.push(entry);
            self.nic.at = self.nic.at.min(entry.time());
        } else {
            let class = plan.classes.of(priority);
            sender.class = class;
            let ready = &mut self.nic.classes[class as usize].ready;
            match sender.is_in_burst() {
                true => ready.push_front(Item::Tcp(slot).handle()),
                false => ready.push_back(Item::Tcp(slot).handle()),
            }
            self.nic.end.backlog |= 1 << class;
            self.nic.at = self.nic.at.min(free_at);
        }
    }

    /// Puts all segments that a connection may send into the FIFO of their class.
    fn fill(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) {
        loop {
            let sender = &mut self.tcp.senders[slot as usize];
            if sender.queued || sender.next_priority(now, &window.plan.tcp).is_none() {
                return;
            }
            if sender.next_start > now {
                sender.queued = true;
                let entry = Item::Tcp(slot).entry(sender.next_start, sender.flow);
                self.nic.pacing.push(entry);
                // Rate limiters are looked at when the port is free.
                self.nic.at = self.nic.at.min(entry.time().max(self.nic.end.busy_until));
                return;
            }
            let Some(packet) = sender.send(now, slot, window.plan, &mut self.rng) else {
                return;
            };
            let class = window.plan.classes.of(packet.priority());
            self.wait(now, class, &packet);
        }
    }

    /// A rate limiter has come to allow a segment.
    #[cold]
    pub(super) fn release_tcp(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) {
        // While it was queued, nobody has removed it.
        self.tcp.senders[slot as usize].queued = false;
        self.enqueue_tcp(now, slot, window);
        self.arm_tcp_sender(slot);
    }

    /// A connection that waited at another NIC waits at this one.
    pub(super) fn queue_tcp_again(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) {
        let sender = &mut self.tcp.senders[slot as usize];
        if !std::mem::take(&mut sender.queued) {
            return;
        }
        if sender.is_done() {
            return self.forget_tcp(now, slot, window.log);
        }
        self.enqueue_tcp(now, slot, window);
    }

    /// True if the connection at the head of the round-robin of `class` has a packet of that class. An ACK or
    /// a timeout in between may have changed that.
    #[inline(never)]
    pub(super) fn tcp_may_send(
        &mut self,
        now: Time,
        slot: u32,
        class: u8,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let plan = window.plan;
        let sender = &mut self.tcp.senders[slot as usize];
        sender.queued = false;
        match sender.next_priority(now, &plan.tcp) {
            Some(priority) if plan.classes.of(priority) == class => true,
            Some(_) => {
                self.enqueue_tcp(now, slot, window);
                false
            }
            None => {
                if sender.is_done() {
                    self.forget_tcp(now, slot, window.log);
                }
                false
            }
        }
    }

    /// Sends the first of what waits in TCP's FIFO of a class.
    #[inline(never)]
    pub(super) fn send_reply(&mut self, now: Time, class: u8, window: &mut Window<'_, '_>) {
        let replies = &mut self.nic.replies[class as usize];
        let packet = replies.pop();
        if !replies.is_empty() {
            self.put_replies(class);
        }
        window.log.counts.data_packets += u64::from(packet.kind.is_data());
        self.transmit(now, class, &packet, window);
    }

    /// Sends the segment of which [`Self::tcp_may_send`] has said that it may go.
    #[inline(never)]
    pub(super) fn send_tcp(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) {
        let sender = &mut self.tcp.senders[slot as usize];
        let class = sender.class;
        let Some(packet) = sender.send(now, slot, window.plan, &mut self.rng) else {
            return;
        };
        debug_assert_eq!(
            class,
            window.plan.classes.of(packet.priority()),
            "a segment leaves in the class whose turn it is"
        );
        window.log.counts.data_packets += 1;
        self.transmit(now, class, &packet, window);
        self.enqueue_tcp(now, slot, window);
        self.arm_tcp_sender(slot);
    }

    /// An ACK or a timeout may let a connection send, or end it.
    pub(super) fn after_tcp_change(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) {
        let sender = &self.tcp.senders[slot as usize];
        if sender.is_done() {
            let is_queued = sender.queued;
            self.tcp_ended(now, slot, window.log);
            // In the round-robin, it is forgotten when its turn comes.
            if !is_queued {
                return self.forget_tcp(now, slot, window.log);
            }
        }
        self.enqueue_tcp(now, slot, window);
        self.arm_tcp_sender(slot);
    }

    /// A connection is done: all is acknowledged, unless it has given up.
    pub(super) fn tcp_ended(&mut self, now: Time, slot: u32, log: &mut Log) {
        let sender = &self.tcp.senders[slot as usize];
        if !sender.has_given_up() {
            self.ended(now, sender.flow, Ending::Acknowledged, log);
        }
    }

    pub(super) fn forget_tcp(&mut self, now: Time, slot: u32, log: &mut Log) {
        let sender = self.tcp.senders.remove(slot as usize);
        log.senders.extend(sender.end());
        let spec = sender.spec;
        if let Some(number) = sender.pooled
            && let Some(idle) = sender.idle(now)
        {
            self.tcp.pool.give_back(&spec, number, idle);
        }
    }

    pub(super) fn arm_tcp_sender(&mut self, slot: u32) {
        let sender = &mut self.tcp.senders[slot as usize];
        let due = sender.next_timer();
        if due < sender.timer_at {
            sender.timer_at = due;
            let entry = Timer::TcpSender(slot).entry(due, sender.flow);
            self.timers.push(entry);
        }
    }

    pub(super) fn arm_tcp_receiver(&mut self, slot: u32) {
        let receiver = &mut self.tcp.receivers[slot as usize];
        let due = receiver.next_timer();
        if due < receiver.timer_at {
            receiver.timer_at = due;
            let entry = Timer::TcpReceiver(slot).entry(due, receiver.flow);
            self.timers.push(entry);
        }
    }

    pub(super) fn on_tcp_sender_timer(
        &mut self,
        now: Time,
        slot: u32,
        flow: u32,
        window: &mut Window<'_, '_>,
    ) {
        let Some(sender) = self.tcp.sender(slot, flow) else {
            return;
        };
        if sender.timer_at != now {
            return;
        }
        sender.timer_at = Time::NEVER;
        if sender.next_timer() > now {
            return self.arm_tcp_sender(slot);
        }
        if sender.on_timer(now, &window.plan.config.host.tcp, &mut self.rng) {
            let syn = sender.syn(now, slot, window.plan);
            self.reply(now, syn, window);
        }
        self.after_tcp_change(now, slot, window);
    }

    pub(super) fn on_tcp_receiver_timer(
        &mut self,
        now: Time,
        slot: u32,
        flow: u32,
        window: &mut Window<'_, '_>,
    ) {
        let Some(receiver) = self.tcp.receiver(slot, flow) else {
            return;
        };
        if receiver.timer_at != now {
            return;
        }
        receiver.timer_at = Time::NEVER;
        if receiver.next_timer() <= now {
            let (kind, reply) = receiver.on_timer(now, &window.plan.config.host.tcp);
            let packet = self.receiver_packet(kind, slot, reply, window.plan);
            self.reply(now, packet, window);
        }
        self.arm_tcp_receiver(slot);
    }
}
