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
    /// For this many threads.
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

    /// Says that this thread has come here; it may do something else before it [waits](Barrier::wait) for the others.
    pub fn arrive(&self) -> Arrival {
        let round = self.round.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.waiting.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
        }
        Arrival { round }
    }

    /// Returns when every thread has come to where this one `arrived`. What a thread wrote before that, all see after.
    ///
    /// # Panics
    ///
    /// If another thread has panicked.
    pub fn wait(&self, arrived: Arrival) {
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == arrived.round {
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

/// A thread has come to a [`Barrier`].
#[derive(Debug)]
#[must_use]
pub struct Arrival {
    round: u32,
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
