//! RCCC replays an incast of the reference simulator, in which receivers alone control congestion: four hosts send 100 to
//! 400 kB to a fifth, each 3 ns after the one before, at 100 Gb/s.

use unpause_protocols::congestion_control::receiver_credits::pacer::{Flow, Pacer, Pull};
use unpause_protocols::congestion_control::receiver_credits::sender::{Credit, Demand};
use unpause_protocols::units::{Rate, Time};

/// 1.5 BDPs.
const MOST: u64 = 262_926;

/// Events and their numbers.
fn rows(text: &str) -> impl Iterator<Item = (&str, Vec<i64>)> {
    text.lines().skip(1).map(|row| {
        let (event, numbers) = row.split_once(',').expect("an event");
        let numbers = numbers
            .split(',')
            .map(|value| value.parse().expect("a number"));
        (event, numbers.collect())
    })
}

/// Each pull goes to the flow to which the reference's went and grants the same, and is due when its was, but for what that
/// rounds down for each unit: 1 in 23 900. The reference was changed so that an idle flow waits in one place only, as here.
#[test]
fn the_receiver_grants_the_same_in_the_same_order() {
    let mut pacer = Pacer::new(Rate::from_gbps(100));
    let mut flows = [Flow::new(MOST); 5];
    let (mut pulls, mut slow_pulls) = (0, 0);
    for (event, numbers) in rows(include_str!("data/rccc_pacer.csv")) {
        let [now, flow, units, slow] = numbers[..] else {
            panic!("{numbers:?}");
        };
        let (now, number, units) = (now as u64, flow as u32, units as u64);
        let time = Time::from_ps(now);
        match event {
            "target" => pacer.on_target(&mut flows[..], number, time, units),
            "trim" => pacer.on_trim(&mut flows[..], number, time),
            _ => {
                let due = pacer.next_timer().as_ps();
                assert!(due.abs_diff(now) <= 64 + now / 20_000, "{due}: {numbers:?}");
                let pull = pacer.on_timer(&mut flows[..], Time::from_ps(now.max(due)));
                let expected = Pull {
                    flow: number,
                    granted: units,
                    slow: slow == 1,
                };
                assert_eq!(pull, Some(expected), "{numbers:?}");
                pulls += 1;
                slow_pulls += slow;
            }
        }
    }
    assert_eq!((pulls, slow_pulls), (121, 77));
}

#[test]
fn a_sender_has_the_same_credit_and_asks_for_the_same() {
    let mut credit = Credit::new(MOST, 4150);
    let mut events = 0;
    for (event, numbers) in rows(include_str!("data/rccc_sender.csv")) {
        let [first, repairs, _, flows, target, after] = numbers[..] else {
            panic!("{numbers:?}");
        };
        match event {
            "sent" => credit.on_sent(first as u32),
            "feedback" => credit.on_feedback(),
            "pull" => credit.on_pull(first as u64),
            _ => {
                let demand = Demand {
                    backlog: first as u64,
                    repairs: repairs as u64,
                    window: None,
                    flows: flows as u64,
                };
                assert_eq!(credit.pull_target(&demand), target as u64, "{numbers:?}");
            }
        }
        assert_eq!(credit.bytes(), after, "{event}: {numbers:?}");
        events += 1;
    }
    assert_eq!(events, 133);
}
