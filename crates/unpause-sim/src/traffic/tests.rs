//! Tests of the merged stream and of each generator.

use std::collections::{HashMap, HashSet};

use std::sync::Arc;

use unpause_protocols::units::{Rate, Time};

use super::*;
use crate::fabric::{Fabric, NodeId, NodeKind};

mod properties;

const SECOND: u64 = 1_000_000_000_000;

fn fabric(hosts: usize) -> Fabric {
    let mut nodes = vec![NodeKind::Host; hosts];
    nodes.push(NodeKind::Switch);
    Fabric {
        nodes,
        ..Fabric::default()
    }
}

fn flows(specs: &[TrafficSpec], seed: u64) -> Vec<FlowSpec> {
    Traffic::new(specs, &fabric(64), seed).unwrap().collect()
}

fn all(hosts: u32) -> Vec<NodeId> {
    (0..hosts).collect()
}

/// Sizes spread over 1 to 1999 bytes, mean 1000.
fn spread() -> Size {
    Size::Cdf(Arc::new(Cdf::new(vec![(0, 0.0), (2000, 1.0)]).unwrap()))
}

fn burst() -> Pattern {
    many_to_one(vec![2, 3, 4], 1, BurstFlows::PerHost(2))
}

fn many_to_one(from: Vec<NodeId>, to: NodeId, flows: BurstFlows) -> Pattern {
    let arrivals = Arrivals::once(Time::from_ms(50));
    Pattern::new(
        Pairs::Burst { from, to, flows },
        Size::Fixed(64_000),
        arrivals,
    )
}

fn poisson(events_per_second: f64, seconds: u64) -> Pattern {
    let arrivals = Arrivals {
        stop: Time::from_ps(seconds * SECOND),
        ..Arrivals::poisson(events_per_second, Time::ZERO)
    };
    Pattern::new(random(all(10), Receivers::Any(all(10))), spread(), arrivals)
}

fn random(from: Vec<NodeId>, to: Receivers) -> Pairs {
    Pairs::Random {
        from,
        to,
        synchronised: false,
    }
}

fn incast(senders: (u32, u32)) -> Pattern {
    let (from, to) = (all(64), all(64));
    let arrivals = Arrivals {
        max_events: Some(2000),
        ..Arrivals::poisson(1e5, Time::from_us(3))
    };
    Pattern::new(Pairs::Incast { from, to, senders }, spread(), arrivals)
}

#[test]
fn a_burst_starts_every_flow_of_every_host_at_once() {
    let made = flows(&[TrafficSpec::Pattern(burst())], 1);
    let senders: Vec<_> = made.iter().map(|flow| flow.src).collect();
    assert_eq!(senders, [2, 2, 3, 3, 4, 4]);
    for flow in &made {
        assert_eq!((flow.dst, flow.size_bytes), (1, Some(64_000)));
        assert_eq!((flow.start, flow.stop), (Time::from_ms(50), Time::NEVER));
    }
    let ports: HashSet<_> = made.iter().map(|flow| flow.source_port).collect();
    assert!(ports.len() > 1 && ports.iter().all(|&port| port >= 0xC000));
}

#[test]
fn a_periodic_burst_repeats_until_its_end_or_its_count() {
    let starts = |arrivals| {
        let mut starts: Vec<u64> = flows(
            &[TrafficSpec::Pattern(Pattern {
                arrivals,
                ..burst()
            })],
            1,
        )
        .iter()
        .map(|flow| flow.start.as_ps() / 1_000_000)
        .collect();
        starts.dedup();
        starts
    };
    let periodic = Arrivals::every(Time::from_us(500), Time::from_us(100));
    let until = Arrivals {
        stop: Time::from_us(1600),
        ..periodic
    };
    assert_eq!(starts(until), [100, 600, 1100]);
    let counted = Arrivals {
        max_events: Some(2),
        ..periodic
    };
    assert_eq!(starts(counted), [100, 600]);
    let cut = Arrivals {
        max_flows: Some(7),
        ..periodic
    };
    assert_eq!(starts(cut), [100, 600]);
}

