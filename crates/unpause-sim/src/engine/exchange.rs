//! Carries the mail of shards that have a thread each.

use unpause_protocols::units::Time;

use crate::Error;
use crate::engine::barrier::{Arrival, Barrier, Member as AtBarrier};
use crate::engine::mail::Mail;
use crate::engine::post::{Post, Status};
use crate::engine::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use crate::plan::turns::{BOTH, Due};

/// What the threads of a run share. Threads are numbered from 0; rounds of mail, too.
pub struct Exchange {
    barrier: Barrier,
    /// One is written in a round while the other, written in the round before, is read.
    sides: [Side; 2],
}

struct Side {
    /// What each thread tells.
    told: Vec<Told>,
    /// From each thread to each thread.
    mail: Vec<Vec<Mutex<Mail>>>,
    /// The watcher has ended the run.
    interrupted: AtomicBool,
}

/// A [`Status`].
struct Told {
    due: [AtomicU64; 2],
    packet_hops: AtomicU64,
    values: AtomicU64,
    pattern: AtomicU64,
    step: AtomicU64,
}

impl Told {
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
        let mut due = Due::NEVER;
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

impl Exchange {
    /// For this many threads.
    pub fn new(threads: usize) -> Self {
        let side = || Side {
            told: (0..threads).map(|_| Told::new()).collect(),
            mail: (0..threads)
                .map(|_| (0..threads).map(|_| Mutex::new(Mail::default())).collect())
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

/// A thread's part in an [`Exchange`].
pub struct Member<'e> {
    exchange: &'e Exchange,
    _at_barrier: AtBarrier<'e>,
    /// It has sent what it has for this round.
    arrived: Option<Arrival>,
    /// The round that is next.
    round: u64,
}

impl Post for Member<'_> {
    fn send(&mut self, shard: usize, status: Status, outboxes: &mut [Mail]) {
        let side = self.exchange.side(self.round);
        for (mail, to) in outboxes.iter_mut().zip(&side.mail[shard]) {
            if !mail.is_empty() {
                std::mem::swap(mail, &mut lock(to));
            }
        }
        side.told[shard].write(&status);
        self.arrived = Some(self.exchange.barrier.arrive());
    }

    fn meet(&mut self) -> Result<Status, Error> {
        let side = self.exchange.side(self.round);
        let arrived = self.arrived.take().expect("a thread sends before it meets");
        self.exchange.barrier.wait(arrived);
        self.round += 1;
        if side.interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let told = side.told.iter().map(Told::read);
        Ok(told.fold(Status::IDLE, Status::with))
    }

    fn deliver(&mut self, shard: usize, mut hand_over: impl FnMut(&mut Mail)) {
        for from in &self.exchange.side(self.round - 1).mail {
            hand_over(&mut lock(&from[shard]));
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
        preemptions: Option<usize>,
        shared: fn() -> S,
        body: impl Fn(&S, usize) + Copy + Send + Sync + 'static,
    ) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = preemptions;
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
        explore(None, places, |shared, thread| rounds(shared, thread, 3));
    }

    fn packet(at: u64) -> Packet {
        Packet {
            time: Time::from_ps(at),
            ..Packet::new(Kind::Ack, 0, 0, 64)
        }
    }

    fn exchange() -> Exchange {
        Exchange::new(THREADS)
    }

    /// Thread t mails the other a packet for 100 (window + 1) + t and has something to do in half t at
    /// 100 (window + 1). Each window learns of both, and has the other's mail, once. `ends`:
    /// thread 0 ends the run before this window.
    fn windows(exchange: &Exchange, thread: usize, ends: Option<u64>) {
        let mut member = exchange.member();
        let mut outboxes = [Mail::default(), Mail::default()];
        let other = 1 - thread;
        for window in 0..3 {
            let due = 100 * (window + 1);
            let mail = packet(due + thread as u64);
            outboxes[other].packets.push((0, mail));
            let mut own = Due::NEVER;
            own.add(thread, Time::from_ps(due));
            member.send(thread, Status::due(own), &mut outboxes);
            let next = member.meet();
            if ends == Some(window) {
                assert_eq!(next, Err(Error::Interrupted));
                return;
            }
            assert_eq!(next, Ok(Status::due(Due::both(Time::from_ps(due)))));
            let mut came = Vec::new();
            member.deliver(thread, |mail| {
                came.extend(mail.packets.drain(..).map(|(_, packet)| packet.time));
            });
            assert_eq!(came, [Time::from_ps(due + other as u64)]);
            if thread == 0 && ends == Some(window + 1) {
                member.interrupt();
            }
        }
    }

    #[test]
    fn loom_mail_of_a_window_is_there_in_the_next_once() {
        explore(Some(3), exchange, |shared, thread| {
            windows(shared, thread, None);
        });
    }

    #[test]
    fn loom_both_threads_end_before_the_same_window() {
        explore(Some(3), exchange, |shared, thread| {
            windows(shared, thread, Some(1));
        });
    }
}
