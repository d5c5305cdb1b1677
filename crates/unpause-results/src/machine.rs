//! Properties of this machine.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Runs and tables may take this share of the memory: the rest is for the report, and for others.
pub const SHARE: f64 = 0.75;

/// Memory in bytes: of the machine, of the control group that this process is in, or as its limits
/// (`ulimit -v`) allow, whichever is least. 0 where it is not known.
pub fn memory() -> u64 {
    match limit() {
        Some(limit) => limit.min(installed()),
        None => installed(),
    }
}

/// The most that one run or one table may take, in bytes; `u64::MAX` where the memory is not known.
pub fn most_at_once() -> u64 {
    match memory() {
        0 => u64::MAX,
        memory => (memory as f64 * SHARE) as u64,
    }
}

/// Addresses that this process may still use (`ulimit -v`).
#[cfg(unix)]
fn limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    let limit = getrlimit(Resource::As).current?;
    let mut system = System::new().ok()?;
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
    let Ok(system) = System::new_with_specifics(what) else {
        return 0;
    };
    let of_group = system.cgroup_limits().map(|limits| limits.total_memory);
    of_group
        .filter(|bytes| *bytes > 0)
        .map_or(system.total_memory(), |bytes| {
            bytes.min(system.total_memory())
        })
}
