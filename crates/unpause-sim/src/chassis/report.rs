//! Reports of a switch: its totals at the end of a run, and queues that are blocked.

use unpause_protocols::units::Time;

use super::causes::{Counted, Inspection};
use super::records::recorder::{Recorder, Stops};
use super::state::{Chassis, Model};
use crate::engine::log::Log;
use crate::fabric::PortId;
use crate::link::pause::Place;
use crate::outcome::deadlock::Blocked;
use crate::outcome::results::PortRecord;
use crate::plan::Plan;

impl<M: Model> Chassis<M> {
    /// The totals of every (port, class) that has any; closes what is open.
    pub(super) fn record(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        if let Some(causes) = self.causes.take() {
            self.record_causes(*causes, now, plan, log);
        }
        if let Some(watchdogs) = &mut self.pfc.watchdogs {
            watchdogs.finish(log);
        }
        for port in 0..self.outputs.ports.len() as PortId {
            for class in 0..self.outputs.classes as u8 {
                let place = Place::of((self.id, port), class, plan);
                let index = self.index(port, class);
                let (queue, egress) =
                    (&self.outputs.queues[index], &mut self.outputs.egress[index]);
                let waited = egress.pause.total(now);
                let (paused, credit_wait) = plan.waited(waited);
                egress.pause.finish(now, place, log);
                let ingress = &self.inputs.totals[index];
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
                    headroom_dropped_bytes: ingress.dropped_bytes,
                    headroom_dropped_control_packets: ingress.dropped_control_packets,
                    headroom_dropped_control_bytes: ingress.dropped_control_bytes,
                    max_queue_bytes: queue.max_bytes,
                    max_ingress_bytes: self.inputs.ingress[index].max_bytes,
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

    /// Closes the causes of PAUSE that are open at the end of the run, looks once more at what holds the bytes of ingresses that are
    /// still XOFF, and hands everything over.
    fn record_causes(&self, mut causes: Recorder, now: Time, plan: &Plan<'_>, log: &mut Log) {
        let counted = if M::COUNTS_QUEUES {
            Counted::Queues(None)
        } else {
            Counted::Before(None)
        };
        for (index, totals) in self.inputs.totals.iter().enumerate() {
            let holders = causes.is_open(index).then(|| {
                let mut inspection = Inspection::new(self, &mut causes, now, plan);
                inspection.holders(self.outputs.place(index), counted)
            });
            if let Some(cause) = causes.on_xon(index, now, totals.dropped_packets) {
                cause.holders.extend(holders.into_iter().flatten());
            }
        }
        for (index, queue) in self.outputs.queues.iter().enumerate() {
            if self.outputs.egress[index].pause.held_since().is_some() {
                let (port, _) = self.outputs.place(index);
                let end = &self.outputs.ports[usize::from(port)].end;
                causes.on_resume(now, index, queue, end.transmitter.speed, plan);
            }
        }
        let queue = |index: usize| {
            let stops = Stops {
                paused: self.outputs.egress[index].pause.total(now),
                resent: Time::ZERO,
            };
            (&self.outputs.queues[index].packets, stops)
        };
        causes.finish_waits(now, queue, log);
        let place = |index: usize| {
            let (port, class) = self.outputs.place(index);
            (self.id, port, plan.classes.priority(class))
        };
        causes.into_log(place, log);
    }

    /// The egress queues that have sent nothing since `since`, for a pause that is in force.
    pub(super) fn report_blocked(&self, since: Time, plan: &Plan<'_>, found: &mut Vec<Blocked>) {
        for (number, port) in self.outputs.ports.iter().enumerate() {
            let waiting = port.end.backlog & port.end.paused;
            for class in (0..self.outputs.classes as u8).filter(|class| waiting >> class & 1 == 1) {
                let index = self.index(number as PortId, class);
                let queue = &self.outputs.queues[index];
                let paused = self.outputs.egress[index].pause.obeyed_since();
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
