//! What more cores would give: the work of each part of a fabric in each window, recorded in one run, and from it how
//! long the same windows take on any number of cores.
//!
//! A part is a switch with its hosts, the least that [`unpause_sim::shares`] moves between threads. Work is counted
//! in packet-hops, all at the CPU time that a hop has in a run on one thread. What is not in it: cores that share caches
//! or memory, mail between threads, and what each thread does alike (setting up, reading the traffic stream).

use unpause_sim::config::{Config, NodeKind};
use unpause_sim::fabric::NodeId;
use unpause_sim::post::{Due, InTurn, Post, Worker};

use crate::cases::Case;
use crate::measure;

/// Numbers of cores of the table.
const CORES: [usize; 5] = [2, 4, 8, 16, 64];

/// Packet-hops of each part in each window.
struct Recorded {
    parts: usize,
    /// Window by window.
    hops: Vec<u32>,
}

impl Recorded {
    fn windows(&self) -> impl Iterator<Item = &[u32]> {
        self.hops.chunks(self.parts)
    }

    /// Hops that the slowest of `cores` has, added up over windows, if `core_of` has the parts.
    fn critical(&self, core_of: &[u16], cores: usize) -> u64 {
        let mut busy = vec![0u64; cores];
        let slowest = |window: &[u32]| {
            busy.fill(0);
            for (&hops, &core) in window.iter().zip(core_of) {
                busy[usize::from(core)] += u64::from(hops);
            }
            busy.iter().copied().max().unwrap_or(0)
        };
        self.windows().map(slowest).sum()
    }

    /// Each part on a core, the largest first, always on the core on which it makes windows longer by the least, or
    /// that has least.
    fn by_load(&self, cores: usize) -> Vec<u16> {
        let mut load = vec![0u64; self.parts];
        for window in self.windows() {
            for (all, &hops) in load.iter_mut().zip(window) {
                *all += u64::from(hops);
            }
        }
        let mut order: Vec<usize> = (0..self.parts).collect();
        order.sort_by_key(|&part| (std::cmp::Reverse(load[part]), part));
        let mut busy = vec![Busy::default(); cores];
        for core in &mut busy {
            core.by_window.resize(self.hops.len() / self.parts, 0);
        }
        let mut longest = busy[0].by_window.clone();
        let mut core_of = vec![0; self.parts];
        for part in order {
            let hops = || self.windows().map(|window| window[part]);
            let longer = |core: usize| -> u64 {
                let windows = hops().zip(&busy[core].by_window).zip(&longest);
                let added =
                    windows.map(|((hops, busy), longest)| (hops + busy).saturating_sub(*longest));
                added.map(u64::from).sum()
            };
            let best = (0..cores).min_by_key(|&core| (longer(core), busy[core].all));
            let best = best.unwrap_or(0);
            core_of[part] = best as u16;
            busy[best].all += load[part];
            let windows = hops().zip(&mut busy[best].by_window).zip(&mut longest);
            for ((hops, busy), longest) in windows {
                *busy += hops;
                *longest = (*longest).max(*busy);
            }
        }
        core_of
    }
}

/// What a core has to do.
#[derive(Clone, Default)]
struct Busy {
    all: u64,
    by_window: Vec<u32>,
}

/// Prints what `case` would take on more cores, if a barrier costs `barrier_ns`.
pub fn predict(case: &Case, flows: Option<u64>, barrier_ns: f64) {
    let config = (case.config)(flows.unwrap_or(case.flows));
    let alone = measure::once(case, flows, 1, (false, true));
    let alone_ns = alone.user_s * 1e9;
    let (part_of, switches) = parts(&config);
    let recorded = record(&config, &part_of, switches.len());
    let hops: u64 = recorded.hops.iter().map(|&hops| u64::from(hops)).sum();
    assert_eq!(hops, alone.packet_hops, "the same packets");
    let windows = recorded.hops.len() / recorded.parts;
    println!(
        "{}: {} parts, {windows} windows, {:.1} packet-hops a window, {:.0} ns a hop",
        case.name,
        switches.len(),
        hops as f64 / windows as f64,
        alone_ns / hops as f64
    );
    println!("  cores   as now   by load");
    for cores in CORES {
        let speed_up = |core_of: &[u16]| {
            let share = recorded.critical(core_of, cores) as f64 / hops as f64;
            alone_ns / (alone_ns * share + windows as f64 * barrier_ns)
        };
        let now = unpause_sim::shares(&config, cores).expect("the case can be run");
        let now: Vec<u16> = switches.iter().map(|&node| now[node as usize]).collect();
        let (now, load) = (speed_up(&now), speed_up(&recorded.by_load(cores)));
        println!("  {cores:>5} {now:>8.2} {load:>9.2}");
    }
}

/// The part of each node, and the switch of each part.
fn parts(config: &Config) -> (Vec<u16>, Vec<NodeId>) {
    let fabric = &config.fabric;
    let mut part_of = vec![0; fabric.nodes.len()];
    let mut switches = Vec::new();
    for (node, part) in part_of.iter_mut().enumerate() {
        if fabric.nodes[node] == NodeKind::Switch {
            *part = switches.len() as u16;
            switches.push(node as NodeId);
        }
    }
    for link in &fabric.links {
        for (host, peer) in [(link.a, link.b), (link.b, link.a)] {
            if fabric.nodes[host as usize] == NodeKind::Host {
                part_of[host as usize] = part_of[peer as usize];
            }
        }
    }
    (part_of, switches)
}

/// Runs `config` with a shard for each part.
fn record(config: &Config, part_of: &[u16], parts: usize) -> Recorded {
    assert!(
        config.probes.deadlock.is_none(),
        "no case looks for deadlocks"
    );
    let mut hops = Vec::new();
    let drive = |workers: &mut [Worker<'_>]| {
        let mut post = InTurn::new(parts);
        let mut before = vec![0; parts];
        loop {
            let due = meet(workers, &mut post)?;
            if due.earliest() >= config.stop {
                return Ok(0);
            }
            for (worker, before) in workers.iter_mut().zip(&mut before) {
                worker.window(&due)?;
                let now = worker.packet_hops();
                hops.push((now - *before) as u32);
                *before = now;
            }
        }
    };
    unpause_sim::run_apart(config, part_of, drive).expect("the case can be run");
    Recorded { parts, hops }
}

/// Carries mail; answers when there is something to do.
fn meet(workers: &mut [Worker<'_>], post: &mut InTurn) -> Result<Due, unpause_sim::Error> {
    for worker in &mut *workers {
        worker.send(post);
    }
    let due = post.meet()?.due;
    for worker in workers {
        worker.receive(post);
    }
    Ok(due)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three parts in two windows.
    fn recorded() -> Recorded {
        Recorded {
            parts: 3,
            hops: vec![4, 1, 1, 0, 6, 2],
        }
    }

    #[test]
    fn the_slowest_core_of_each_window_counts() {
        assert_eq!(recorded().critical(&[0, 0, 0], 1), 14);
        assert_eq!(recorded().critical(&[0, 0, 1], 2), 5 + 6);
        assert_eq!(recorded().critical(&[0, 1, 0], 2), 5 + 6);
        assert_eq!(recorded().critical(&[0, 1, 2], 3), 4 + 6);
    }

    #[test]
    fn parts_go_where_least_is() {
        assert_eq!(recorded().by_load(2), [1, 0, 1]);
    }
}
