//! What runs take, said before they start, and refused where it is more than there is.

use std::path::Path;

use sysinfo::{MemoryRefreshKind, RefreshKind, System};
use unpause_scenario::{Cost, Error};

use crate::text::{count, size, time};

/// Runs may take so much of the memory: the rest is for the report, and for others.
const SHARE: f64 = 0.75;

/// `about 3,100,000 packet-hops, 0.50 s on 2 cores, …`; `threads` as asked for.
pub fn text(cost: &Cost, runs: usize, threads: Option<u16>) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cores = threads.map_or(cores, usize::from).min(cores);
    // Threads of one run rarely help a small fabric.
    let used = cores.min(runs).max(1);
    let plural = if used == 1 { "" } else { "s" };
    format!(
        "about {} packet-hops of {} flows: {} on {used} core{plural}, {} of memory; {}, {} on disk",
        count(rounded(cost.packet_hops)),
        count(rounded(cost.flows)),
        time(rounded((cost.core_s * 1e9 / used as f64) as u64) as f64),
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
    let memory = memory();
    let most = (memory as f64 * SHARE) as u64;
    let refused = |message: String| {
        Err(Error::Other {
            message,
            help: Some(
                "fewer samples, recorded packets or flows, a shorter duration, fewer seeds or points; \
                 --force runs it all the same"
                    .into(),
            ),
        })
    };
    if memory > 0 && cost.memory_bytes > most {
        return refused(format!(
            "this would take about {} of memory ({} flows, {}); three quarters of what is here are {}",
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

/// Memory of the machine, of the control group that this process is in, or as its limits allow.
fn memory() -> u64 {
    match limit() {
        Some(limit) => limit.min(installed()),
        None => installed(),
    }
}

/// Addresses that this process may still use (`ulimit -v`).
#[cfg(unix)]
fn limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    let limit = getrlimit(Resource::As).current?;
    let mut system = System::new();
    let own = sysinfo::get_current_pid().ok()?;
    system.refresh_processes(sysinfo::ProcessesToUpdate::Some(&[own]), false);
    let used = system
        .process(own)
        .map_or(0, sysinfo::Process::virtual_memory);
    Some(limit.saturating_sub(used).max(1))
}

#[cfg(not(unix))]
fn limit() -> Option<u64> {
    None
}

fn installed() -> u64 {
    let what = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(what);
    let of_group = system.cgroup_limits().map(|limits| limits.total_memory);
    of_group
        .filter(|bytes| *bytes > 0)
        .map_or(system.total_memory(), |bytes| {
            bytes.min(system.total_memory())
        })
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
