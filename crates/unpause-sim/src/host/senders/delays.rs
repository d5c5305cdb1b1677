//! Senders: where the time of flows goes. Used only where causes are recorded.

use unpause_protocols::units::Time;

use super::super::flow::delays::After;
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
        let nic = machine.nics.nic_mut();
        let Some(delays) = &mut self.delays else {
            return;
        };
        let pauses = nic.waits.get(usize::from(class));
        let again = delays.before_send(now, (flow, sender.retransmitted), pauses);
        let has_left = sender.has_left();
        if !more && !has_left || again && self.selective.is_some() {
            let bytes = window.ports.wire_bytes(&packet) as u32;
            if let Some(departure) = delays.departure(now, flow, (bytes, again)) {
                packet.trace(departure.number);
                window.log.delays.departures.push(departure);
            }
        }
        nic.transmit(now, class, &packet, window);
        let after = After {
            again,
            has_packet: more,
            has_left,
        };
        delays.after_send(flow, nic.end.busy_until, sender.next_start, after);
        if more && self.selective.is_some() {
            self.enqueue_next(now, slot, machine, window.plan);
        } else if more {
            nic.enqueue(&mut self.flows[slot as usize], slot);
        } else {
            self.end_datagrams(now, slot, machine, window.log);
        }
    }
}
