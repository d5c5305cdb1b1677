//! Deficit weighted round robin.
//!
//! # What it does
//!
//! Queues take turns. A turn adds a quantum of bytes to a queue's deficit, which packets then use up; a
//! queue whose deficit is too small for its next packet keeps the rest and goes to the end of the list.
//! Queues may form groups: a group sends only when no higher one can, each with a round robin of its
//! own.
//!
//! # Source
//!
//! M. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995, in the
//! form of the ECN# authors' ns-3 code (snowzjx/ns3-ecn-sharp); strict priority between groups as in
//! switches.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `quantum` | bytes | 3000, 1500, … | the authors' code: weights 2:1:1 |
//! | `group` | - | all 0 | the authors' code has one group |
//!
//! # Departures
//!
//! - A queue that is paused when its turn comes lets it pass, without a quantum; it keeps its deficit.
//! - Rounds in which no queue can send are reckoned at once, so a small quantum costs no time.

use super::strict::highest;
use super::{Mechanism, QUEUES};

/// Parameters of deficit weighted round robin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Bytes that a turn adds, per queue; at least 1.
    pub quantum: [u32; QUEUES],
    /// The group of each queue; the highest that can sends.
    pub group: [u8; QUEUES],
}

impl Default for Params {
    fn default() -> Self {
        let mut quantum = [1500; QUEUES];
        quantum[0] = 3000;
        Self {
            quantum,
            group: [0; QUEUES],
        }
    }
}

/// State of deficit weighted round robin.
#[derive(Clone, Debug)]
pub struct Dwrr {
    quantum: [u64; QUEUES],
    /// Masks of queues that share a group, the highest group first; empty ones are zero.
    groups: [u8; QUEUES],
    deficit: [u64; QUEUES],
    /// The first `active` entries: queues with packets, in the order of their turns.
    turns: [u8; QUEUES],
    active: usize,
}

impl Dwrr {
    /// All queues are empty.
    pub fn new(params: &Params) -> Self {
        Self {
            quantum: params.quantum.map(|quantum| u64::from(quantum.max(1))),
            groups: groups(params.group),
            deficit: [0; QUEUES],
            turns: [0; QUEUES],
            active: 0,
        }
    }

    /// Bytes that a queue may still send in its present turn.
    pub fn deficit(&self, queue: u8) -> u64 {
        self.deficit
            .get(usize::from(queue))
            .copied()
            .unwrap_or_default()
    }

    fn position(&self, queue: u8) -> Option<usize> {
        self.turns[..self.active].iter().position(|it| *it == queue)
    }

    /// Puts the queue at `position` behind all others.
    fn postpone(&mut self, position: usize) {
        self.turns[position..self.active].rotate_left(1);
    }

    fn eligible(&self, mask: u8) -> impl Iterator<Item = u8> + use<> {
        let turns = self.turns;
        turns
            .into_iter()
            .take(self.active)
            .filter(move |queue| mask >> queue & 1 == 1)
    }

    /// Grants the queues of `mask` as many turns as pass before the one in which one of them can send.
    fn skip_barren_rounds(&mut self, mask: u8, head: &impl Fn(u8) -> u32) {
        let turns_needed = |queue: u8| {
            let at = usize::from(queue);
            let missing = u64::from(head(queue)).saturating_sub(self.deficit[at]);
            missing.div_ceil(self.quantum[at])
        };
        let rounds = self.eligible(mask).map(turns_needed).min().unwrap_or(0);
        if let Some(barren @ 1..) = rounds.checked_sub(1) {
            for queue in self.eligible(mask) {
                let at = usize::from(queue);
                let grant = self.quantum[at].saturating_mul(barren);
                self.deficit[at] = self.deficit[at].saturating_add(grant);
            }
        }
    }
}

