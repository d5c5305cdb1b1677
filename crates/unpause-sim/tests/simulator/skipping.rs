//! Periodic parts of a run are skipped without a trace in its results.

use std::ops::ControlFlow;

use proptest::prelude::*;
use unpause_protocols::units::Time;
use unpause_sim::config::{
    Config, HistogramProbe, Queueing, RateChange, SchemeConfig, Skipping, WindowConfig,
};
use unpause_sim::results::Results;
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::common::*;
use crate::random::*;
use crate::ranks::assert_ranks_do_not_matter;

/// A run on so many threads, and how often its watcher was called: every 256 windows that are run.
fn watched(config: &Config, threads: usize) -> (Results, u64) {
    let mut calls = 0;
    let results = unpause_sim::run_threads(config, threads, &mut |_| {
        calls += 1;
        ControlFlow::Continue(())
    });
    (results.expect("the run is valid"), calls)
}

/// Results do not show what was skipped; answers which share of its windows was.
fn skipped(config: &Config) -> f64 {
    skipped_on(config, 1)
}

/// The same on so many threads.
fn skipped_on(config: &Config, threads: usize) -> f64 {
    shares_on(config, threads)[1]
}

/// The same where all is skipped that can be, and where it pays.
pub fn shares_on(config: &Config, threads: usize) -> [f64; 2] {
    let with = |skipping| Config {
        skipping,
        ..config.clone()
    };
    let never = watched(&with(Skipping::Never), 1);
    let [always, some] =
        [Skipping::Always, Skipping::WhereItPays].map(|skipping| watched(&with(skipping), threads));
    assert!(
        some.0 == never.0,
        "{some:#?}\nwith every packet:\n{never:#?}"
    );
    assert!(
        always.0 == never.0,
        "{always:#?}\nwith every packet:\n{never:#?}"
    );
    [always, some].map(|(_, calls)| 1.0 - calls as f64 / never.1 as f64)
}

/// Four hosts, and a flow from the first to the second and from the third to the fourth, of 100 MB.
fn pairs() -> Config {
    let flows = vec![
        sized(1, 2, 100_000_000),
        FlowSpec {
            start: us(7),
            ..sized(3, 4, 100_000_000)
        },
    ];
    config(star(&[gbps(40); 4], us(1)), flows, ms(40))
}

fn assert_skipped(config: &Config, share: f64) {
    let skipped = skipped(config);
    assert!(skipped > share, "{skipped}");
}

#[test]
fn flows_that_nothing_disturbs_are_skipped() {
    for (name, scheme) in schemes() {
        let mut config = pairs();
        config.scheme = scheme;
        let skipped = skipped(&config);
        let expected = match name {
            "PFC" | "DCQCN" => 0.8..1.0,
            // A CNP every 50 us.
            "PCN" => 0.1..0.8,
            // Each packet changes what is known of the queue, or of the path.
            _ => 0.0..0.01,
        };
        assert!(expected.contains(&skipped), "{name}: {skipped}");
    }
}

/// A flow that joins, one that ends, one that is stopped, one that is held back by its own limit, samples.
#[test]
fn whatever_comes_between_is_not_skipped() {
    let mut config = pairs();
    assert_skipped(&config, 0.8);
    let flows = |more: Vec<FlowSpec>| {
        let mut config = pairs();
        let all: Vec<_> = [sized(1, 2, 100_000_000), sized(3, 4, 87_000_123)].into();
        config.traffic = vec![TrafficSpec::Flows([all, more].concat())];
        config
    };
    let joins = FlowSpec {
        start: us(1_234),
        recorded: true,
        ..sized(3, 2, 300_000)
    };
    assert_skipped(&flows(vec![joins]), 0.5);
    let stopped = FlowSpec {
        start: us(100),
        stop: us(2_345),
        rate_limit: Some(gbps(10)),
        ..flow(4, 3)
    };
    assert_skipped(&flows(vec![stopped]), 0.5);
    config.probes.ports = vec![(0, 1)];
    config.probes.interval = us(200);
    assert_skipped(&config, 0.5);
}

