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
            0 => TrafficSpec::Burst(Burst {
                arrivals: periodic,
                ..burst()
            }),
            1 => TrafficSpec::Incast(Incast {
                arrivals: periodic,
                ..incast((1, 7))
            }),
            2 => TrafficSpec::OnOff(OnOff {
                from: all(3),
                to: 3,
                on: Time::from_ps(period),
                off: Time::from_ps(period / 2),
                start: Time::from_ps(start),
                stop: Time::from_ps(start + period * count),
                flow: FlowSettings::default(),
            }),
            3 => TrafficSpec::Permutation(Permutation {
                hosts: all(4),
                size: None,
                start: Time::from_ps(start),
                flow: FlowSettings::default(),
            }),
            _ => TrafficSpec::Poisson(Poisson {
                synchronised: period % 2 == 0,
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
