//! Making a CIOQ fabric, and what it needs of a configuration.

use std::collections::VecDeque;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_point::qcn::Selection;
use unpause_protocols::congestion_point::{self, CongestionPoint};
use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::{Rate, Time};

use super::arbiter::Arbiter;
use super::fabric::{Fabric, Shape};
use super::memory::Memory;
use super::{Cioq, Input};
use crate::config::{CioqConfig, Config, NodeId, NodeKind, PfcThreshold, SwitchModel};
use crate::engine::heap::Heap;
use crate::plan::Plan;
use crate::routing::mix;
use crate::switch::egress::{Port, Queue, watches_inputs};
use crate::switch::sampling;

/// The largest number of hosts: the fabric keeps a queue for each pair of them.
const MOST_HOSTS: usize = 2048;

/// Checks what the model, if it is used, needs of a configuration.
pub fn check(config: &Config) -> Result<(), String> {
    let SwitchModel::Cioq(cioq) = &config.switch.model else {
        return Ok(());
    };
    let frame = u64::from(config.largest_frame_bytes());
    let is_switch = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Switch;
    let hosts = config
        .fabric
        .nodes
        .iter()
        .filter(|kind| **kind == NodeKind::Host);
    let PfcThreshold::Static { xoff_bytes, .. } = config.switch.pfc.threshold else {
        return Err("a cioq switch needs a static XOFF".into());
    };
    let spines = cioq.spines.unwrap_or_default();
    if config
        .fabric
        .links
        .iter()
        .any(|link| is_switch(link.a) && is_switch(link.b))
    {
        return Err("a cioq switch is a whole fabric: it has links to hosts only".into());
    }
    if hosts.count() > MOST_HOSTS {
        return Err(format!("a cioq switch has at most {MOST_HOSTS} hosts"));
    }
    if cioq.cell_bytes == 0 {
        return Err("a cell must have a byte or more".into());
    }
    if cioq.latency == Time::ZERO || cioq.speedup_percent < 100 {
        return Err("a cioq switch needs a latency above zero and a speedup of 1 or more".into());
    }
    if spines.count == 0
        || spines.hosts_per_leaf == 0
        || spines.buffer_cells == 0
        || spines.rate.ps_per_byte().is_none()
    {
        return Err("spines need hosts at their leaves, buffers, and a rate of links".into());
    }
    if cioq.output_buffer_bytes < frame {
        return Err(format!(
            "an output buffer of {} B has no credit for a frame of {frame} B",
            cioq.output_buffer_bytes
        ));
    }
    if cioq.input_buffer_bytes < xoff_bytes + units(frame, cioq) {
        return Err(format!(
            "an input buffer of {} B overflows before its XOFF of {xoff_bytes} B has stopped anybody",
            cioq.input_buffer_bytes
        ));
    }
    Ok(())
}

/// Bytes of the units that `bytes` take.
fn units(bytes: u64, config: &CioqConfig) -> u64 {
    let unit = u64::from(config.cell_bytes);
    bytes.div_ceil(unit) * unit
}

impl Cioq {
    /// An empty fabric.
    pub fn new(id: NodeId, config: CioqConfig, plan: &Plan<'_>) -> Self {
        let transmitters = plan.ports.transmitters_of(id);
        let shape = Shape {
            ports: transmitters.len(),
            classes: plan.classes.count(),
        };
        let mut rng =
            Xoshiro256PlusPlus::seed_from_u64(mix(plan.config.seed ^ mix(u64::from(id) + 1)));
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
