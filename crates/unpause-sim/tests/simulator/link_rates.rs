//! Links whose rate changes.

use unpause_protocols::congestion_control::{self, hpcc, pint};
use unpause_protocols::congestion_point;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{
    Config, Direction, Events, InputQueuedConfig, PipelineConfig, RateEvent, SchemeConfig,
    Skipping, SwitchModel,
};
use unpause_sim::results::{LinkChange, Results};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

/// Index of the middle link of [`line`].
const MIDDLE: usize = 1;

fn becomes(at: Time, link: usize, rate: Rate) -> RateEvent {
    RateEvent {
        at,
        link,
        direction: Direction::Both,
        rate,
    }
}

/// Host 1 - switch 0 - switch 3 - host 2 at 40 Gb/s, and one endless flow.
fn line(stop: Time) -> Config {
    let links = [(gbps(40), us(1)); 3];
    config(chain(&links), vec![flow(1, 2)], stop)
}

/// Leaves 0 and 1, spines 2 and 3, hosts 4 to 7 on leaf 0 and 8 to 11 on leaf 1; flows both ways, hosts of a leaf together
/// with more than an uplink carries.
fn two_paths(stop: Time) -> Config {
    let mut net = Net::default();
    let leaves = [0; 2].map(|_| net.switch());
    let spines = [0; 2].map(|_| net.switch());
    for leaf in leaves {
        for spine in spines {
            net.link(leaf, spine, gbps(40), us(1));
        }
    }
    let hosts: Vec<u32> = (0..8)
        .map(|at| net.host(leaves[at / 4], gbps(40), us(1)))
        .collect();
    let flows = (0..8).map(|at| FlowSpec {
        source_port: 7 * at as u16,
        ..sized(hosts[at], hosts[(at + 4) % 8], 1_000_000)
    });
    config(net.0, flows.collect(), stop)
}

/// Start and end of each packet that port 1 of switch 0 of a [`line`] sends.
fn sent(results: &Results) -> Vec<(Time, Time)> {
    let all = results.packets.iter();
    // A link delay behind its last bit it is there.
    all.map(|it| (it.time, it.arrival - us(1))).collect()
}

/// 1,000 bytes and 48 of headers, 20 of preamble and gap: 213.6 ns at 40 Gb/s, 854.4 at 10. The frame that is being sent
/// keeps its end, the next one has the new rate, and no time is lost between them.
#[test]
fn the_next_frame_has_the_new_rate() {
    let mut config = line(us(300));
    config.events.rates = vec![
        becomes(us(100), MIDDLE, gbps(10)),
        becomes(us(200), MIDDLE, gbps(40)),
    ];
    config.probes.packets = vec![(0, 1)];
    let results = run(&config);
    let frame = u64::from(config.largest_frame_bytes()) + u64::from(config.fabric.framing_bytes);
    let sent = sent(&results);
    let lasts = |at: Time| {
        if us(100) <= at && at < us(200) {
            gbps(10).time_for(frame)
        } else {
            gbps(40).time_for(frame)
        }
    };
    assert!(sent.len() > 900, "{}", sent.len());
    for pair in sent.windows(2) {
        let [(start, end), (next, _)] = pair else {
            unreachable!()
        };
        assert_eq!(*end - *start, lasts(*start), "started at {start}");
        // It always has something to send but for the very beginning.
        assert!(*start < us(10) || next == end, "{start}: {end}, {next}");
    }
    let over = |at: Time| sent.iter().any(|(start, end)| *start < at && at < *end);
    assert!(over(us(100)) && over(us(200)), "both changes are in frames");
    let told = |at, node, port, gb| LinkChange::Rate {
        at,
        node,
        port,
        rate: gbps(gb),
    };
    assert_eq!(
        results.link_changes,
        [
            told(us(100), 0, 1, 10),
            told(us(100), 3, 0, 10),
            told(us(200), 0, 1, 40),
            told(us(200), 3, 0, 40),
        ]
    );
}

