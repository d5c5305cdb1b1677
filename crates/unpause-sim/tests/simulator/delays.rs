//! Where the time of flows went, held against what was planted.

use unpause_protocols::units::{LinkSpeed, Time};
use unpause_sim::config::{
    Config, Direction, Fabric, HostConfig, LinkEvent, PauseStorm, WindowConfig,
};
use unpause_sim::results::{DelayRecord, Results};
use unpause_sim::traffic::FlowSpec;

use crate::common::*;
use crate::threads::assert_threads_do_not_matter;

/// Time of a full frame on a link of 10 Gb/s.
fn slot() -> Time {
    let speed = LinkSpeed::of(gbps(10)).expect("a rate of a link");
    speed.time_for(FRAME)
}

/// Five hosts at a switch.
fn star_of_five() -> Fabric {
    star(&[gbps(10); 5], us(1))
}

fn with_causes(flows: Vec<FlowSpec>) -> Config {
    let mut config = config(star_of_five(), flows, ms(10));
    config.probes.causes = true;
    config
}

/// The records of a run, whose parts add up for each flow; every flow is complete.
fn delays(config: &Config) -> (Results, Vec<DelayRecord>) {
    let results = run(config);
    assert_eq!(results.delays.len(), results.flows.len(), "of every flow");
    for (delay, flow) in results.delays.iter().zip(&results.flows) {
        assert_eq!(delay.flow, flow.id);
        let alone = flow.ideal_fct.expect("its path is known");
        assert_eq!(delay.total(), fct(flow) - alone, "{delay:?}");
        assert_eq!(delay.other, Time::ZERO, "{delay:?}");
    }
    let delays = results.delays.clone();
    (results, delays)
}

/// The record of a flow without the place of its longest wait.
fn parts(delay: &DelayRecord) -> DelayRecord {
    DelayRecord {
        longest: None,
        ..*delay
    }
}

fn only(flow: u32) -> DelayRecord {
    DelayRecord {
        flow,
        ..DelayRecord::default()
    }
}

#[test]
fn a_flow_alone_is_not_delayed() {
    // By a slower link, too, where it waits behind its own packets.
    for rates in [
        [gbps(10), gbps(10)],
        [gbps(40), gbps(10)],
        [gbps(10), gbps(40)],
    ] {
        let mut config = config(star(&rates, us(1)), vec![sized(1, 2, 100_500)], ms(10));
        config.probes.causes = true;
        let (_, delays) = delays(&config);
        assert_eq!(parts(&delays[0]), only(0), "{rates:?}");
    }
}

#[test]
fn two_flows_of_a_host_take_turns() {
    let (_, delays) = delays(&with_causes(vec![sized(1, 2, 10_000), sized(1, 3, 10_000)]));
    for (flow, turns) in [(0, 9), (1, 10)] {
        let turn = slot() * turns;
        assert_eq!(
            parts(&delays[flow as usize]),
            DelayRecord { turn, ..only(flow) }
        );
    }
}

#[test]
fn a_packet_waits_behind_those_that_came_before_it() {
    let (_, delays) = delays(&with_causes(
        (1..=4).map(|src| sized(src, 5, 1_000)).collect(),
    ));
    for (flow, before) in (0..4).zip(0..) {
        let queue = slot() * before;
        let delay = &delays[flow as usize];
        assert_eq!(
            parts(delay),
            DelayRecord {
                queue,
                ..only(flow)
            }
        );
        let Some(longest) = delay.longest else {
            assert_eq!(before, 0);
            continue;
        };
        // The first one has left, or is leaving.
        let ahead = before - 1;
        assert_eq!((longest.node, longest.port), (0, 4));
        assert_eq!((longest.ahead_bytes, longest.own_bytes), (ahead * FRAME, 0));
        assert_eq!(longest.largest, (ahead > 0).then_some((1, FRAME)));
    }
}

#[test]
fn a_limit_holds_each_packet_but_the_first() {
    let limited = FlowSpec {
        rate_limit: Some(gbps(1)),
        ..sized(1, 2, 10_000)
    };
    let (_, delays) = delays(&with_causes(vec![limited]));
    let rate = slot() * (9 * (10 - 1));
    assert_eq!(parts(&delays[0]), DelayRecord { rate, ..only(0) });
}

#[test]
fn a_window_of_one_packet_waits_for_each_ack() {
    let mut config = with_causes(vec![sized(1, 2, 10_000)]);
    let alone = {
        config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(vec![sized(
            1, 2, 1_000,
        )])];
        let (results, _) = delays(&config);
        fct(&results.flows[0])
    };
    config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(vec![sized(
        1, 2, 10_000,
    )])];
    config.host = HostConfig {
        window: Some(WindowConfig {
            bytes: Some(1_000),
            by_rate: false,
        }),
        ..HostConfig::default()
    };
    let (results, delays) = delays(&config);
    // Each packet but the last crosses the fabric, an ACK comes back, and the next one goes.
    let total = fct(&results.flows[0]) - (alone + slot() * 9);
    assert!(total > us(9 * 4));
    assert_eq!(
        parts(&delays[0]),
        DelayRecord {
            window: total,
            ..only(0)
        }
    );
}

/// Its NIC is stopped from 2 us after the start on, or the queue before its receiver.
#[test]
fn a_pause_holds_it_for_as_long_as_it_lasts() {
    let storm = PauseStorm {
        host: 2,
        nic: None,
        start: us(3),
        stop: us(103),
    };
    let mut config = with_causes(vec![sized(1, 2, 20_000)]);
    config.events.storms = vec![storm];
    let (results, delays) = delays(&config);
    let total = fct(&results.flows[0]) - results.flows[0].ideal_fct.expect("known");
    assert!(total > us(98) && total < us(104), "{total}");
    assert_eq!(
        parts(&delays[0]),
        DelayRecord {
            pause: total,
            ..only(0)
        }
    );
}

/// The link to the receiver is down while its packets come, and up again before the timeout.
#[test]
fn a_lost_flow_waits_for_its_timeout() {
    let mut config = with_causes(vec![sized(1, 2, 3_000)]);
    config.host.retransmit_timeout = us(500);
    let event = |at, up| LinkEvent {
        at,
        link: 1,
        direction: Direction::Both,
        up,
    };
    config.events.links = vec![event(us(1), false), event(us(100), true)];
    config.events.detection = ms(1);
    let (_, delays) = delays(&config);
    // Until 500 us after the first packet has been sent; then all three once more.
    let timeout = us(500) - slot() * 3;
    let loss = slot() * 3;
    assert_eq!(
        parts(&delays[0]),
        DelayRecord {
            timeout,
            loss,
            ..only(0)
        }
    );
}

#[test]
fn threads_do_not_matter() {
    let mut config = with_causes(
        (1..=4)
            .flat_map(|src| (1..=5).map(move |dst| (src, dst)))
            .filter(|(src, dst)| src != dst)
            .map(|(src, dst)| sized(src, dst, 50_000))
            .collect(),
    );
    config.scheme = dcqcn();
    config.switch.pfc.threshold = static_threshold(20_000);
    assert_threads_do_not_matter("delays", &config);
}
