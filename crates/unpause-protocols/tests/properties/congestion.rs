//! Switch queues: what may be marked, and what NP-ECN spares.

use std::collections::VecDeque;

use super::{fraction, rate, rng, time};
use congestion_point::{Config, codel, dctcp_red, ecn_sharp, np_ecn, qcn, red, tcn, tofino, wred};
use proptest::prelude::*;
use unpause_protocols::by_name;
use unpause_protocols::congestion_point::culprit::{CulpritArray, Word};
use unpause_protocols::congestion_point::{
    self, CongestionPoint, Mechanism as _, Packet, Queue, Verdict,
};
use unpause_protocols::units::Time;

fn variant() -> impl Strategy<Value = ecn_sharp::Variant> {
    prop::sample::select(vec![
        ecn_sharp::Variant::Paper,
        ecn_sharp::Variant::AuthorsCode,
    ])
}

fn ecn_sharp_params() -> impl Strategy<Value = ecn_sharp::Params> {
    let instantaneous = prop_oneof![
        time().prop_map(ecn_sharp::Instantaneous::Above),
        (time(), time()).prop_map(|(from, to)| ecn_sharp::Instantaneous::Linear { from, to }),
    ];
    let signal = prop_oneof![
        Just(ecn_sharp::Signal::SojournTime),
        rate().prop_map(ecn_sharp::Signal::QueueLength),
    ];
    (instantaneous, time(), time(), variant(), signal).prop_map(
        |(instantaneous, pst_target, pst_interval, variant, signal)| ecn_sharp::Params {
            instantaneous,
            pst_target,
            pst_interval,
            variant,
            signal,
        },
    )
}

/// The mechanisms that look at the time a packet waited, and their like.
fn waiting_config() -> impl Strategy<Value = Config> {
    let threshold = prop_oneof![
        any::<u64>().prop_map(dctcp_red::Threshold::Bytes),
        any::<u32>().prop_map(dctcp_red::Threshold::Packets),
    ];
    let load = prop::sample::select(vec![tofino::Load::Scaled, tofino::Load::Unscaled]);
    prop_oneof![
        ecn_sharp_params().prop_map(Config::EcnSharp),
        Just(Config::EcnSharp(ecn_sharp::Params::default())),
        Just(Config::Codel(codel::Params::default())),
        Just(Config::Tofino(tofino::Params::default())),
        threshold.prop_map(|threshold| Config::DctcpRed(dctcp_red::Params { threshold })),
        time().prop_map(|threshold| Config::Tcn(tcn::Params { threshold })),
        (time(), time(), any::<u64>(), any::<u8>()).prop_map(
            |(target, interval, spared_bytes, clock_shift)| Config::Codel(codel::Params {
                target,
                interval,
                spared_bytes,
                clock_shift,
            })
        ),
        (time(), time(), time(), load).prop_map(|(ins_target, pst_target, pst_interval, load)| {
            Config::Tofino(tofino::Params {
                ins_target,
                pst_target,
                pst_interval,
                load,
            })
        }),
    ]
}

/// Each congestion point with its defaults.
fn by_name() -> impl Strategy<Value = Config> {
    let points = by_name::Config::all(by_name::Kind::CongestionPoint);
    let points = points.map(|(_, config)| match config {
        by_name::Config::CongestionPoint(point) => point,
        _ => unreachable!("it is a congestion point"),
    });
    prop::sample::select(points.collect::<Vec<_>>())
}

fn config() -> impl Strategy<Value = Config> {
    let quantisation =
        prop::sample::select(vec![qcn::Quantisation::Linear, qcn::Quantisation::TopBits]);
    prop_oneof![
        Just(Config::None),
        (
            prop::sample::select(vec![
                np_ecn::MarkBasis::DequeueAfter,
                np_ecn::MarkBasis::EnqueueBefore
            ]),
            any::<u64>()
        )
            .prop_map(|(mark_basis, mark_above)| Config::NpEcn(np_ecn::Params {
                mark_basis,
                mark_above
            })),
        (any::<u64>(), any::<u64>(), fraction())
            .prop_map(|(kmin, kmax, pmax)| Config::Red(red::Params { kmin, kmax, pmax })),
        (any::<u64>(), any::<u64>(), fraction())
            .prop_map(|(kmin, kmax, pmax)| Config::Wred(wred::Params { kmin, kmax, pmax })),
        (
            any::<u32>(),
            any::<u8>(),
            any::<u32>(),
            quantisation,
            prop::sample::select(vec![qcn::Interval::StandardTable, qcn::Interval::Fixed]),
            prop::sample::select(vec![
                (qcn::Mode::InputArrival, qcn::Count::Arrivals),
                (qcn::Mode::OutputArrival, qcn::Count::Arrivals),
                (qcn::Mode::OutputArrival, qcn::Count::Departures),
            ]),
        )
            .prop_map(
                |(q_eq, weight, sample_base, quantisation, interval, (mode, count))| {
                    Config::Qcn(qcn::Params {
                        q_eq,
                        weight,
                        sample_base,
                        quantisation,
                        interval,
                        mode,
                        count,
                    })
                }
            ),
    ]
}