#[test]
fn one_direction_changes_alone() {
    let mut config = line(us(100));
    config.traffic = vec![TrafficSpec::Flows(vec![flow(1, 2), flow(2, 1)])];
    config.events.rates = vec![RateEvent {
        direction: Direction::Backward,
        ..becomes(us(0), MIDDLE, gbps(10))
    }];
    let results = run(&config);
    // With the ACKs of the other flow.
    let sent = |node, number| {
        let ports = results.ports.iter();
        let own = ports.filter(|it| (it.node, it.port) == (node, number));
        own.map(|it| it.tx_bytes).sum::<u64>() as f64
    };
    assert_within("ratio", sent(0, 1) / sent(3, 0), 4.0, 0.05);
}

/// A link that is slow from the start is one that the fabric has slow: whatever sends, the same packets leave at the same
/// times. Headroom and the time of a pause would be others, so there are none.
#[test]
fn a_slow_link_is_a_link_that_was_made_slow() {
    for slow in [gbps(10), Rate::from_mbps(30_000)] {
        for cut_through_bytes in [None, Some(64)] {
            let mut event = line(us(400));
            event.traffic = vec![TrafficSpec::Flows(vec![
                sized(1, 2, 200_000),
                FlowSpec {
                    start: us(70),
                    ..sized(1, 2, 100_000)
                },
            ])];
            event.switch.lossless = 0;
            event.switch.cut_through_bytes = cut_through_bytes;
            event.probes.packets = vec![(1, 0), (0, 1), (3, 1), (3, 0)];
            let mut made = event.clone();
            event.events.rates = vec![becomes(Time::ZERO, MIDDLE, slow)];
            made.fabric.links[MIDDLE].rate = slow;
            let (event, made) = (run(&event), run(&made));
            assert_eq!(event.totals.flows_completed, 2);
            let times = |it: &Results| -> Vec<_> {
                let packets = it.packets.iter();
                packets
                    .map(|it| (it.time, it.node, it.port, it.flow))
                    .collect()
            };
            assert_eq!(times(&event), times(&made), "{slow} {cut_through_bytes:?}");
            for (a, b) in event.flows.iter().zip(&made.flows) {
                assert_eq!(fct(a), fct(b));
            }
        }
    }
}

/// HPCC reads the rate in force in every packet that comes by, and PINT's meter counts in shares of it: both leave 5 % of
/// the slow link idle, and fill the fast one again.
#[test]
fn what_reads_the_rate_reads_the_one_in_force() {
    let hpcc = SchemeConfig {
        congestion_point: congestion_point::Config::Telemetry(Default::default()),
        roce: congestion_control::Config::Hpcc(hpcc::Params::default()),
        ..SchemeConfig::default()
    };
    let base_rtt = us(7);
    let pint = SchemeConfig {
        congestion_point: congestion_point::Config::Pint(congestion_point::pint::Params {
            base_rtt,
            ..Default::default()
        }),
        roce: congestion_control::Config::Pint(pint::Params::default()),
        ..SchemeConfig::default()
    };
    for (name, scheme, tolerance) in [("HPCC", hpcc, 0.02), ("PINT", pint, 0.06)] {
        let mut config = line(ms(6));
        for link in &mut config.fabric.links {
            link.rate = gbps(100);
        }
        config.scheme = scheme;
        config.events.rates = vec![
            becomes(ms(2), MIDDLE, gbps(25)),
            becomes(ms(4), MIDDLE, gbps(100)),
        ];
        config.probes.flow_interval = Some(ms(1));
        let mut flows = vec![flow(1, 2)];
        flows[0].recorded = true;
        config.traffic = vec![TrafficSpec::Flows(flows)];
        let results = run(&config);
        for (from, rate) in [(1, 100.0), (3, 25.0), (5, 100.0)] {
            let measured = frame_gbps(&results, 0, ms(from), ms(from + 1));
            // Of a frame of this many bytes on the wire.
            let expected = 0.95 * rate;
            assert_within(
                &format!("{name} at {from} ms"),
                measured,
                expected,
                tolerance,
            );
        }
    }
}

/// Routes stay: equal paths are equal by hops. Nothing is lost, and PAUSE holds what comes too fast.
#[test]
fn routes_stay_and_nothing_is_lost() {
    let mut config = two_paths(ms(10));
    config.events.rates = vec![becomes(us(100), 1, gbps(10))];
    let results = run(&config);
    assert_lossless(&results);
    assert_eq!(results.totals.flows_completed, 8);
    let moved = |change: &LinkChange| matches!(change, LinkChange::Routes { .. });
    assert!(!results.link_changes.iter().any(moved));
    let pauses: u64 = results.ports.iter().map(|it| it.pause_events).sum();
    assert!(pauses > 0);
}

