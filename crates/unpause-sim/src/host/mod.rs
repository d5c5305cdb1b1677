//! A host: NICs with a port each, one mostly, flows that it sends and flows that it receives.
//!
//! The NIC sends control packets first, then, by strict priority between classes, the flows whose rate limiters allow it, in
//! turn. PFC of the switch stops classes one by one; control packets are never stopped. TCP connections share the port, in the
//! same round-robin.
//!
//! Types that know no host are in folders: `nic/`, `flow/`, `tcp/` and `ranks/`. Each file beside them is one topic of what a host
//! does, with the methods of [`Host`] for that.

use unpause_protocols::units::Time;

use crate::engine::batch::FlowStart;
use crate::engine::log::Log;
use crate::engine::window::{NodeModel, Window};
use crate::fabric::packet::{INT, Kind, Packet};
use crate::link::pause::PendingPause;
use crate::plan::Plan;
use crate::traffic::{Ending, Transport};

mod connections;
mod credits;
mod delay;
mod driven;
mod feedback;
pub mod flow;
mod following;
mod job_steps;
mod link;
mod nic;
mod nics;
mod pause;
pub mod prefetch;
mod program_steps;
mod ranks;
mod receive;
mod report;
mod send;
mod slow;
mod state;
mod tcp;
mod tcp_receive;
mod tcp_send;
mod timer;
mod turns;
mod waits;

pub use state::Host;

use flow::retries::NOBODY;
use flow::selective::recovery;
use flow::sender::{Carries, Sender};
use state::{arm_receiver, arm_sender, first_start, reserve_first};
use timer::Timer;

impl Host {
    #[inline(always)]
    fn on_arrival(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        match packet.kind {
            Kind::Data if !self.delays => self.on_data(now, packet, window),
            Kind::Ack if !packet.is(INT) => self.take_feedback(now, packet, &[], None, window),
            _ => self.on_rare_arrival(now, packet, window),
        }
    }

    #[inline(never)]
    fn on_rare_arrival(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        match packet.kind {
            Kind::Data | Kind::Trimmed if self.credits.is_some() => {
                self.take_credited(now, packet, window);
            }
            Kind::Data | Kind::Segment | Kind::Datagram if self.delays => {
                self.take_in(now, packet, window);
            }
            Kind::Datagram => self.on_datagram(now, packet, window),
            Kind::Pfc => {
                let reaction = PendingPause::new(now, packet.ingress, packet, window.plan);
                match self.pending_pauses.delay(now, reaction) {
                    Some(reaction) => self.obey(now, reaction, window),
                    None => self.set_rare(),
                }
            }
            Kind::Segment | Kind::TcpAck | Kind::Syn | Kind::SynAck | Kind::Fin => {
                self.on_tcp(now, packet, window);
            }
            Kind::Credit => self.on_update(now, packet, window),
            Kind::Trimmed => self.on_trimmed(now, packet, window),
            Kind::Pull => self.on_pull(now, packet),
            Kind::Request => self.on_request(now, packet, window),
            _ => self.on_feedback(now, packet, window),
        }
    }

    fn on_start(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let start = self.starts.pop_front().expect("a start is due");
        self.set_start();
        window.log.counts.flows_started += 1;
        if self.ranks.is_some() && self.hold_message(&start, window.plan) {
            return;
        }
        let spec = &start.spec;
        let own = (start.id, spec.source_port);
        self.turn_to(self.nic_towards(spec.dst, own, false, window.plan));
        let flow = (start.id, start.number);
        self.watch(flow, &start.spec, Ending::Acknowledged, window.plan);
        if start.spec.transport == Transport::Tcp {
            return self.connect(now, &start, window);
        }
        let slot = self.open(now, &start, window.plan);
        if self.credits.is_some() && start.spec.obeys_roce() {
            self.begin_on_credit(slot, window.plan);
        }
        let connection = (slot, start.number, start.spec.group);
        let waits = self.ranks.is_some() && self.open_connection(connection, window.plan);
        self.line_up(now, slot, !waits);
    }

