//! CoDel as a marker.
//!
//! # What it does
//!
//! Once every packet has waited longer than a target for a whole interval, marks single departing
//! packets, the k-th `interval / sqrt(k)` before the next, until one has waited less.
//!
//! # Source
//!
//! K. Nichols, V. Jacobson, RFC 8289, with marks in place of drops as in Linux and as in the ECN#
//! authors' ns-3 code (snowzjx/ns3-ecn-sharp).
//!
//! # Parameters
//!
//! | name | unit | default | `simulation` | origin |
//! |---|---|---|---|---|
//! | `target` | time | 85 us | 10 us | ECN# paper: testbed, simulation |
//! | `interval` | time | 200 us | 240 us | ECN# paper: testbed, simulation |
//! | `spared_bytes` | bytes | 1500 | same | the authors' code: one MTU |
//! | `clock_shift` | - | 10 | same | Linux and ns-3: a tick is 1024 ns |
//!
//! # Departures
//!
//! - The square root is exact, rounded down to a tick; Linux approximates it by one Newton step with 16
//!   bits.
//! - Ticks are 64 bits wide and do not wrap.
//! - Linux and ns-3 forget everything when they find the queue empty. Here nothing asks an empty queue;
//!   but the next packet then does not wait, which has the same effect.

use rand_core::Rng;

use super::ecn_sharp::over_square_root;
use super::{Mechanism, Packet, Queue, Verdict};
use crate::state_visitor::Show;
use crate::units::Time;

/// Parameters of CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The waiting time that a queue may keep for good.
    pub target: Time,
    /// How long it may exceed the target; the distance of the first two marks.
    pub interval: Time,
    /// A packet that leaves fewer bytes behind counts as below the target.
    pub spared_bytes: u64,
    /// A tick of the clock is 2 to the power of this nanoseconds; all times are rounded down to ticks.
    pub clock_shift: u8,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            target: Time::from_us(85),
            interval: Time::from_us(200),
            spared_bytes: 1500,
            clock_shift: 10,
        }
    }
}

impl Params {
    /// For base RTTs from 80 to 240 us.
    pub fn simulation() -> Self {
        Self {
            target: Time::from_us(10),
            interval: Time::from_us(240),
            ..Self::default()
        }
    }
}

/// State of CoDel. Times are in ticks.
#[derive(Clone, Debug, Show)]
pub struct Codel {
    #[show(skip)]
    target: u64,
    #[show(skip)]
    interval: u64,
    #[show(skip)]
    spared_bytes: u64,
    #[show(skip)]
    clock_shift: u8,
    #[show(refuse_if = *marking)]
    marking: bool,
    /// From then on the queue has been above the target for an interval; `None` while it is not above.
    #[show(refuse_if = patience.is_some())]
    patience: Option<u64>,
    #[show(skip = "of an episode")]
    next_mark: u64,
    /// Marks of this episode, or where the rate of the one before left off.
    #[show(skip = "of an episode")]
    count: u32,
    /// `count` at the start of this episode.
    #[show(skip = "of an episode")]
    count_at_start: u32,
}

impl Codel {
    /// A queue that has not been seen above the target.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        let clock_shift = params.clock_shift.min(63);
        Self {
            target: ticks(params.target, clock_shift),
            interval: ticks(params.interval, clock_shift),
            spared_bytes: params.spared_bytes,
            clock_shift,
            marking: false,
            patience: None,
            next_mark: 0,
            count: 0,
            count_at_start: 0,
        }
    }

    /// True between the first mark of an episode and the packet that ends it.
    pub fn is_marking(&self) -> bool {
        self.marking
    }

    /// True when the queue has been above the target for longer than the interval.
    fn detect(&mut self, now: u64, wait: u64, left_behind: u64) -> bool {
        if wait < self.target || left_behind < self.spared_bytes {
            self.patience = None;
            return false;
        }
        match self.patience {
            Some(patience) => now > patience,
            None => {
                self.patience = Some(now.saturating_add(self.interval));
                false
            }
        }
    }

    /// The first mark of an episode, which starts near the rate at which one just past left off.
    fn start(&mut self, now: u64) {
        /// In intervals.
        const JUST_PAST: u64 = 16;
        self.marking = true;
        let grown = self.count.saturating_sub(self.count_at_start);
        let forgotten = self
            .next_mark
            .saturating_add(self.interval.saturating_mul(JUST_PAST));
        self.count = if grown > 1 && now < forgotten {
            grown
        } else {
            1
        };
        self.count_at_start = self.count;
        self.next_mark = now.saturating_add(self.step());
    }

    fn step(&self) -> u64 {
        over_square_root(self.interval, self.count)
    }

    /// The verdict on a packet while the delay has been above the target for long enough.
    fn mark(&mut self, now: u64, empty: bool) -> Verdict {
        if !self.marking {
            if !empty {
                self.start(now);
            }
            return Verdict::MarkCe;
        }
        if now < self.next_mark {
            return Verdict::Pass;
        }
        self.count = self.count.saturating_add(1);
        if empty {
            self.marking = false;
        } else {
            self.next_mark = self.next_mark.saturating_add(self.step());
        }
        Verdict::MarkCe
    }
}

