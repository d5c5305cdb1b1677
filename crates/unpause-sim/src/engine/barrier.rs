//! A barrier that costs about a microsecond.

use std::thread;

use crate::engine::sync::{AtomicBool, AtomicU32, Ordering, spin_loop, yield_now};

/// Spins, some microseconds of them, before it lets other threads have the core.
const SPINS: u32 = 300;

/// Lets threads wait for one another, again and again.
#[derive(Debug)]
pub struct Barrier {
    threads: u32,
    spins: u32,
    waiting: AtomicU32,
    round: AtomicU32,
    broken: AtomicBool,
}

impl Barrier {
    /// For so many threads.
    pub fn new(threads: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads: threads as u32,
            spins: if threads > cores || cfg!(loom) {
                0
            } else {
                SPINS
            },
            waiting: AtomicU32::new(0),
            round: AtomicU32::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// To be kept by each thread: if it panics, those that wait for it panic too.
    pub fn member(&self) -> Member<'_> {
        Member(self)
    }

    /// Returns when every thread has come here. What a thread wrote before, all see after.
    ///
    /// # Panics
    ///
    /// If another thread has panicked.
    pub fn wait(&self) {
        if self.threads == 1 {
            return;
        }
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            let broken = self.broken.load(Ordering::Relaxed);
            assert!(!broken, "another thread of the run has panicked");
            spins += 1;
            if spins < self.spins {
                spin_loop();
            } else {
                yield_now();
            }
        }
    }
}

/// A thread that comes to a [`Barrier`].
#[derive(Debug)]
pub struct Member<'a>(&'a Barrier);

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}
