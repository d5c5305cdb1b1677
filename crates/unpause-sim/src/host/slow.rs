//! A host with a NIC that is slow, or has a PAUSE storm: its receive buffer, and the PAUSE that it sends. A host with several
//! NICs has one for each.

use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::units::Time;

use super::nic::receive_buffer::ReceiveBuffer;
use super::state::Host;
use super::timer::{BufferTimer, Timer};
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::plan::Plan;

impl Host {
    /// A data packet has arrived, and some flow of this host is delayed, or the host may be slow.
    #[cold]
    pub(super) fn take_in(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        if !window.link_credits.are_unused() {
            self.take_credits(now, packet, window);
        }
        let nic = packet.ingress;
        let buffer = self.nic_at(nic).buffer.as_ref();
        if buffer.is_some_and(|it| it.holds_next(now)) {
            // What it is about need not be the NIC that it has come by: that is where feedback leaves.
            self.turn_to(nic);
            self.put_into_buffer(now, packet, window);
        } else {
            self.delay(now, packet, window);
        }
    }

    /// A data packet goes into the buffer of the NIC at hand, if there is room.
    fn put_into_buffer(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let place = (self.id, self.number);
        let Some(buffer) = &mut self.nic.buffer else {
            return;
        };
        let class = window.plan.classes.of(packet.priority());
        let bytes = u64::from(packet.bytes);
        let takes = buffer.takes(class, bytes, window.plan);
        let held = &mut buffer.classes[usize::from(class)];
        if !takes {
            held.dropped_packets += 1;
            held.dropped_bytes += bytes;
            window.log.counts.dropped_packets += 1;
            window.telemetry.take(packet);
            return;
        }
        buffer.bytes += bytes;
        buffer.packets.push_back(*packet);
        let lossless = window.plan.config.switch.lossless >> packet.priority() & 1 == 1;
        let xoff = if lossless {
            buffer.config.xoff_bytes
        } else {
            u64::MAX
        };
        let params = &window.plan.config.switch.pfc.params;
        let was_xoff = held.ingress.is_xoff();
        let action = held
            .ingress
            .on_admit(now, packet.bytes.into(), xoff, buffer.pause, params);
        held.max_bytes = held.max_bytes.max(held.ingress.bytes());
        if !was_xoff && held.ingress.is_xoff() {
            held.pause_events += 1;
            buffer.note_xoff(now, place, class, window.plan);
        }
        if buffer.packets.len() == 1 {
            self.take_next(now);
        }
        self.request_pfc(now, class, action, window);
    }

    /// Packets in the buffers of all NICs.
    pub(super) fn buffered_packets(&self) -> u64 {
        let buffers = (0..self.nics()).filter_map(|nic| self.nic_at(nic).buffer.as_ref());
        buffers.map(|buffer| buffer.packets()).sum()
    }

    /// The first packet begins to leave the buffer.
    fn take_next(&mut self, now: Time) {
        let Some(buffer) = &self.nic.buffer else {
            return;
        };
        if let Some(packet) = buffer.packets.front() {
            let at = buffer.taken(now, packet.bytes.into(), self.nic.end.transmitter.speed);
            self.set_buffer_timer(at, BufferTimer::Taken);
        }
    }

    fn set_buffer_timer(&mut self, at: Time, what: BufferTimer) {
        if !at.is_never() {
            let nic = self.number;
            let entry = Timer::Buffer { nic, what }.entry(at, what.number());
            self.timers.push(entry);
        }
    }

    /// A timer of the buffer of the NIC at hand is due.
    pub(super) fn on_buffer(&mut self, now: Time, what: BufferTimer, window: &mut Window<'_, '_>) {
        match what {
            BufferTimer::Taken => self.on_taken(now, window),
            BufferTimer::Pfc => {
                if let Some(buffer) = &mut self.nic.buffer {
                    buffer.waits = false;
                }
                self.send_pfc(now, window);
            }
            BufferTimer::Refresh { class } => self.refresh_pfc(now, class, window),
            BufferTimer::StormBegins => self.on_storm(now, true, window),
            BufferTimer::StormEnds => self.on_storm(now, false, window),
        }
    }

    /// Sets timers for the PAUSE storms of its NICs; answers when the first one begins.
    pub fn first_storm(&mut self, plan: &Plan<'_>) -> Time {
        let host = self.id;
        let storms = plan.config.events.storms.iter();
        for storm in storms {
            for nic in (0..self.nics()).filter(|nic| storm.is_at(host, *nic)) {
                self.turn_to(nic);
                if self.nic.buffer.is_none() {
                    continue;
                }
                self.set_buffer_timer(storm.start, BufferTimer::StormBegins);
                self.set_buffer_timer(storm.stop, BufferTimer::StormEnds);
            }
        }
        self.timers.next_time()
    }

