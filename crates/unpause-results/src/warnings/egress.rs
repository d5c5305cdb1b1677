//! Limits of egress queues that drop lossless packets before PAUSE has stopped their senders.

use unpause_import::buffers::{Share, fewest, fill};
use unpause_sim::config::NodeKind;

use crate::run::Run;
use crate::warnings::buffers::Switches;
use crate::warnings::in_force::{self, Place};
use crate::warnings::limits::{Limit, Limits};
use crate::warnings::said::Foreseen;
use unpause_text::count::{counted, size};

/// For programs, as in [`crate::warnings::Warning`]; `unpause lint` has a rule of this name for switches' files.
pub const KIND: &str = "egress-drops-first";

/// The worst queue of a run.
struct Worst {
    limit: Limit,
    at: Place,
    /// From how many ingress ports on it drops, and how much these bring.
    number: usize,
    brought: u64,
    /// XOFF of the first of them.
    alone: u64,
}

/// The lossless queue that drops with the fewest senders.
pub fn of(run: &Run) -> Option<Foreseen> {
    let config = &run.config;
    let mut own = config.switch.overrides.iter();
    if !own.any(|it| it.queue_limit.is_some()) {
        return None;
    }
    let (switches, limits) = (Switches::of(run)?, Limits::of(run)?);
    let mut worst: Option<Worst> = None;
    for node in (0..).take(config.fabric.nodes.len()) {
        if config.fabric.nodes[node as usize] != NodeKind::Switch {
            continue;
        }
        let guarded = in_force::lossless(config, node) & config.data_priorities();
        for (port, _) in switches.ports(node) {
            for priority in (0..8).filter(|it| guarded >> it & 1 == 1) {
                let at = Place {
                    node,
                    port,
                    priority,
                };
                let Some(limit) = limits.at(at) else {
                    continue;
                };
                let pool = limits.shared(node).unwrap_or(u64::MAX);
                let mut all = switches.shares(node, priority, Some(port));
                all.sort_by_key(|(share, _)| std::cmp::Reverse(fill(pool, &[*share])));
                let brought = |number: usize| {
                    let shares: Vec<Share> = all[..number].iter().map(|it| it.0).collect();
                    fill(pool, &shares) + all[..number].iter().map(|it| it.1).sum::<u64>()
                };
                let Some(number) = fewest(all.len(), limit.bytes, brought) else {
                    continue;
                };
                let is_worse =
                    |than: &Worst| (number, limit.bytes) < (than.number, than.limit.bytes);
                if worst.as_ref().is_none_or(is_worse) {
                    worst = Some(Worst {
                        limit,
                        at,
                        number,
                        brought: brought(number),
                        alone: fill(pool, &[all[0].0]),
                    });
                }
            }
        }
    }
    worst.map(|it| sentence(run, &it))
}

fn sentence(run: &Run, it: &Worst) -> Foreseen {
    let names = &run.names;
    let peer = names.peers[it.at.node as usize][usize::from(it.at.port)];
    let bring = if it.number == 1 { "brings" } else { "bring" };
    let never = match it.alone >= it.limit.bytes {
        true => "; XOFF of one ingress is above it, and can never act for one receiver",
        false => "",
    };
    Foreseen {
        kind: KIND,
        message: format!(
            "lossless packets are dropped at egress first: {} of {}->{}, priority {}, is below the {} that {} {bring} before \
             PAUSE has stopped them (XOFF {}){never}",
            it.limit.name(),
            names.name(it.at.node),
            names.name(peer),
            it.at.priority,
            size(it.brought),
            counted(it.number, "ingress port"),
            size(it.alone),
        ),
        help: format!(
            "remove the limit of lossless queues, or raise {}; or lower pfc.xoff",
            it.limit.raise(it.brought)
        ),
        key: in_force::path_of_override(&run.config, it.at.node, |it| it.queue_limit.is_some()),
    }
}
