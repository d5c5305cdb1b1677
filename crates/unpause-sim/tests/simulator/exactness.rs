//! A flow alone takes exactly as long as arithmetic says.

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, Fabric, NodeKind, SwitchModel};
use unpause_sim::traffic::FlowSpec;

use crate::common::*;

/// Frames of a flow one after another over store-and-forward hops: (frame bytes, arrival of the
/// last bit).
fn recurrence(path: &[(Rate, Time)], size: u64, config: &Config) -> Time {
    let (payload, header) = (config.host.payload_bytes, config.host.header_bytes);
    let packets = size.div_ceil(u64::from(payload));
    let mut free = vec![0u64; path.len()];
    let mut arrival = 0;
    for packet in 0..packets {
        let carried = (size - packet * u64::from(payload)).min(u64::from(payload));
        let bytes = (carried + u64::from(header)).max(64) + u64::from(config.fabric.framing_bytes);
        arrival = 0;
        for (hop, (rate, delay)) in path.iter().enumerate() {
            free[hop] = free[hop].max(arrival) + rate.time_for(bytes).as_ps();
            arrival = free[hop] + delay.as_ps();
        }
    }
    Time::from_ps(arrival)
}

fn alone(fabric: Fabric, framing_bytes: u32, size: u64) -> (Config, Time) {
    let start = ps(1_234_567);
    let spec = FlowSpec {
        start,
        ..sized(1, 2, size)
    };
    let fabric = Fabric {
        framing_bytes,
        ..fabric
    };
    let config = config(fabric, vec![spec], ms(50));
    let results = run(&config);
    assert_lossless(&results);
    assert_complete(&results);
    let flow = &results.flows[0];
    assert_eq!((flow.start, flow.fct), (start, flow.ideal_fct));
    (config, fct(flow))
}

#[test]
fn fct_is_the_closed_form() {
    let paths: [&[(u64, u64)]; 8] = [
        &[(40, 5_000_000), (40, 5_000_000)],
        &[(10, 1_000_000), (100, 2_000_000)],
        &[(100, 2_000_000), (10, 1_000_000)],
        &[(400, 300_001), (100, 5_000_000), (10, 77), (40, 1_000_000)],
        &[(10, 123), (40, 456), (100, 789), (400, 1)],
        &[
            (25, 1_000),
            (800, 20_000),
            (200, 300_000),
            (50, 4_000),
            (25, 1),
        ],
        // Bytes of 25/9, 10/3 and 8000/1481 ps.
        &[(2_880, 1_000), (2_400, 20_000), (1_481, 300), (100, 1)],
        &[(2_400, 1), (2_400, 500_000)],
    ];
    for path in paths {
        let path: Vec<(Rate, Time)> = path.iter().map(|&(g, d)| (gbps(g), ps(d))).collect();
        for framing in [0, 20] {
            for size in [1, 15, 16, 17, 999, 1000, 1001, 64_000, 1_000_001] {
                let (config, fct) = alone(chain(&path), framing, size);
                let expected = recurrence(&path, size, &config);
                assert_eq!(fct, expected, "{path:?}, framing {framing}, {size} B");
            }
        }
    }
}

/// Worked by hand, so that nothing is shared with the simulator.
#[test]
fn fct_has_its_golden_values() {
    let same = |rate| [(gbps(rate), us(5)), (gbps(rate), us(5))];
    let golden = [
        // 64 B frame: 12.8 ns twice.
        (same(40), 0, 1, 10_025_600),
        (same(40), 20, 1, 10_033_600),
        // 1048 B: 209.6 ns twice.
        (same(40), 0, 1000, 10_419_200),
        // A full frame on each hop, 64 B behind it on the second.
        (same(40), 0, 1001, 10_419_200 + 12_800),
        // 64 frames at 10 Gb/s: 65 x 838.4 ns.
        (same(10), 0, 64_000, 10_000_000 + 65 * 838_400),
        // 1048 B of 10/3 ps: 3,493.3 ps, and 64 B: 213.3 ps, each rounded up.
        (same(2_400), 0, 2001, 10_000_000 + 3 * 3_494 + 214),
        // 1000 full frames and one of 64 B.
        (same(400), 0, 1_000_001, 10_000_000 + 1001 * 20_960 + 1_280),
    ];
    for (path, framing, size, expected) in golden {
        let (_, fct) = alone(chain(&path), framing, size);
        assert_eq!(fct, ps(expected), "{path:?}, framing {framing}, {size} B");
    }
}

