//! Packets that arrive at a host: their way through its receive buffer and delays to its flows.

use std::collections::BTreeSet;

use unpause_protocols::congestion_control::Hop;
use unpause_protocols::units::Time;

use super::flow::gates::Waiting;
use super::receivers::Completion;
use super::senders::After;
use super::state::Host;
use super::timer::{BufferTimer, Timer};
use crate::engine::window::Window;
use crate::fabric::NodeId;
use crate::fabric::packet::{ALL, INT, Kind, Packet};
use crate::link::pause::PendingPause;
use crate::outcome::delays::Arrival;
use crate::traffic::Ending;

impl Host {
    /// A packet has arrived.
    #[inline(always)]
    pub(super) fn on_arrival(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        match packet.kind {
            Kind::Data if !self.machine.delays => self.on_data(now, packet, window),
            Kind::Ack if !packet.is(INT) => self.on_feedback(now, packet, (&[], None), window),
            _ => self.on_rare_arrival(now, packet, window),
        }
    }

    #[inline(never)]
    fn on_rare_arrival(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        if let Some(number) = packet.trace_number() {
            return self.on_traced_arrival(now, packet, number, window);
        }
        let machine = &mut self.machine;
        match packet.kind {
            Kind::Data | Kind::Trimmed if self.receivers.grant_credits() => {
                self.take_credited(now, packet, window);
            }
            Kind::Data | Kind::Segment | Kind::Datagram if machine.delays => {
                self.take_in(now, packet, window);
            }
            Kind::Datagram => self.on_datagram(now, packet, window),
            Kind::Pfc => {
                let reaction = PendingPause::new(now, packet.ingress, packet, window.plan);
                match machine.agenda.pauses.delay(now, reaction) {
                    Some(reaction) => self.obey(now, reaction, window),
                    None => machine.set_rare(),
                }
            }
            Kind::Segment | Kind::TcpAck | Kind::Syn | Kind::SynAck | Kind::Fin => {
                self.tcp.on_packet(now, packet, machine, window);
            }
            Kind::Credit => machine.on_update(now, packet, window),
            Kind::Trimmed => self.receivers.on_trimmed(now, packet, machine, window),
            Kind::Pull => self.senders.on_pull(now, packet, machine),
            Kind::Request => self.receivers.on_request(now, packet, machine, window),
            _ if packet.has_telemetry() => self.on_telemetry(now, packet, window),
            _ => self.on_feedback(now, packet, (&[], None), window),
        }
    }

    /// A packet has arrived whose delays are recorded: number `number` of such packets of its flow.
    #[cold]
    fn on_traced_arrival(
        &mut self,
        now: Time,
        packet: &Packet,
        number: u8,
        window: &mut Window<'_, '_>,
    ) {
        if packet.kind.is_data() {
            window.log.delays.arrivals.push(Arrival {
                flow: packet.flow,
                number,
                at: now,
            });
        }
        self.on_rare_arrival(now, &packet.untraced(), window);
    }

    /// A data packet has arrived, whole or trimmed, where receivers grant credits.
    #[inline(never)]
    fn take_credited(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let mut packet = *packet;
        let machine = &mut self.machine;
        self.receivers.take_target(now, &mut packet, machine);
        match packet.kind {
            Kind::Trimmed => self.receivers.on_trimmed(now, &packet, machine, window),
            _ => self.take_in(now, &packet, window),
        }
    }

    /// A data packet has arrived at a host that may delay it.
    #[cold]
    fn take_in(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let machine = &mut self.machine;
        if !window.wires.credits.are_unused() {
            machine.take_credits(now, packet, window);
        }
        // The NIC at hand is the one of its feedback, which need not be the one by which it has arrived.
        let nic = packet.ingress;
        let buffer = machine.nics.get(nic).buffer.as_ref();
        if buffer.is_some_and(|buffer| buffer.holds_next(now)) {
            machine.at(nic, |machine| {
                let nic = machine.nics.nic_mut();
                if let Some((buffer, mut line)) = nic.buffer(&mut machine.timers) {
                    buffer.put(now, packet, &mut line, window);
                }
            });
        } else {
            self.delay(now, packet, window);
        }
    }

