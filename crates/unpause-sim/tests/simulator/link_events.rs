//! Links that fail and return.

use unpause_protocols::units::Time;
use unpause_sim::config::{
    Config, Direction, Events, InputQueuedConfig, LinkEvent, PipelineConfig, Skipping, SwitchModel,
};
use unpause_sim::results::{LinkChange, LossPlace, Results};
use unpause_sim::traffic::FlowSpec;

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

const LEAF: [u32; 2] = [0, 1];
const SPINE: [u32; 2] = [2, 3];
/// Index of the link from leaf 0 to spine 1, and its port there.
const CUT: usize = 1;
const CUT_PORT: u16 = 1;

/// Leaves 0 and 1, spines 2 and 3, hosts 4 to 7 on leaf 0 and 8 to 11 on leaf 1. Four flows from each leaf to the other.
fn two_paths(stop: Time) -> Config {
    let mut net = Net::default();
    let leaves = [0; 2].map(|_| net.switch());
    let spines = [0; 2].map(|_| net.switch());
    assert_eq!((leaves, spines), (LEAF, SPINE));
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
    let mut config = config(net.0, flows.collect(), stop);
    config.host.retransmit_timeout = us(200);
    config.probes.pauses = true;
    config
}

fn event(at: Time, link: usize, up: bool) -> LinkEvent {
    LinkEvent {
        at,
        link,
        direction: Direction::Both,
        up,
    }
}

/// The link fails at 100 us and returns at 400 us; routes follow 50 us later.
fn fails_and_returns() -> Events {
    Events {
        links: vec![event(us(100), CUT, false), event(us(400), CUT, true)],
        detection: us(50),
        convergence: Time::ZERO,
        ..Events::default()
    }
}

fn lost(results: &Results, place: LossPlace) -> u64 {
    let losses = results.losses.iter().filter(|it| it.place == place);
    losses.map(|it| it.packets).sum()
}

fn assert_all_accounted(results: &Results) {
    let totals = &results.totals;
    let lost: u64 = results.losses.iter().map(|it| it.data_packets).sum();
    assert_eq!(totals.dropped_packets, lost);
    assert!(totals.data_packets >= totals.delivered_packets + lost);
}

#[test]
fn a_link_fails_and_returns_under_load() {
    let mut config = two_paths(ms(10));
    config.events = fails_and_returns();
    config.probes.packets = vec![(LEAF[0], CUT_PORT), (SPINE[1], 0)];
    let results = run(&config);
    assert_eq!(results.totals.flows_completed, 8);
    assert_all_accounted(&results);
    for place in [LossPlace::Wire, LossPlace::Queue, LossPlace::Port] {
        assert!(lost(&results, place) > 0, "{place:?}");
    }
    assert_eq!(lost(&results, LossPlace::Switch), 0);
    // Losses belong to the failure, at one of the ends of the link.
    for loss in &results.losses {
        assert_eq!(loss.since, us(100));
        let end = (loss.node, loss.port);
        assert!(
            [(LEAF[0], CUT_PORT), (SPINE[1], 0)].contains(&end),
            "{end:?}"
        );
    }
    let sent_at = |from: Time, to: Time| {
        let packets = results.packets.iter();
        packets.filter(|it| from <= it.time && it.time < to).count()
    };
    assert!(sent_at(us(0), us(100)) > 100);
    assert_eq!(sent_at(us(100), us(450)), 0);
    assert!(sent_at(us(450), us(10_000)) > 100);
    let wire = |at, node, port, up| LinkChange::Wire { at, node, port, up };
    let expected = [
        wire(us(100), LEAF[0], CUT_PORT, false),
        wire(us(100), SPINE[1], 0, false),
        LinkChange::Routes { at: us(150) },
        wire(us(400), LEAF[0], CUT_PORT, true),
        wire(us(400), SPINE[1], 0, true),
        LinkChange::Routes { at: us(450) },
    ];
    assert_eq!(results.link_changes, expected);
}

/// Nothing arrives that was on the wire, and what has arrived before has not been lost.
#[test]
fn what_is_on_the_wire_is_lost() {
    let mut config = config(chain(&[(gbps(40), us(10)); 3]), Vec::new(), us(200));
    config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(vec![flow(1, 2)])];
    config.probes.packets = vec![(0, 1)];
    // In the middle of a frame, far from any ACK.
    let at = us(60) + ps(50_000);
    config.events.links = vec![event(at, 1, false)];
    config.events.detection = ms(1);
    let results = run(&config);
    let on_wire = results.packets.iter();
    let on_wire = on_wire
        .filter(|it| it.time < at && it.arrival >= at)
        .count();
    assert!(on_wire > 40);
    let losses = results.losses.iter().filter(|it| it.node == 0);
    let of_wire = losses.filter(|it| it.place == LossPlace::Wire && it.priority == LOSSLESS);
    assert_eq!(of_wire.map(|it| it.packets).sum::<u64>(), on_wire as u64);
    assert!(results.packets.iter().all(|it| it.time < at));
}

