//! The loop over a switch's events.
//!
//! At one instant: arrivals by port, ports that become free by port, the model's own, PAUSEs that take
//! effect, timers, sampling.

use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model, Way};
use crate::engine::deadlock::Blocked;
use crate::engine::window::{NodeModel, Window};
use crate::log::Log;
use crate::packet::Kind;
use crate::plan::Plan;
use crate::routing::WayOn;

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

    /// Takes packets, from number `at` of those of the window, up to the one that may give more to do, or to `until`;
    /// answers the number of the next one.
    #[inline(always)]
    fn on_arrivals(
        &mut self,
        mut at: usize,
        until: Time,
        way_on: WayOn<'_>,
        window: &mut Window<'_, '_>,
    ) -> usize {
        let plan = window.plan;
        while let Some((now, place)) = window.arrivals.get(at)
            && now <= until
        {
            let mut to = None;
            if M::GOES_AT_ONCE && window.looks_ahead {
                self.look_ahead(at, window);
                to = window.arrivals.way(at);
            }
            at += 1;
            let packet = window.wires.at(place);
            let port = packet.ingress;
            if packet.kind == Kind::Pfc {
                let packet = *packet;
                self.on_pfc(now, port, &packet, window);
                break;
            }
            if !M::GOES_AT_ONCE {
                let packet = *packet;
                M::receive(self, now, &packet, port, window);
                break;
            }
            let Some(to) = to.or_else(|| way_on.of(packet)) else {
                break;
            };
            debug_assert_eq!(Some(to), way_on.of(packet));
            let class = plan.classes.of(packet.priority());
            let way = Way {
                from: port,
                to,
                class,
            };
            if M::receive_on(self, now, place, way, window) {
                break;
            }
        }
        at
    }
}

impl<M: Model> NodeModel for Chassis<M> {
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        let end = window.end;
        let range = self.first_port..self.first_port + self.ports.len() as u32;
        if M::GOES_AT_ONCE && window.looks_ahead {
            window.wires.prefetch_until(range.clone(), end);
        }
        let arrivals = &mut *window.arrivals;
        arrivals.clear(window.start);
        let after = window.wires.take_until(range, end, arrivals);
        arrivals.sort(end);
        window.log.counts.events += arrivals.len() as u64;
        if M::GOES_AT_ONCE && window.looks_ahead {
            self.look_ahead_first(window);
        }
        let plan = window.plan;
        let way_on = plan.routing.from(self.id);
        let mut at = 0;
        loop {
            let ready = self.ready.first_time();
            let other = self.next_other();
            let now = ready.min(other);
            let before = at;
            at = self.on_arrivals(at, now, way_on, window);
            if at > before {
                continue;
            }
            if now >= end {
                return now.min(after);
            }
            window.log.counts.events += 1;
            if other < ready {
                self.on_other(other, window);
            } else if let Some(port) = self.ready.take_first() {
                self.ports[port as usize].ready = false;
                self.send_next(now, port, window);
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
