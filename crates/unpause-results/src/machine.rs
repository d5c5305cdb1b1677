//! Properties of this machine: memory and disk, and how much of the memory this process has.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};
use std::time::Instant;

use sysinfo::{MemoryRefreshKind, ProcessRefreshKind, ProcessesToUpdate, RefreshKind, System};

/// Runs and tables may take this share of the memory: the rest is for the report, and for others.
pub const SHARE: f64 = 0.75;
/// A run is stopped when its process has this share of the memory: the kernel would end the process soon.
const FULL: f64 = 0.9;
/// The memory of the process is looked at no more often, in milliseconds.
const LOOK_EVERY_MS: u64 = 100;

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

/// Bytes free on the disk of `directory`; none if that is not known.
pub fn free_disk(directory: &Path) -> Option<u64> {
    fs4::available_space(directory).ok()
}

/// Bytes of the largest block that the allocator has given since [`forget_blocks`].
static LARGEST: AtomicU64 = AtomicU64::new(0);

/// Notes a large block of memory: a table that has it may need twice as much next.
pub fn note_block(bytes: u64) {
    LARGEST.fetch_max(bytes, Ordering::Relaxed);
}

/// Forgets the blocks of runs that are over.
pub fn forget_blocks() {
    LARGEST.store(0, Ordering::Relaxed);
}

/// A process that has used up the memory.
#[derive(Clone, Copy, Debug)]
pub struct Full {
    /// Bytes in use.
    pub used: u64,
    /// Bytes that there are.
    pub of: u64,
}

/// Whether this process has used up the memory, or the addresses that its limits allow (`ulimit -v`), or will as soon as its
/// largest block grows. `is_forced`: only the addresses, since there may be swap. To be asked often: it looks only ten times a
/// second, and answers one of its callers.
pub fn full(is_forced: bool) -> Option<Full> {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    static LOOKED: AtomicU64 = AtomicU64::new(0);
    let now = BEGAN.elapsed().as_millis() as u64;
    let before = LOOKED.load(Ordering::Relaxed);
    let is_ours = || {
        let taken = LOOKED.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed);
        taken.is_ok()
    };
    if now < before + LOOK_EVERY_MS || !is_ours() {
        return None;
    }
    let (resident, addresses) = used()?;
    let largest = LARGEST.load(Ordering::Relaxed);
    let is_full = |used: u64, grows: u64, of: u64| {
        let most = (of as f64 * FULL) as u64;
        (of > 0 && (used > most || used.saturating_add(grows) > of)).then_some(Full { used, of })
    };
    // A block is copied into one twice as large.
    let of_limit = address_limit().and_then(|of| is_full(addresses, 2 * largest, of));
    let of_memory = || is_full(resident, largest, installed());
    of_limit.or_else(|| (!is_forced).then(of_memory)?)
}

/// Addresses that this process may still use (`ulimit -v`).
fn limit() -> Option<u64> {
    let limit = address_limit()?;
    let (_, addresses) = used()?;
    Some(limit.saturating_sub(addresses).max(1))
}

/// Bytes of memory and of addresses that this process has.
fn used() -> Option<(u64, u64)> {
    let mut system = System::new().ok()?;
    let own = sysinfo::get_current_pid().ok()?;
    let what = ProcessRefreshKind::nothing().with_memory().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), false, what);
    let process = system.process(own)?;
    Some((process.memory(), process.virtual_memory()))
}

#[cfg(unix)]
fn address_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::As).current
}

#[cfg(not(unix))]
fn address_limit() -> Option<u64> {
    None
}

/// Memory as it was at the first question: to ask takes a quarter of a millisecond, as long as a small run.
fn installed() -> u64 {
    static INSTALLED: OnceLock<u64> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        let what = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let Ok(system) = System::new_with_specifics(what) else {
            return 0;
        };
        let all = system.total_memory();
        let of_group = system.cgroup_limits().map(|limits| limits.total_memory);
        of_group
            .filter(|bytes| *bytes > 0)
            .map_or(all, |bytes| bytes.min(all))
    })
}