/// Thresholds that some packets reach.
fn small_config() -> impl Strategy<Value = Config> {
    prop_oneof![
        (0..4_000_u64, 4_000..9_000_u64, fraction())
            .prop_map(|(kmin, kmax, pmax)| Config::Red(red::Params { kmin, kmax, pmax })),
        (0..4_000_u64, 4_000..9_000_u64, fraction())
            .prop_map(|(kmin, kmax, pmax)| Config::Wred(wred::Params { kmin, kmax, pmax })),
        (0..6_000_u64).prop_map(|k| Config::DctcpRed(dctcp_red::Params {
            threshold: dctcp_red::Threshold::Bytes(k),
        })),
        (0..9_000_u64).prop_map(|ns| Config::Tcn(tcn::Params {
            threshold: Time::from_ns(ns)
        })),
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
        config in prop_oneof![config(), waiting_config(), by_name()],
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

    /// Arrivals, departures and pauses of two queues that are served in any order: every packet present
    /// at a resume leaves unmarked, and of the others all but those that leave nothing behind are marked.
    #[test]
    fn np_ecn_marks_exactly_the_packets_that_no_pause_held(
        steps in prop::collection::vec((0..4_u8, 0..2_usize), 0..300),
    ) {
        let mut rng = rng();
        let config = Config::NpEcn(np_ecn::Params::default());
        let mut cp = CongestionPoint::new(&config, &mut rng);
        let mut queues = [VecDeque::new(), VecDeque::new()];
        let mut paused = false;
        let mut now = Time::ZERO;
        let packet = |enqueued_at| Packet { bytes: 1000, ect: true, enqueued_at };
        let queue = |queues: &[VecDeque<(bool, Time)>; 2]| {
            let packets = queues.iter().map(VecDeque::len).sum::<usize>() as u32;
            Queue { bytes: u64::from(packets) * 1000, packets }
        };
        for (step, which) in steps {
            now += Time::from_ns(1);
            match step {
                0 => {
                    queues[which].push_back((false, now));
                    cp.on_enqueue(now, &packet(now), queue(&queues), &mut rng);
                }
                1 if !paused => {
                    if let Some((was_held, enqueued_at)) = queues[which].pop_front() {
                        let left = queue(&queues);
                        let verdict = cp.on_dequeue(now, &packet(enqueued_at), left, &mut rng);
                        let expected = !was_held && left.packets > 0;
                        prop_assert_eq!(verdict == Verdict::MarkCe, expected);
                    }
                }
                2 => {
                    paused = true;
                    cp.on_pause(now);
                }
                3 => {
                    cp.on_resume(now, queue(&queues));
                    if std::mem::take(&mut paused) {
                        queues.iter_mut().flatten().for_each(|(held, _)| *held = true);
                    }
                }
                _ => {}
            }
        }
    }

    /// A queue, served in order of arrival or in another one, and paused: a call that a congestion point declares
    /// needless changes no verdict.
    #[test]
    fn what_is_indifferent_changes_no_verdict(
        config in prop_oneof![small_config(), config(), waiting_config()],
        steps in prop::collection::vec((0..12_u8, 64..1500_u32, any::<bool>(), 0..3_000_u64), 0..300),
    ) {
        let mut rngs = [rng(), rng()];
        let mut told = CongestionPoint::new(&config, &mut rngs[0]);
        let mut spared = CongestionPoint::new(&config, &mut rngs[1]);
        let indifference = spared.indifference();
        let mut waiting: VecDeque<Packet> = VecDeque::new();
        let state = |waiting: &VecDeque<Packet>| Queue {
            bytes: waiting.iter().map(|packet| u64::from(packet.bytes)).sum(),
            packets: waiting.len() as u32,
        };
        let (mut paused, mut now) = (false, Time::ZERO);
        for (step, bytes, ect, wait) in steps {
            now += Time::from_ns(wait);
            match step {
                0..=4 => {
                    let packet = Packet { bytes, ect, enqueued_at: now };
                    let alone = waiting.is_empty();
                    waiting.push_back(packet);
                    let joined = state(&waiting);
                    let passes = step < 2 && alone && !paused;
                    let left = Queue { bytes: 0, packets: 0 };
                    let mut verdicts = vec![told.on_enqueue(now, &packet, joined, &mut rngs[0])];
                    if passes {
                        waiting.clear();
                        verdicts.push(told.on_dequeue(now, &packet, left, &mut rngs[0]));
                    }
                    if passes && indifference.to_alone {
                        prop_assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Pass));
                        continue;
                    }
                    let to_join = indifference.to_enqueue || (!alone && indifference.to_enqueue_behind);
                    let mut answers = vec![if to_join { Verdict::Pass } else { spared.on_enqueue(now, &packet, joined, &mut rngs[1]) }];
                    if passes {
                        answers.push(if left.bytes < indifference.to_dequeue_below { Verdict::Pass } else { spared.on_dequeue(now, &packet, left, &mut rngs[1]) });
                    }
                    prop_assert_eq!(answers, verdicts);
                }
                5..=9 if !paused => {
                    let at = match step {
                        9 => bytes as usize % waiting.len().max(1),
                        _ => 0,
                    };
                    let Some(packet) = waiting.remove(at) else {
                        continue;
                    };
                    let left = state(&waiting);
                    let verdict = told.on_dequeue(now, &packet, left, &mut rngs[0]);
                    let answer = if left.bytes < indifference.to_dequeue_below { Verdict::Pass } else { spared.on_dequeue(now, &packet, left, &mut rngs[1]) };
                    prop_assert_eq!(answer, verdict);
                }
                10 | 11 => {
                    paused = step == 10;
                    for point in [&mut told, &mut spared] {
                        if paused { point.on_pause(now) } else { point.on_resume(now, state(&waiting)) }
                    }
                }
                _ => {}
            }
        }
    }

    /// Departures in order of time: a packet above the high target is marked, one below the low target
    /// is not, and marks by persistence wait for an interval of packets above it.
    #[test]
    fn ecn_sharp_marks_bursts_at_once_and_queues_only_when_they_persist(
        variant in variant(),
        departures in prop::collection::vec((1..50_000_u64, 0..300_u64), 0..400),
    ) {
        let mut rng = rng();
        let params = ecn_sharp::Params { variant, ..ecn_sharp::Params::default() };
        let mut cp = ecn_sharp::EcnSharp::new(&params, &mut rng);
        let mut now = Time::from_ms(1);
        let mut above_since = None;
        for (gap, wait) in departures {
            now += Time::from_ns(gap);
            let wait = Time::from_us(wait);
            let packet = Packet { bytes: 1500, ect: true, enqueued_at: now - wait };
            let queue = Queue { bytes: 0, packets: 0 };
            let marked = cp.on_dequeue(now, &packet, queue, &mut rng) == Verdict::MarkCe;
            let persists = if wait < params.pst_target {
                above_since = None;
                false
            } else {
                now - *above_since.get_or_insert(now) > params.pst_interval
            };
            prop_assert!(marked || wait <= Time::from_us(200));
            prop_assert!(!marked || wait > Time::from_us(200) || persists);
            prop_assert_eq!(cp.count() > 0, persists);
        }
    }

    /// However often it is asked, ECN# by the authors' law marks the persistent queue of a window of one
    /// interval at most as often as the law allows.
    #[test]
    fn the_authors_law_marks_at_most_once_per_step(
        gaps in prop::collection::vec(1..30_000_u64, 1..500),
    ) {
        let mut rng = rng();
        let params = ecn_sharp::Params::default();
        let mut cp = ecn_sharp::EcnSharp::new(&params, &mut rng);
        let (mut now, mut last) = (Time::ZERO, None);
        for gap in gaps {
            now += Time::from_ns(gap);
            if cp.persistent(now, Time::from_us(100)) {
                // The step before mark k was interval / sqrt(k - 1).
                let k = u128::from(cp.count());
                if let Some(last) = last {
                    let elapsed = u128::from((now - last).as_ps() + 1000);
                    let interval = u128::from(params.pst_interval.as_ps());
                    prop_assert!(elapsed * elapsed * (k - 1) >= interval * interval);
                }
                last = Some(now);
            }
        }
    }

    /// Whatever has been stored and freed: what is selected is stored and of the priority asked for, and
    /// nothing is selected only if nothing of it is stored.
    #[test]
    fn the_culprit_array_finds_a_unit_of_the_priority_if_there_is_one(
        units in 1..600_usize,
        row in 1..40_usize,
        steps in prop::collection::vec((any::<u16>(), prop::option::of(0..3_u8)), 0..60),
    ) {
        let mut rng = rng();
        let mut array = CulpritArray::new(vec![Word::default(); units], row);
        let mut stored = std::collections::BTreeMap::new();
        for (unit, priority) in steps {
            let unit = u32::from(unit) % units as u32;
            match priority {
                Some(priority) => {
                    array.store(unit, priority, unit + 7);
                    stored.insert(unit, priority);
                }
                None => {
                    array.free(unit);
                    stored.remove(&unit);
                }
            }
            for priority in 0..3 {
                match array.select(priority, &mut rng) {
                    Some(head) => prop_assert_eq!(stored.get(&(head - 7)), Some(&priority)),
                    None => prop_assert!(stored.values().all(|other| *other != priority)),
                }
            }
        }
    }
}