    /// A PAUSE storm begins or ends. While it lasts, a byte more than there is counts as held, which is above the threshold.
    fn on_storm(&mut self, now: Time, begins: bool, window: &mut Window<'_, '_>) {
        const HELD: u32 = 1;
        let place = (self.id, self.number);
        for class in 0..self.nic.classes.len() as u8 {
            if !window.plan.classes.is_lossless(class) {
                continue;
            }
            let Some(buffer) = &mut self.nic.buffer else {
                return;
            };
            let params = &window.plan.config.switch.pfc.params;
            let held = &mut buffer.classes[usize::from(class)];
            let action = match begins {
                true => held.ingress.on_admit(now, HELD, 0, buffer.pause, params),
                false => held.ingress.on_release(now, HELD, 0),
            };
            if begins && action == Action::Xoff {
                held.pause_events += 1;
                buffer.note_xoff(now, place, class, window.plan);
            }
            self.request_pfc(now, class, action, window);
        }
    }

    fn on_taken(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let Some(buffer) = &mut self.nic.buffer else {
            return;
        };
        let Some(packet) = buffer.packets.pop_front() else {
            return;
        };
        buffer.bytes -= u64::from(packet.bytes);
        let class = window.plan.classes.of(packet.priority());
        let ingress = &mut buffer.classes[usize::from(class)].ingress;
        let action = ingress.on_release(now, packet.bytes.into(), buffer.config.xon_bytes);
        self.take_next(now);
        self.request_pfc(now, class, action, window);
        if self.has_several_nics() {
            self.turn_to_packet(&packet, window.plan);
        }
        self.delay(now, &packet, window);
    }

    fn refresh_pfc(&mut self, now: Time, class: u8, window: &mut Window<'_, '_>) {
        let Some(buffer) = &mut self.nic.buffer else {
            return;
        };
        let params = &window.plan.config.switch.pfc.params;
        let ingress = &mut buffer.classes[usize::from(class)].ingress;
        // A PAUSE that was repeated since has a timer of its own.
        let action = ingress.on_timer(now, buffer.pause, params);
        self.request_pfc(now, class, action, window);
    }

    /// Sends a PFC frame, or has it sent as soon as the port is free.
    fn request_pfc(&mut self, now: Time, class: u8, action: Action, window: &mut Window<'_, '_>) {
        let Some(buffer) = &mut self.nic.buffer else {
            return;
        };
        match action {
            Action::None => return,
            Action::Xoff => {}
            Action::Xon => buffer.note_xon(now, class),
        }
        self.nic.end.request_pfc(class, action);
        let refresh = buffer.classes[usize::from(class)].ingress.next_timer();
        self.set_buffer_timer(refresh, BufferTimer::Refresh { class });
        self.send_pfc(now, window);
    }

    /// A direction of the link of the NIC at hand has failed or returned: an XOFF that it means is repeated, as soon as it can be.
    #[cold]
    pub(super) fn repeat_xoff(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let Some(buffer) = &mut self.nic.buffer else {
            return;
        };
        // A timer for when the port is free again is for nothing if it was set while the link was down.
        buffer.waits = false;
        let end = &mut self.nic.end;
        if end.busy_until.is_never() {
            (end.xoff, end.xon) = (0, 0);
        }
        for class in 0..self.nic.classes.len() as u8 {
            let buffer = self.nic.buffer.as_ref();
            let means = |it: &ReceiveBuffer| it.classes[usize::from(class)].ingress.is_xoff();
            if window.plan.classes.is_lossless(class) && buffer.is_some_and(|it| means(it)) {
                self.request_pfc(now, class, Action::Xoff, window);
            }
        }
    }

    /// Sends the PFC frames that are asked for, one now and the next when the port is free again: before
    /// everything else, since timers come first.
    fn send_pfc(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let Some(buffer) = &mut self.nic.buffer else {
            return;
        };
        if self.nic.end.is_free(now) && self.nic.end.has_pfc() {
            let count = |class: u8| {
                buffer.classes[usize::from(class)].pause_frames += 1;
                buffer.pause
            };
            self.nic.end.send_pfc(now, count, window);
            self.nic.at = self.nic.at.max(self.nic.end.busy_until);
        }
        if self.nic.end.has_pfc() && !std::mem::replace(&mut buffer.waits, true) {
            let free = self.nic.end.busy_until;
            self.set_buffer_timer(free, BufferTimer::Pfc);
        }
    }
}
