//! A run from its first window to its results.

use std::iter::Peekable;
use std::ops::ControlFlow;

use unpause_protocols::units::Time;

use crate::config::{Config, NodeId};
use crate::engine::shard::{Calendar, Log, Node, Shard};
use crate::engine::wire::Wires;
use crate::host::{FlowStart, Host};
use crate::plan::Plan;
use crate::results::Results;
use crate::switch::shared_buffer::SharedBuffer;
use crate::traffic::Traffic;
use crate::{Error, Progress, report};

/// Flows are read from the traffic stream at least so many at a time.
const FLOWS_AHEAD: usize = 64;
/// Windows between two looks at the clock.
const WINDOWS_PER_WATCH: u64 = 256;

/// Runs `config`. `watch` is called now and then and may end the run.
///
/// # Errors
///
/// [`Error::Invalid`] if the configuration cannot be run, [`Error::Interrupted`] if `watch` said so.
pub fn run(
    config: &Config,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Results, Error> {
    let plan = Plan::new(config)?;
    let traffic =
        Traffic::new(&config.traffic, &config.fabric, config.seed).map_err(Error::Invalid)?;
    let mut shard = shard(&plan);
    let mut flows = Injector {
        traffic: traffic.peekable(),
        next_id: 0,
    };
    let mut windows = 0;
    let mut horizon = Time::ZERO;
    loop {
        let mut start = shard.calendar.earliest().min(flows.next_start());
        if start >= config.stop {
            break;
        }
        if start.saturating_add(plan.lookahead) > horizon {
            horizon = flows.inject(start.saturating_add(plan.lookahead), &plan, &mut shard)?;
            start = start.min(shard.calendar.earliest());
        }
        let end = start
            .saturating_add(plan.lookahead)
            .min(horizon)
            .min(config.stop);
        shard.run_window(&plan, end);
        windows += 1;
        if windows % WINDOWS_PER_WATCH == 0 {
            let packet_hops = shard.log.counts.packet_hops;
            if watch(Progress {
                now: start,
                packet_hops,
            })
            .is_break()
            {
                return Err(Error::Interrupted);
            }
        }
    }
    let mut log = shard.log;
    let mut held = 0;
    for node in shard.nodes.iter_mut().flatten() {
        node.model().finish(config.stop, &plan, &mut log);
        held += node.model().held_data_packets();
    }
    held += shard
        .wires
        .iter()
        .filter(|packet| packet.kind == crate::packet::Kind::Data)
        .count() as u64;
    report::results(&plan, log, held, windows)
}

/// All nodes in one shard.
fn shard(plan: &Plan<'_>) -> Shard {
    let count = plan.config.fabric.nodes.len();
    let mut calendar = Calendar::new(count);
    let nodes = (0..count as NodeId)
        .map(|id| {
            let (node, first) = if plan.is_host(id) {
                let mut host = Host::new(id, plan);
                let first = host.first_sample();
                (Node::Host(Box::new(host)), first)
            } else {
                let switch = SharedBuffer::new(id, plan);
                let first = switch.first_event();
                (Node::SharedBuffer(Box::new(switch)), first)
            };
            calendar.wake(id, first);
            Some(node)
        })
        .collect();
    Shard {
        nodes,
        wires: Wires::new(plan.ports.transmitters.len()),
        calendar,
        log: Log::default(),
    }
}

/// Reads the traffic stream a little ahead of the run, so that receivers know of a flow before its
/// first packet and flows far off cost nothing.
struct Injector<'a> {
    traffic: Peekable<Traffic<'a>>,
    next_id: u32,
}

impl Injector<'_> {
    /// Start of the first flow that has not been injected.
    fn next_start(&mut self) -> Time {
        self.traffic.peek().map_or(Time::NEVER, |spec| spec.start)
    }

    /// Injects every flow that starts before `until`, and at least [`FLOWS_AHEAD`]; answers the
    /// start of the first that was left.
    fn inject(&mut self, until: Time, plan: &Plan<'_>, shard: &mut Shard) -> Result<Time, Error> {
        let mut injected = 0;
        while let Some(spec) = self.traffic.peek().copied() {
            let start = spec.start;
            if start >= plan.config.stop || (start >= until && injected >= FLOWS_AHEAD) {
                break;
            }
            self.traffic.next();
            injected += 1;
            let id = self.next_id;
            self.next_id += 1;
            if plan
                .routing
                .path(&plan.ports, spec.src, spec.dst, spec.source_port)
                .is_none()
            {
                let (src, dst) = (spec.src, spec.dst);
                return Err(Error::Invalid(format!(
                    "no way from host {src} to host {dst}"
                )));
            }
            let receiver_slot = shard.host(spec.dst).expect(id, &spec, plan);
            shard.host(spec.src).schedule(FlowStart {
                id,
                spec,
                receiver_slot,
            });
            shard.calendar.wake(spec.src, start);
        }
        Ok(self.next_start())
    }
}
