//! A host: its NICs with a port each, usually one, flows that it sends and flows that it receives.
//!
//! The NIC sends control packets first, then, by strict priority between classes, the flows whose rate limiters allow it, in
//! turn. PFC of the switch stops classes one by one; control packets are never stopped. TCP connections share the port, in the
//! same round-robin.
//!
//! | type | what it is |
//! |---|---|
//! | [`Host`] | the loop over events; decides which part an event is for, and passes results from one part to another |
//! | [`Machine`](machine::Machine) | what all flows share: NICs, timers, rare events |
//! | [`Nics`](machine::nics::Nics), [`Nic`](nic::Nic) | the NICs, and the one that an event is about; its queues and their order |
//! | [`Senders`](senders::Senders), [`Receivers`](receivers::Receivers) | the ends of RoCE and UDP flows (`flow/`) |
//! | [`Tcp`](tcp::Tcp) | TCP connections |
//! | [`Ranks`](ranks::Ranks) | ranks of jobs |
//!
//! They know those above them and `flow/`, but no host; ranks also know senders.

use unpause_protocols::units::Time;

use crate::engine::log::Log;
use crate::engine::window::{NodeModel, Window};
use crate::fabric::PortId;
use crate::fabric::packet::{FORWARD, Kind, Packet};
use crate::plan::Plan;
use crate::traffic::{Ending, Transport};

mod arrivals;
pub mod flow;
mod line;
mod machine;
mod nic;
mod pause;
pub mod prefetch;
mod ranks;
mod receivers;
mod senders;
mod slabs;
mod state;
mod tcp;
mod timer;
mod turns;
mod waits;

pub use state::Host;

use timer::Timer;

impl Host {
    /// The first timer is due.
    #[inline(always)]
    fn take_timer(&mut self, now: Time, several: bool, window: &mut Window<'_, '_>) {
        if several {
            self.turn_to_timer(window.plan);
        }
        self.on_timer(now, window);
    }

