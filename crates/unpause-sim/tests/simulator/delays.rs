//! Where the time of flows went, held against what was planted.

use unpause_protocols::units::{LinkSpeed, Time};
use unpause_sim::config::{
    Config, Direction, ErrorEvent, Fabric, FrameErrors, HostConfig, LinkEvent, PauseStorm,
    RetryConfig, WindowConfig,
};
use unpause_sim::jobs::{Algorithm, Operation, Over};
use unpause_sim::results::{DelayRecord, Results};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::common::*;
use crate::jobs::{add, job, on_a_switch};
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
    let limit = slot() * (9 * (10 - 1));
    assert_eq!(parts(&delays[0]), DelayRecord { limit, ..only(0) });
}

#[test]
fn a_window_of_one_packet_waits_for_each_ack() {
    let mut config = with_causes(vec![sized(1, 2, 10_000)]);
    let alone = {
        config.traffic = vec![TrafficSpec::Flows(vec![sized(1, 2, 1_000)])];
        let (results, _) = delays(&config);
        fct(&results.flows[0])
    };
    config.traffic = vec![TrafficSpec::Flows(vec![sized(1, 2, 10_000)])];
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

/// The record of the only flow of a run that ends before it does; its parts and the time it was sent add up.
fn unfinished(config: &Config) -> DelayRecord {
    let results = run(config);
    let [flow] = &results.flows[..] else {
        panic!("{:?}", results.flows);
    };
    assert_eq!(flow.fct, None);
    let delay = results.delays[0];
    let sending = delay.sending.expect("it did not finish");
    assert_eq!(delay.total() + sending, config.stop - flow.start);
    parts(&delay)
}

fn so_far(sending: Time) -> DelayRecord {
    DelayRecord {
        sending: Some(sending),
        ..only(0)
    }
}

#[test]
fn an_unfinished_flow_was_held_by_its_limit() {
    let limited = FlowSpec {
        rate_limit: Some(gbps(1)),
        ..sized(1, 2, 10_000)
    };
    let mut config = with_causes(vec![limited]);
    config.stop = slot() * 45;
    let limit = slot() * (4 * 9 + 4);
    let expected = so_far(slot() * 5);
    assert_eq!(unfinished(&config), DelayRecord { limit, ..expected });
}

/// Its last packet waits in the queue before a receiver that sends PAUSE until the end.
#[test]
fn an_unfinished_flow_is_held_by_a_pause() {
    let mut config = with_causes(vec![sized(1, 2, 20_000)]);
    config.events.storms = vec![PauseStorm {
        host: 2,
        nic: None,
        start: us(3),
        stop: ms(1),
    }];
    config.stop = us(200);
    let delay = unfinished(&config);
    let sending = delay.sending.expect("it did not finish");
    assert!(delay.pause > us(178), "{delay:?}");
    let expected = DelayRecord {
        pause: us(200) - sending,
        ..so_far(sending)
    };
    assert_eq!(delay, expected);
}

/// A full window waits for an ACK that is on its way when the run ends.
#[test]
fn an_unfinished_flow_waits_for_its_window() {
    let mut config = with_causes(vec![sized(1, 2, 10_000)]);
    config.host.window = Some(WindowConfig {
        bytes: Some(1_000),
        by_rate: false,
    });
    config.stop = us(4);
    let expected = DelayRecord {
        window: us(4) - slot(),
        ..so_far(slot())
    };
    assert_eq!(unfinished(&config), expected);
}

#[test]
fn an_unfinished_flow_waits_for_a_timeout() {
    let mut config = with_causes(vec![sized(1, 2, 3_000)]);
    config.host.retransmit_timeout = us(500);
    config.events.links = vec![LinkEvent {
        at: us(1),
        link: 1,
        direction: Direction::Both,
        up: false,
    }];
    config.events.detection = ms(1);
    config.stop = us(400);
    let delay = unfinished(&config);
    let expected = DelayRecord {
        timeout: us(400) - delay.sending.expect("it did not finish"),
        ..so_far(delay.sending.expect("it did not finish"))
    };
    assert_eq!(delay, expected);
    assert!(delay.timeout > us(390));
}

/// A turn of three frames that others had, then its own are on the wire when the run ends.
#[test]
fn an_unfinished_flow_waits_for_its_turn() {
    let mut config = with_causes(vec![sized(1, 2, 50_000), sized(1, 3, 50_000)]);
    config.stop = slot() * 7;
    let results = run(&config);
    for (delay, sent) in results.delays.iter().zip([4, 3]) {
        let (sending, turn) = (slot() * sent, slot() * (7 - sent));
        let sending = Some(sending);
        let expected = DelayRecord {
            sending,
            turn,
            ..only(delay.flow)
        };
        assert_eq!(parts(delay), expected);
    }
}

/// Messages of a connection: those behind others wait for their turn; those of several ranks into one, in its queue.
#[test]
fn messages_of_a_job_have_their_parts() {
    for over in [Over::Connections, Over::Messages] {
        let mut config = on_a_switch(5);
        config.probes.causes = true;
        let other = vec![sized(5, 1, 400_000)];
        config.traffic.push(TrafficSpec::Flows(other));
        let mut all = job(4, Operation::AllToAll, Algorithm::Direct, 400_000);
        all.over = over;
        all.iterations = 3;
        add(&mut config, all);
        let results = run(&config);
        assert!(!results.messages.is_empty());
        let mut queued = 0;
        for message in &results.messages {
            let key = (message.flow, Some(message.number));
            let record = results
                .delays
                .iter()
                .find(|it| (it.flow, it.message) == key);
            let record = record.unwrap_or_else(|| panic!("{message:?}"));
            let more = message.end - message.start - message.ideal.expect("its path is known");
            assert_eq!(record.total(), more, "{record:?}");
            assert_eq!(record.other, Time::ZERO, "{record:?}");
            assert_eq!(
                record.turn + record.queue + record.own_queue,
                more,
                "{record:?}"
            );
            queued += u32::from(record.queue > Time::ZERO);
        }
        assert!(queued > 0);
    }
}

/// The link of the NIC, or that to the receiver, loses each frame of a time, and sends it again.
#[test]
fn frames_sent_again_by_a_link_have_a_part() {
    for link in [0, 1] {
        let mut config = with_causes(vec![sized(1, 2, 40_000)]);
        config.switch.retry = Some(RetryConfig::default());
        let event = |at, errors| ErrorEvent {
            at,
            link,
            direction: Direction::Both,
            errors,
        };
        config.events.errors = vec![
            event(us(3), FrameErrors::Frames(1.0)),
            event(us(6), FrameErrors::None),
        ];
        let (results, delays) = delays(&config);
        let more = fct(&results.flows[0]) - results.flows[0].ideal_fct.expect("known");
        assert!(more > us(3), "{more}");
        let retry = more;
        assert_eq!(parts(&delays[0]), DelayRecord { retry, ..only(0) });
    }
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
