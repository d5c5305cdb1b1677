//! NP-ECN ("Non-PAUSE ECN"): the congestion point of PCN.
//!
//! # What it does
//!
//! Marks every packet that leaves a backlog behind, except those that a PAUSE held: the packets that wait
//! when it ends.
//!
//! # Source
//!
//! W. Cheng et al., "Re-architecting Congestion Management in Lossless Ethernet", NSDI 2020, the
//! congestion point (PN counter, ECN threshold zero).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `mark_basis` | - | `DequeueAfter` | the paper is silent; ns3-rdma evaluates ECN after removal |
//! | `mark_above` | bytes | 0 | the paper's ECN threshold; ns3-rdma does not count the first 1030 B of a queue, one of its frames |
//!
//! `EnqueueBefore` does not read `mark_above`: its threshold is zero.
//!
//! # Departures
//!
//! - The counter is per (port, priority), as PFC is; the paper speaks of one per port.
//! - An XON, or a PAUSE, that changes nothing leaves the counter alone; a PAUSE that runs out counts as
//!   a resume.
//! - The paper's counter forgives the next N departures, which in a FIFO are the N packets held. Where
//!   packets leave in another order, as from virtual output queues, their times of arrival say which
//!   were held.
//! - A packet removed otherwise than by transmission caps the counter at the queue length.

use rand_core::Rng;

use super::{Indifference, Mechanism, Packet, Queue, Verdict};
use crate::names::Names;
use crate::state_visitor::Show;
use crate::units::Time;

/// Which queue length is compared with zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum MarkBasis {
    /// The queue after the packet has left: the packet that empties the queue is not marked.
    #[default]
    DequeueAfter,
    /// The queue before the packet: the one that opens a busy period is not marked.
    EnqueueBefore,
}

/// Parameters of NP-ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Which queue length decides.
    pub mark_basis: MarkBasis,
    /// A packet that leaves no more than this behind is not marked.
    pub mark_above: u64,
}

/// State of NP-ECN.
#[derive(Clone, Debug, Show)]
pub struct NpEcn {
    #[show(skip)]
    mark_basis: MarkBasis,
    #[show(skip)]
    mark_above: u64,
    #[show(same = u8::from(*paused) << 1 | u8::from(*head_found_empty))]
    paused: bool,
    /// The packet at the head is the only one that found the queue empty.
    #[show(skip = "shown with `paused`")]
    head_found_empty: bool,
    /// The paper's PN: packets still in the queue that a PAUSE held.
    // Which packets those are is known by when they came.
    #[show(refuse_if = *held > 0)]
    held: u32,
    /// When that PAUSE ended: none of them came later.
    #[show(time)]
    resumed_at: Time,
}

impl NpEcn {
    /// The queue is empty and not paused.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        Self {
            mark_basis: params.mark_basis,
            mark_above: params.mark_above,
            paused: false,
            head_found_empty: false,
            held: 0,
            resumed_at: Time::ZERO,
        }
    }
    /// The paper's PN: how many packets of the queue will leave unmarked.
    pub fn held(&self) -> u32 {
        self.held
    }
    /// True between a PAUSE and the resume after it.
    pub fn is_paused(&self) -> bool {
        self.paused
    }
}

impl Mechanism for NpEcn {
    /// Of packets that wait it hears when they leave; when they came says which of them a PAUSE held. Which one found the
    /// queue empty, it has to be told.
    fn indifference(&self) -> Indifference {
        Indifference {
            to_alone: true,
            to_enqueue: self.mark_basis == MarkBasis::DequeueAfter,
            to_enqueue_behind: true,
            ..Indifference::default()
        }
    }

    #[inline]
    fn on_enqueue<R: Rng>(
        &mut self,
        _now: Time,
        _packet: &Packet,
        queue: Queue,
        _rng: &mut R,
    ) -> Verdict {
        let before = queue.packets.saturating_sub(1);
        self.head_found_empty |= before == 0;
        self.held = self.held.min(before);
        Verdict::Pass
    }

