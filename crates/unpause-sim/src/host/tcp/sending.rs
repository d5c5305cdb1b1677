//! The sending side of TCP: flows that start, segments, replies, and timers.
//!
//! Segments are made when the port is free, by the same round-robin as packets of RoCE flows: what waits in a network card counts as
//! sent in no window. SYNs, SYN-ACKs and ACKs go ahead of the segments of their class. With a FIFO in front of the port, segments are
//! made as soon as the window allows them, and all packets wait there in the order of their arrival.

use unpause_protocols::units::Time;

use super::super::flow::delays::{After as Sent, Delays, Last, Line};
use super::super::line::line;
use super::super::machine::Machine;
use super::super::nic::item::Item;
use super::super::timer::Timer;
use super::Tcp;
use super::sender::Sender;
use crate::config::{AckPriority, Qdisc};
use crate::engine::batch::FlowStart;
use crate::engine::log::{Log, SenderEnd};
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::outcome::delays::Hold;
use crate::plan::Plan;
use crate::traffic::Ending;

impl Tcp {
    /// A flow starts: its SYN, or over a connection that is open its first segments.
    pub fn start(
        &mut self,
        now: Time,
        start: &FlowStart,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let spec = &start.spec;
        if let Some(delays) = &mut self.delays {
            delays.begin(now, start.id);
            if !spec.is_pooled() {
                delays.wait(start.id, Hold::Open);
            }
        }
        if spec.is_pooled() {
            let taken = self.pool.take(spec);
            let own = (start.id, taken.source_port);
            let nic = machine.nics.towards(spec.dst, own, false, window.plan);
            return machine.at(nic, |machine| {
                let speed = machine.nics.line_speed(window.plan);
                let sender = Sender::new(start, speed, window.plan, now);
                let sender = sender.over(taken, window.plan, now);
                let slot = self.senders.insert(sender) as u32;
                self.enqueue(now, slot, machine, window);
                self.arm_sender(slot, machine);
            });
        }
        let speed = machine.nics.line_speed(window.plan);
        let sender = Sender::new(start, speed, window.plan, now);
        let slot = self.senders.insert(sender) as u32;
        let syn = self.senders[slot as usize].syn(now, slot, window.plan);
        self.reply(now, syn, machine, window);
        self.arm_sender(slot, machine);
    }

    /// Sends a SYN, a SYN-ACK, an ACK or a FIN: at once, ahead of the segments of its class, or behind them in
    /// their FIFO.
    pub fn reply(
        &mut self,
        now: Time,
        mut packet: Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let host = &window.plan.config.host;
        if host.tcp.ack_priority == AckPriority::Control {
            packet.set_priority(host.control_priority);
            return machine.nics.nic_mut().send_control(now, packet, window);
        }
        let class = window.plan.classes.of(packet.priority());
        let nic = machine.nics.nic_mut();
        let nothing_waits = nic.control.is_empty() && nic.end.eligible() == 0;
        if nothing_waits && nic.end.is_free(now) && !nic.end.is_paused(class) {
            nic.transmit(now, class, &packet, window);
            return nic.set_next();
        }
        nic.wait(now, class, &packet, self.qdisc);
    }

    /// Puts a connection that may send a segment into the round-robin of that segment's class, or
    /// behind its rate limiter; or all segments that it may send into a FIFO.
    pub fn enqueue(
        &mut self,
        now: Time,
        slot: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        if self.delays.is_some() {
            self.note_change(now, slot, window.plan);
        }
        if self.qdisc == Qdisc::Pfifo {
            return self.fill(now, slot, machine, window);
        }
        let plan = window.plan;
        let nic = machine.nics.nic_mut();
        let free_at = nic.end.busy_until.max(now);
        let sender = &mut self.senders[slot as usize];
        if sender.queued {
            return;
        }
        let Some(priority) = sender.next_priority(now, &plan.tcp) else {
            return;
        };
        sender.queued = true;
        if sender.next_start > free_at {
            let entry = Item::Tcp(slot).entry(sender.next_start, sender.flow);
            nic.pacing.push(entry);
            nic.at = nic.at.min(entry.time());
        } else {
            let class = plan.classes.of(priority);
            sender.class = class;
            nic.enqueue_tcp(slot, class, sender.is_in_burst(), free_at);
        }
    }

