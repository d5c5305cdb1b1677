//! Making a CIOQ fabric.

use std::collections::VecDeque;

use unpause_protocols::congestion_point::qcn::Selection;
use unpause_protocols::congestion_point::{self, CongestionPoint};
use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::Rate;

use super::arbiter::Arbiter;
use super::crossing::Shape;
use super::fabric::Fabric;
use super::memory::Memory;
use super::{Cioq, Input};
use crate::config::{CioqConfig, PfcThreshold};
use crate::engine::heap::Heap;
use crate::fabric::NodeId;
use crate::plan::Plan;
use crate::rng;
use crate::sampling;
use crate::switch::egress::{Port, Queue, watches_inputs};

impl Cioq {
    /// An empty fabric.
    pub fn new(id: NodeId, config: CioqConfig, plan: &Plan<'_>) -> Self {
        let transmitters = plan.ports.transmitters_of(id);
        let shape = Shape {
            ports: transmitters.len(),
            classes: plan.classes.count(),
        };
        let mut rng = rng::of_node(plan.config.seed, id);
        let scheme = &plan.config.scheme.congestion_point;
        let mode = match scheme {
            congestion_point::Config::Qcn(params) => params.mode,
            _ => Default::default(),
        };
        let none = congestion_point::Config::None;
        let mut queues = Vec::new();
        let mut inputs = Vec::new();
        let mut arbiters = Vec::new();
        for transmitter in transmitters {
            let rate = Rate::from_bps(8_000_000_000_000 / transmitter.ps_per_byte);
            for class in 0..shape.classes as u8 {
                let watched = class != plan.classes.control && watches_inputs(scheme);
                let at_input = if watched { scheme } else { &none };
                queues.push(Queue::new(class, rate, shape.ports, plan, &mut rng));
                inputs.push(Input {
                    pfc: pfc::Ingress::default(),
                    congestion_point: CongestionPoint::new(at_input, &mut rng),
                    packets: 0,
                    max_bytes: 0,
                    cnm_packets: 0,
                    dropped_packets: 0,
                    pause: plan.config.switch.pfc.params.pause_duration(rate),
                    pause_events: 0,
                    pause_frames: 0,
                    timer_at: None,
                });
                arbiters.push(Arbiter::new(
                    transmitter.ps_per_byte,
                    config.speedup_percent,
                ));
            }
        }
        let (xoff_bytes, xon_bytes) = match plan.config.switch.pfc.threshold {
            PfcThreshold::Static {
                xoff_bytes,
                xon_bytes,
            } => (xoff_bytes, xon_bytes),
            PfcThreshold::Dynamic { .. } => (u64::MAX, u64::MAX),
        };
        let units =
            shape.classes * config.input_buffer_bytes.div_ceil(config.cell_bytes.into()) as usize;
        let culprits = mode.selection() == Selection::RandomUnit;
        let memory = |_| {
            Memory::new(
                units,
                config.cell_bytes,
                shape.ports * shape.classes,
                culprits,
            )
        };
        let sampled_ports = sampling::sampled_ports(id, plan);
        Self {
            id,
            first_port: plan.ports.of(id).start,
            shape,
            xoff_bytes,
            xon_bytes,
            selection: mode.selection(),
            memories: (0..shape.ports).map(memory).collect(),
            inputs,
            arbiters,
            fabric: Fabric::new(&config, shape),
            config,
            ports: vec![Port::default(); shape.ports],
            queues,
            cnms: VecDeque::new(),
            events: Heap::default(),
            timers: Heap::default(),
            sampling: sampling::of_ports(&sampled_ports, plan),
            sampled_ports,
            rng,
            held: 0,
        }
    }
}