/// Where the end of a flow lies within a period, the next one has no packet of it.
#[test]
fn a_flow_that_is_stopped_does_not_go_on() {
    for later in 0..10 {
        let stopped = FlowSpec {
            stop: ps(547_120_938),
            ..flow(2, 1)
        };
        let joins = FlowSpec {
            start: ps(150_900_000 + later * 20_000),
            ..sized(1, 2, 1)
        };
        let fabric = star(&[gbps(20); 2], ps(1));
        skipped(&config(fabric, vec![stopped, joins], us(660)));
    }
}

/// While its window is closed, nothing but the time of the next packet says how long a flow has to wait afterwards, if its rate
/// counts from the next packet on.
#[test]
fn flows_behind_their_windows_go_on_at_their_rates() {
    for offset in 0..12 {
        let limited = |start, src, dst| FlowSpec {
            start,
            rate_limit: Some(gbps(1)),
            ..flow(src, dst)
        };
        let second = ps(offset * 700_000);
        let flows = vec![limited(Time::ZERO, 1, 2), limited(second, 3, 4)];
        let mut config = config(star(&[gbps(40); 4], us(1)), flows, ms(40));
        config.host.rate_change = RateChange::NextPacket;
        config.host.window = Some(WindowConfig {
            bytes: Some(1_000),
            by_rate: false,
        });
        let [always, _] = shares_on(&config, 1);
        assert!(always > 0.6, "{offset}: {always}");
    }
}

/// Samples that come once in a period, or some periods.
#[test]
fn samples_are_not_skipped_however_they_come() {
    for packets in 1..20 {
        let mut config = pairs();
        let interval = Time::from_ps(213_600) * packets;
        config.probes.histogram = Some(HistogramProbe {
            interval,
            start: Time::ZERO,
            end: config.stop,
            report: interval * 100_000,
        });
        skipped(&config);
    }
}

/// Three switches in a row with two hosts each, and flows of 100 MB between them that do not meet; at the end of the row
/// are hosts that do nothing.
fn row() -> Config {
    let mut net = Net::default();
    let switches = [0; 3].map(|_| net.switch());
    for pair in switches.windows(2) {
        net.link(pair[0], pair[1], gbps(100), us(1));
    }
    let [a, b, c, d, e, f] = [0, 0, 1, 1, 2, 2].map(|at| net.host(switches[at], gbps(40), us(1)));
    for _ in 0..100 {
        net.host(switches[2], gbps(40), us(1));
    }
    let flows = [(a, c), (d, f), (e, b)].map(|(src, dst)| sized(src, dst, 100_000_000));
    config(net.0, flows.into(), ms(40))
}

/// Each thread sees its own nodes alone.
#[test]
fn threads_and_ranks_skip_the_same() {
    let mut config = row();
    for scheme in [SchemeConfig::default(), dcqcn()] {
        config.scheme = scheme;
        for threads in [1, 2, 3, 7] {
            let skipped = skipped_on(&config, threads);
            assert!(skipped > 0.6, "{threads} threads: {skipped}");
        }
        let never = Config {
            skipping: Skipping::Never,
            ..config.clone()
        };
        assert!(assert_ranks_do_not_matter("flows that do not meet", &config) == run(&never));
    }
}

/// Two senders at line rate for one receiver: what PAUSE does comes again and again.
#[test]
fn pauses_that_come_again_are_recorded_as_often() {
    let flows = vec![flow(1, 3), flow(2, 3)];
    for queueing in [Queueing::Fifo, Queueing::Voq] {
        let mut config = config(star(&[gbps(40); 3], us(1)), flows.clone(), ms(20));
        config.switch.queueing = queueing;
        config.switch.pfc.threshold = static_threshold(30_000);
        assert!(run(&config).pauses.len() > 1000);
        assert_skipped(&config, 0.4);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn nothing_shows_in_random_fabrics(case in case(), times in 1_u64..200, threads in 1_usize..4) {
        for (_, scheme) in schemes() {
            let mut config = case.config(scheme, Time::from_ms(20));
            for spec in &mut config.traffic {
                let TrafficSpec::Flows(flows) = spec else { continue };
                for flow in flows {
                    flow.size_bytes = flow.size_bytes.map(|bytes| bytes * times);
                }
            }
            skipped_on(&config, threads);
        }
    }
}