#[test]
fn a_host_keeps_its_flows_until_its_link_returns() {
    for nic in [Default::default(), unpause_sim::config::NicModel::Hpcc] {
        let mut config = config(star(&[gbps(40); 3], us(1)), Vec::new(), ms(5));
        let flows = vec![
            sized(1, 3, 500_000),
            FlowSpec {
                start: us(150),
                ..sized(1, 2, 50_000)
            },
        ];
        config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(flows)];
        config.host.retransmit_timeout = us(300);
        config.host.nic = nic;
        config.events = Events {
            links: vec![event(us(50), 0, false), event(us(1000), 0, true)],
            detection: us(20),
            convergence: Time::ZERO,
            ..Events::default()
        };
        config.probes.packets = vec![(1, 0)];
        let results = run(&config);
        assert_eq!(results.totals.flows_completed, 2, "{nic:?}");
        assert_all_accounted(&results);
        let between = results.packets.iter();
        let mut between = between.filter(|it| us(50) <= it.time && it.time < us(1000));
        assert!(between.next().is_none());
    }
}

/// The last packets before the failure are lost. With two retries, the third timeout in a row ends the flow; progress
/// between them starts the count anew. The other flow never notices.
#[test]
fn a_flow_without_an_answer_gives_up() {
    for nic in [Default::default(), unpause_sim::config::NicModel::Hpcc] {
        for (back, gives_up) in [(us(1000), true), (us(460), false)] {
            let mut config = config(star(&[gbps(40); 4], us(1)), Vec::new(), ms(5));
            let flows = vec![sized(1, 3, 500_000), sized(2, 4, 500_000)];
            config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(flows)];
            config.host.retransmit_timeout = us(200);
            config.host.retry_count = Some(2);
            config.host.nic = nic;
            config.events = Events {
                links: vec![event(us(50), 2, false), event(back, 2, true)],
                detection: ms(4),
                convergence: Time::ZERO,
                ..Events::default()
            };
            let results = run(&config);
            assert_all_accounted(&results);
            let [flow, other] = &results.flows[..] else {
                panic!("two flows: {:?}", results.flows);
            };
            assert!(other.fct.is_some() && !other.gave_up && other.timeouts == 0);
            assert_eq!(flow.gave_up, gives_up, "{nic:?} {flow:?}");
            assert_eq!(flow.fct.is_some(), !gives_up);
            if gives_up {
                assert_eq!(flow.timeouts, 3);
                // The timer runs from the last ACK before the failure on.
                let at = flow.gave_up_at.expect("it gave up");
                assert!(us(650) < at && at < us(660), "{at}");
            }
            assert_threads_do_not_matter("a flow that gives up", &config);
        }
    }
}

/// A packet to a host that is gone has no route, and is counted at its ingress.
#[test]
fn packets_without_a_route_are_counted() {
    for model in [SwitchModel::SharedBuffer, pipeline(), input_queued()] {
        let mut config = config(star(&[gbps(40); 2], us(1)), vec![flow(1, 2)], us(400));
        config.switch.model = model;
        config.events.links = vec![event(us(50), 1, false)];
        config.events.detection = us(20);
        config.host.retransmit_timeout = us(100);
        let results = run(&config);
        assert_all_accounted(&results);
        let no_route = results.losses.iter();
        let mut no_route = no_route.filter(|it| it.place == LossPlace::Switch);
        let loss = no_route.next().expect("some came later");
        assert!(no_route.next().is_none());
        assert_eq!((loss.since, loss.node, loss.port), (us(70), 0, 0));
        assert!(loss.packets > 100, "{loss:?}");
    }
}

/// Host 1 is stopped by host 2's slow link when the link of host 1 fails: PAUSE is gone with it, and is there again when
/// the link is and the switch still holds what it held.
#[test]
fn pause_begins_anew() {
    let mut config = config(
        star(&[gbps(40), gbps(10)], us(1)),
        vec![flow(1, 2)],
        us(600),
    );
    config.switch.pfc.threshold = static_threshold(100_000);
    config.probes.pauses = true;
    config.host.retransmit_timeout = ms(5);
    let undisturbed = run(&config);
    let pause = undisturbed.pauses.iter().find(|it| it.start > us(100));
    let pause = pause.expect("it is stopped again and again");
    let middle = Time::from_ps((pause.start.as_ps() + pause.end.as_ps()) / 2);
    let later = middle + ps(3_000_000);
    assert!(later < pause.end, "{pause:?}");
    config.events = Events {
        links: vec![event(middle, 0, false), event(later, 0, true)],
        detection: us(100),
        convergence: Time::ZERO,
        ..Events::default()
    };
    let results = run(&config);
    let ports = results.ports.iter();
    assert_eq!(ports.map(|it| it.headroom_dropped_packets).sum::<u64>(), 0);
    let ended = results.pauses.iter().any(|it| it.end == middle);
    assert!(
        ended,
        "PAUSE ends when the link fails: {:?}",
        results.pauses
    );
    // The PAUSE that is sent when the link returns takes a wire to come.
    let again = results.pauses.iter().find(|it| it.obeyed > later);
    let again = again.expect("PAUSE is told again");
    assert!(again.obeyed < later + us(2), "{again:?}");
}