    /// A flow has a sender from now on, in this place.
    #[inline(always)]
    fn open(&mut self, now: Time, start: &FlowStart, plan: &Plan<'_>) -> u32 {
        let speed = match self.others.is_empty() {
            true => self.line_speed(plan),
            false => self.speed_of(&start.spec, plan),
        };
        let sender = Sender::new(start, speed, plan, now);
        reserve_first(&mut self.senders);
        let slot = self.senders.insert(sender) as u32;
        self.begin(slot, plan);
        slot
    }

    /// The flow in `slot` begins.
    fn begin(&mut self, slot: u32, plan: &Plan<'_>) {
        if self.senders[slot as usize].carries == Carries::Datagrams {
            return;
        }
        if let Some(selective) = &mut self.selective {
            let sender = &self.senders[slot as usize];
            let by = (sender.speed.rate(), sender.source_port);
            selective.send_from(slot as usize, by, plan);
        }
        let timeout = plan.config.host.retransmit_timeout;
        let mut recovery = recovery(&mut self.selective, slot, timeout);
        self.senders[slot as usize].begin(&mut recovery);
    }

    /// The timer of the flow in `slot` has run out, and packets count as lost, or it may have waited for credit. True if it
    /// gives up.
    #[cold]
    fn on_timeout(
        &mut self,
        now: Time,
        slot: u32,
        lost: bool,
        window: &mut Window<'_, '_>,
    ) -> bool {
        if lost && self.gives_up(now, slot, window) {
            return true;
        }
        if self.credits.is_some() {
            self.ask_for_credit(now, slot, window);
        }
        false
    }

    /// The flow in `slot` has timed out and goes back, unless it gives up, which is true then. In the round-robin or a
    /// list, it is forgotten when its turn comes.
    #[cold]
    fn gives_up(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) -> bool {
        let sender = &mut self.senders[slot as usize];
        if sender.is_connection() {
            self.rewind(slot);
            return false;
        }
        let (flow, acknowledged) = (sender.flow, sender.recovery.unacknowledged());
        let Some(retries) = &mut self.retries else {
            return false;
        };
        if !retries.count(flow, acknowledged) {
            return false;
        }
        retries.give_up(slot, flow, now);
        sender.recovery.abandon();
        (sender.flow, sender.stop, sender.recorded) = (NOBODY, now, false);
        match self.is_in_line(slot) {
            true => self.wake(now),
            false => self.forget(slot, window.log),
        }
        true
    }

