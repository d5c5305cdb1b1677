//! The loop over a switch's events.
//!
//! At one instant: arrivals by port, ports that become free by port, the model's own, PAUSEs that take
//! effect, timers, sampling.

use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model};
use crate::engine::agenda::Item;
use crate::engine::deadlock::Blocked;
use crate::engine::window::{NodeModel, Window};
use crate::fabric::PortId;
use crate::log::Log;
use crate::packet::Kind;
use crate::plan::Plan;

impl<M: Model> Chassis<M> {
    /// When something other than an arrival or a port that becomes free is due.
    #[inline]
    fn next_other(&self) -> Time {
        self.model
            .next_time()
            .min(self.timers.next_time())
            .min(self.pending_pauses.next_time())
            .min(self.sampling.at)
    }

    /// Does the first of what [`Chassis::next_other`] announced.
    fn on_other(&mut self, now: Time, window: &mut Window<'_, '_>) {
        if self.model.next_time() == now {
            M::step(self, now, window);
        } else if self.pending_pauses.next_time() == now {
            if let Some(reaction) = self.pending_pauses.pop() {
                self.obey(now, reaction, window);
            }
        } else if self.timers.next_time() == now {
            self.on_timer(now, window);
        } else {
            self.on_sample(now, window.plan, window.log);
        }
    }

    /// Takes what has arrived at `port`; answers when the next packet arrives there, if that is after the
    /// window.
    #[inline(always)]
    fn on_arrival(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) -> Time {
        let global = self.first_port + u32::from(port);
        let packet = window.wires.pop(global);
        let mut next = window.wires.head(global);
        if next < window.end {
            window.agenda.add_arrival(next, port);
            next = Time::NEVER;
        }
        if packet.kind == Kind::Pfc {
            self.on_pfc(now, port, &packet, window);
        } else if !M::GOES_AT_ONCE {
            M::receive(self, now, &packet, port, window);
        } else if let Some(way) = self.way_of_next(&packet, port, window) {
            M::receive_on(self, now, &packet, way, window);
        }
        if M::GOES_AT_ONCE && window.looks_ahead && next == Time::NEVER {
            self.look_up(port, window);
        }
        next
    }
}

impl<M: Model> NodeModel for Chassis<M> {
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        let end = window.end;
        if M::GOES_AT_ONCE && window.looks_ahead {
            self.look_ahead(window);
        }
        window.agenda.open(end, &mut self.later);
        // The first packet that arrives after the window.
        let mut after = Time::NEVER;
        let range = self.first_port..self.first_port + self.ports.len() as u32;
        for (port, head) in window.wires.heads(range, end).enumerate() {
            if head < end {
                window.agenda.add_arrival(head, port as PortId);
            } else {
                after = after.min(head);
            }
        }
        loop {
            let other = self.next_other();
            let first = window.agenda.first_time();
            let now = first.min(other);
            if now >= end {
                return self.later.time().min(other).min(after);
            }
            window.log.counts.events += 1;
            if other < first {
                self.on_other(other, window);
                continue;
            }
            match window.agenda.take_first() {
                Item::Arrival(port) => after = after.min(self.on_arrival(now, port, window)),
                Item::Ready(port) => {
                    self.ports[port as usize].ready = false;
                    self.send_next(now, port, window);
                }
            }
        }
    }

    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        self.last_sample(now, plan, log);
        M::finish(self, now, plan);
        self.record(now, plan, log);
    }

    fn held_data_packets(&self) -> u64 {
        let queued = self.queues.iter().flat_map(|queue| queue.packets.iter());
        let data = queued.filter(|packet| packet.kind.is_data());
        data.count() as u64 + self.model.held_data_packets()
    }

    fn blocked(&self, since: Time, plan: &Plan<'_>, found: &mut Vec<Blocked>) {
        self.report_blocked(since, plan, found);
    }
}
