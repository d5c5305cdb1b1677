//! Cases of switch queues.

use std::collections::VecDeque;

use rand_core::Rng;
use unpause_protocols::by_name::Config;

use crate::event::Event;
use crate::machine::Side;
use crate::script::{BEGINNINGS, Case, Script, chance, value};

const US: u64 = 1_000_000;
const RANDOM: usize = 600;

pub fn cases(config: &Config) -> Vec<Case> {
    let mut cases = Vec::new();
    lengths(config, &mut cases);
    waits(config, &mut cases);
    standing(config, &mut cases);
    pauses(config, &mut cases);
    for (when, beginning) in BEGINNINGS {
        random(config, when, beginning, &mut cases);
    }
    cases
}

fn enqueue(now_ps: u64, ect: bool, queue_bytes: u64, queue_packets: u32) -> Event {
    Event::Enqueue {
        now_ps,
        bytes: 1_000,
        ect,
        queue_bytes,
        queue_packets,
    }
}

fn dequeue(now_ps: u64, ect: bool, waited_ps: u64, queue_bytes: u64) -> Event {
    Event::Dequeue {
        now_ps,
        bytes: 1_000,
        ect,
        enqueued_at_ps: now_ps.saturating_sub(waited_ps),
        queue_bytes,
        queue_packets: packets(queue_bytes),
    }
}

fn packets(bytes: u64) -> u32 {
    bytes.div_ceil(1_000) as u32
}

/// Thresholds of the mechanism in bytes or in picoseconds.
fn thresholds(config: &Config, names: &[&str], unit: &[&str]) -> Vec<u64> {
    let all = names.iter().filter_map(|name| value(config, name, unit));
    all.filter(|at| (1..1 << 40).contains(at)).collect()
}

/// A queue a byte shorter than a threshold, as long, and longer; packets that may be marked, and others.
fn lengths(config: &Config, cases: &mut Vec<Case>) {
    let mut script = Script::new("queue lengths around thresholds", config, Side::Only);
    let mut lengths = vec![0, 1_000];
    let bytes = thresholds(
        config,
        &["kmin", "kmax", "threshold", "q_eq"],
        &["1", "bytes"],
    );
    let in_packets = thresholds(config, &["threshold_packets"], &["packets"]);
    for at in bytes
        .into_iter()
        .chain(in_packets.into_iter().map(|n| n * 1_000))
    {
        lengths.extend([at - 1, at, at + 1, at + 1_000, 2 * at, 100 * at]);
    }
    for (step, length) in lengths.into_iter().enumerate() {
        for ect in [true, false] {
            let now_ps = 1_000 * US + step as u64 * US;
            script.tell(enqueue(
                now_ps,
                ect,
                length.max(1_000),
                packets(length).max(1),
            ));
            script.tell(dequeue(now_ps, ect, 5 * US, length));
        }
    }
    script.end(cases);
}

/// A wait a picosecond shorter than a threshold, as long, and longer.
fn waits(config: &Config, cases: &mut Vec<Case>) {
    let mut script = Script::new("waits around thresholds", config, Side::Only);
    let names = [
        "threshold",
        "target",
        "ins_target",
        "ins_min",
        "ins_max",
        "pst_target",
    ];
    let mut now_ps = 10_000 * US;
    for at in thresholds(config, &names, &["ps"]) {
        for wait in [at - 1, at, at + 1, at - at % 1_024, at + 1_024, 3 * at] {
            for ect in [true, false] {
                now_ps += 2 * US;
                script.tell(dequeue(now_ps, ect, wait, 30_000));
            }
        }
    }
    script.end(cases);
}

