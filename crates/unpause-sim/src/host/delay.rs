//! Extra delay of a flow: its data packets wait between the wire and the transport.

use unpause_protocols::units::Time;

use super::state::Host;
use super::timer::Timer;
use crate::engine::window::Window;
use crate::fabric::packet::{Kind, Packet};

impl Host {
    /// A data packet has arrived, and some flow of this host is delayed.
    #[cold]
    pub(super) fn delay(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let slot = packet.slot as usize;
        let flow = packet.flow;
        let delay = match packet.kind {
            Kind::Data | Kind::Datagram => self
                .receivers
                .get(slot)
                .map(|it| (it.flow, it.extra_delay())),
            _ => self.tcp.extra_delay(packet, window.plan),
        };
        match delay {
            // What comes again of a flow that is complete is not held back.
            Some((of, delay)) if of == flow && delay > Time::ZERO => {
                let place = self.delayed.insert(*packet) as u32;
                let entry = Timer::Delayed(place).entry(now + delay, flow);
                self.timers.push(entry);
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
            _ => self.on_tcp(now, packet, window),
        }
    }
}
