//! The gain from more cores: the work of each part of a fabric in each window, recorded in one run, and from it how
//! long the same windows take on any number of cores.
//!
//! A part is a switch with its hosts, the least that [`unpause_sim::shards_of_nodes`] moves between threads. Work is counted
//! in packet-hops, all at the CPU time that a hop has in a run on one thread. While a core waits for others, it begins
//! with those nodes of the next window that have no links to other cores. What is not in it: cores that share caches
//! or memory, batches between threads, and what each thread does alike (setting up, reading the traffic stream).

use unpause_sim::config::{Config, Link, NodeKind};
use unpause_sim::exchange::{Exchange, NextEvents, Sequential, Worker};
use unpause_sim::fabric::NodeId;

use crate::cases::Case;
use crate::measure;

/// Numbers of cores of the table.
const CORES: [usize; 5] = [2, 4, 8, 16, 64];

/// Packet-hops of a part in a window.
#[derive(Clone, Copy)]
struct Hops {
    all: u32,
    /// Of them those of hosts that need not wait for other parts.
    ahead: u32,
}

/// The work of the parts of a fabric.
struct Recorded {
    parts: usize,
    /// Window by window.
    hops: Vec<Hops>,
    /// Parts whose switches have a link between them.
    links: Vec<(u16, u16)>,
}

impl Recorded {
    fn windows(&self) -> impl Iterator<Item = &[Hops]> {
        self.hops.chunks(self.parts)
    }

    /// How long `cores` take for all windows, counted in hops, if `core_of` has the parts, and a barrier takes as long as so
    /// many hops.
    fn takes(&self, core_of: &[u16], cores: usize, barrier: f64) -> f64 {
        let mut inner = vec![true; self.parts];
        for &(a, b) in &self.links {
            let (a, b) = (usize::from(a), usize::from(b));
            if core_of[a] != core_of[b] {
                (inner[a], inner[b]) = (false, false);
            }
        }
        // When each core has come to the barrier behind a window, and when all may go on.
        let mut arrived = vec![0.0; cores];
        let mut go_on = 0.0;
        let mut work = vec![(0.0, 0.0); cores];
        for window in self.windows() {
            work.fill((0.0, 0.0));
            for ((hops, &core), &inner) in window.iter().zip(core_of).zip(&inner) {
                let ahead = if inner { hops.all } else { hops.ahead };
                let (before, behind) = &mut work[usize::from(core)];
                *before += f64::from(ahead);
                *behind += f64::from(hops.all - ahead);
            }
            for (arrived, (before, behind)) in arrived.iter_mut().zip(&work) {
                *arrived = f64::max(*arrived + before, go_on) + behind;
            }
            go_on = arrived.iter().copied().fold(0.0, f64::max) + barrier;
        }
        go_on
    }

    /// Each part on a core, the largest first, always on the core on which it makes windows longer by the least, or
    /// that has least.
    fn by_load(&self, cores: usize) -> Vec<u16> {
        let mut load = vec![0u64; self.parts];
        for window in self.windows() {
            for (all, hops) in load.iter_mut().zip(window) {
                *all += u64::from(hops.all);
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
            let hops = || self.windows().map(|window| window[part].all);
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

/// The work of a core.
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
    let hops: u64 = recorded.hops.iter().map(|hops| u64::from(hops.all)).sum();
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
            let barrier = barrier_ns / (alone_ns / hops as f64);
            hops as f64 / recorded.takes(core_of, cores, barrier)
        };
        let now = unpause_sim::shards_of_nodes(&config, cores).expect("the case can be run");
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
        let mut exchange = Sequential::new(parts);
        let mut before = vec![0; parts];
        let mut ahead = vec![0; parts];
        loop {
            let due = synchronize(workers, &mut exchange, &mut ahead)?;
            if due.earliest() >= config.stop {
                return Ok(0);
            }
            for ((worker, before), &ahead) in workers.iter_mut().zip(&mut before).zip(&ahead) {
                worker.window(&due)?;
                let now = worker.packet_hops();
                let all = (now - *before) as u32;
                hops.push(Hops { all, ahead });
                *before = now;
            }
        }
    };
    unpause_sim::run_unsynchronized(config, part_of, drive).expect("the case can be run");
    let links = config.fabric.links.iter();
    let parts_of = |link: &Link| (part_of[link.a as usize], part_of[link.b as usize]);
    let links = links.map(parts_of).filter(|(a, b)| a != b).collect();
    Recorded { parts, hops, links }
}

/// Exchanges batches; returns when there is something to do. Says in `ahead` how many packets parts send meanwhile.
fn synchronize(
    workers: &mut [Worker<'_>],
    exchange: &mut Sequential,
    ahead: &mut [u32],
) -> Result<NextEvents, unpause_sim::Error> {
    for worker in &mut *workers {
        worker.send(exchange);
    }
    for (worker, ahead) in workers.iter_mut().zip(ahead) {
        let before = worker.packet_hops();
        worker.run_ahead();
        *ahead = (worker.packet_hops() - before) as u32;
    }
    let due = exchange.synchronize()?.due;
    for worker in workers {
        worker.receive(exchange);
    }
    Ok(due)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three parts in two windows, of which the first two are linked.
    fn recorded(ahead: [u32; 6]) -> Recorded {
        let all = [4, 1, 1, 0, 6, 2];
        let hops = std::iter::zip(all, ahead).map(|(all, ahead)| Hops { all, ahead });
        Recorded {
            parts: 3,
            hops: hops.collect(),
            links: vec![(0, 1)],
        }
    }

    #[test]
    fn the_slowest_core_of_each_window_counts() {
        let takes = |core_of: [u16; 3], cores| recorded([0; 6]).takes(&core_of, cores, 0.0);
        assert_eq!(takes([0, 0, 0], 1), 14.0);
        assert_eq!(takes([0, 1, 0], 2), 5.0 + 6.0);
        assert_eq!(takes([0, 1, 2], 3), 4.0 + 6.0);
        assert_eq!(recorded([0; 6]).takes(&[0, 1, 2], 3, 0.5), 11.0);
    }

    #[test]
    fn what_needs_no_other_core_does_not_wait() {
        // Each core has only what is linked with itself.
        assert_eq!(recorded([0; 6]).takes(&[0, 0, 1], 2, 0.0), 11.0);
        // The hosts of part 1 have sent two of its six packets, and then three, when part 0 comes to the barrier.
        let takes = |ahead| recorded([0, 0, 0, 0, ahead, 0]).takes(&[0, 1, 2], 3, 0.0);
        assert_eq!([takes(2), takes(3), takes(4)], [8.0, 7.0, 7.0]);
    }

    #[test]
    fn parts_go_where_least_is() {
        assert_eq!(recorded([0; 6]).by_load(2), [1, 0, 1]);
    }
}