    fn on_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let entry = self.timers.pop().expect("a timer is due");
        let flow = entry.key();
        match Timer::of(entry) {
            Timer::Sender(slot) => {
                let Some(sender) = self.senders.get_mut(slot as usize) else {
                    return;
                };
                if sender.flow != flow || sender.timer_at != now {
                    return;
                }
                sender.timer_at = Time::NEVER;
                if sender.next_timer() <= now {
                    let timeout = window.plan.config.host.retransmit_timeout;
                    let recovery = recovery(&mut self.selective, slot, timeout);
                    let timeouts = sender.timeouts;
                    sender.on_timer(now, recovery, &mut self.rng);
                    let goes_back = sender.timeouts > timeouts;
                    let asks = goes_back || self.credits.is_some();
                    if asks && self.on_timeout(now, slot, goes_back, window) {
                        return;
                    }
                    self.after_change(now, slot);
                    if goes_back {
                        self.wake(now);
                    }
                } else {
                    arm_sender(&mut self.timers, sender, slot);
                }
            }
            Timer::Receiver(slot) => {
                let Some(receiver) = self.receivers.get_mut(slot as usize) else {
                    return;
                };
                if receiver.flow != flow || receiver.timer_at != now {
                    return;
                }
                receiver.timer_at = Time::NEVER;
                if receiver.notification_point.next_timer() <= now {
                    let notification = receiver.notification_point.on_timer(now);
                    let to = Packet {
                        flow,
                        src: receiver.src(),
                        aux: receiver.sender_slot,
                        source_port: receiver.source_port(),
                        ..Packet::new(Kind::Data, 0, 0, 0)
                    };
                    if let Some(notification) = notification {
                        self.notify(now, &to, &notification, window);
                    }
                }
                if let Some(receiver) = self.receivers.get_mut(slot as usize) {
                    arm_receiver(&mut self.timers, receiver, slot);
                }
            }
            Timer::TcpSender(slot) => self.on_tcp_sender_timer(now, slot, flow, window),
            Timer::TcpReceiver(slot) => self.on_tcp_receiver_timer(now, slot, flow, window),
            Timer::Delayed(place) => self.on_delayed(now, place, window),
            Timer::Buffer { what, .. } => self.on_buffer(now, what, window),
            Timer::Notification => {
                if let Some(packet) = self.notified.pop_front() {
                    self.on_notification(now, &packet, window);
                }
            }
            Timer::Pull => self.on_pull_timer(now, window),
            Timer::CreditUpdate { nic } => self.send_update(now, nic, window),
            Timer::Retry { nic } => self.send_again(now, nic, window),
            Timer::Pause { class, .. } => self.on_pause_expiry(now, class, window),
        }
    }

    /// True if one of the rare events is due that come before the NIC.
    #[inline]
    fn precedes_nic(&self, now: Time) -> bool {
        self.rare_at == now && (self.pending_pauses.next_time() == now || self.start_at == now)
    }

    #[inline(never)]
    fn on_rare(&mut self, now: Time, window: &mut Window<'_, '_>) {
        if self.pending_pauses.next_time() == now {
            if let Some(reaction) = self.pending_pauses.pop() {
                self.turn_to(reaction.port);
                self.obey(now, reaction, window);
            }
        } else if first_start(&self.starts) == now {
            self.on_start(now, window);
        } else if self.start_at == now {
            self.on_rank_timer(now, window);
        } else {
            self.sampling.at = now + self.sampling.interval;
            self.on_sample(now, window.plan, window.log);
        }
        self.set_rare();
    }
}

impl NodeModel for Host {
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        let several = self.has_several_nics();
        let slow_path = several || !window.link_retries.are_unused();
        if several {
            window.inboxes.sort(self.id);
        }
        let mut arrival = window.inboxes.head(self.id);
        let mut before = window.start;
        loop {
            if slow_path {
                self.take_wakes(window);
                self.turn_to_next();
            }
            let timer = self.timers.next_time();
            let now = timer.min(arrival).min(self.nic.at).min(self.rare_at);
            if now >= window.end {
                window.inboxes.close(self.id);
                return now;
            }
            // What is sampled of an idle host may come later.
            debug_assert!(
                now >= before || now == self.sampling.at,
                "an event comes too late"
            );
            before = before.max(now);
            window.log.counts.events += 1;
            // Simultaneous events happen in this order, at NICs in that of their numbers: mechanisms want their timers first.
            if timer == now {
                if several {
                    self.turn_to_timer(window.plan);
                }
                self.on_timer(now, window);
            } else if arrival == now {
                let packet = window.inboxes.pop(self.id);
                arrival = window.inboxes.head(self.id);
                if several {
                    self.turn_to_packet(&packet, window.plan);
                }
                self.on_arrival(now, &packet, window);
            } else if self.nic.at == now && !self.precedes_nic(now) {
                self.on_nic(now, window);
            } else {
                self.on_rare(now, window);
            }
        }
    }

    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        if self.sampling.at == now {
            self.on_sample(now, plan, log);
        }
        for (_, receiver) in &self.receivers {
            if receiver.start() < now {
                log.flows.push(receiver.end(None));
            }
        }
        self.end_senders(now, plan, log);
        self.tcp.finish(now, log);
        for nic in 0..self.nics() {
            self.turn_to(nic);
            self.finish_nic(now, plan, log);
        }
        log.expiries.append(&mut self.expiries);
    }

    fn held_data_packets(&self) -> u64 {
        self.delayed.len() as u64 + self.buffered_packets()
    }
}
