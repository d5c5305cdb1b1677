//! Properties of the stream of any entries.

use proptest::prelude::*;

use super::*;

/// Entries of every kind that end by themselves.
fn specs() -> impl Strategy<Value = Vec<TrafficSpec>> {
    let times = (1u64..5_000_000, 0u64..5_000_000, 0u64..20);
    let entry = (times, 0u32..5).prop_map(|((period, start, count), kind)| {
        let periodic = Arrivals {
            max_events: Some(count),
            ..Arrivals::every(Time::from_ps(period), Time::from_ps(start))
        };
        match kind {
            0 => TrafficSpec::Pattern(Pattern {
                arrivals: periodic,
                ..burst()
            }),
            1 => TrafficSpec::Pattern(Pattern {
                arrivals: periodic,
                ..incast((1, 7))
            }),
            2 => TrafficSpec::Pattern(Pattern {
                size: None,
                lifetime: Time::from_ps(period),
                arrivals: Arrivals {
                    stop: Time::from_ps(start + period * count),
                    ..Arrivals::every(Time::from_ps(period + period / 2), Time::from_ps(start))
                },
                ..many_to_one(all(3), 3, BurstFlows::PerHost(1))
            }),
            3 => TrafficSpec::Pattern(Pattern {
                pairs: Pairs::permutation(all(4)),
                size: None,
                arrivals: Arrivals::once(Time::from_ps(start)),
                ..burst()
            }),
            _ => TrafficSpec::Pattern(Pattern {
                pairs: Pairs::Random {
                    from: all(10),
                    to: Receivers::Any(all(10)),
                    synchronised: period % 2 == 0,
                },
                arrivals: Arrivals {
                    max_flows: Some(count),
                    ..Arrivals::poisson(1e12 / period as f64, Time::from_ps(start))
                },
                ..poisson(1.0, 1)
            }),
        }
    });
    proptest::collection::vec(entry, 0..6)
}

proptest! {
    #[test]
    fn the_stream_is_ordered_repeatable_and_complete(specs in specs(), seed: u64) {
        let made = flows(&specs, seed);
        prop_assert!(made.is_sorted_by_key(|flow| (flow.start, flow.group)));
        prop_assert_eq!(&made, &flows(&specs, seed));
        for flow in &made {
            prop_assert!(flow.src != flow.dst && flow.stop >= flow.start);
            prop_assert!(flow.size_bytes != Some(0));
        }
    }

    /// An entry's flows are the same whatever stands beside it.
    #[test]
    fn entries_do_not_depend_on_one_another(specs in specs(), seed: u64) {
        let together = flows(&specs, seed);
        for index in 0..specs.len() {
            let mut alone = vec![TrafficSpec::Flows(vec![]); specs.len()];
            alone[index] = specs[index].clone();
            let of_entry: Vec<_> = together
                .iter()
                .filter(|flow| usize::from(flow.group) == index)
                .copied()
                .collect();
            prop_assert_eq!(of_entry, flows(&alone, seed));
        }
    }
}
