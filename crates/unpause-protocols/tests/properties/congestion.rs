//! Switch queues: what may be marked, and what NP-ECN spares.

use super::{fraction, rng, time};
use congestion_point::{Config, np_ecn, qcn, red};
use proptest::prelude::*;
use unpause_protocols::congestion_point::{self, CongestionPoint, Packet, Queue, Verdict};
use unpause_protocols::units::Time;

fn config() -> impl Strategy<Value = Config> {
    let quantisation =
        prop::sample::select(vec![qcn::Quantisation::Linear, qcn::Quantisation::TopBits]);
    prop_oneof![
        Just(Config::None),
        prop::sample::select(vec![
            np_ecn::MarkBasis::DequeueAfter,
            np_ecn::MarkBasis::EnqueueBefore
        ])
        .prop_map(|mark_basis| Config::NpEcn(np_ecn::Params { mark_basis })),
        (any::<u64>(), any::<u64>(), fraction())
            .prop_map(|(kmin, kmax, pmax)| Config::Red(red::Params { kmin, kmax, pmax })),
        (any::<u32>(), any::<u8>(), any::<u32>(), quantisation).prop_map(
            |(q_eq, weight, sample_base, quantisation)| Config::Qcn(qcn::Params {
                q_eq,
                weight,
                sample_base,
                quantisation,
            })
        ),
    ]
}

#[derive(Clone, Debug)]
enum Event {
    Enqueue(Packet, Queue),
    Dequeue(Packet, Queue),
    Pause,
    Resume(Queue),
}

fn queue() -> impl Strategy<Value = Queue> {
    prop_oneof![
        (any::<u64>(), any::<u32>()),
        (0..300_000_u64, 0..300_u32),
        Just((0, 0)),
    ]
    .prop_map(|(bytes, packets)| Queue { bytes, packets })
}

fn packet() -> impl Strategy<Value = Packet> {
    (any::<u32>(), any::<bool>(), time()).prop_map(|(bytes, ect, enqueued_at)| Packet {
        bytes,
        ect,
        enqueued_at,
    })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        (packet(), queue()).prop_map(|(packet, queue)| Event::Enqueue(packet, queue)),
        (packet(), queue()).prop_map(|(packet, queue)| Event::Dequeue(packet, queue)),
        Just(Event::Pause),
        queue().prop_map(Event::Resume),
    ]
}

proptest! {
    #[test]
    fn no_order_of_events_panics_and_only_ect_packets_are_marked(
        config in config(),
        events in prop::collection::vec((time(), event()), 0..100),
    ) {
        let mut rng = rng();
        let mut cp = CongestionPoint::new(&config, &mut rng);
        for (now, event) in events {
            let (ect, verdict) = match event {
                Event::Enqueue(packet, queue) => {
                    (packet.ect, cp.on_enqueue(now, &packet, queue, &mut rng))
                }
                Event::Dequeue(packet, queue) => {
                    (packet.ect, cp.on_dequeue(now, &packet, queue, &mut rng))
                }
                Event::Pause => {
                    cp.on_pause(now);
                    continue;
                }
                Event::Resume(queue) => {
                    cp.on_resume(now, queue);
                    continue;
                }
            };
            prop_assert!(ect || verdict != Verdict::MarkCe);
            if let Verdict::Notify(feedback) = verdict {
                prop_assert!((1..=63).contains(&feedback.qfb));
            }
        }
    }

    /// Arrivals, departures and pauses of a real FIFO: every packet present at a resume leaves
    /// unmarked, and of the others all but those that leave nothing behind are marked.
    #[test]
    fn np_ecn_marks_exactly_the_packets_that_no_pause_held(
        steps in prop::collection::vec(0..4_u8, 0..300),
    ) {
        let mut rng = rng();
        let config = Config::NpEcn(np_ecn::Params::default());
        let mut cp = CongestionPoint::new(&config, &mut rng);
        let mut held = std::collections::VecDeque::new();
        let mut paused = false;
        let packet = Packet { bytes: 1000, ect: true, enqueued_at: Time::ZERO };
        let queue = |length: usize| Queue {
            bytes: length as u64 * 1000,
            packets: length as u32,
        };
        for step in steps {
            match step {
                0 => {
                    held.push_back(false);
                    cp.on_enqueue(Time::ZERO, &packet, queue(held.len()), &mut rng);
                }
                1 if !paused => {
                    if let Some(was_held) = held.pop_front() {
                        let verdict =
                            cp.on_dequeue(Time::ZERO, &packet, queue(held.len()), &mut rng);
                        let expected = !was_held && !held.is_empty();
                        prop_assert_eq!(verdict == Verdict::MarkCe, expected);
                    }
                }
                2 => {
                    paused = true;
                    cp.on_pause(Time::ZERO);
                }
                3 => {
                    cp.on_resume(Time::ZERO, queue(held.len()));
                    if std::mem::take(&mut paused) {
                        held.iter_mut().for_each(|held| *held = true);
                    }
                }
                _ => {}
            }
        }
    }
}