    /// A timer of the receive buffer of the NIC at hand is due.
    pub(super) fn on_buffer(&mut self, now: Time, what: BufferTimer, window: &mut Window<'_, '_>) {
        let machine = &mut self.machine;
        let nic = machine.nics.nic_mut();
        let Some((buffer, mut line)) = nic.buffer(&mut machine.timers) else {
            return;
        };
        if let Some(packet) = buffer.on_timer(now, what, &mut line, window) {
            if self.has_several_nics() {
                self.turn_to_packet(&packet, window.plan);
            }
            self.delay(now, &packet, window);
        }
    }

    /// Delays a data packet, if its flow has an extra delay.
    #[cold]
    fn delay(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let flow = packet.flow;
        let delay = match packet.kind {
            Kind::Data | Kind::Datagram => {
                let receiver = self.receivers.get(packet.slot, flow);
                receiver.map(|receiver| receiver.extra_delay())
            }
            _ => self.tcp.extra_delay(packet, window.plan),
        };
        match delay {
            // Packets of a flow that is complete are not delayed.
            Some(delay) if delay > Time::ZERO => {
                let place = self.delayed.insert(*packet) as u32;
                let entry = Timer::Delayed(place).entry(now + delay, flow);
                self.machine.timers.push(entry);
            }
            _ => self.receive(now, packet, window),
        }
    }

    /// The delay of a packet is over.
    pub(super) fn on_delayed(&mut self, now: Time, place: u32, window: &mut Window<'_, '_>) {
        let packet = self.delayed.remove(place as usize);
        self.receive(now, &packet, window);
    }

    fn receive(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        match packet.kind {
            Kind::Data => self.on_data(now, packet, window),
            Kind::Datagram => self.on_datagram(now, packet, window),
            _ => self.tcp.on_packet(now, packet, &mut self.machine, window),
        }
    }

    #[inline(always)]
    fn on_data(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let machine = &mut self.machine;
        if let Some(completion) = self.receivers.on_data(now, packet, machine, window) {
            self.complete(now, packet, completion, window);
        }
    }

    #[cold]
    fn complete(
        &mut self,
        now: Time,
        packet: &Packet,
        completion: Completion,
        window: &mut Window<'_, '_>,
    ) {
        let stays = self.end_message(now, packet.slot, window);
        let end = (completion, stays);
        self.receivers
            .acknowledge_completion(now, packet, end, &mut self.machine, window);
    }

    /// The last packet of a flow or of a message has arrived. True if the receiver stays: that of a connection.
    #[cold]
    fn end_message(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) -> bool {
        let (senders, machine) = (&mut self.senders, &mut self.machine);
        let receiver = &mut self.receivers.flows[slot as usize];
        let ranks = self.ranks.as_mut();
        let stays =
            ranks.and_then(|ranks| ranks.on_message(now, receiver, senders, machine, window));
        if stays == Some(true) {
            return true;
        }
        let completes = stays.is_none();
        self.receivers
            .end(now, slot, completes, machine, window.log);
        false
    }

    fn on_datagram(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        if self.receivers.on_datagram(packet, window) {
            self.end_message(now, packet.slot, window);
        }
    }

    #[inline(never)]
    fn on_telemetry(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let record = window.telemetry.take(packet);
        let hops = record.as_ref().map_or(&[][..], |record| record.hops());
        // A law that reads records ignores the code.
        let digest = Some(packet.stamp as u16);
        self.on_feedback(now, packet, (hops, digest), window);
    }

    /// Feedback has arrived: an ACK, a NAK or a notification. `switches`: what switches have written into the packet that it answers.
    #[inline(always)]
    fn on_feedback(
        &mut self,
        now: Time,
        packet: &Packet,
        switches: (&[Hop], Option<u16>),
        window: &mut Window<'_, '_>,
    ) {
        let machine = &mut self.machine;
        match self
            .senders
            .on_feedback(now, packet, switches, machine, window)
        {
            After::Nothing => return,
            After::Messages { changes } => {
                if self.on_messages(now, packet.slot, window) || !changes {
                    return;
                }
            }
            After::Change => {}
        }
        let machine = &mut self.machine;
        self.senders.after_change(now, packet.slot, machine);
        machine.nics.nic_mut().wake(now);
    }

