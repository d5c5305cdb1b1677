//! Samples of the ports of a switch at regular instants.

use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::histogram::Histogram;
use crate::chassis::ingress::PauseSource;
use crate::chassis::inputs::Inputs;
use crate::chassis::outputs::Outputs;
use crate::engine::log::Log;
use crate::fabric::{NodeId, PortId};
use crate::outcome::results::PortSample;
use crate::plan::Plan;
use crate::plan::sampling::{self, Sampling};

/// Which ports are sampled, and when.
#[derive(Debug, Show)]
pub struct Sampler {
    #[show(deadline = sampling.at)]
    sampling: Sampling,
    #[show(skip)]
    ports: Vec<PortId>,
    /// How long queues are, if that is counted.
    #[show(skip = "changes where it is sampled")]
    histogram: Option<Box<Histogram>>,
}

impl Sampler {
    /// That of switch `id`.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> Self {
        let ports = sampling::sampled_ports(id, plan);
        let mut sampling = sampling::of_ports(&ports, plan);
        let all = plan.ports.of(id).len();
        let histogram = Histogram::of(all, sampling.at, plan).map(Box::new);
        if let Some(histogram) = &histogram {
            sampling.at = histogram.next_time();
        }
        Self {
            sampling,
            ports,
            histogram,
        }
    }

    /// When it samples next.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.sampling.at
    }

    /// Samples what is due now, and sets when something is due again.
    #[inline(never)]
    pub fn sample<S: PauseSource>(
        &mut self,
        now: Time,
        id: NodeId,
        (outputs, inputs): (&Outputs, &Inputs<S>),
        plan: &Plan<'_>,
        log: &mut Log,
    ) {
        let again = now + self.sampling.interval;
        let Some(histogram) = &mut self.histogram else {
            self.sampling.at = again;
            return self.sample_ports(now, id, (outputs, inputs), plan, log);
        };
        let is_series = histogram.series_at == now;
        if is_series {
            histogram.series_at = again;
        }
        if histogram.at == now {
            let ports = 0..outputs.ports.len() as PortId;
            histogram.count(now, ports.map(|port| outputs.waiting_for(port)));
            histogram.report(now, id, log);
        }
        self.sampling.at = histogram.next_time();
        if is_series {
            self.sample_ports(now, id, (outputs, inputs), plan, log);
        }
    }

    /// Takes the last sample of a run that ends at a sampling instant.
    pub fn finish<S: PauseSource>(
        &self,
        now: Time,
        id: NodeId,
        sides: (&Outputs, &Inputs<S>),
        plan: &Plan<'_>,
        log: &mut Log,
    ) {
        let histogram = self.histogram.as_ref();
        if histogram.map_or(self.sampling.at, |histogram| histogram.series_at) == now {
            self.sample_ports(now, id, sides, plan, log);
        }
    }

    fn sample_ports<S: PauseSource>(
        &self,
        now: Time,
        id: NodeId,
        (outputs, inputs): (&Outputs, &Inputs<S>),
        plan: &Plan<'_>,
        log: &mut Log,
    ) {
        for &port in &self.ports {
            for class in 0..outputs.classes as u8 {
                let index = outputs.index(port, class);
                let (queue, egress) = (&outputs.queues[index], &outputs.egress[index]);
                log.port_series.push(PortSample {
                    time: now,
                    node: id,
                    port,
                    priority: plan.classes.priority(class),
                    queue_bytes: queue.bytes,
                    queue_packets: queue.packets.len(),
                    ingress_bytes: inputs.ingress[index].source.bytes(),
                    tx_bytes: queue.tx_bytes,
                    dropped_packets: egress.dropped_packets,
                    pause_frames: inputs.totals[index].pause_frames,
                    paused: plan.waited(egress.pause.total(now)).0,
                });
            }
        }
    }
}