    /// Follows what lets the connection in `slot` send again.
    #[cold]
    fn note_change(&mut self, now: Time, slot: u32, plan: &Plan<'_>) {
        let sender = &mut self.senders[slot as usize];
        if let Some(delays) = &mut self.delays {
            let has_packet = sender.next_priority(now, &plan.tcp).is_some();
            delays.on_change(now, sender.flow, has_packet, None);
        }
    }

    /// Puts all segments that a connection may send into the FIFO of their class.
    fn fill(&mut self, now: Time, slot: u32, machine: &mut Machine, window: &mut Window<'_, '_>) {
        let nic = machine.nics.nic_mut();
        loop {
            let sender = &mut self.senders[slot as usize];
            if sender.queued || sender.next_priority(now, &window.plan.tcp).is_none() {
                return;
            }
            if sender.next_start > now {
                sender.queued = true;
                let entry = Item::Tcp(slot).entry(sender.next_start, sender.flow);
                nic.pacing.push(entry);
                // Rate limiters are looked at when the port is free.
                nic.at = nic.at.min(entry.time().max(nic.end.busy_until));
                return;
            }
            let Some(mut packet) = sender.send(now, slot, window.plan, &mut machine.rng) else {
                return;
            };
            let class = window.plan.classes.of(packet.priority());
            if let Some(delays) = &mut self.delays {
                let line = Line::default();
                note_send(delays, (now, now), sender, (&mut packet, &line), window);
            }
            nic.wait(now, class, &packet, self.qdisc);
        }
    }

    /// The rate limiter of a connection allows a segment.
    #[cold]
    pub fn release(
        &mut self,
        now: Time,
        slot: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        // A connection that is queued is not removed.
        self.senders[slot as usize].queued = false;
        self.enqueue(now, slot, machine, window);
        self.arm_sender(slot, machine);
    }

    /// A connection that waited at another NIC waits at this one.
    pub fn add_moved(
        &mut self,
        now: Time,
        slot: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let sender = &mut self.senders[slot as usize];
        if !std::mem::take(&mut sender.queued) {
            return;
        }
        if sender.is_done() {
            return self.forget(now, slot, window.log);
        }
        self.enqueue(now, slot, machine, window);
    }

    /// True if the connection at the head of the round-robin of `class` has a packet of that class. An ACK or
    /// a timeout in between may have changed that.
    #[inline(never)]
    pub fn may_send(
        &mut self,
        now: Time,
        slot: u32,
        class: u8,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let plan = window.plan;
        let sender = &mut self.senders[slot as usize];
        sender.queued = false;
        match sender.next_priority(now, &plan.tcp) {
            Some(priority) if plan.classes.of(priority) == class => true,
            Some(_) => {
                self.enqueue(now, slot, machine, window);
                false
            }
            None => {
                if sender.is_done() {
                    self.forget(now, slot, window.log);
                }
                false
            }
        }
    }

    /// Sends the segment that [may be sent](Self::may_send).
    #[inline(never)]
    pub fn send_segment(
        &mut self,
        now: Time,
        slot: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let sender = &mut self.senders[slot as usize];
        let class = sender.class;
        let Some(mut packet) = sender.send(now, slot, window.plan, &mut machine.rng) else {
            return;
        };
        debug_assert_eq!(
            class,
            window.plan.classes.of(packet.priority()),
            "a segment leaves in the class whose turn it is"
        );
        window.log.counts.data_packets += 1;
        let nic = machine.nics.nic_mut();
        if let Some(delays) = &mut self.delays {
            let bytes = window.ports.wire_bytes(&packet);
            let free = now + nic.end.transmitter.speed.time_for(bytes);
            let line = line(nic, class, window.resent(window.ports.place(nic.port)));
            note_send(delays, (now, free), sender, (&mut packet, &line), window);
        }
        nic.transmit(now, class, &packet, window);
        self.enqueue(now, slot, machine, window);
        self.arm_sender(slot, machine);
    }

    /// An ACK or a timeout may let a connection send, or end it.
    pub fn after_change(
        &mut self,
        now: Time,
        slot: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let sender = &self.senders[slot as usize];
        if sender.is_done() {
            let is_queued = sender.queued;
            self.note_end(now, slot, machine, window.log);
            // In the round-robin, it is forgotten when its turn comes.
            if !is_queued {
                return self.forget(now, slot, window.log);
            }
        }
        self.enqueue(now, slot, machine, window);
        self.arm_sender(slot, machine);
    }

