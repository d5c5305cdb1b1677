//! Vectors of the reference, and the laws by hand.

extern crate alloc;

use super::*;
use alloc::vec;
use alloc::vec::Vec;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn rng() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

fn us(us: u64) -> Time {
    Time::from_us(us)
}

fn params(variant: Variant, pst_interval: u64) -> Params {
    Params {
        instantaneous: Instantaneous::Above(us(1000)),
        pst_target: us(10),
        pst_interval: us(pst_interval),
        variant,
        signal: Signal::SojournTime,
    }
}

/// Instants of persistent marks (us) of departures at `(instant, sojourn)`.
fn marks(
    variant: Variant,
    pst_interval: u64,
    departures: impl Iterator<Item = (u64, u64)>,
) -> Vec<u64> {
    let mut cp = EcnSharp::new(&params(variant, pst_interval), &mut rng());
    let marked = |(now, sojourn): (u64, u64)| {
        let mark = cp.persistent(us(now), us(sojourn));
        mark.then_some(now)
    };
    departures.filter_map(marked).collect()
}

fn standing(instants: impl Iterator<Item = u64>) -> impl Iterator<Item = (u64, u64)> {
    instants.map(|now| (now, 50))
}

fn every_ten(from: u64, to: u64) -> impl Iterator<Item = u64> + Clone {
    (from..=to).step_by(10)
}

const PAPER_START: [u64; 10] = [120, 230, 280, 310, 330, 350, 370, 380, 400, 410];

#[test]
fn vector_a_of_the_paper() {
    let marks = marks(Variant::Paper, 100, standing(every_ten(10, 1500)));
    let expected: Vec<_> = PAPER_START
        .into_iter()
        .chain(every_ten(420, 1500))
        .collect();
    assert_eq!(marks, expected);
    assert_eq!(marks.len(), 119);
}

#[test]
fn vector_a_of_the_authors_code() {
    let marks = marks(Variant::AuthorsCode, 100, standing(every_ten(10, 1500)));
    let start = [
        120, 220, 300, 360, 410, 460, 510, 550, 590, 630, 670, 710, 740,
    ];
    assert_eq!(marks[..start.len()], start);
    assert_eq!(marks.len(), 45);
}

#[test]
fn vector_b_a_short_sojourn_ends_the_episode() {
    let departures = || {
        every_ten(10, 750).map(|now| match now {
            300 | 310 => (now, 5),
            _ => (now, 50),
        })
    };
    let paper = [
        120, 230, 280, 430, 540, 590, 620, 640, 660, 680, 690, 710, 720, 730, 740, 750,
    ];
    assert_eq!(marks(Variant::Paper, 100, departures()), paper);
    let code = [120, 220, 430, 530, 610, 670, 720];
    assert_eq!(marks(Variant::AuthorsCode, 100, departures()), code);
}

#[test]
fn vector_d_departures_off_the_grid_of_the_interval() {
    let departures = || standing((7..=1995).step_by(7));
    let code = [
        252, 497, 672, 812, 938, 1050, 1148, 1239, 1330, 1414, 1491, 1568, 1638, 1708, 1778, 1841,
        1904, 1967,
    ];
    assert_eq!(marks(Variant::AuthorsCode, 240, departures()), code);
    let paper = marks(Variant::Paper, 240, departures());
    let start = [252, 497, 616, 693, 756, 805, 847, 875, 910, 931];
    assert_eq!(paper[..start.len()], start);
    assert_eq!(paper.len(), 142);
}

#[test]
fn vector_g_only_the_paper_catches_up_after_a_pause() {
    let departures = || standing(every_ten(10, 390).chain(every_ten(1200, 1590)));
    let mut paper = vec![120, 230, 280, 310, 330, 350, 370, 380];
    paper.extend(every_ten(1200, 1590));
    assert_eq!(paper.len(), 8 + 40);
    assert_eq!(marks(Variant::Paper, 100, departures()), paper);
    let code = [
        120, 220, 300, 360, 1200, 1250, 1300, 1340, 1380, 1420, 1460, 1500, 1530, 1560, 1590,
    ];
    assert_eq!(marks(Variant::AuthorsCode, 100, departures()), code);
}

