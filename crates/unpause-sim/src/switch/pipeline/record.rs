//! What a pipelined switch tells of itself.

use unpause_protocols::units::Time;

use super::Pipeline;
use crate::engine::deadlock::Blocked;
use crate::engine::window::{NodeModel, Window};
use crate::fabric::PortId;
use crate::log::Log;
use crate::packet::Packet;
use crate::plan::Plan;
use crate::results::{PortRecord, PortSample};
use crate::switch::pause::place;

impl Pipeline {
    pub(super) fn on_sample(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        for &port in &self.sampled_ports {
            for class in 0..self.classes as u8 {
                let index = self.index(port, class);
                let queue = &self.queues[index];
                log.port_series.push(PortSample {
                    time: now,
                    node: self.id,
                    port,
                    priority: plan.classes.priority(class),
                    queue_bytes: queue.bytes,
                    ingress_bytes: self.ingress[index].control.bytes(),
                    tx_bytes: queue.tx_bytes,
                    pause_frames: self.ingress[index].pause_frames,
                    paused: queue.throttle.total(now),
                });
            }
        }
    }

    /// The totals of one (port, class); closes what is open.
    fn record(&mut self, now: Time, port: PortId, class: u8, plan: &Plan<'_>, log: &mut Log) {
        let place = place(self.id, port, class, plan);
        let index = self.index(port, class);
        let queue = &mut self.queues[index];
        let paused = queue.throttle.total(now);
        queue.throttle.finish(now, place, log);
        let ingress = &self.ingress[index];
        let (stalls, stalled) = self.stalls[index];
        let identity = PortRecord {
            node: self.id,
            port,
            priority: place.priority,
            ..PortRecord::default()
        };
        let record = PortRecord {
            tx_packets: queue.tx_packets,
            tx_bytes: queue.tx_bytes,
            marked_packets: queue.marked_packets,
            cnm_packets: queue.cnm_packets,
            dropped_packets: queue.dropped_packets,
            dropped_bytes: queue.dropped_bytes,
            headroom_dropped_packets: ingress.dropped_packets,
            max_queue_bytes: queue.max_bytes,
            max_ingress_bytes: ingress.max_bytes,
            pause_frames: ingress.pause_frames,
            pause_events: ingress.pause_events,
            paused,
            stalls,
            stalled,
            ..identity
        };
        if record != identity {
            log.ports.push(record);
        }
    }

    /// The queue that has stopped the processor.
    fn stalled(&self, plan: &Plan<'_>) -> Option<usize> {
        let head = self
            .processor
            .head()
            .filter(|_| self.processor.is_stalled())?;
        let class = plan.classes.of(head.packet.priority());
        Some(self.index(head.to, class))
    }
}

/// By which (ingress port, priority) a packet came.
fn origin(packet: &Packet) -> (PortId, u8) {
    (packet.ingress, packet.priority())
}

impl NodeModel for Pipeline {
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        self.run_events(window)
    }

    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        if self.sampling.at == now {
            self.on_sample(now, plan, log);
        }
        if let Some(index) = self.stalled(plan)
            && let Some(since) = self.processor.resume(now)
        {
            self.stalls[index].1 += now - since;
        }
        for port in 0..self.ports.len() as PortId {
            for class in 0..self.classes as u8 {
                self.record(now, port, class, plan, log);
            }
        }
    }

    fn held_data_packets(&self) -> u64 {
        let is_data = |packet: &&Packet| packet.kind.is_data();
        let queued = self.queues.iter().flat_map(|queue| queue.packets.iter());
        queued.chain(self.processor.iter()).filter(is_data).count() as u64
    }

    /// Of a queue that has stopped the processor, everything waits that is in the processor.
    fn blocked(&self, since: Time, plan: &Plan<'_>, found: &mut Vec<Blocked>) {
        let stalled = self.stalled(plan);
        for (number, port) in self.ports.iter().enumerate() {
            let waiting = port.backlog & port.paused;
            for class in (0..self.classes as u8).filter(|class| waiting >> class & 1 == 1) {
                let index = self.index(number as PortId, class);
                let queue = &self.queues[index];
                let (Some(paused), Some(waiting)) =
                    (queue.throttle.paused_since(), queue.packets.since())
                else {
                    continue;
                };
                let stopped = paused.max(waiting);
                if stopped > since {
                    continue;
                }
                let mut ingress: Vec<_> = queue.packets.iter().map(origin).collect();
                if stalled == Some(index) {
                    ingress.extend(self.processor.iter().map(origin));
                }
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
