//! The cost of runs, printed before they start.

use unpause_scenario::{Cost, count, counted, machine, rounded};

use crate::text::{size, time};

/// Runs that take longer are told of without being asked.
const LONG_S: f64 = 60.0;

/// Whether the cost of this many runs is worth a word: time, or more memory than there is.
pub fn is_long(cost: &Cost, runs: usize) -> bool {
    cost.core_s / used(runs, None) as f64 > LONG_S || cost.memory_bytes > machine::most_at_once()
}

/// Cores at work. Threads of one run rarely help a small fabric.
fn used(runs: usize, threads: Option<u16>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = threads.map_or(cores, usize::from).min(cores);
    cores.min(runs).max(1)
}

/// `about 3,100,000 packet-hops, 0.50 s on 2 cores, …`; `threads` as asked for.
pub fn text(cost: &Cost, runs: usize, threads: Option<u16>) -> String {
    let used = used(runs, threads);
    format!(
        "about {} packet-hops of {}: {} on {}, {} of memory; {}, {} on disk",
        count(rounded(cost.packet_hops)),
        counted(rounded(cost.flows) as usize, "flow"),
        time(rounded((cost.core_s * 1e9 / used as f64) as u64) as f64),
        counted(used, "core"),
        size(rounded(cost.memory_bytes)),
        cost.recorded(),
        size(rounded(cost.disk_bytes)),
    )
}