#[test]
fn no_scheme_slows_a_flow_that_is_alone() {
    let path = [(gbps(40), us(5)), (gbps(40), us(5)), (gbps(40), us(5))];
    for (name, scheme) in schemes() {
        for size in [1, 1000, 64_000, 3_000_000] {
            let mut config = config(chain(&path), vec![sized(1, 2, size)], ms(50));
            config.scheme = scheme.clone();
            let results = run(&config);
            assert_lossless(&results);
            let flow = &results.flows[0];
            assert_eq!(flow.fct, flow.ideal_fct, "{name}, {size} B");
        }
    }
}

/// A rate limit counts frames with framing, from the start of one to the start of the next.
#[test]
fn a_rate_limited_flow_is_paced_to_the_picosecond() {
    let fabric = chain(&[(gbps(40), us(1)), (gbps(40), us(1))]);
    for framing_bytes in [0, 20] {
        let fabric = Fabric {
            framing_bytes,
            ..fabric.clone()
        };
        let spec = FlowSpec {
            rate_limit: Some(gbps(10)),
            ..sized(1, 2, 100_000)
        };
        let results = run(&config(fabric, vec![spec], ms(1)));
        let wire = FRAME + u64::from(framing_bytes);
        let expected = 99 * wire * 800 + 2 * (wire * 200) + us(2).as_ps();
        assert_eq!(fct(&results.flows[0]), ps(expected));
    }
}

/// Flows are sampled on a coarser grid than ports, at a host whose port is sampled and at others.
#[test]
fn flows_can_be_sampled_less_often_than_ports() {
    let recorded = |src| FlowSpec {
        recorded: true,
        ..sized(src, 1, 1_000_000)
    };
    let flows = vec![recorded(2), recorded(3)];
    let mut config = config(star(&[gbps(10); 3], us(1)), flows, ms(1));
    config.probes.interval = us(10);
    config.probes.ports = vec![(2, 0)];
    let every = run(&config);
    config.probes.flow_interval = Some(us(50));
    let coarse = run(&config);
    let kept: Vec<_> = every
        .flow_series
        .iter()
        .filter(|sample| sample.time.as_ps().is_multiple_of(us(50).as_ps()))
        .copied()
        .collect();
    assert!(kept.len() > 30 && every.flow_series.len() > 4 * kept.len());
    assert_eq!(coarse.flow_series, kept);
    assert_eq!(coarse.port_series, every.port_series);
}

/// Events at one instant in one switch have an order that follows from the fabric: arrivals by
/// port, then ports that become free.
#[test]
fn ties_are_broken_by_port() {
    let frame = FRAME * 200;
    let fabric = || star(&[gbps(40); 5], us(1));
    for order in [[2, 3, 4, 5], [5, 3, 2, 4], [4, 5, 3, 2]] {
        let flows = order.map(|src| sized(src, 1, 1000)).to_vec();
        let results = run(&config(fabric(), flows, us(20)));
        for flow in &results.flows {
            let ahead = u64::from(flow.src - 2) * frame;
            assert_eq!(fct(flow), flow.ideal_fct.unwrap() + ps(ahead));
        }
    }

    // The third comes as the first leaves, in time to go before the second.
    let packet = |src, start, priority| FlowSpec {
        start,
        priority,
        ..sized(src, 1, 1000)
    };
    let flows = vec![
        packet(2, Time::ZERO, 1),
        packet(3, ps(1000), 1),
        packet(4, ps(frame), 2),
    ];
    let results = run(&config(fabric(), flows, us(20)));
    let wait = |flow: usize| fct(&results.flows[flow]) - results.flows[flow].ideal_fct.unwrap();
    assert_eq!(
        [wait(0), wait(1), wait(2)],
        [ps(0), ps(2 * frame - 1000), ps(0)]
    );
}