#[test]
fn on_off_sources_send_and_pause_in_turn() {
    let spec = TrafficSpec::Pattern(Pattern {
        size: None,
        lifetime: Time::from_us(30),
        arrivals: Arrivals {
            stop: Time::from_us(75),
            ..Arrivals::every(Time::from_us(50), Time::from_us(10))
        },
        flow: FlowSettings {
            rate_limit: Some(Rate::from_gbps(5)),
            ..FlowSettings::default()
        },
        ..many_to_one(vec![0, 1], 2, BurstFlows::PerHost(1))
    });
    let periods: Vec<_> = flows(&[spec], 1)
        .iter()
        .map(|f| {
            assert_eq!(
                (f.size_bytes, f.rate_limit),
                (None, Some(Rate::from_gbps(5)))
            );
            (
                f.src,
                f.start.as_ps() / 1_000_000,
                f.stop.as_ps() / 1_000_000,
            )
        })
        .collect();
    assert_eq!(
        periods,
        [(0, 10, 40), (1, 10, 40), (0, 60, 75), (1, 60, 75)]
    );
}

#[test]
fn poisson_offers_its_load_evenly() {
    let (rate, seconds) = (20_000.0, 5);
    let made = flows(&[TrafficSpec::Pattern(poisson(rate, seconds))], 3);
    // The count is Poisson with mean 100,000; its standard deviation is 316.
    let expected = rate * seconds as f64;
    assert!((made.len() as f64 - expected).abs() < 4.0 * expected.sqrt());
    // Bytes: compound Poisson, variance = expected x E[size^2] = expected x 4/3 x 10^6.
    let bytes: u64 = made.iter().map(|flow| flow.size_bytes.unwrap()).sum();
    let deviation = (expected * 4.0 / 3.0).sqrt() * 1000.0;
    assert!((bytes as f64 - expected * 1000.0).abs() < 4.0 * deviation + expected);
    // Intervals: mean and standard deviation of an exponential distribution are equal.
    let intervals: Vec<f64> = made
        .windows(2)
        .map(|pair| (pair[1].start - pair[0].start).as_secs_f64() * rate)
        .collect();
    let mean = intervals.iter().sum::<f64>() / intervals.len() as f64;
    let variance =
        intervals.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / intervals.len() as f64;
    assert!(
        (mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05,
        "{mean} {variance}"
    );
    let mut pairs = HashMap::new();
    for flow in &made {
        assert_ne!(flow.src, flow.dst);
        *pairs.entry((flow.src, flow.dst)).or_insert(0u32) += 1;
    }
    assert_eq!(pairs.len(), 90);
    let per_pair = expected / 90.0;
    assert!(
        pairs
            .values()
            .all(|&n| (f64::from(n) - per_pair).abs() < 5.0 * per_pair.sqrt())
    );
}

/// The same random events, twice as close; what happens at fixed times stays.
#[test]
fn scaled_load_has_random_events_closer_together() {
    let plain = TrafficSpec::Pattern(poisson(1_000.0, 2));
    let mut scaled = plain.clone();
    scaled.scale_load(2.0);
    let (plain, scaled) = (flows(&[plain], 7), flows(&[scaled], 7));
    assert!(scaled.len().abs_diff(2 * plain.len()) < 200);
    for (one, two) in plain.iter().zip(&scaled) {
        let twice = two.start * 2;
        assert!(one.start.as_ps().abs_diff(twice.as_ps()) < 1_000_000);
        assert_eq!((one.src, one.dst), (two.src, two.dst));
    }
    let fixed = TrafficSpec::Pattern(burst());
    let mut scaled = fixed.clone();
    scaled.scale_load(2.0);
    assert_eq!(scaled, fixed);
}

#[test]
fn synchronised_senders_share_one_clock_and_draw_their_own_sizes() {
    let spec = TrafficSpec::Pattern(Pattern {
        pairs: Pairs::Random {
            from: vec![2, 3, 4],
            to: Receivers::Any(vec![1]),
            synchronised: true,
        },
        ..poisson(1000.0, 1)
    });
    let made = flows(&[spec], 1);
    let mut sizes = HashSet::new();
    for event in made.chunks(3) {
        assert_eq!(
            event.iter().map(|flow| flow.src).collect::<Vec<_>>(),
            [2, 3, 4]
        );
        assert!(
            event
                .iter()
                .all(|flow| flow.start == event[0].start && flow.dst == 1)
        );
        sizes.extend(event.iter().map(|flow| flow.size_bytes));
    }
    // 3 x about 1000 draws of 2000 sizes: about 1554 different ones.
    assert!(sizes.len() > 1200);
}

#[test]
fn a_permutation_gives_each_host_one_flow_each_way_and_none_to_itself() {
    for seed in 0..50 {
        let made = flows(
            &[TrafficSpec::Pattern(Pattern::new(
                Pairs::permutation(all(5)),
                Size::Fixed(1),
                Arrivals::once(Time::from_us(1)),
            ))],
            seed,
        );
        assert_eq!(made.iter().map(|f| f.src).collect::<Vec<_>>(), all(5));
        assert_eq!(made.iter().map(|f| f.dst).collect::<HashSet<_>>().len(), 5);
        assert!(
            made.iter()
                .all(|f| f.src != f.dst && f.start == Time::from_us(1))
        );
    }
}

#[test]
fn a_poisson_permutation_keeps_its_pairs() {
    let spec = TrafficSpec::Pattern(Pattern {
        pairs: random(all(10), Receivers::Permutation),
        ..poisson(1000.0, 1)
    });
    let pairs: HashSet<_> = flows(&[spec], 1).iter().map(|f| (f.src, f.dst)).collect();
    assert_eq!(pairs.len(), 10);
    assert_eq!(
        pairs
            .iter()
            .map(|pair| pair.1)
            .collect::<HashSet<_>>()
            .len(),
        10
    );
}

#[test]
fn incast_has_every_number_of_distinct_senders_and_every_receiver() {
    let made = flows(&[TrafficSpec::Pattern(incast((1, 15)))], 1);
    let mut by_event: HashMap<Time, Vec<FlowSpec>> = HashMap::new();
    for flow in made {
        by_event.entry(flow.start).or_default().push(flow);
    }
    assert_eq!(by_event.len(), 2000);
    let mut counts = [0u32; 16];
    let mut receivers = HashSet::new();
    for event in by_event.values() {
        let senders: HashSet<_> = event.iter().map(|flow| flow.src).collect();
        let receiver = event[0].dst;
        assert_eq!(senders.len(), event.len());
        assert!(!senders.contains(&receiver) && event.iter().all(|flow| flow.dst == receiver));
        counts[event.len()] += 1;
        receivers.insert(receiver);
    }
    // 133 each, standard deviation 11.
    assert!(
        counts[1..].iter().all(|count| count.abs_diff(133) < 55),
        "{counts:?}"
    );
    assert_eq!(receivers.len(), 64);
}

#[test]
fn all_other_hosts_can_take_part_in_an_incast() {
    let made = flows(&[TrafficSpec::Pattern(incast((63, 63)))], 1);
    assert_eq!(made.len(), 2000 * 63);
}

#[test]
fn flows_are_given_in_order_of_start_and_ties_in_order_of_entry() {
    let flow = |start, src| FlowSpec {
        group: 99,
        size_bytes: Some(1),
        start: Time::from_us(start),
        source_port: 7,
        ..FlowSpec::between(src, 9)
    };
    let specs = [
        TrafficSpec::Flows(vec![flow(5, 1), flow(2, 2), flow(5, 3)]),
        TrafficSpec::Flows(vec![]),
        TrafficSpec::Flows(vec![flow(2, 4), flow(5, 5)]),
    ];
    let order: Vec<_> = flows(&specs, 1).iter().map(|f| (f.group, f.src)).collect();
    assert_eq!(order, [(0, 2), (2, 4), (0, 1), (0, 3), (2, 5)]);
}

#[test]
fn entries_that_cannot_be_generated_are_refused() {
    let switch = 64;
    let refused = |spec: TrafficSpec, reason: &str| {
        let error = Traffic::new(&[spec], &fabric(64), 1).unwrap_err();
        assert!(
            error.starts_with("traffic entry 0: ") && error.contains(reason),
            "{error}"
        );
    };
    let change = |f: &dyn Fn(&mut Pattern)| {
        let mut changed = burst();
        f(&mut changed);
        TrafficSpec::Pattern(changed)
    };
    let between = |from, to| TrafficSpec::Pattern(many_to_one(from, to, BurstFlows::PerHost(2)));
    refused(between(vec![2, 3, 4], switch), "is a switch");
    refused(between(vec![2, 3, 4], 65), "no node 65");
    refused(between(vec![2, 3, 4], 3), "to itself");
    refused(between(vec![], 1), "no senders");
    refused(between(vec![2, 3, 4, 2], 1), "twice");
    refused(change(&|b| b.size = Some(Size::Fixed(0))), "1 byte");
    refused(change(&|b| b.lifetime = Time::ZERO), "longer than zero");
    refused(change(&|b| b.flow.priority = 8), "priority 8");
    let to_eight = PriorityBySize::new(&[(10, 8)]).unwrap();
    refused(change(&|b| b.flow.by_size = to_eight), "priority 8");
    refused(
        change(&|b| b.arrivals = Arrivals::every(Time::ZERO, Time::ZERO)),
        "interval",
    );
    refused(TrafficSpec::Pattern(poisson(0.0, 1)), "rate above 0");
    refused(TrafficSpec::Pattern(poisson(f64::NAN, 1)), "rate above 0");
    refused(TrafficSpec::Pattern(incast((1, 64))), "there are 63");
    refused(TrafficSpec::Pattern(incast((0, 4))), "no range");
    refused(TrafficSpec::Pattern(incast((5, 4))), "no range");
}

#[test]
fn a_burst_of_so_many_flows_in_all_takes_its_senders_in_turn() {
    let burst = many_to_one(all(16), 20, BurstFlows::InAll(100));
    let made = flows(&[TrafficSpec::Pattern(burst)], 1);
    assert_eq!(made.len(), 100);
    for src in 0..16 {
        let of_host = made.iter().filter(|flow| flow.src == src).count();
        assert_eq!(of_host, if src < 4 { 7 } else { 6 });
    }
}

#[test]
fn receivers_behind_another_switch_are_drawn_evenly() {
    // Hosts 0 to 3 behind switch 100, 4 to 7 behind 101, 8 behind 102.
    let switch_of: Vec<NodeId> = (0..9).map(|host| 100 + host / 4).collect();
    let elsewhere = |from: Vec<NodeId>, to: Vec<NodeId>| {
        let switch_of = switch_of.clone().into();
        TrafficSpec::Pattern(Pattern {
            pairs: random(from, Receivers::BehindOtherSwitch { to, switch_of }),
            arrivals: Arrivals {
                max_flows: Some(20_000),
                ..Arrivals::poisson(1e6, Time::ZERO)
            },
            ..poisson(1.0, 1)
        })
    };
    let made = flows(&[elsewhere(all(4), all(9))], 1);
    let mut counts = [0_u32; 9];
    for flow in &made {
        counts[flow.dst as usize] += 1;
    }
    assert_eq!(counts[..4], [0; 4]);
    // Standard deviation of each count is 57.
    assert!(
        counts[4..].iter().all(|n| n.abs_diff(4000) < 250),
        "{counts:?}"
    );
    let nobody = elsewhere(all(4), vec![1, 2]).validate(&fabric(64));
    assert!(nobody.unwrap_err().contains("other than that of host 0"));
}

/// A size that is a bound belongs to the class below it, and a flow without end to the last one.
#[test]
fn priorities_follow_sizes() {
    let by_size = PriorityBySize::new(&[(500, 6), (1000, 5)]).unwrap();
    let settings = FlowSettings {
        priority: 2,
        by_size,
        ..FlowSettings::default()
    };
    let sizes = [1, 500, 501, 1000, 1001];
    assert_eq!(
        sizes.map(|b| settings.priority_of(Some(b))),
        [6, 6, 5, 5, 2]
    );
    assert_eq!(settings.priority_of(None), 2);

    let mut spec = incast((1, 15));
    (spec.flow, spec.size) = (settings, Some(spread()));
    let spec = TrafficSpec::Pattern(spec);
    assert_eq!(spec.priorities(), 1 << 6 | 1 << 5 | 1 << 2);
    let made = flows(&[spec], 1);
    let classes: HashSet<u8> = made.iter().map(|flow| flow.priority).collect();
    assert_eq!(classes, HashSet::from([2, 5, 6]));
    assert!(
        made.iter()
            .all(|flow| flow.priority == settings.priority_of(flow.size_bytes))
    );

    let refused = |classes: &[(u64, u8)]| PriorityBySize::new(classes).unwrap_err();
    assert!(refused(&[(20, 1), (20, 2)]).contains("20 B comes after 20 B"));
    let eight: Vec<(u64, u8)> = (1..=8).map(|n| (n, 1)).collect();
    assert!(refused(&eight).contains("8 sizes"));
}
