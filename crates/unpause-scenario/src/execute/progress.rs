//! Who watches runs.

use unpause_protocols::units::Time;

/// Watches the runs. Methods are called from several threads.
pub trait Progress {
    /// A run begins: its number from 0, how many there are, and what it is.
    fn started(&self, run: usize, runs: usize, label: &str);
    /// A run has come to `now` on its way to `stop`.
    fn advanced(&self, run: usize, now: Time, stop: Time, packet_hops: u64);
    /// A run is over.
    fn finished(&self, run: usize);
    /// True ends all runs.
    fn interrupted(&self) -> bool;
}

/// Nobody watches.
pub struct NoProgress;

impl Progress for NoProgress {
    fn started(&self, _run: usize, _runs: usize, _label: &str) {}
    fn advanced(&self, _run: usize, _now: Time, _stop: Time, _packet_hops: u64) {}
    fn finished(&self, _run: usize) {}
    fn interrupted(&self) -> bool {
        false
    }
}