fn ticks(time: Time, clock_shift: u8) -> u64 {
    (time.as_ps() / 1000) >> clock_shift
}

impl Mechanism for Codel {
    #[inline]
    fn on_dequeue<R: Rng>(
        &mut self,
        now: Time,
        packet: &Packet,
        queue: Queue,
        _rng: &mut R,
    ) -> Verdict {
        let wait = ticks(now.saturating_sub(packet.enqueued_at), self.clock_shift);
        let now = ticks(now, self.clock_shift);
        if !self.detect(now, wait, queue.bytes) {
            self.marking = false;
            Verdict::Pass
        } else if packet.ect {
            self.mark(now, queue.packets == 0)
        } else {
            Verdict::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::vec::Vec;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn codel(params: Params) -> Codel {
        Codel::new(&params, &mut Xoshiro256PlusPlus::seed_from_u64(1))
    }

    /// Times in nanoseconds, one to a tick.
    fn fine(target: u64, interval: u64) -> Params {
        Params {
            target: Time::from_ns(target),
            interval: Time::from_ns(interval),
            clock_shift: 0,
            ..Params::default()
        }
    }

    fn dequeue(codel: &mut Codel, now: u64, sojourn: u64, bytes: u64, ect: bool) -> bool {
        let packet = Packet {
            bytes: 1500,
            ect,
            enqueued_at: Time::from_ns(now - sojourn),
        };
        let queue = Queue {
            bytes,
            packets: bytes.div_ceil(1500) as u32,
        };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let verdict = codel.on_dequeue(Time::from_ns(now), &packet, queue, &mut rng);
        verdict == Verdict::MarkCe
    }

    /// Instants of marks of departures at `(instant, sojourn)` from a long queue.
    fn marks(params: Params, departures: impl Iterator<Item = (u64, u64)>) -> Vec<u64> {
        let mut codel = codel(params);
        let marked = |(now, sojourn): (u64, u64)| {
            dequeue(&mut codel, 1000 + now, sojourn, 30_000, true).then_some(now)
        };
        departures.filter_map(marked).collect()
    }

    #[test]
    fn marks_of_a_standing_queue_follow_the_square_root() {
        let departures = (10..=1000).step_by(10).map(|now| (now, 50));
        let expected = [
            120, 220, 290, 350, 400, 450, 490, 520, 560, 590, 620, 650, 680, 710, 730, 760, 780,
            810, 830, 850, 870, 890, 920, 940, 960, 980, 990,
        ];
        assert_eq!(marks(fine(10, 100), departures), expected);
    }

    #[test]
    fn an_episode_soon_after_another_starts_near_its_rate() {
        // Ten marks up to 590; the queue is short at 600.
        let departures = |restart: u64| {
            let before = (10..600).step_by(10).map(|now| (now, 50));
            let after = (restart..restart + 300).step_by(10).map(|now| (now, 50));
            before.chain([(600, 5)]).chain(after)
        };
        // count = 10 - 1, lastcount = 9: steps 33, 31, 30, 28, …
        let soon = marks(fine(10, 100), departures(610));
        assert_eq!(soon[10..], [720, 760, 790, 820, 850, 870, 900]);
        // More than 16 intervals after the last due mark.
        let late = marks(fine(10, 100), departures(3000));
        assert_eq!(late[10..], [3110, 3210, 3280]);
    }

    /// To the tick: 16 intervals after the last mark was due.
    #[test]
    fn an_episode_is_past_after_sixteen_intervals() {
        for (since, count) in [(1599, 5), (1600, 1), (1601, 1)] {
            let mut codel = codel(fine(10, 100));
            (codel.count, codel.next_mark) = (5, 4000);
            codel.start(4000 + since);
            assert_eq!((codel.count, codel.count_at_start), (count, count));
        }
        // The rate is taken up from two marks on.
        for (grown, count) in [(1, 1), (2, 2)] {
            let mut codel = codel(fine(10, 100));
            (codel.count, codel.count_at_start) = (7 + grown, 7);
            codel.start(1);
            assert_eq!(codel.count, count);
        }
    }

    #[test]
    fn the_simulations_have_their_own_target_and_interval() {
        let params = Params::simulation();
        let times = (params.target, params.interval);
        assert_eq!(times, (Time::from_us(10), Time::from_us(240)));
        assert_eq!(params.clock_shift, Params::default().clock_shift);
    }

    #[test]
    fn the_clock_ticks_in_1024_nanoseconds() {
        // 85 us and 200 us are 83 and 195 ticks.
        let mut codel = codel(Params::default());
        assert_eq!((codel.target, codel.interval), (83, 195));
        assert!(!dequeue(&mut codel, 1_024_000, 83 * 1024 - 1, 30_000, true));
        assert_eq!(codel.patience, None);
        assert!(!dequeue(&mut codel, 1_024_000, 83 * 1024, 30_000, true));
        assert_eq!(codel.patience, Some(1000 + 195));
        let due = (1000 + 196) * 1024;
        assert!(!dequeue(&mut codel, due - 1, 90_000, 30_000, true));
        assert!(dequeue(&mut codel, due, 90_000, 30_000, true));
    }

    #[test]
    fn the_last_packets_of_a_queue_are_spared() {
        let mut codel = codel(fine(10, 100));
        dequeue(&mut codel, 1000, 50, 30_000, true);
        assert!(!dequeue(&mut codel, 1200, 50, 1499, true));
        assert_eq!(codel.patience, None);
        dequeue(&mut codel, 1300, 50, 1500, true);
        assert!(dequeue(&mut codel, 1401, 50, 1500, true));
        assert!(codel.is_marking());
        dequeue(&mut codel, 1402, 9, 30_000, true);
        assert!(!codel.is_marking());
    }

    #[test]
    fn a_mark_that_empties_the_queue_ends_or_starts_no_episode() {
        let mut codel = codel(Params {
            spared_bytes: 0,
            ..fine(10, 100)
        });
        dequeue(&mut codel, 1000, 50, 30_000, true);
        assert!(dequeue(&mut codel, 1101, 50, 0, true));
        assert!(!codel.is_marking());
        assert!(dequeue(&mut codel, 1102, 50, 30_000, true));
        assert!(codel.is_marking());
        assert!(!dequeue(&mut codel, 1201, 50, 0, true));
        assert!(codel.is_marking());
        assert!(dequeue(&mut codel, 1202, 50, 0, true));
        assert!(!codel.is_marking());
        assert_eq!(codel.count, 2);
    }

    #[test]
    fn a_packet_that_cannot_be_marked_leaves_the_mark_to_the_next() {
        let mut codel = codel(fine(10, 100));
        dequeue(&mut codel, 1000, 50, 30_000, false);
        assert!(!dequeue(&mut codel, 1101, 50, 30_000, false));
        assert!(!codel.is_marking());
        assert!(dequeue(&mut codel, 1102, 50, 30_000, true));
        assert!(!dequeue(&mut codel, 1202, 50, 30_000, false));
        assert_eq!(codel.count, 1);
        assert!(dequeue(&mut codel, 1203, 50, 30_000, true));
        // Ends the episode all the same.
        assert!(!dequeue(&mut codel, 1204, 5, 30_000, false));
        assert!(!codel.is_marking());
    }
}