/// Impossible configurations are refused with a message.
#[test]
fn impossible_configurations_are_refused() {
    let good = || config(star(&[gbps(40); 3], us(1)), vec![sized(1, 2, 1000)], ms(1));
    type Spoil = fn(&mut Config);
    let cases: [(&str, Spoil); 19] = [
        ("`cut_through` is zero", |c| {
            c.switch.cut_through_bytes = Some(0)
        }),
        ("not less than a frame", |c| {
            c.switch.cut_through_bytes = Some(1048)
        }),
        ("store and forward", |c| {
            c.switch.cut_through_bytes = Some(64);
            c.switch.model = SwitchModel::InputQueued(Default::default());
        }),
        ("no multiple of `interval`", |c| {
            c.probes.flow_interval = Some(us(150))
        }),
        ("duration must be above zero", |c| c.stop = Time::ZERO),
        ("duration must be above zero", |c| c.stop = Time::NEVER),
        ("no delay", |c| c.fabric.links[0].delay = Time::ZERO),
        ("at most 8000Gbps", |c| c.fabric.links[0].rate = gbps(8001)),
        ("above zero", |c| c.fabric.links[0].rate = Rate::ZERO),
        ("does not join two nodes", |c| c.fabric.links[0].b = 9),
        ("does not join two nodes", |c| c.fabric.links[0].b = 0),
        ("has no link", |c| c.fabric.nodes.push(NodeKind::Host)),
        ("carries control frames", |c| c.switch.lossless = 0xff),
        ("`interval` is zero", |c| c.probes.interval = Time::ZERO),
        ("`ack_every` is zero", |c| c.host.ack_every = 0),
        ("`payload` is zero", |c| c.host.payload_bytes = 0),
        // Three times 2 x 1048 B, 64 B and 2 us of 40 Gb/s.
        ("needs 36480B of headroom", |c| {
            c.switch.buffer_bytes = Some(36_480);
        }),
        ("above XOFF", |c| {
            c.switch.pfc.threshold = unpause_sim::config::PfcThreshold::Static {
                xoff_bytes: 1000,
                xon_bytes: 1001,
            };
        }),
        ("no path from host", |c| {
            let lonely = c.fabric.nodes.len() as u32;
            c.fabric.nodes.push(NodeKind::Switch);
            c.fabric.links[1].a = lonely;
        }),
    ];
    for (expected, spoil) in cases {
        let mut config = good();
        spoil(&mut config);
        let refused = unpause_sim::run(&config, &mut |_| std::ops::ControlFlow::Continue(()));
        let message = refused.expect_err(expected).to_string();
        assert!(message.contains(expected), "{message:?} lacks {expected:?}");
    }
}

#[test]
fn samples_begin_where_the_probes_do() {
    let mut config = config(star(&[gbps(10); 2], us(1)), vec![flow(2, 1)], us(100));
    config.probes.interval = us(7);
    config.probes.ports = vec![(0, 0), (2, 0)];
    let unpause_sim::traffic::TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
        unreachable!()
    };
    flows[0].recorded = true;
    let all = run(&config);
    config.probes.start = us(50);
    let late = run(&config);
    let after = |time: Time| time > us(50);
    let ports = all.port_series.iter().filter(|s| after(s.time)).copied();
    assert_eq!(late.port_series, ports.collect::<Vec<_>>());
    let flows = all.flow_series.iter().filter(|s| after(s.time)).copied();
    assert_eq!(late.flow_series, flows.collect::<Vec<_>>());
    assert_eq!(late.flow_series[0].time, us(56));
}
