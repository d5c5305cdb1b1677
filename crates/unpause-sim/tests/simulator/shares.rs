//! Priorities that share the port of a NIC.

use unpause_sim::config::NicShares;
use unpause_sim::traffic::FlowSpec;

use crate::common::*;
use crate::nics::two_planes;

/// The priority of a flow, and its limit in Gb/s.
type Wanted = (u8, Option<u64>);
/// A priority and its weight.
type Weight = (u8, u16);

/// The rates of flows of these priorities over 40 Gb/s, in Gb/s, one each from host 1 to a host of its own.
fn rates(weights: &[Weight], flows: &[Wanted]) -> Vec<f64> {
    let specs = (2..).zip(flows).map(|(dst, (priority, limit))| FlowSpec {
        priority: *priority,
        rate_limit: limit.map(gbps),
        recorded: true,
        ..flow(1, dst)
    });
    let hosts = vec![gbps(40); flows.len() + 1];
    let mut config = config(star(&hosts, us(1)), specs.collect(), ms(3));
    config.switch.lossless = 0;
    config.host.shares = Some(shares(weights));
    let results = run(&config);
    let of = |flow| frame_gbps(&results, flow, ms(1), ms(3));
    (0..flows.len() as u32).map(of).collect()
}

fn shares(weights: &[Weight]) -> NicShares {
    let mut shares = NicShares { weights: [0; 8] };
    for (priority, weight) in weights {
        shares.weights[usize::from(*priority)] = *weight;
    }
    shares
}

#[test]
fn priorities_share_a_nic_by_weight() {
    type Case = (&'static [Weight], &'static [Wanted], &'static [f64]);
    let cases: [Case; 5] = [
        (&[(0, 30), (3, 10)], &[(0, None), (3, None)], &[30.0, 10.0]),
        // Two flows of one priority share what that has.
        (
            &[(0, 30), (3, 10)],
            &[(0, None), (3, None), (3, None)],
            &[30.0, 5.0, 5.0],
        ),
        // The rest of one's share goes to the others.
        (
            &[(0, 1), (1, 1), (2, 2)],
            &[(0, None), (1, Some(2)), (2, None)],
            &[38.0 / 3.0, 2.0, 76.0 / 3.0],
        ),
        // Without a weight a priority goes before them, whatever its number.
        (
            &[(3, 1), (5, 1)],
            &[(0, Some(10)), (3, None), (5, None)],
            &[10.0, 15.0, 15.0],
        ),
        (&[(3, 1)], &[(0, None), (3, None)], &[40.0, 0.0]),
    ];
    for (weights, flows, expected) in cases {
        let found = rates(weights, flows);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 0.1, "{weights:?}: {found}");
        }
    }
}

/// A priority that PAUSE stops leaves the port to the other, and gets no more than its share when it resumes.
#[test]
fn a_paused_priority_makes_nothing_up() {
    let to = |dst, priority| FlowSpec {
        priority,
        recorded: true,
        ..flow(1, dst)
    };
    // Host 4 sends to host 2 as well, until 2 ms: PAUSE of priority 3 stops both.
    let rival = FlowSpec {
        priority: 3,
        stop: ms(2),
        ..flow(4, 2)
    };
    let flows = vec![to(2, 3), to(3, 0), rival];
    let mut config = config(star(&[gbps(40); 4], us(1)), flows, ms(4));
    config.switch.lossless = 1 << 3;
    config.switch.pfc.threshold = static_threshold(30_000);
    config.host.shares = Some(shares(&[(0, 1), (3, 3)]));
    let results = run(&config);
    assert!(results.totals.pause_frames > 0);
    let rate = |flow, from, to| frame_gbps(&results, flow, from, to);
    assert_within("alone", rate(0, ms(3), ms(4)), 30.0, 0.01);
    assert_within("beside", rate(1, ms(3), ms(4)), 10.0, 0.01);
    let paused = rate(0, ms(1), ms(2));
    assert_within("paused", paused, 20.0, 0.05);
    assert_within("beside paused", rate(1, ms(1), ms(2)), 40.0 - paused, 0.01);
}

/// Each NIC of a host has shares of its own.
#[test]
fn nics_share_one_by_one() {
    let from = |source_port, priority| FlowSpec {
        priority,
        source_port,
        recorded: true,
        ..flow(2, 3)
    };
    // Source ports that take one NIC and the other: two flows at each of them.
    let flows: Vec<_> = (0..16)
        .map(|port| from(port, if port % 2 == 0 { 0 } else { 1 }))
        .collect();
    let mut config = config(two_planes(2), flows, ms(2));
    config.switch.lossless = 0;
    config.host.shares = Some(shares(&[(0, 1), (1, 3)]));
    let results = run(&config);
    for nic in 0..2 {
        let sent = |priority| port(&results, 2, nic, priority).tx_bytes as f64;
        assert_within("NIC", sent(1) / sent(0), 3.0, 0.01);
    }
}