#[test]
fn under_a_permanent_queue_the_laws_are_a_square_root_and_a_harmonic_number() {
    // A departure every nanosecond, so that nothing but the law shows.
    let instants = |variant, count: usize| {
        let mut cp = EcnSharp::new(&params(variant, 10), &mut rng());
        let mut marks = Vec::new();
        for ns in 0..1_000_000 {
            if cp.persistent(Time::from_ns(ns), us(50)) {
                marks.push(ns);
            }
            if marks.len() == count {
                break;
            }
        }
        marks
    };
    let code = instants(Variant::AuthorsCode, 1000);
    // Sum of 1/sqrt(k) for k < 1000: 61.77; the first mark comes after one interval.
    assert!(code[999].abs_diff(627_700) < 1_200, "{}", code[999]);
    let paper = instants(Variant::Paper, 1000);
    // 1 + H(999): 8.485 intervals.
    assert!(paper[999].abs_diff(84_850) < 100, "{}", paper[999]);
}

#[test]
fn the_target_itself_is_above_and_the_deadline_itself_is_not_past() {
    let mut cp = EcnSharp::new(&params(Variant::Paper, 100), &mut rng());
    assert!(!cp.persistent(us(0), us(10)));
    assert!(!cp.persistent(us(100), us(10)));
    assert!(cp.persistent(Time::from_ps(us(100).as_ps() + 1), us(10)));
    assert_eq!((cp.count(), cp.next_mark().as_ps()), (1, 200_000_001));
    assert!(!cp.persistent(us(150), Time::from_ps(us(10).as_ps() - 1)));
    assert_eq!((cp.count(), cp.next_mark()), (0, Time::NEVER));
}

#[test]
fn a_due_mark_is_late_in_the_paper_and_on_time_in_the_code() {
    for (variant, due) in [(Variant::Paper, false), (Variant::AuthorsCode, true)] {
        let mut cp = EcnSharp::new(&params(variant, 100), &mut rng());
        cp.persistent(us(0), us(50));
        assert!(cp.persistent(us(101), us(50)));
        assert_eq!(cp.persistent(us(201), us(50)), due);
    }
}

#[test]
fn parameters_of_the_large_simulations() {
    assert_eq!(
        Params::large_scale(),
        Params {
            instantaneous: Instantaneous::Above(Time::from_us(220)),
            pst_target: Time::from_us(10),
            pst_interval: Time::from_us(240),
            variant: Variant::default(),
            signal: Signal::default(),
        }
    );
}

#[test]
fn steps_are_exact() {
    let mut cp = EcnSharp::new(&params(Variant::AuthorsCode, 240), &mut rng());
    // 240 us / sqrt(k), in whole ns.
    for (count, ns) in [
        (1, 240_000),
        (2, 169_705),
        (3, 138_564),
        (4, 120_000),
        (7, 90_711),
        (100, 24_000),
        (u32::MAX, 3),
    ] {
        cp.count = count;
        assert_eq!(cp.step(), Time::from_ns(ns));
    }
    cp.params.variant = Variant::Paper;
    for (count, ps) in [(1, 240_000_000), (7, 34_285_714), (u32::MAX, 0)] {
        cp.count = count;
        assert_eq!(cp.step().as_ps(), ps);
    }
    assert_eq!(over_square_root(u64::MAX, 1), u64::MAX);
}

fn packet(enqueued_at: Time, ect: bool) -> Packet {
    Packet {
        bytes: 1500,
        ect,
        enqueued_at,
    }
}

fn queue(bytes: u64) -> Queue {
    Queue {
        bytes,
        packets: (bytes / 1500) as u32,
    }
}

#[test]
fn the_instantaneous_part_marks_strictly_above_its_target() {
    let mut cp = EcnSharp::new(&Params::default(), &mut rng());
    let mut verdict = |now: u64, ect| {
        let packet = packet(us(1_000), ect);
        cp.on_dequeue(Time::from_ns(now), &packet, queue(0), &mut rng())
    };
    assert_eq!(verdict(1_200_000, true), Verdict::Pass);
    assert_eq!(verdict(1_200_001, true), Verdict::MarkCe);
    assert_eq!(verdict(1_200_001, false), Verdict::Pass);
}