/// A flow that starts while its host's link is slow takes the fabric's rate for its line rate, and is at that when the link
/// is.
#[test]
fn senders_keep_their_line_rate() {
    let mut config = config(star(&[gbps(40); 2], us(1)), Vec::new(), us(400));
    let mut flows = vec![FlowSpec {
        start: us(50),
        ..flow(1, 2)
    }];
    flows[0].recorded = true;
    config.traffic = vec![TrafficSpec::Flows(flows)];
    config.scheme = dcqcn();
    config.probes.interval = us(100);
    config.events.rates = vec![becomes(us(10), 0, gbps(10)), becomes(us(200), 0, gbps(40))];
    let results = run(&config);
    assert_within("slow", frame_gbps(&results, 0, us(100), us(200)), 9.8, 0.03);
    assert_within(
        "fast",
        frame_gbps(&results, 0, us(300), us(400)),
        39.2,
        0.03,
    );
    assert_eq!(results.flow_series[0].controller_rate, Some(gbps(40)));
}

#[test]
fn rates_that_cannot_be_are_refused() {
    let refused = |link, rate| {
        let mut config = line(us(100));
        config.events.rates = vec![becomes(us(10), link, rate)];
        let run = unpause_sim::run(&config, &mut |_| std::ops::ControlFlow::Continue(()));
        run.expect_err("refused").to_string()
    };
    assert!(refused(9, gbps(10)).contains("no link 9"));
    assert!(refused(MIDDLE, gbps(41)).contains("where the fabric has 40Gbps"));
    assert!(refused(MIDDLE, Rate::ZERO).contains("rate"));
}

/// Threads and processes change nothing, whatever the switch and the scheme, nor does what of a run is skipped.
#[test]
fn whoever_runs_it_the_results_are_the_same() {
    let hpcc = SchemeConfig {
        congestion_point: congestion_point::Config::Telemetry(Default::default()),
        roce: congestion_control::Config::Hpcc(hpcc::Params::default()),
        ..SchemeConfig::default()
    };
    for (name, scheme) in schemes().into_iter().chain([("HPCC", hpcc)]) {
        let mut config = two_paths(ms(1));
        config.scheme = scheme;
        config.events = Events {
            rates: vec![
                becomes(us(100), 1, Rate::from_mbps(30_000)),
                RateEvent {
                    direction: Direction::Forward,
                    ..becomes(us(150), 4, gbps(10))
                },
                becomes(us(400), 1, gbps(40)),
            ],
            ..Events::default()
        };
        config.probes.interval = us(20);
        config.probes.ports = vec![(0, 1), (3, 0)];
        config.probes.causes = true;
        let pipeline = SwitchModel::Pipeline(PipelineConfig {
            packets_per_second: 50_000_000,
            latency: us(1),
            ..PipelineConfig::default()
        });
        let input_queued = SwitchModel::InputQueued(InputQueuedConfig::default());
        for model in [pipeline, input_queued, SwitchModel::SharedBuffer] {
            config.switch.model = model;
            assert_threads_do_not_matter(name, &config);
        }
        assert_ranks_do_not_matter(name, &config);
        config.switch.cut_through_bytes = Some(64);
        assert_threads_do_not_matter(name, &config);
    }
}

/// Slow flows that repeat themselves on a link that flaps between rates.
#[test]
fn what_is_skipped_ends_at_an_event() {
    let mut config = line(ms(4));
    let flows = [(1, 2), (2, 1)].map(|(src, dst)| FlowSpec {
        rate_limit: Some(gbps(1)),
        ..flow(src, dst)
    });
    config.traffic = vec![TrafficSpec::Flows(flows.to_vec())];
    let flap = |at: u64| {
        [
            becomes(us(at), MIDDLE, gbps(10)),
            becomes(us(at + 300), MIDDLE, gbps(40)),
        ]
    };
    config.events.rates = [500, 1_500, 2_500].into_iter().flat_map(flap).collect();
    config.skipping = Skipping::Never;
    let exact = run(&config);
    config.skipping = Skipping::Always;
    assert!(run(&config) == exact);
    assert_threads_do_not_matter("skipping", &config);
}
