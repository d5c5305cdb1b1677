//! Schedulers: only eligible queues, no starvation, shares by weight. Tagging: levels only fall.

use proptest::prelude::*;
use scheduler::{Config, QUEUES, Scheduler, dwrr, strict};
use std::collections::VecDeque;
use tagging::{Tagging, pias};
use unpause_protocols::{scheduler, tagging};

fn dwrr_params() -> impl Strategy<Value = dwrr::Params> {
    let quantum = prop_oneof![
        prop::array::uniform8(0..10_000_u32),
        prop::array::uniform8(any::<u32>())
    ];
    let group = prop_oneof![Just([0; QUEUES]), prop::array::uniform8(any::<u8>())];
    (quantum, group).prop_map(|(quantum, group)| dwrr::Params { quantum, group })
}

fn config() -> impl Strategy<Value = Config> {
    prop_oneof![
        Just(Config::Strict(strict::Params)),
        dwrr_params().prop_map(Config::Dwrr),
    ]
}

proptest! {
    #[test]
    fn no_order_of_events_panics_and_only_eligible_queues_are_named(
        config in config(),
        events in prop::collection::vec(
            (0..3_u8, any::<u8>(), any::<u32>(), any::<bool>()),
            0..200,
        ),
    ) {
        let mut scheduler = Scheduler::new(&config);
        for (kind, queue, bytes, more) in events {
            match kind {
                0 => scheduler.on_backlog(queue % 10),
                1 => scheduler.on_dequeue(queue % 10, bytes, more),
                _ => {
                    let head = |queue: u8| bytes.rotate_left(u32::from(queue));
                    let next = scheduler.next(queue, head);
                    prop_assert!(next.is_none_or(|next| queue >> next & 1 == 1));
                    prop_assert_eq!(scheduler.next(queue, head), next);
                }
            }
        }
    }

    /// Real queues with pauses: a port with an eligible packet is never idle, and everything leaves.
    #[test]
    fn a_port_works_until_its_queues_are_empty(
        config in config(),
        arrivals in prop::collection::vec((0..8_u8, 64..9000_u32, any::<u8>()), 0..200),
    ) {
        let mut scheduler = Scheduler::new(&config);
        let mut queues: [VecDeque<u32>; QUEUES] = Default::default();
        let serve = |queues: &mut [VecDeque<u32>; QUEUES],
                         scheduler: &mut Scheduler,
                         allowed: u8| {
            let backlog = (0..QUEUES)
                .filter(|queue| !queues[*queue].is_empty())
                .fold(0, |mask, queue| mask | 1 << queue);
            let next = scheduler.next(backlog & allowed, |scheduler| queues[usize::from(scheduler)][0]);
            assert_eq!(next.is_some(), backlog & allowed != 0);
            if let Some(next) = next {
                let queue = &mut queues[usize::from(next)];
                let bytes = queue.pop_front().unwrap();
                scheduler.on_dequeue(next, bytes, !queue.is_empty());
            }
            next.is_some()
        };
        for (queue, bytes, allowed) in arrivals {
            queues[usize::from(queue)].push_back(bytes);
            if queues[usize::from(queue)].len() == 1 {
                scheduler.on_backlog(queue);
            }
            if allowed > 100 {
                serve(&mut queues, &mut scheduler, allowed);
            }
        }
        while serve(&mut queues, &mut scheduler, u8::MAX) {}
        prop_assert!(queues.iter().all(VecDeque::is_empty));
    }

    /// The fairness of deficit round robin: at any time two backlogged queues differ by less than a
    /// turn each, in units of their quanta.
    #[test]
    fn dwrr_shares_by_quanta_to_within_a_turn(
        quanta in prop::array::uniform4(500..20_000_u32),
        sizes in prop::collection::vec(64..9000_u32, 50),
        packets in 1..2000_usize,
    ) {
        let mut params = dwrr::Params { quantum: [1; QUEUES], group: [0; QUEUES] };
        params.quantum[..4].copy_from_slice(&quanta);
        let mut scheduler = Scheduler::new(&Config::Dwrr(params));
        (0..4).for_each(|queue| scheduler.on_backlog(queue));
        let mut sent = [0_u64; 4];
        let mut position = [0_usize; 4];
        let size = |queue: usize, position: usize| sizes[(7 * queue + position) % sizes.len()];
        for _ in 0..packets {
            let head = |queue: u8| size(usize::from(queue), position[usize::from(queue)]);
            let queue = scheduler.next(0b1111, head).unwrap();
            let bytes = head(queue);
            scheduler.on_dequeue(queue, bytes, true);
            sent[usize::from(queue)] += u64::from(bytes);
            position[usize::from(queue)] += 1;
        }
        let turns = |queue: usize| sent[queue] as f64 / f64::from(quanta[queue]);
        for a in 0..4 {
            for b in 0..4 {
                let slack = 2.0 + 9000.0 / f64::from(quanta[a]) + 9000.0 / f64::from(quanta[b]);
                prop_assert!(turns(a) - turns(b) <= slack, "{:?} {:?}", sent, quanta);
            }
        }
    }

    #[test]
    fn a_flow_never_rises_in_priority(
        thresholds in prop::collection::vec(any::<u64>(), 0..10),
        a in any::<u64>(),
        b in any::<u64>(),
        bytes in any::<u32>(),
    ) {
        let tagging = Tagging::new(&tagging::Config::Pias(pias::Params::of(&thresholds)));
        let (a, b) = (a.min(b), a.max(b));
        prop_assert!(tagging.level(a, bytes) <= tagging.level(b, bytes));
        prop_assert!(usize::from(tagging.level(b, bytes)) <= thresholds.len().min(7));
        prop_assert_eq!(Tagging::new(&tagging::Config::None).level(a, bytes), 0);
    }
}
