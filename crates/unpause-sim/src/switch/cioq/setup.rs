//! Making a CIOQ fabric.

use std::collections::VecDeque;

use unpause_protocols::congestion_point::qcn::Selection;
use unpause_protocols::flow_control::pfc;

use super::Cioq;
use super::arbiter::Arbiter;
use super::crossing::Crossing;
use super::memory::Memory;
use super::voq::Shape;
use crate::chassis::{Chassis, InputBuffer, culprit};
use crate::config::CioqConfig;
use crate::fabric::NodeId;
use crate::plan::Plan;

impl Cioq {
    /// An empty fabric.
    pub fn switch(id: NodeId, config: &CioqConfig, plan: &Plan<'_>) -> Chassis<Self> {
        let transmitters = plan.ports.transmitters_of(id);
        let shape = Shape {
            ports: transmitters.len(),
            classes: plan.classes.count(),
        };
        let culprits = culprit::selection(plan) == Selection::RandomUnit;
        let units = config.input_buffer_bytes.div_ceil(config.cell_bytes.into()) as usize;
        let units = shape.classes * units;
        let voqs = shape.ports * shape.classes;
        let memory = |_| Memory::new(units, config.cell_bytes, voqs, culprits);
        let arbiters = transmitters.iter().flat_map(|transmitter| {
            let arbiter = || Arbiter::new(transmitter.speed, config.speedup_percent);
            (0..shape.classes).map(move |_| arbiter())
        });
        let model = Self {
            shape,
            buffer: InputBuffer::new(config.input_buffer_bytes, plan),
            memories: (0..shape.ports).map(memory).collect(),
            arbiters: arbiters.collect(),
            crossing: Crossing::new(config, shape),
            config: *config,
            cnms: VecDeque::new(),
            inside: 0,
        };
        let source = |_, _| pfc::Ingress::new();
        let watched = |class| class != plan.classes.control;
        Chassis::new(id, plan, source, watched, model)
    }
}