    /// A connection is done: all is acknowledged, unless it has given up.
    pub fn note_end(&self, now: Time, slot: u32, machine: &mut Machine, log: &mut Log) {
        let sender = &self.senders[slot as usize];
        if !sender.has_given_up() {
            machine.end_flow(now, sender.flow, Ending::Acknowledged, log);
        }
    }

    /// Removes a sender, and records its end. A connection of a pool goes back there.
    pub fn forget(&mut self, now: Time, slot: u32, log: &mut Log) {
        let sender = self.senders.remove(slot as usize);
        if let Some(delays) = &mut self.delays
            && !sender.has_given_up()
        {
            delays.end(sender.flow);
        }
        let end = sender.end(None).map(|end| SenderEnd {
            gave_up_at: end.gave_up.then_some(now),
            ..end
        });
        log.senders.extend(end);
        let spec = sender.spec;
        if let Some(number) = sender.pooled
            && let Some(idle) = sender.idle(now)
        {
            self.pool.give_back(&spec, number, idle);
        }
    }

    /// Sets the timer of a sender, if it is due earlier than the one that is set.
    pub fn arm_sender(&mut self, slot: u32, machine: &mut Machine) {
        let sender = &mut self.senders[slot as usize];
        let due = sender.next_timer();
        if due < sender.timer_at {
            sender.timer_at = due;
            let entry = Timer::TcpSender(slot).entry(due, sender.flow);
            machine.timers.push(entry);
        }
    }

    /// Sets the timer of a receiver, if it is due earlier than the one that is set.
    pub fn arm_receiver(&mut self, slot: u32, machine: &mut Machine) {
        let receiver = &mut self.receivers[slot as usize];
        let due = receiver.next_timer();
        if due < receiver.timer_at {
            receiver.timer_at = due;
            let entry = Timer::TcpReceiver(slot).entry(due, receiver.flow);
            machine.timers.push(entry);
        }
    }

    /// A timer of the sender in `slot` is due, if it is still that of `flow`.
    pub fn on_sender_timer(
        &mut self,
        now: Time,
        slot: u32,
        flow: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let Some(sender) = self.sender(slot, flow) else {
            return;
        };
        if sender.timer_at != now {
            return;
        }
        sender.timer_at = Time::NEVER;
        if sender.next_timer() > now {
            return self.arm_sender(slot, machine);
        }
        let timeouts = sender.timeouts();
        let repeats_syn = sender.on_timer(now, &window.plan.config.host.tcp, &mut machine.rng);
        let times_out = sender.timeouts() > timeouts;
        if repeats_syn {
            let syn = sender.syn(now, slot, window.plan);
            self.reply(now, syn, machine, window);
        }
        if times_out && let Some(delays) = &mut self.delays {
            delays.cause = Some(Hold::Timeout);
        }
        self.after_change(now, slot, machine, window);
    }

    /// A timer of the receiver in `slot` is due, if it is still that of `flow`.
    pub fn on_receiver_timer(
        &mut self,
        now: Time,
        slot: u32,
        flow: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let Some(receiver) = self.receiver(slot, flow) else {
            return;
        };
        if receiver.timer_at != now {
            return;
        }
        receiver.timer_at = Time::NEVER;
        if receiver.next_timer() <= now {
            let (kind, reply) = receiver.on_timer(now, &window.plan.config.host.tcp);
            let packet = self.receiver_packet(kind, slot, reply, machine.id, window.plan);
            self.reply(now, packet, machine, window);
        }
        self.arm_receiver(slot, machine);
    }
}

/// Notes where the time since the last segment of `sender` went, now that `packet` leaves until `free`. Traces it if it may turn out to
/// end the flow.
#[cold]
#[inline(never)]
fn note_send(
    delays: &mut Delays,
    (now, free): (Time, Time),
    sender: &mut Sender,
    (packet, line): (&mut Packet, &Line<'_>),
    window: &mut Window<'_, '_>,
) {
    let flow = sender.flow;
    let again = delays.before_send(now, (flow, sender.repeated()), line);
    let has_left = sender.has_unsent();
    if !has_left || again {
        let last = Last {
            wire_bytes: window.ports.wire_bytes(packet) as u32,
            again,
            message: 0,
        };
        if let Some(number) = delays.depart(now, flow, last, &mut window.log.delays) {
            packet.trace(number);
        }
    }
    let after = Sent {
        again,
        has_packet: sender.next_priority(now, &window.plan.tcp).is_some(),
        has_left,
        limited: sender.is_limited(),
    };
    delays.after_send(flow, (free, line.resent), sender.next_start, after);
}