    fn on_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let machine = &mut self.machine;
        let entry = machine.timers.pop().expect("a timer is due");
        let flow = entry.key();
        match Timer::of(entry) {
            Timer::Sender(slot) => {
                let gives_up = self.senders.on_timer(now, slot, flow, machine, window);
                if gives_up && let Some(ranks) = &mut self.ranks {
                    ranks.on_give_up(now, flow, &mut self.senders, machine, window);
                }
            }
            Timer::Receiver(slot) => self.receivers.on_timer(now, slot, flow, machine, window),
            Timer::TcpSender(slot) => self.tcp.on_sender_timer(now, slot, flow, machine, window),
            Timer::TcpReceiver(slot) => {
                self.tcp.on_receiver_timer(now, slot, flow, machine, window);
            }
            Timer::Delayed(place) => self.on_delayed(now, place, window),
            Timer::Buffer { what, .. } => self.on_buffer(now, what, window),
            Timer::Notification => self.senders.on_notification_timer(now, machine, window),
            Timer::Pull => self.receivers.on_pull_timer(now, machine, window),
            Timer::CreditUpdate { nic } => machine.send_update(now, nic, window),
            Timer::Retry { .. } => machine.send_again(now, window),
            Timer::Pause { class, .. } => self.on_pause_expiry(now, class, window),
        }
    }

    /// The first packet in the inbox arrives.
    #[inline(always)]
    fn take_packet(&mut self, now: Time, several: bool, window: &mut Window<'_, '_>) -> Time {
        let packet = window.inboxes.pop(self.machine.id);
        let next = window.inboxes.head(self.machine.id);
        if several {
            self.turn_to_packet(&packet, window.plan);
        }
        self.on_arrival(now, &packet, window);
        next
    }

    /// True if one of the rare events is due that come before the NIC.
    #[inline]
    fn precedes_nic(&self, now: Time) -> bool {
        let Self { machine, .. } = self;
        let agenda = &machine.agenda;
        machine.rare_at == now && (agenda.pauses.next_time() == now || agenda.start_at == now)
    }

    #[inline(never)]
    fn on_rare(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let machine = &mut self.machine;
        let agenda = &mut machine.agenda;
        if agenda.pauses.next_time() == now {
            if let Some(reaction) = agenda.pauses.pop() {
                machine.turn_to(reaction.port);
                self.obey(now, reaction, window);
            }
        } else if agenda.first_start() == now {
            self.on_start(now, window);
        } else if agenda.start_at == now {
            if let Some(ranks) = &mut self.ranks {
                ranks.on_timer(now, &mut self.senders, machine, window);
            }
        } else {
            agenda.sampling.at = now + agenda.sampling.interval;
            self.on_sample(now, window.plan, window.log);
        }
        self.machine.set_rare();
    }

    fn on_start(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let Self {
            receivers,
            senders,
            machine,
            tcp,
            ranks,
            ..
        } = self;
        let plan = window.plan;
        let start = machine.agenda.take_start();
        window.log.counts.flows_started += 1;
        let holds = ranks.as_mut().map(|ranks| ranks.hold_message(&start, plan));
        if holds == Some(true) {
            return;
        }
        let spec = &start.spec;
        let own = (start.id, spec.source_port);
        let nic = machine.nics.towards(spec.dst, own, false, plan);
        machine.at(nic, |machine| {
            let flow = (start.id, start.number);
            machine.agenda.watch(flow, spec, Ending::Acknowledged, plan);
            if spec.transport == Transport::Tcp {
                return tcp.start(now, &start, machine, window);
            }
            let slot = senders.open(now, &start, &machine.nics, plan);
            if receivers.grant_credits() && spec.obeys_roce() {
                senders.begin_on_credit(slot, machine, plan);
            }
            let connection = (slot, start.number, spec.group);
            let ranks = ranks.as_mut();
            let waits = ranks.is_some_and(|ranks| ranks.open_connection(connection, senders, plan));
            senders.line_up(now, slot, !waits, machine);
        });
    }

    fn on_sample(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        let machine = &mut self.machine;
        let interval = machine.agenda.flow_interval;
        if now.as_ps().is_multiple_of(interval.as_ps()) {
            self.senders.sample(now, log);
            self.receivers.sample(now, log);
            self.tcp.sample(now, log);
        }
        if machine.agenda.sampling.port {
            for nic in 0..machine.nics.count() {
                if plan.config.probes.ports.contains(&(machine.id, nic)) {
                    let nic = machine.nics.get(nic);
                    nic.sample(now, self.tcp.qdisc, plan, log);
                }
            }
        }
    }

    /// Turns to the NIC that the first timer is about.
    #[cold]
    fn turn_to_timer(&mut self, plan: &Plan<'_>) {
        let timer = self.machine.timers.peek().map(Timer::of);
        let nic = timer.and_then(|timer| self.nic_of_timer(timer, plan));
        self.machine
            .turn_to(nic.unwrap_or(self.machine.nics.number()));
    }

    /// Turns to the NIC that the arrival of `packet` is about.
    #[cold]
    fn turn_to_packet(&mut self, packet: &Packet, plan: &Plan<'_>) {
        self.machine.turn_to(self.nic_of(packet, plan));
    }

    /// The NIC that the arrival of a packet is about.
    fn nic_of(&self, packet: &Packet, plan: &Plan<'_>) -> PortId {
        let nics = &self.machine.nics;
        let from_sender = match packet.kind {
            Kind::Pfc | Kind::Credit => return packet.ingress,
            Kind::Data | Kind::Segment | Kind::Datagram | Kind::Syn | Kind::Request => true,
            Kind::TcpAck => packet.is(FORWARD),
            Kind::SynAck | Kind::Fin => false,
            // Feedback that a switch has sent has the switch as its source.
            _ => {
                let nic = self.senders.nic_of(packet.slot, nics, plan);
                return nic.unwrap_or(nics.number());
            }
        };
        let flow = (packet.flow, packet.source_port);
        nics.towards(packet.src, flow, from_sender, plan)
    }

    /// The NIC that a timer is about, if that is known.
    fn nic_of_timer(&self, timer: Timer, plan: &Plan<'_>) -> Option<PortId> {
        let nics = &self.machine.nics;
        match timer {
            Timer::Sender(slot) => self.senders.nic_of(slot, nics, plan),
            Timer::Receiver(slot) => {
                let receiver = self.receivers.flows.get(slot as usize)?;
                let flow = (receiver.flow, receiver.source_port());
                Some(nics.towards(receiver.src(), flow, true, plan))
            }
            Timer::TcpSender(slot) => {
                let sender = self.tcp.senders.get(slot as usize)?;
                let flow = (sender.flow, sender.spec.source_port);
                Some(nics.towards(sender.spec.dst, flow, false, plan))
            }
            Timer::TcpReceiver(slot) => {
                let receiver = self.tcp.receivers.get(slot as usize)?;
                let flow = (receiver.flow, receiver.spec.source_port);
                Some(nics.towards(receiver.spec.src, flow, true, plan))
            }
            Timer::Delayed(place) => {
                let packet = self.delayed.get(place as usize)?;
                Some(self.nic_of(packet, plan))
            }
            Timer::Notification => {
                let packet = self.senders.notified.front()?;
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

    /// Executes what is due at `now` before flows start: timers and arrivals. A driven run calls it where a flow may end, so that the
    /// program that drives it can start another flow at the same instant.
    pub fn run_instant(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let id = self.machine.id;
        let several = self.has_several_nics();
        if several {
            window.inboxes.sort(id);
        }
        loop {
            let timer = self.machine.timers.next_time();
            let arrival = window.inboxes.head(id);
            debug_assert!(
                timer >= now && arrival >= now,
                "host {id} has an earlier event"
            );
            if timer == now {
                window.log.counts.events += 1;
                self.take_timer(now, several, window);
            } else if arrival == now {
                window.log.counts.events += 1;
                self.take_packet(now, several, window);
            } else {
                return window.inboxes.close(id);
            }
        }
    }
}

impl NodeModel for Host {
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        let id = self.machine.id;
        let several = self.has_several_nics();
        let slow_path = several || !window.wires.retries.are_unused();
        if several {
            window.inboxes.sort(id);
        }
        let mut arrival = window.inboxes.head(id);
        let mut before = window.start;
        loop {
            let machine = &mut self.machine;
            if slow_path {
                machine.take_wakes(window);
                machine.turn_to(machine.nics.first());
            }
            let timer = machine.timers.next_time();
            let nic = machine.nics.nic().at;
            let now = timer.min(arrival).min(nic).min(machine.rare_at);
            if now >= window.end {
                window.inboxes.close(id);
                return now;
            }
            // Samples of an idle host may come later.
            debug_assert!(
                now >= before || now == machine.agenda.sampling.at,
                "an event comes too late"
            );
            before = before.max(now);
            window.log.counts.events += 1;
            // Simultaneous events happen in this order, at NICs in that of their numbers: mechanisms want their timers first.
            if timer == now {
                self.take_timer(now, several, window);
            } else if arrival == now {
                arrival = self.take_packet(now, several, window);
            } else if nic == now && !self.precedes_nic(now) {
                self.on_nic(now, window);
            } else {
                self.on_rare(now, window);
            }
        }
    }

    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        if self.machine.agenda.sampling.at == now {
            self.on_sample(now, plan, log);
        }
        self.receivers.finish(now, log);
        self.senders.finish(now, &mut self.machine, plan, log);
        self.tcp.finish(now, &mut self.machine, plan, log);
        for nic in 0..self.machine.nics.count() {
            self.machine.turn_to(nic);
            self.finish_nic(now, plan, log);
        }
        log.expiries.append(&mut self.machine.nics.expiries);
    }

    fn held_data_packets(&self) -> u64 {
        self.delayed.len() as u64 + self.machine.nics.buffered_packets()
    }
}