    #[inline]
    fn on_dequeue<R: Rng>(
        &mut self,
        _now: Time,
        packet: &Packet,
        queue: Queue,
        _rng: &mut R,
    ) -> Verdict {
        let found_empty = core::mem::take(&mut self.head_found_empty);
        if self.held > 0 && packet.enqueued_at <= self.resumed_at {
            self.held = (self.held - 1).min(queue.packets);
            return Verdict::Pass;
        }
        let backlog = match self.mark_basis {
            MarkBasis::DequeueAfter => queue.bytes > self.mark_above,
            MarkBasis::EnqueueBefore => !found_empty,
        };
        if packet.ect && backlog {
            Verdict::MarkCe
        } else {
            Verdict::Pass
        }
    }

    fn on_pause(&mut self, _now: Time) {
        self.paused = true;
    }

    fn on_resume(&mut self, now: Time, queue: Queue) {
        if self.paused {
            self.paused = false;
            self.held = queue.packets;
            self.resumed_at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const BYTES: u32 = 1000;

    /// A FIFO of equal packets in front of the mechanism.
    struct Port {
        cp: NpEcn,
        packets: u32,
        rng: Xoshiro256PlusPlus,
    }

    impl Port {
        fn new(mark_basis: MarkBasis) -> Self {
            Self::of(&Params {
                mark_basis,
                ..Params::default()
            })
        }
        fn of(params: &Params) -> Self {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            Self {
                cp: NpEcn::new(params, &mut rng),
                packets: 0,
                rng,
            }
        }
        fn queue(&self) -> Queue {
            Queue {
                bytes: u64::from(self.packets) * u64::from(BYTES),
                packets: self.packets,
            }
        }
        fn packet(ect: bool) -> Packet {
            Packet {
                bytes: BYTES,
                ect,
                enqueued_at: Time::ZERO,
            }
        }
        fn arrive(&mut self, count: u32) {
            for _ in 0..count {
                self.packets += 1;
                let queue = self.queue();
                let packet = Self::packet(true);
                let verdict = self
                    .cp
                    .on_enqueue(Time::ZERO, &packet, queue, &mut self.rng);
                assert_eq!(verdict, Verdict::Pass);
            }
        }
        fn depart_one(&mut self, ect: bool) -> bool {
            self.packets -= 1;
            let queue = self.queue();
            let packet = Self::packet(ect);
            let verdict = self
                .cp
                .on_dequeue(Time::ZERO, &packet, queue, &mut self.rng);
            verdict == Verdict::MarkCe
        }
        /// How many of `count` departures are marked.
        fn depart(&mut self, count: u32) -> u32 {
            (0..count).map(|_| u32::from(self.depart_one(true))).sum()
        }
        fn pause(&mut self) {
            self.cp.on_pause(Time::ZERO);
        }
        fn resume(&mut self) {
            let queue = self.queue();
            self.cp.on_resume(Time::ZERO, queue);
        }
    }

    #[test]
    fn a_backlog_marks_all_but_the_packet_that_empties_it() {
        let mut port = Port::new(MarkBasis::DequeueAfter);
        port.arrive(10);
        assert_eq!(port.depart(9), 9);
        assert_eq!(port.depart(1), 0);
    }

    #[test]
    fn what_may_be_left_behind_unmarked_is_not_counted() {
        let mut port = Port::of(&Params {
            mark_above: u64::from(BYTES),
            ..Params::default()
        });
        port.arrive(10);
        assert_eq!(port.depart(8), 8);
        assert_eq!(port.depart(2), 0);
        // A PAUSE is forgiven as before.
        port.arrive(3);
        port.pause();
        port.resume();
        port.arrive(3);
        assert_eq!(port.depart(3), 0);
        assert_eq!(port.depart(3), 1);
    }

    #[test]
    fn packets_through_an_idle_port_are_not_marked() {
        for basis in [MarkBasis::DequeueAfter, MarkBasis::EnqueueBefore] {
            let mut port = Port::new(basis);
            for _ in 0..10 {
                port.arrive(1);
                assert_eq!(port.depart(1), 0);
            }
        }
    }

    #[test]
    fn packets_that_are_not_ect_are_never_marked() {
        let mut port = Port::new(MarkBasis::DequeueAfter);
        port.arrive(10);
        assert!((0..10).all(|_| !port.depart_one(false)));
    }

    #[test]
    fn enqueue_before_spares_only_the_packet_that_found_the_queue_empty() {
        let mut port = Port::new(MarkBasis::EnqueueBefore);
        port.arrive(10);
        assert_eq!(port.depart(1), 0);
        assert_eq!(port.depart(9), 9);
    }

    #[test]
    fn packets_held_by_a_pause_leave_unmarked_and_later_ones_marked() {
        for basis in [MarkBasis::DequeueAfter, MarkBasis::EnqueueBefore] {
            let mut port = Port::new(basis);
            port.pause();
            port.arrive(7);
            port.resume();
            assert_eq!(port.cp.held(), 7);
            port.arrive(5);
            assert_eq!(port.depart(7), 0);
            assert_eq!(port.depart(4), 4);
        }
    }

    #[test]
    fn out_of_order_the_packets_held_leave_unmarked_and_no_others() {
        let mut port = Port::new(MarkBasis::DequeueAfter);
        port.pause();
        port.arrive(3);
        port.resume();
        port.packets += 3;
        // One of a short queue that came after the resume leaves between those that were held.
        let order = [(0, 0), (7, 1), (0, 0), (0, 0), (8, 1), (9, 0)];
        for (enqueued_us, marks) in order {
            port.packets -= 1;
            let packet = Packet {
                enqueued_at: Time::from_us(enqueued_us),
                ..Port::packet(true)
            };
            let queue = port.queue();
            let verdict = port
                .cp
                .on_dequeue(Time::from_us(10), &packet, queue, &mut port.rng);
            assert_eq!(u32::from(verdict == Verdict::MarkCe), marks);
        }
    }

    #[test]
    fn a_second_resume_counts_leftovers_and_everything_that_came_since() {
        let (k, j, gap, during) = (9, 4, 2, 3);
        let mut port = Port::new(MarkBasis::DequeueAfter);
        port.pause();
        port.arrive(k);
        port.resume();
        assert_eq!(port.depart(j), 0);
        port.arrive(gap);
        port.pause();
        port.arrive(during);
        port.resume();
        assert_eq!(port.cp.held(), k - j + gap + during);
    }

    #[test]
    fn a_resume_of_an_empty_queue_forgives_nothing() {
        let mut port = Port::new(MarkBasis::DequeueAfter);
        port.pause();
        port.resume();
        assert_eq!(port.cp.held(), 0);
        port.arrive(3);
        assert_eq!(port.depart(2), 2);
    }

    #[test]
    fn a_redundant_xon_does_not_forgive_congestion() {
        let mut port = Port::new(MarkBasis::DequeueAfter);
        port.arrive(10);
        port.resume();
        assert_eq!(port.cp.held(), 0);
        assert_eq!(port.depart(5), 5);
    }

    #[test]
    fn a_pause_refresh_leaves_the_counter_alone() {
        let mut port = Port::new(MarkBasis::DequeueAfter);
        port.pause();
        port.arrive(4);
        port.resume();
        port.pause();
        port.pause();
        assert_eq!(port.cp.held(), 4);
        assert!(port.cp.is_paused());
        // A packet whose transmission had begun still counts down.
        assert_eq!(port.depart(1), 0);
        assert_eq!(port.cp.held(), 3);
    }

    #[test]
    fn packets_dropped_from_the_queue_cap_the_counter() {
        let mut port = Port::new(MarkBasis::DequeueAfter);
        port.pause();
        port.arrive(10);
        port.resume();
        port.packets = 2;
        port.arrive(1);
        assert_eq!(port.cp.held(), 2);
        port.arrive(10);
        port.packets = 1;
        assert_eq!(port.depart(1), 0);
        assert_eq!(port.cp.held(), 0);
    }
}
