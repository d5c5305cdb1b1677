//! The cost of runs, printed before they start, and refused if it exceeds the machine.

use std::path::Path;

use unpause_scenario::{Cost, Error, count, counted, machine};

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
        recorded(cost),
        size(rounded(cost.disk_bytes)),
    )
}

/// `300 samples, 20,000 recorded packets and 1,200 rows of causes`; of what there is none nothing is said, but of samples.
fn recorded(cost: &Cost) -> String {
    let samples = cost.port_samples + cost.flow_samples;
    let mut parts = vec![format!("{} samples", count(rounded(samples)))];
    let more = [
        (cost.packets, "recorded packets"),
        (cost.causes, "rows of causes"),
    ];
    for (number, what) in more.into_iter().filter(|(number, _)| *number > 0) {
        parts.push(format!("{} {what}", count(rounded(number))));
    }
    parts.join(", ")
}

/// Two digits: more are not known.
fn rounded(number: u64) -> u64 {
    let unit = 10_u64.pow(number.max(1).ilog10().saturating_sub(1));
    (number + unit / 2) / unit * unit
}

/// Refuses what would take more memory or disk than there is.
pub fn check(cost: &Cost, directory: &Path) -> Result<(), Error> {
    let most = machine::most_at_once();
    let refused = |message: String| {
        Err(Error::Other {
            message,
            help: Some(
                "use fewer samples, recorded packets or flows, a shorter duration, fewer seeds or points; --force runs it anyway"
                    .into(),
            ),
        })
    };
    if cost.memory_bytes > most {
        return refused(format!(
            "this would take about {} of memory ({} flows, {}); three quarters of the memory here are {}",
            size(cost.memory_bytes),
            count(rounded(cost.flows)),
            recorded(cost),
            size(most)
        ));
    }
    match fs4::available_space(directory) {
        Ok(free) if cost.disk_bytes > free => refused(format!(
            "the tables would take about {}; {} has {} free",
            size(cost.disk_bytes),
            directory.display(),
            size(free)
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_than_there_is_is_refused() {
        let cost = Cost {
            memory_bytes: 1 << 60,
            packets: 1_234_567,
            ..Cost::default()
        };
        let said = check(&cost, Path::new(".")).unwrap_err().explain();
        assert!(
            said.contains("0 samples, 1,200,000 recorded packets); three quarters")
                && said.contains("--force"),
            "{said}"
        );
        let cost = Cost {
            disk_bytes: 1 << 60,
            ..Cost::default()
        };
        let said = check(&cost, Path::new(".")).unwrap_err().explain();
        assert!(said.contains("free"), "{said}");
        assert!(check(&Cost::default(), Path::new(".")).is_ok());
        assert_eq!(rounded(123_456), 120_000);
    }
}
