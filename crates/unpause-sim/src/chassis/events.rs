//! The loop over a switch's events.
//!
//! At one instant: arrivals by port, ports that become free by port, the model's own, PAUSEs that take
//! effect, timers, sampling.

use unpause_protocols::units::Time;

use super::prefetch;
use super::state::{Chassis, Model, Way};
use crate::engine::log::Log;
use crate::engine::window::{NodeModel, Window};
use crate::fabric::PortId;
use crate::outcome::deadlock::Blocked;
use crate::outcome::results::LossPlace;
use crate::plan::Plan;
use crate::routing::WayOn;

impl<M: Model> Chassis<M> {
    /// When something other than an arrival or a port that becomes free is due.
    #[inline]
    fn next_other(&self) -> Time {
        self.model
            .next_time()
            .min(self.timers.next_time())
            .min(self.pfc.pending.next_time())
            .min(self.sampler.next_time())
    }

    /// Does the first of what [`Chassis::next_other`] announced.
    fn on_other(&mut self, now: Time, window: &mut Window<'_, '_>) {
        if self.model.next_time() == now {
            M::step(self, now, window);
        } else if self.pfc.pending.next_time() == now {
            if let Some(reaction) = self.pfc.pending.pop() {
                self.obey(now, reaction, window);
            }
        } else if self.timers.next_time() == now {
            self.on_timer(now, window);
        } else {
            let sides = (&self.outputs, &self.inputs);
            self.sampler
                .sample(now, self.id, sides, window.plan, window.log);
        }
    }

    /// Takes packets, from number `at` of those of the window, up to `until` or to the one that may give more to do;
    /// answers whether there was one.
    #[inline(always)]
    fn on_arrivals<const PREFETCHES: bool>(
        &mut self,
        at: &mut usize,
        until: Time,
        way_on: WayOn<'_>,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let plan = window.plan;
        while let Some((now, place)) = window.arrivals.get(*at)
            && now <= until
        {
            let mut to = None;
            if PREFETCHES {
                prefetch::block(self, *at, window);
                to = window.arrivals.way(*at);
            }
            *at += 1;
            let packet = window.inboxes.at(place);
            let port = packet.ingress;
            if packet.kind.is_of_link() {
                let packet = *packet;
                self.on_pfc(now, port, &packet, window);
                return true;
            }
            if !M::GOES_AT_ONCE {
                let packet = *packet;
                M::receive(self, now, &packet, port, window);
                return true;
            }
            let Some(to) = to.or_else(|| way_on.of(packet)) else {
                let packet = *packet;
                window.lose((self.id, port), LossPlace::Switch, &packet);
                continue;
            };
            debug_assert_eq!(Some(to), way_on.of(packet));
            let class = plan.classes.of(packet.priority());
            let way = Way {
                from: port,
                to,
                class,
            };
            if M::receive_on(self, now, place, way, window) {
                return true;
            }
        }
        false
    }

    /// True if the PFC watchdog drops what comes in by `port` in `class`.
    fn drops_input(&self, port: PortId, class: u8) -> bool {
        self.outputs.ports[usize::from(port)].shut >> class & 1 == 1
    }

    /// Executes every event before the end of the window; returns when the next one is due. `RARE` says that arrivals are
    /// [rare ones](Self::on_rare_arrivals).
    #[inline(always)]
    fn run_window<const PREFETCHES: bool, const RARE: bool>(
        &mut self,
        window: &mut Window<'_, '_>,
    ) -> Time {
        let end = window.end;
        let arrivals = &mut *window.arrivals;
        let (own, span) = (
            (self.id, self.outputs.ports.len()),
            (window.start, window.end),
        );
        let after = window.inboxes.take_until(own, span, arrivals);
        window.log.counts.events += arrivals.len() as u64;
        if PREFETCHES {
            prefetch::first_block(self, window);
        }
        let way_on = window.routing.from(self.id);
        let mut at = 0;
        loop {
            if RARE {
                self.take_wakes(window);
            }
            let ready = self.outputs.ready.first_time();
            let other = self.next_other();
            let now = ready.min(other);
            let interrupted = if RARE {
                self.on_rare_arrivals(&mut at, now, window)
            } else {
                self.on_arrivals::<PREFETCHES>(&mut at, now, way_on, window)
            };
            if interrupted {
                continue;
            }
            if now >= end {
                return now.min(after);
            }
            window.log.counts.events += 1;
            if other < ready {
                self.on_other(other, window);
            } else if let Some(port) = self.outputs.ready.take_first() {
                self.outputs.ports[port as usize].ready = false;
                self.send_next(now, port, window);
            }
        }
    }

    /// The loop of a switch with PFC watchdogs, or with another choice than a hash: by itself, so that others run no slower.
    #[cold]
    #[inline(never)]
    fn run_slow_path(&mut self, window: &mut Window<'_, '_>) -> Time {
        self.run_window::<false, true>(window)
    }

    /// [`Chassis::on_arrivals`] where a PFC watchdog may drop what comes in, and no hash may choose the way.
    fn on_rare_arrivals(
        &mut self,
        at: &mut usize,
        until: Time,
        window: &mut Window<'_, '_>,
    ) -> bool {
        while let Some((now, place)) = window.arrivals.get(*at)
            && now <= until
        {
            *at += 1;
            let packet = *window.inboxes.at(place);
            let port = packet.ingress;
            let class = window.plan.classes.of(packet.priority());
            if packet.kind.is_of_link() {
                self.on_pfc(now, port, &packet, window);
            } else if self.drops_input(port, class) {
                self.discard_in_storm(self.index(port, class), &packet, true, window);
                continue;
            } else {
                M::receive(self, now, &packet, port, window);
            }
            return true;
        }
        false
    }
}

impl<M: Model> NodeModel for Chassis<M> {
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        if self.slow_path {
            return self.run_slow_path(window);
        }
        if M::GOES_AT_ONCE && window.prefetches {
            self.run_window::<true, false>(window)
        } else {
            self.run_window::<false, false>(window)
        }
    }

    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        let sides = (&self.outputs, &self.inputs);
        self.sampler.finish(now, self.id, sides, plan, log);
        M::finish(self, now, plan);
        self.record(now, plan, log);
    }

    fn held_data_packets(&self) -> u64 {
        let queued = self
            .outputs
            .queues
            .iter()
            .flat_map(|queue| queue.packets.iter());
        let data = queued.filter(|packet| packet.kind.is_data());
        data.count() as u64 + self.model.held_data_packets()
    }

    fn blocked(&self, since: Time, plan: &Plan<'_>, found: &mut Vec<Blocked>) {
        self.report_blocked(since, plan, found);
    }
}