    /// Packets of a connection have been acknowledged. True if its sender is forgotten.
    #[cold]
    fn on_messages(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) -> bool {
        let (senders, machine) = (&mut self.senders, &mut self.machine);
        let ranks = self.ranks.as_mut();
        ranks.is_some_and(|ranks| ranks.on_acknowledged(now, slot, senders, machine, window))
    }

    /// Adds to `ends` when flows may end here before `until` for which a program waits that drives the run. `arriving`: all packets
    /// that arrive before then. A host that [holds back](Self::holds_back) packets knows only the first such instant.
    pub fn ends(&self, arriving: &[Packet], until: Time, ends: &mut BTreeSet<(Time, NodeId)>) {
        let id = self.machine.id;
        let Some(waiting) = &self.machine.agenda.waiting else {
            return;
        };
        if waiting.watched.is_empty() {
            return;
        }
        if self.holds_back() {
            let first = arriving.first().map_or(Time::NEVER, |packet| packet.time);
            let next = self.machine.timers.next_time().min(first);
            if next < until {
                ends.insert((next, id));
            }
            return;
        }
        let due = arriving.partition_point(|packet| packet.time < until);
        let arriving = &arriving[..due];
        let segments = arriving.iter();
        let segments = segments.filter(|packet| packet.kind == Kind::Segment);
        let bytes = segments.map(|packet| u64::from(packet.bytes)).sum();
        let packets = arriving.len() as u64;
        let may_end = |packet: &&Packet| self.may_end(packet, (bytes, packets), waiting);
        let last = arriving.iter().filter(may_end);
        ends.extend(last.map(|packet| (packet.time, id)));
    }

    /// True if packets may be held back here. For how long is known only when they arrive.
    pub fn holds_back(&self) -> bool {
        self.machine.delays
    }

    /// True if the flow of `packet` may end when that arrives, with this many bytes of segments and this many packets that arrive at
    /// about the same time.
    fn may_end(&self, packet: &Packet, (bytes, packets): (u64, u64), waiting: &Waiting) -> bool {
        let (flow, slot) = (packet.flow, packet.slot);
        let tcp = &self.tcp;
        let (may, ending) = match packet.kind {
            Kind::Data => (self.receivers.may_end(packet, packets), Ending::Delivered),
            Kind::Datagram => {
                let receiver = self.receivers.get(slot, flow);
                let missing = receiver.map(|receiver| receiver.recovery.missing());
                let ends = missing.is_some_and(|missing| u64::from(missing) <= packets);
                (ends, Ending::Delivered)
            }
            Kind::Ack => {
                let sender = self.senders.get(slot, flow);
                let ends = sender.is_some_and(|sender| sender.ends_at(packet.seq));
                (ends, Ending::Acknowledged)
            }
            Kind::Segment => {
                let receiver = tcp.receivers.get(slot as usize);
                let receiver = receiver.filter(|receiver| receiver.flow == flow);
                let ends = receiver.is_some_and(|receiver| receiver.may_complete(bytes));
                (ends, Ending::Delivered)
            }
            Kind::SynAck => (true, Ending::Acknowledged),
            Kind::TcpAck => {
                let receiver = tcp.receivers.get(slot as usize);
                let receiver = receiver.filter(|receiver| receiver.flow == flow);
                if receiver.is_some_and(|receiver| receiver.is_complete()) {
                    return waiting.watched.contains_key(&(flow, Ending::Delivered));
                }
                let sender = tcp.senders.get(slot as usize);
                let sender = sender.filter(|sender| sender.flow == flow);
                let ends =
                    sender.is_some_and(|sender| packet.is(ALL) || sender.ends_at(packet.seq));
                (ends, Ending::Acknowledged)
            }
            _ => return false,
        };
        may && waiting.watched.contains_key(&(flow, ending))
    }
}