/// Masks of the queues of each group, the highest first.
fn groups(group: [u8; QUEUES]) -> [u8; QUEUES] {
    let mut masks = [0; QUEUES];
    let mut rest = u8::MAX;
    for mask in &mut masks {
        let members = |of: u8| {
            (0..QUEUES)
                .filter(|queue| rest >> queue & 1 == 1 && group[*queue] == of)
                .fold(0, |mask, queue| mask | 1 << queue)
        };
        let present = (0..QUEUES).filter(|queue| rest >> queue & 1 == 1);
        *mask = present.map(|queue| group[queue]).max().map_or(0, members);
        rest &= !*mask;
    }
    masks
}

impl Mechanism for Dwrr {
    fn on_backlog(&mut self, queue: u8) {
        let at = usize::from(queue);
        if at < QUEUES && self.position(queue).is_none() {
            self.deficit[at] = self.quantum[at];
            self.turns[self.active] = queue;
            self.active += 1;
        }
    }

    fn on_dequeue(&mut self, queue: u8, bytes: u32, more: bool) {
        let Some(position) = self.position(queue) else {
            return;
        };
        let at = usize::from(queue);
        self.deficit[at] = self.deficit[at].saturating_sub(u64::from(bytes));
        if !more {
            self.postpone(position);
            self.active -= 1;
        }
    }