/// A queue that stands for ten intervals just above the target, falls to or below it for a packet, and stands
/// again; packets leave a picosecond before the end of an interval, at its end, and after it.
fn standing(config: &Config, cases: &mut Vec<Case>) {
    let interval = |name| value(config, name, &["ps"]);
    let Some(interval) = interval("pst_interval").or(interval("interval")) else {
        return;
    };
    let target = thresholds(config, &["pst_target", "target"], &["ps"]);
    let Some(&target) = target.first() else {
        return;
    };
    let mut script = Script::new("a queue that stands", config, Side::Only);
    let mut start = 10 * interval + 1;
    for (wait, left) in [
        (target, 30_000),
        (target - 1, 30_000),
        (0, 0),
        (target, 30_000),
    ] {
        for step in 0..80 {
            let now_ps = start + step * (interval / 8) + step % 3 - 1;
            script.tell(dequeue(now_ps, true, target + 1, 30_000));
        }
        script.tell(dequeue(start + 10 * interval, true, wait, left));
        start += 11 * interval;
    }
    script.end(cases);
}

/// Packets that a PAUSE holds, packets that come meanwhile, a PAUSE of an empty queue, one during another.
fn pauses(config: &Config, cases: &mut Vec<Case>) {
    let mut script = Script::new("a queue that is paused", config, Side::Only);
    let (mut now_ps, mut waiting) = (1_000 * US, 0_u64);
    for (before, meanwhile, after, twice) in [(10, 5, 3, false), (0, 4, 6, false), (3, 0, 0, true)]
    {
        for _ in 0..before {
            waiting += 1_000;
            script.tell(enqueue(now_ps, true, waiting, packets(waiting)));
            now_ps += US;
        }
        script.tell(Event::Pause { now_ps });
        if twice {
            script.tell(Event::Pause { now_ps: now_ps + 1 });
        }
        for _ in 0..meanwhile {
            waiting += 1_000;
            now_ps += US;
            script.tell(enqueue(now_ps, true, waiting, packets(waiting)));
        }
        now_ps += 100 * US;
        script.tell(Event::Resume {
            now_ps,
            queue_bytes: waiting,
            queue_packets: packets(waiting),
        });
        for _ in 0..after {
            waiting += 1_000;
            script.tell(enqueue(now_ps, true, waiting, packets(waiting)));
        }
        while waiting > 0 {
            waiting -= 1_000;
            now_ps += US;
            script.tell(dequeue(now_ps, true, 100 * US, waiting));
        }
    }
    script.end(cases);
}

fn random(config: &Config, when: &str, beginning: u64, cases: &mut Vec<Case>) {
    let mut script = Script::new(format!("random, {when}"), config, Side::Only);
    let (mut rng, mut now_ps) = (chance(), beginning);
    let mut queue: VecDeque<(u64, u32, bool)> = VecDeque::new();
    let mut waiting = 0_u64;
    for event in 0..RANDOM {
        now_ps += u64::from(rng.next_u32()) % (3 * US);
        if event % 97 == 40 {
            script.tell(Event::Pause { now_ps });
        } else if event % 97 == 50 {
            script.tell(Event::Resume {
                now_ps,
                queue_bytes: waiting,
                queue_packets: queue.len() as u32,
            });
        }
        // Grows, and then drains.
        let grows = if event % 300 < 200 { 650 } else { 250 };
        let held = (40..50).contains(&(event % 97));
        if queue.is_empty() || held || rng.next_u32() % 1_000 < grows {
            let (bytes, ect) = (64 + rng.next_u32() % 1_437, rng.next_u32() % 8 != 0);
            queue.push_back((now_ps, bytes, ect));
            waiting += u64::from(bytes);
            script.tell(Event::Enqueue {
                now_ps,
                bytes,
                ect,
                queue_bytes: waiting,
                queue_packets: queue.len() as u32,
            });
        } else if let Some((enqueued_at_ps, bytes, ect)) = queue.pop_front() {
            waiting -= u64::from(bytes);
            script.tell(Event::Dequeue {
                now_ps,
                bytes,
                ect,
                enqueued_at_ps,
                queue_bytes: waiting,
                queue_packets: queue.len() as u32,
            });
        }
    }
    script.end(cases);
}
