//! Senders: where the time of flows goes. Used only where causes are recorded.

use unpause_protocols::units::Time;

use super::super::flow::delays::{After, Last};
use super::super::line::line;
use super::super::machine::Machine;
use super::Senders;
use crate::engine::window::Window;
use crate::fabric::packet::Packet;

impl Senders {
    /// Follows what lets the flow in `slot` send again.
    #[cold]
    pub(super) fn note_change(&mut self, now: Time, slot: u32) {
        let sender = &mut self.flows[slot as usize];
        if let Some(delays) = &mut self.delays {
            sender.after_change(now);
            let allowed = sender.repaces().then_some(sender.next_start);
            delays.on_change(now, sender.flow, sender.recovery.has_packet(), allowed);
        }
    }

    /// A message is about to be posted on the connection in `slot`, which leaves by the NIC at hand.
    #[cold]
    pub fn note_post(
        &mut self,
        now: Time,
        slot: u32,
        machine: &Machine,
        window: &mut Window<'_, '_>,
    ) {
        let sender = &self.flows[slot as usize];
        let posted = self.posted.get(&sender.flow);
        if let (Some(delays), Some(posted)) = (&mut self.delays, posted) {
            let number = posted.next();
            let nic = machine.nics.nic();
            let line = line(
                nic,
                sender.class,
                window.resent(window.ports.place(nic.port)),
            );
            let traces = &mut window.log.delays;
            delays.post(now, (sender.flow, number), &line, traces);
        }
    }

    /// Puts a packet of the flow in `slot` onto the wire, and gives the flow its next turn if it has `more` to send. Notes where the
    /// time since the last one went, and traces a packet that may turn out to end its flow.
    #[cold]
    #[inline(never)]
    pub(super) fn send_noted(
        &mut self,
        (now, slot): (Time, u32),
        mut packet: Packet,
        more: bool,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let sender = &self.flows[slot as usize];
        let (flow, class) = (sender.flow, sender.class);
        let limited = sender.is_limited();
        let nic = machine.nics.nic_mut();
        let Some(delays) = &mut self.delays else {
            return;
        };
        let resent = window.resent(window.ports.place(nic.port));
        let line = line(nic, class, resent);
        let again = delays.before_send(now, (flow, sender.retransmitted), &line);
        let has_left = sender.has_left();
        let (message, ends_message) = match self.posted.get(&flow) {
            Some(posted) if delays.has_messages(flow) => posted.message_of(packet.seq),
            _ => (0, false),
        };
        if ends_message || !more && !has_left || again && self.selective.is_some() {
            let last = Last {
                wire_bytes: window.ports.wire_bytes(&packet) as u32,
                again,
                message,
            };
            if let Some(number) = delays.depart(now, flow, last, &mut window.log.delays) {
                packet.trace(number);
            }
        }
        nic.transmit(now, class, &packet, window);
        let after = After {
            again,
            has_packet: more,
            has_left,
            limited,
        };
        let until = (
            nic.end.busy_until,
            window.resent(window.ports.place(nic.port)),
        );
        delays.after_send(flow, until, sender.next_start, after);
        if more && self.selective.is_some() {
            self.enqueue_next(now, slot, machine, window.plan);
        } else if more {
            nic.enqueue(&mut self.flows[slot as usize], slot);
        } else {
            self.end_datagrams(now, slot, machine, window.log);
        }
    }
}