    fn next(&mut self, eligible: u8, head: impl Fn(u8) -> u32) -> Option<u8> {
        let active = self
            .eligible(eligible)
            .fold(0, |mask, queue| mask | 1 << queue);
        let group = *self.groups.iter().find(|group| *group & active != 0)?;
        let mask = group & active;
        self.skip_barren_rounds(mask, &head);
        let first = |it: &Self| {
            it.turns[..it.active]
                .iter()
                .position(|it| group >> it & 1 == 1)
        };
        // One of them can send after at most one more turn of each, unless `head` contradicts itself.
        for _ in 0..2 * QUEUES {
            let position = first(self)?;
            let queue = self.turns[position];
            let at = usize::from(queue);
            if mask >> queue & 1 == 1 {
                if u64::from(head(queue)) <= self.deficit[at] {
                    return Some(queue);
                }
                self.deficit[at] = self.deficit[at].saturating_add(self.quantum[at]);
            }
            self.postpone(position);
        }
        highest(mask)
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::vec::Vec;

    /// A port whose queues have no end of packets, each of one size.
    struct Port {
        dwrr: Dwrr,
        heads: [u32; QUEUES],
    }

    impl Port {
        fn new(params: &Params, backlogged: &[u8], heads: [u32; QUEUES]) -> Self {
            let mut dwrr = Dwrr::new(params);
            backlogged.iter().for_each(|queue| dwrr.on_backlog(*queue));
            Self { dwrr, heads }
        }
        fn send(&mut self, eligible: u8) -> Option<u8> {
            let heads = self.heads;
            let head = |queue: u8| heads[usize::from(queue)];
            let queue = self.dwrr.next(eligible, head)?;
            assert_eq!(self.dwrr.next(eligible, head), Some(queue), "asked again");
            self.dwrr.on_dequeue(queue, head(queue), true);
            Some(queue)
        }
        fn order(&mut self, eligible: u8, packets: usize) -> Vec<u8> {
            (0..packets).map_while(|_| self.send(eligible)).collect()
        }
        fn bytes(&mut self, eligible: u8, packets: usize) -> [u64; QUEUES] {
            let mut bytes = [0; QUEUES];
            for queue in self.order(eligible, packets) {
                bytes[usize::from(queue)] += u64::from(self.heads[usize::from(queue)]);
            }
            bytes
        }
    }

    #[test]
    fn weights_two_one_one_in_full_packets() {
        let mut port = Port::new(&Params::default(), &[0, 1, 2], [1500; QUEUES]);
        assert_eq!(port.order(0b111, 12), [0, 0, 1, 2, 0, 0, 1, 2, 0, 0, 1, 2]);
    }

    #[test]
    fn shares_follow_the_quanta_whatever_the_packet_sizes() {
        let mut heads = [1500; QUEUES];
        heads[1] = 64;
        heads[2] = 1047;
        let mut port = Port::new(&Params::default(), &[0, 1, 2], heads);
        let bytes = port.bytes(0b111, 100_000);
        assert!(bytes[0].abs_diff(2 * bytes[1]) < 6_000, "{bytes:?}");
        assert!(bytes[1].abs_diff(bytes[2]) < 3_000, "{bytes:?}");
    }

    #[test]
    fn a_deficit_too_small_is_kept_for_the_next_turn() {
        let params = Params {
            quantum: [1500; QUEUES],
            ..Params::default()
        };
        let mut heads = [1500; QUEUES];
        heads[1] = 1000;
        let mut port = Port::new(&params, &[0, 1], heads);
        // Queue 1 has 1500, 500 + 1500, 0 + 1500: one packet, two, one and so on.
        assert_eq!(port.order(0b11, 10), [0, 1, 0, 1, 1, 0, 1, 0, 1, 1]);
        assert_eq!(port.dwrr.deficit(1), 0);
    }

    #[test]
    fn a_queue_that_empties_forgets_its_deficit_and_its_turn() {
        let mut port = Port::new(&Params::default(), &[0, 1], [1000; QUEUES]);
        assert_eq!(port.send(0b11), Some(0));
        assert_eq!(port.dwrr.deficit(0), 2000);
        port.dwrr.on_dequeue(0, 1000, false);
        assert_eq!(port.send(0b10), Some(1));
        port.dwrr.on_backlog(0);
        port.dwrr.on_backlog(0);
        assert_eq!(port.dwrr.deficit(0), 3000);
        // Queue 1 has 500 left: not enough.
        assert_eq!(port.order(0b11, 5), [0, 0, 0, 1, 1]);
    }

    #[test]
    fn quanta_smaller_than_a_packet_share_all_the_same() {
        let mut quantum = [1; QUEUES];
        quantum[0] = 2;
        let params = Params {
            quantum,
            group: [0; QUEUES],
        };
        let mut port = Port::new(&params, &[0, 1], [9000; QUEUES]);
        let bytes = port.bytes(0b11, 3000);
        assert_eq!((bytes[0], bytes[1]), (2000 * 9000, 1000 * 9000));
        // The largest packet of all, at once.
        port.heads = [u32::MAX; QUEUES];
        assert!(port.send(0b10).is_some());
    }

    #[test]
    fn a_paused_queue_lets_its_turn_pass_and_keeps_its_deficit() {
        let mut port = Port::new(&Params::default(), &[0, 1, 2], [1000; QUEUES]);
        assert_eq!(port.send(0b111), Some(0));
        assert_eq!(port.order(0b110, 6), [1, 2, 1, 1, 2, 2]);
        assert_eq!(port.dwrr.deficit(0), 2000);
        assert_eq!(port.send(0), None);
        assert_eq!(port.order(0b111, 4), [0, 0, 1, 2]);
    }

    #[test]
    fn a_higher_group_goes_first_and_leaves_the_turns_of_others_alone() {
        let params = Params {
            quantum: [1500; QUEUES],
            group: [0, 0, 0, 5, 5, 0, 0, 9],
        };
        let mut port = Port::new(&params, &[0, 3, 1, 4, 2, 7], [1500; QUEUES]);
        assert_eq!(port.order(0xff, 3), [7, 7, 7]);
        assert_eq!(port.order(0x1f, 4), [3, 4, 3, 4]);
        assert_eq!(port.order(0b111, 2), [0, 1]);
        assert_eq!(port.order(0b1111, 2), [3, 3]);
        assert_eq!(port.order(0b111, 4), [2, 0, 1, 2]);
    }

    #[test]
    fn groups_are_sorted() {
        assert_eq!(groups([0; QUEUES]), [0xff, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            groups([3, 1, 3, 200, 1, 1, 1, 1]),
            [0b1000, 0b101, 0b1111_0010, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn queues_that_were_never_reported_are_not_served() {
        let mut dwrr = Dwrr::new(&Params::default());
        assert_eq!(dwrr.next(0xff, |_| 1500), None);
        dwrr.on_dequeue(3, 1500, true);
        dwrr.on_backlog(8);
        dwrr.on_backlog(255);
        assert_eq!(dwrr.next(0xff, |_| 1500), None);
        assert_eq!(dwrr.deficit(200), 0);
    }
}
