//! A barrier that costs about a microsecond where each thread has a core, and no core where it has none.

use std::thread;

use crate::engine::sync::{
    AtomicBool, AtomicU32, Condvar, Mutex, Ordering, fence, lock, sleep, spin_loop, yield_now,
};

/// Spins, some microseconds of them, before it lets other threads have the core.
const SPINS: u32 = 300;
/// Times that it lets them have it before it sleeps: others use the cores then, and to ask again and again would only
/// take theirs from them.
const YIELDS: u32 = 30;

/// Lets threads wait for one another, again and again.
#[derive(Debug)]
pub struct Barrier {
    threads: u32,
    spins: u32,
    yields: u32,
    waiting: AtomicU32,
    round: AtomicU32,
    broken: AtomicBool,
    /// Threads that sleep, or are about to.
    sleepers: AtomicU32,
    lock: Mutex<()>,
    woken: Condvar,
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
            yields: if cfg!(loom) { 0 } else { YIELDS },
            waiting: AtomicU32::new(0),
            round: AtomicU32::new(0),
            broken: AtomicBool::new(false),
            sleepers: AtomicU32::new(0),
            lock: Mutex::new(()),
            woken: Condvar::new(),
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
            self.wake();
        }
        Arrival { round }
    }

    /// Returns when every thread has come to where this one `arrived`. What a thread wrote before that, all see after.
    ///
    /// # Panics
    ///
    /// If another thread has panicked.
    pub fn wait(&self, arrived: Arrival) {
        let mut tries = 0;
        while self.must_wait(&arrived) {
            tries += 1;
            if tries < self.spins {
                spin_loop();
            } else if tries < self.spins + self.yields {
                yield_now();
            } else {
                self.sleep(&arrived);
            }
        }
    }

    fn must_wait(&self, arrived: &Arrival) -> bool {
        let broken = self.broken.load(Ordering::Relaxed);
        assert!(!broken, "another thread of the run has panicked");
        self.round.load(Ordering::Acquire) == arrived.round
    }

    /// Sleeps until [`Self::wake`].
    fn sleep(&self, arrived: &Arrival) {
        let mut guard = lock(&self.lock);
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Either this thread sees the new round, or who began it sees this sleeper.
        fence(Ordering::SeqCst);
        while self.round.load(Ordering::Acquire) == arrived.round
            && !self.broken.load(Ordering::Relaxed)
        {
            guard = sleep(&self.woken, guard);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes those that sleep, after a change of what they wait for.
    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            // Whoever counts as a sleeper, but does not sleep yet, holds the lock.
            drop(lock(&self.lock));
            self.woken.notify_all();
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
            self.0.wake();
        }
    }
}
