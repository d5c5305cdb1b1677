//! What the threads of a run tell one another between windows.

use unpause_protocols::units::Time;

use crate::engine::barrier::{Barrier, Member};
use crate::engine::deadlock::Blocked;
use crate::engine::mail::Mail;
use crate::engine::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};

/// What the threads of a run share. Windows are numbered from 0; threads, too.
pub struct Exchange {
    barrier: Barrier,
    /// One is written in a window while the other, written in the window before, is read.
    sides: [Side; 2],
    /// By thread. Read after a barrier of its own; there is one more before it is written again.
    blocked: Vec<Mutex<Vec<Blocked>>>,
}

struct Side {
    /// When each thread next has something to do, what it has mailed included.
    next: Vec<AtomicU64>,
    /// From each thread to each thread.
    mail: Vec<Vec<Mutex<Mail>>>,
    /// The watcher has ended the run.
    interrupted: AtomicBool,
}

impl Exchange {
    /// For so many threads, each of which does all of this in the same order.
    pub fn new(threads: usize) -> Self {
        let side = || Side {
            next: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            mail: (0..threads)
                .map(|_| (0..threads).map(|_| Mutex::new(Mail::default())).collect())
                .collect(),
            interrupted: AtomicBool::new(false),
        };
        Self {
            barrier: Barrier::new(threads),
            sides: [side(), side()],
            blocked: (0..threads).map(|_| Mutex::new(Vec::new())).collect(),
        }
    }

    /// To be kept by each thread: if it panics, those that wait for it panic too.
    pub fn member(&self) -> Member<'_> {
        self.barrier.member()
    }

    /// Posts what `thread` has for the others, says that it next has something to do at `own`, and waits for
    /// all of them before `window`. Answers when the first of them has something to do, mail included;
    /// `None` if the run has been ended.
    pub fn meet(
        &self,
        window: u64,
        thread: usize,
        own: Time,
        outboxes: &mut [Mail],
    ) -> Option<Time> {
        let side = self.side(window);
        let mut earliest = own;
        for (mail, to) in outboxes.iter_mut().zip(&side.mail[thread]) {
            if !mail.is_empty() {
                earliest = earliest.min(mail.earliest());
                std::mem::swap(mail, &mut lock(to));
            }
        }
        side.next[thread].store(earliest.as_ps(), Ordering::Relaxed);
        self.barrier.wait();
        if side.interrupted.load(Ordering::Relaxed) {
            return None;
        }
        let next = side.next.iter().map(|next| next.load(Ordering::Relaxed));
        Some(Time::from_ps(next.min().unwrap_or(u64::MAX)))
    }

    /// Hands over what all have posted to `thread` before `window`. It must be left empty.
    pub fn deliver(&self, window: u64, thread: usize, mut hand_over: impl FnMut(&mut Mail)) {
        for from in &self.side(window).mail {
            hand_over(&mut lock(&from[thread]));
        }
    }

    /// Ends the run for all threads before `window`, for which the caller has not yet met the others.
    pub fn interrupt(&self, window: u64) {
        let side = self.side(window);
        side.interrupted.store(true, Ordering::Relaxed);
    }

    /// Tells which queues are blocked at `thread`, and answers those of all threads.
    pub fn gather(&self, thread: usize, own: Vec<Blocked>) -> Vec<Blocked> {
        *lock(&self.blocked[thread]) = own;
        self.barrier.wait();
        let all = self.blocked.iter();
        all.flat_map(|of_thread| lock(of_thread).clone()).collect()
    }

    fn side(&self, window: u64) -> &Side {
        &self.sides[window as usize % 2]
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
    use crate::packet::{Kind, Packet};

    const THREADS: usize = 2;

    /// Runs `body` on two threads, numbered from 0, in every way that so many preemptions allow.
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
            barrier.wait();
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

    /// Thread t mails the other a packet for 100 (window + 1) + t and has something to do of its own at
    /// ten times that. Each window hears the earliest of both, and has the other's mail, once. `ends`:
    /// thread 0 ends the run before this window.
    fn windows(exchange: &Exchange, thread: usize, ends: Option<u64>) {
        let _member = exchange.member();
        let mut outboxes = [Mail::default(), Mail::default()];
        let other = 1 - thread;
        for window in 0..3 {
            let due = 100 * (window + 1);
            let mail = packet(due + thread as u64);
            outboxes[other].packets.push((0, mail));
            let own = Time::from_ps(10 * due);
            let next = exchange.meet(window, thread, own, &mut outboxes);
            if ends == Some(window) {
                assert_eq!(next, None);
                return;
            }
            assert_eq!(next, Some(Time::from_ps(due)));
            let mut came = Vec::new();
            exchange.deliver(window, thread, |mail| {
                came.extend(mail.packets.drain(..).map(|(_, packet)| packet.time));
            });
            assert_eq!(came, [Time::from_ps(due + other as u64)]);
            if thread == 0 && ends == Some(window + 1) {
                exchange.interrupt(window + 1);
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

    fn blocked(node: u32) -> Blocked {
        Blocked {
            node,
            port: 0,
            priority: 0,
            since: Time::ZERO,
            ingress: Vec::new(),
        }
    }

    #[test]
    fn loom_both_threads_gather_the_same() {
        explore(Some(3), exchange, |shared, thread| {
            let mut outboxes = [Mail::default(), Mail::default()];
            for window in 0..2 {
                shared.meet(window, thread, Time::ZERO, &mut outboxes);
                let first = 10 * window as u32;
                let all = shared.gather(thread, vec![blocked(first + thread as u32)]);
                let nodes: Vec<u32> = all.iter().map(|it| it.node).collect();
                assert_eq!(nodes, [first, first + 1]);
            }
        });
    }
}
