//! Exchange between shards that have a thread each.

use unpause_protocols::units::Time;

use crate::Error;
use crate::engine::barrier::{Arrival, Barrier, Member as AtBarrier};
use crate::engine::batch::Batch;
use crate::engine::exchange::{Exchange, Status};
use crate::engine::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use crate::plan::schedule::{BOTH, NextEvents};

/// The exchange that the threads of a run share. Threads and rounds are numbered from 0.
pub struct ThreadExchange {
    barrier: Barrier,
    /// One is written in a round while the other, written in the round before, is read.
    sides: [Side; 2],
}

struct Side {
    /// Of each thread.
    statuses: Vec<SharedStatus>,
    /// From each thread to each thread.
    batches: Vec<Vec<Mutex<Batch>>>,
    /// The watcher has ended the run.
    interrupted: AtomicBool,
}

/// A [`Status`] that other threads read.
struct SharedStatus {
    due: [AtomicU64; 2],
    packet_hops: AtomicU64,
    values: AtomicU64,
    pattern: AtomicU64,
    step: AtomicU64,
}

impl SharedStatus {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            due: BOTH.map(|_| zero()),
            packet_hops: zero(),
            values: zero(),
            pattern: zero(),
            step: zero(),
        }
    }

    fn write(&self, status: &Status) {
        for half in BOTH {
            self.due[half].store(status.due.of(half).as_ps(), Ordering::Relaxed);
        }
        self.packet_hops
            .store(status.packet_hops, Ordering::Relaxed);
        self.values.store(status.values, Ordering::Relaxed);
        self.pattern.store(status.pattern, Ordering::Relaxed);
        self.step.store(status.step, Ordering::Relaxed);
    }

    fn read(&self) -> Status {
        let mut due = NextEvents::NEVER;
        for half in BOTH {
            due.set(half, Time::from_ps(self.due[half].load(Ordering::Relaxed)));
        }
        Status {
            due,
            packet_hops: self.packet_hops.load(Ordering::Relaxed),
            values: self.values.load(Ordering::Relaxed),
            pattern: self.pattern.load(Ordering::Relaxed),
            step: self.step.load(Ordering::Relaxed),
        }
    }
}

impl ThreadExchange {
    /// For this many threads.
    pub fn new(threads: usize) -> Self {
        let side = || Side {
            statuses: (0..threads).map(|_| SharedStatus::new()).collect(),
            batches: (0..threads)
                .map(|_| (0..threads).map(|_| Mutex::new(Batch::default())).collect())
                .collect(),
            interrupted: AtomicBool::new(false),
        };
        Self {
            barrier: Barrier::new(threads),
            sides: [side(), side()],
        }
    }

    /// The part of a thread; all do the same in the same order. If one panics, those that wait for it panic
    /// too.
    pub fn member(&self) -> Member<'_> {
        Member {
            exchange: self,
            _at_barrier: self.barrier.member(),
            arrived: None,
            round: 0,
        }
    }

    fn side(&self, round: u64) -> &Side {
        &self.sides[round as usize % 2]
    }
}

/// A thread's part in a [`ThreadExchange`].
pub struct Member<'e> {
    exchange: &'e ThreadExchange,
    _at_barrier: AtBarrier<'e>,
    /// It has sent what it has for this round.
    arrived: Option<Arrival>,
    /// The round that is next.
    round: u64,
}

impl Exchange for Member<'_> {
    fn send(&mut self, shard: usize, status: Status, outboxes: &mut [Batch]) {
        let side = self.exchange.side(self.round);
        for (batch, to) in outboxes.iter_mut().zip(&side.batches[shard]) {
            if !batch.is_empty() {
                std::mem::swap(batch, &mut lock(to));
            }
        }
        side.statuses[shard].write(&status);
        self.arrived = Some(self.exchange.barrier.arrive());
    }

    fn synchronize(&mut self) -> Result<Status, Error> {
        let side = self.exchange.side(self.round);
        let arrived = self
            .arrived
            .take()
            .expect("a thread sends before it synchronizes");
        self.exchange.barrier.wait(arrived);
        self.round += 1;
        if side.interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let statuses = side.statuses.iter().map(SharedStatus::read);
        Ok(statuses.fold(Status::IDLE, Status::with))
    }

    fn deliver(&mut self, shard: usize, mut take: impl FnMut(&mut Batch)) {
        for from in &self.exchange.side(self.round - 1).batches {
            take(&mut lock(&from[shard]));
        }
    }

    fn interrupt(&mut self) {
        let side = self.exchange.side(self.round);
        side.interrupted.store(true, Ordering::Relaxed);
    }
}

