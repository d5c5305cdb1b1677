//! What a switch tells of itself.

use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model};
use super::ingress::PauseSource;
use crate::engine::log::Log;
use crate::fabric::PortId;
use crate::link::pause::Place;
use crate::outcome::deadlock::Blocked;
use crate::outcome::results::{PortRecord, PortSample};
use crate::plan::Plan;

impl<M: Model> Chassis<M> {
    /// Samples what is due now, and says when something is due again.
    #[inline(never)]
    pub(super) fn on_sample(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        let again = now + self.sampling.interval;
        let Some(histogram) = &mut self.histogram else {
            self.sampling.at = again;
            return self.sample_ports(now, plan, log);
        };
        let is_series = histogram.series_at == now;
        if is_series {
            histogram.series_at = again;
        }
        if histogram.at == now {
            let ports = self.queues.chunks(self.classes);
            histogram.count(
                now,
                ports.map(|queues| queues.iter().map(|it| it.bytes).sum()),
            );
            histogram.report(now, self.id, log);
        }
        self.sampling.at = histogram.next_time();
        if is_series {
            self.sample_ports(now, plan, log);
        }
    }

    /// The last sample of a run that ends at a sampling instant.
    pub(super) fn last_sample(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        let histogram = self.histogram.as_ref();
        if histogram.map_or(self.sampling.at, |it| it.series_at) == now {
            self.sample_ports(now, plan, log);
        }
    }

    fn sample_ports(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        for &port in &self.sampled_ports {
            for class in 0..self.classes as u8 {
                let index = self.index(port, class);
                let (queue, egress) = (&self.queues[index], &self.egress[index]);
                log.port_series.push(PortSample {
                    time: now,
                    node: self.id,
                    port,
                    priority: plan.classes.priority(class),
                    queue_bytes: queue.bytes,
                    queue_packets: queue.packets.len(),
                    ingress_bytes: self.ingress[index].source.bytes(),
                    tx_bytes: queue.tx_bytes,
                    dropped_packets: egress.dropped_packets,
                    pause_frames: self.ingress_totals[index].pause_frames,
                    paused: plan.waited(egress.pause.total(now)).0,
                });
            }
        }
    }

    /// The totals of every (port, class) that has any; closes what is open.
    pub(super) fn record(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        self.record_causes(now, plan, log);
        if let Some(watchdogs) = &mut self.watchdogs {
            watchdogs.finish(log);
        }
        for port in 0..self.ports.len() as PortId {
            for class in 0..self.classes as u8 {
                let place = Place::of((self.id, port), class, plan);
                let index = self.index(port, class);
                let (queue, egress) = (&self.queues[index], &mut self.egress[index]);
                let waited = egress.pause.total(now);
                let (paused, credit_wait) = plan.waited(waited);
                egress.pause.finish(now, place, log);
                let ingress = &self.ingress_totals[index];
                let (stalls, stalled) = self.model.stalls(index);
                let identity = PortRecord {
                    node: self.id,
                    port,
                    priority: place.priority,
                    ..PortRecord::default()
                };
                let record = PortRecord {
                    tx_packets: queue.tx_packets,
                    tx_bytes: queue.tx_bytes,
                    marked_packets: egress.marked_packets,
                    cnm_packets: egress.cnm_packets + ingress.cnm_packets,
                    dropped_packets: egress.dropped_packets,
                    dropped_bytes: egress.dropped_bytes,
                    trimmed_packets: egress.trimmed_packets,
                    headroom_dropped_packets: ingress.dropped_packets,
                    max_queue_bytes: queue.max_bytes,
                    max_ingress_bytes: self.ingress[index].max_bytes,
                    pause_frames: ingress.pause_frames,
                    pause_events: ingress.pause_events,
                    paused,
                    credit_wait,
                    stalls,
                    stalled,
                    ..identity
                };
                if record != identity {
                    log.ports.push(record);
                }
            }
        }
    }

    /// The egress queues that have sent nothing since `since`, for a pause that is in force.
    pub(super) fn report_blocked(&self, since: Time, plan: &Plan<'_>, found: &mut Vec<Blocked>) {
        for (number, port) in self.ports.iter().enumerate() {
            let waiting = port.end.backlog & port.end.paused;
            for class in (0..self.classes as u8).filter(|class| waiting >> class & 1 == 1) {
                let index = self.index(number as PortId, class);
                let queue = &self.queues[index];
                let paused = self.egress[index].pause.obeyed_since();
                let (Some(paused), Some(waiting)) = (paused, queue.packets.since()) else {
                    continue;
                };
                let stopped = paused.max(waiting);
                if stopped > since {
                    continue;
                }
                let places = queue.packets.iter().map(|p| (p.ingress, p.priority()));
                let mut ingress: Vec<(PortId, u8)> = places.collect();
                M::waiting_before(self, index, plan, &mut ingress);
                ingress.sort_unstable();
                ingress.dedup();
                found.push(Blocked {
                    node: self.id,
                    port: number as PortId,
                    priority: plan.classes.priority(class),
                    since: stopped,
                    ingress,
                });
            }
        }
    }
}