#[test]
fn instantaneous_marks_and_packets_without_ect_move_the_persistent_part_on() {
    let mut cp = EcnSharp::new(&Params::default(), &mut rng());
    for now in every_ten(1000, 1200) {
        let packet = packet(us(now - 300), true);
        let verdict = cp.on_dequeue(us(now), &packet, queue(0), &mut rng());
        assert_eq!(verdict, Verdict::MarkCe);
    }
    assert_eq!(cp.count(), 0);
    // The first persistent mark is due, and lost.
    let lost = cp.on_dequeue(us(1210), &packet(us(1100), false), queue(0), &mut rng());
    assert_eq!((lost, cp.count()), (Verdict::Pass, 1));
    let none = cp.on_dequeue(us(1220), &packet(us(1100), true), queue(0), &mut rng());
    assert_eq!(none, Verdict::Pass);
    let mark = cp.on_dequeue(us(1410), &packet(us(1300), true), queue(0), &mut rng());
    assert_eq!((mark, cp.count()), (Verdict::MarkCe, 2));
}

#[test]
fn queue_length_and_sojourn_time_agree_on_a_busy_link() {
    let rate = Rate::from_gbps(10);
    let slot = rate.time_for(1500);
    let sojourn = Params {
        instantaneous: Instantaneous::Above(us(100)),
        pst_target: us(20),
        pst_interval: us(100),
        ..Params::default()
    };
    let length = Params {
        signal: Signal::QueueLength(rate),
        ..sojourn
    };
    for variant in [Variant::Paper, Variant::AuthorsCode] {
        let mut cps = [sojourn, length]
            .map(|params| EcnSharp::new(&Params { variant, ..params }, &mut rng()));
        // A queue of n packets, then one packet in for one packet out.
        for packets in [5, 40, 100] {
            for departure in 0..1000 {
                let now = us(1000 * packets) + slot * departure;
                let packet = packet(now - slot * packets, true);
                let queue = queue(1500 * packets);
                let verdicts = cps
                    .each_mut()
                    .map(|cp| cp.on_dequeue(now, &packet, queue, &mut rng()));
                assert_eq!(verdicts[0], verdicts[1]);
            }
        }
    }
}

#[test]
fn the_linear_part_rises_from_nought_to_one() {
    let part = Instantaneous::Linear {
        from: us(55),
        to: us(220),
    };
    let mut rng = rng();
    let mut marked = |wait: Time| {
        let marks = (0..100_000).filter(|_| part.marks(wait, &mut rng));
        marks.count()
    };
    assert_eq!(marked(us(55)), 0);
    assert_eq!(marked(Time::from_ps(us(220).as_ps() + 1)), 100_000);
    assert_eq!(marked(us(220)), 100_000);
    // Four standard deviations are 0.6 %.
    assert!(marked(Time::from_ns(137_500)).abs_diff(50_000) < 640);
    assert!(marked(Time::from_ns(96_250)).abs_diff(25_000) < 550);
}

#[test]
fn equal_ends_of_the_linear_part_make_a_step() {
    let part = Instantaneous::Linear {
        from: us(100),
        to: us(100),
    };
    assert!(!part.marks(us(100), &mut rng()));
    assert!(part.marks(us(101), &mut rng()));
}

#[test]
fn the_linear_part_leaves_the_persistent_part_alone() {
    let mut cp = EcnSharp::new(
        &Params {
            instantaneous: Instantaneous::Linear {
                from: us(500),
                to: us(1000),
            },
            pst_target: us(10),
            pst_interval: us(100),
            variant: Variant::Paper,
            ..Params::default()
        },
        &mut rng(),
    );
    let marked = |now: &u64| {
        let packet = packet(us(now + 1000 - 50), true);
        cp.on_dequeue(us(now + 1000), &packet, queue(0), &mut rng()) == Verdict::MarkCe
    };
    let marks: Vec<_> = every_ten(10, 410).filter(marked).collect();
    assert_eq!(marks, PAPER_START);
}