/// Every interleaving of two threads, with the memory model of the language. Three that spin have too
/// many.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::fabric::packet::{Kind, Packet};

    const THREADS: usize = 2;

    /// Runs `body` on two threads, numbered from 0, in every way that this many preemptions allow.
    fn explore<S: Send + Sync + 'static>(
        preemptions: usize,
        shared: fn() -> S,
        body: impl Fn(&S, usize) + Copy + Send + Sync + 'static,
    ) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let shared = Arc::new(shared());
            let others = Arc::clone(&shared);
            let other = thread::spawn(move || body(&others, 1));
            body(&shared, 0);
            other.join().expect("no thread panics");
        });
    }

    /// Places that are written without any synchronisation but the barrier's: loom finds races on them.
    struct Places(Barrier, [Vec<UnsafeCell<u64>>; 2]);

    // SAFETY: loom checks each access.
    unsafe impl Sync for Places {}

    fn places() -> Places {
        let side = || (0..THREADS).map(|_| UnsafeCell::new(0)).collect();
        Places(Barrier::new(THREADS), [side(), side()])
    }

    /// Each thread writes its place of one side, and reads all of them after the barrier.
    fn rounds(places: &Places, thread: usize, rounds: u64) {
        let Places(barrier, sides) = places;
        for round in 0..rounds {
            let side = &sides[round as usize % 2];
            // SAFETY: loom checks each access.
            side[thread].with_mut(|place| unsafe { *place = round + 1 });
            barrier.wait(barrier.arrive());
            for place in side {
                // SAFETY: loom checks each access.
                assert_eq!(place.with(|place| unsafe { *place }), round + 1);
            }
        }
    }

    #[test]
    fn loom_a_barrier_orders_what_threads_write() {
        explore(3, places, |shared, thread| rounds(shared, thread, 3));
    }

    fn packet(at: u64) -> Packet {
        Packet {
            time: Time::from_ps(at),
            ..Packet::new(Kind::Ack, 0, 0, 64)
        }
    }

    fn exchange() -> ThreadExchange {
        ThreadExchange::new(THREADS)
    }

    /// Thread t sends the other a packet for 100 (window + 1) + t and has something to do in half t at
    /// 100 (window + 1). Each window learns of both, and has the other's batch, once. `ends`:
    /// thread 0 ends the run before this window.
    fn windows(exchange: &ThreadExchange, thread: usize, ends: Option<u64>) {
        let mut member = exchange.member();
        let mut outboxes = [Batch::default(), Batch::default()];
        let other = 1 - thread;
        for window in 0..3 {
            let due = 100 * (window + 1);
            let sent = packet(due + thread as u64);
            outboxes[other].packets.push((0, sent));
            let mut own = NextEvents::NEVER;
            own.add(thread, Time::from_ps(due));
            member.send(thread, Status::due(own), &mut outboxes);
            let next = member.synchronize();
            if ends == Some(window) {
                assert_eq!(next, Err(Error::Interrupted));
                return;
            }
            assert_eq!(next, Ok(Status::due(NextEvents::both(Time::from_ps(due)))));
            let mut came = Vec::new();
            member.deliver(thread, |batch| {
                came.extend(batch.packets.drain(..).map(|(_, packet)| packet.time));
            });
            assert_eq!(came, [Time::from_ps(due + other as u64)]);
            if thread == 0 && ends == Some(window + 1) {
                member.interrupt();
            }
        }
    }

    #[test]
    fn loom_a_batch_of_a_window_is_there_in_the_next_once() {
        explore(3, exchange, |shared, thread| {
            windows(shared, thread, None);
        });
    }

    #[test]
    fn loom_both_threads_end_before_the_same_window() {
        explore(3, exchange, |shared, thread| {
            windows(shared, thread, Some(1));
        });
    }
}