#[test]
fn one_direction_fails_alone() {
    let mut config = two_paths(us(90));
    config.events.detection = ms(1);
    config.events.links = vec![LinkEvent {
        direction: Direction::Backward,
        ..event(us(50), CUT, false)
    }];
    config.probes.packets = vec![(LEAF[0], CUT_PORT), (SPINE[1], 0)];
    let results = run(&config);
    let after = |node| {
        let packets = results.packets.iter();
        packets.filter(move |it| it.node == node && it.time >= us(50))
    };
    assert!(after(LEAF[0]).count() > 20);
    assert_eq!(after(SPINE[1]).count(), 0);
    assert!(results.losses.iter().all(|it| it.node == SPINE[1]));
}

/// Until other switches know of it they send to a spine that has no path down; its neighbour stops at once.
#[test]
fn ends_notice_before_others_do() {
    let mut config = two_paths(ms(2));
    config.events = Events {
        convergence: us(100),
        ..fails_and_returns()
    };
    let results = run(&config);
    assert_all_accounted(&results);
    let losses = results.losses.iter();
    let no_route: Vec<_> = losses.filter(|it| it.place == LossPlace::Switch).collect();
    assert!(!no_route.is_empty());
    for loss in no_route {
        assert_eq!((loss.since, loss.node), (us(150), SPINE[1]));
    }
    let routes = |change: &LinkChange| match *change {
        LinkChange::Routes { at } => Some(at),
        LinkChange::Wire { .. } | LinkChange::Errors { .. } | LinkChange::Rate { .. } => None,
    };
    let routes: Vec<Time> = results.link_changes.iter().filter_map(routes).collect();
    // When it returns nothing changes at its ends before all use it.
    assert_eq!(routes, [us(150), us(250), us(550)]);
}

/// A link that is back before anybody has noticed moves no routes.
#[test]
fn short_flaps_are_not_noticed() {
    let mut config = two_paths(ms(2));
    let flap = |at: u64| [event(us(at), CUT, false), event(us(at + 10), CUT, true)];
    config.events = Events {
        links: [100, 120, 140].into_iter().flat_map(flap).collect(),
        detection: us(10),
        convergence: us(5),
        ..Events::default()
    };
    let results = run(&config);
    assert_all_accounted(&results);
    let wires = results.link_changes.len();
    assert_eq!(wires, 12, "{:?}", results.link_changes);
    assert!(lost(&results, LossPlace::Wire) > 0);
}

fn pipeline() -> SwitchModel {
    SwitchModel::Pipeline(PipelineConfig {
        packets_per_second: 50_000_000,
        latency: us(1),
        ..PipelineConfig::default()
    })
}

fn input_queued() -> SwitchModel {
    SwitchModel::InputQueued(InputQueuedConfig::default())
}

/// Threads and processes change nothing, whatever the switch and the scheme, nor does what of a run is skipped.
#[test]
fn whoever_runs_it_the_results_are_the_same() {
    for (name, scheme) in schemes() {
        let mut config = two_paths(ms(1));
        config.scheme = scheme;
        config.events = fails_and_returns();
        config.probes.interval = us(20);
        config.probes.ports = vec![(LEAF[0], CUT_PORT), (SPINE[1], 0)];
        for model in [SwitchModel::SharedBuffer, pipeline(), input_queued()] {
            config.switch.model = model;
            assert_threads_do_not_matter(name, &config);
        }
        config.switch.model = SwitchModel::SharedBuffer;
        assert_ranks_do_not_matter(name, &config);
        config.switch.cut_through_bytes = Some(64);
        assert_threads_do_not_matter(name, &config);
    }
}

/// Slow flows that repeat themselves, a black hole that does, and a link that flaps all the while.
#[test]
fn what_is_skipped_ends_at_an_event() {
    let mut config = two_paths(ms(4));
    let flows = [(4, 8, 0), (5, 9, 1), (8, 4, 2)].map(|(src, dst, source_port)| FlowSpec {
        rate_limit: Some(gbps(1)),
        source_port,
        ..flow(src, dst)
    });
    config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(flows.to_vec())];
    let flap = |at: u64| [event(us(at), CUT, false), event(us(at + 300), CUT, true)];
    config.events = Events {
        links: [500, 1_500, 2_500].into_iter().flat_map(flap).collect(),
        detection: us(400),
        convergence: Time::ZERO,
        ..Events::default()
    };
    let exact = Config {
        skipping: Skipping::Never,
        ..config.clone()
    };
    let exact = run(&exact);
    assert!(lost(&exact, LossPlace::Port) > 0);
    config.skipping = Skipping::Always;
    let skipped = run(&config);
    assert!(skipped == exact);
    assert_threads_do_not_matter("skipping", &config);
}
