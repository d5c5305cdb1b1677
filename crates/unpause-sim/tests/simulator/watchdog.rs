//! The PFC watchdog of switches.

use unpause_protocols::flow_control::pfc::PauseTime;
use unpause_protocols::flow_control::watchdog::{Params, Rule};
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{
    CioqConfig, Config, Direction, Events, InputQueuedConfig, LinkEvent, PipelineConfig,
    SlowReceiver, SwitchModel, WatchdogAction, WatchdogConfig,
};
use unpause_sim::results::{Results, StormRecord};
use unpause_sim::traffic::FlowSpec;

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

const SWITCH: u32 = 0;
/// Whose NIC sends PAUSE without end from `STORM` on.
const BROKEN: u32 = 1;
const STORM: Time = Time::from_us(200);
const OVER: Time = Time::from_us(1_500);
const POLL: Time = Time::from_us(50);

/// Host 2 sends to the broken host 1 and to host 3, which is sound; host 4 sends to host 3.
fn storm(action: Option<WatchdogAction>) -> Config {
    let flows = vec![
        flow(2, BROKEN),
        sized(2, 3, 400_000),
        sized(4, 3, 100_000),
        FlowSpec {
            start: us(400),
            ..sized(BROKEN, 3, 50_000)
        },
    ];
    let mut config = config(star(&[gbps(10); 4], us(1)), flows, ms(4));
    config.switch.pfc.params.pause_time = PauseTime::Absolute(us(20));
    config.switch.pfc.threshold = static_threshold(50_000);
    config.host.retransmit_timeout = us(300);
    config.host.slow_receiver = Some(SlowReceiver {
        hosts: vec![BROKEN],
        drain_rate: Rate::ZERO,
        start: STORM,
        stop: OVER,
        xoff_bytes: 20_000,
        xon_bytes: 10_000,
        buffer_bytes: None,
    });
    config.switch.watchdog = action.map(|action| WatchdogConfig {
        params: Params {
            detection: us(100),
            restoration: us(150),
            poll: POLL,
            rule: Rule::Frames,
        },
        action,
        hosts_only: false,
    });
    config
}

fn completed(results: &Results, src: u32, dst: u32) -> Time {
    let mut flows = results.flows.iter();
    let flow = flows.find(|flow| (flow.src, flow.dst) == (src, dst));
    let flow = flow.expect("it has started");
    flow.start + flow.fct.unwrap_or(Time::NEVER)
}

fn the_storm(results: &Results) -> StormRecord {
    let [storm] = results.storms[..] else {
        panic!("{:?}", results.storms);
    };
    assert_eq!(
        (storm.node, storm.port, storm.priority),
        (SWITCH, 0, LOSSLESS)
    );
    storm
}

#[test]
fn without_a_watchdog_a_storm_stops_who_shares_nothing_with_it_but_a_nic() {
    let results = run(&storm(None));
    assert!(completed(&results, 2, 3) > OVER);
    assert!(completed(&results, 4, 3) < us(200));
    assert!(results.storms.is_empty());
    assert_eq!(results.totals.dropped_packets, 0);
}

#[test]
fn a_storm_is_found_in_time_and_over_when_no_frames_come() {
    for action in [
        WatchdogAction::Drop,
        WatchdogAction::Forward,
        WatchdogAction::Alert,
    ] {
        let results = run(&storm(Some(action)));
        let storm = the_storm(&results);
        assert_eq!(storm.action, action);
        assert!(
            STORM < storm.began && storm.began < us(300),
            "{}",
            storm.began
        );
        let after = storm.detected - storm.began;
        assert!((us(100)..=us(150)).contains(&after), "{after}");
        assert_eq!(storm.detected.as_ps() % POLL.as_ps(), 0);
        // Three looks without a frame. A NIC that gets more than it takes continues to send PAUSE.
        match action {
            WatchdogAction::Drop | WatchdogAction::Alert => {
                let restored = storm.restored.expect("it is over");
                assert!(
                    restored >= OVER + us(100) && restored < OVER + us(300),
                    "{restored}"
                );
            }
            WatchdogAction::Forward => assert_eq!(storm.restored, None),
        }
    }
}

#[test]
fn dropping_frees_the_victims() {
    let results = run(&storm(Some(WatchdogAction::Drop)));
    let storm = the_storm(&results);
    assert!(storm.dropped_data_packets > 100, "{storm:?}");
    // Packets that waited for the broken host, later ones to it, and its own.
    assert!(storm.input_dropped_packets > 0);
    assert!(storm.dropped_packets > storm.input_dropped_packets);
    assert_eq!(results.totals.dropped_packets, storm.dropped_data_packets);
    let freed = completed(&results, 2, 3);
    assert!(freed > storm.detected && freed < OVER, "{freed}");
    // It sends again what was dropped, once its NIC is let in.
    let own = completed(&results, BROKEN, 3);
    assert!(own > storm.restored.expect("it is over"), "{own}");
}

#[test]
fn forwarding_frees_the_victims_and_floods_the_nic() {
    let results = run(&storm(Some(WatchdogAction::Forward)));
    let storm = the_storm(&results);
    assert_eq!(storm.dropped_packets, 0);
    let freed = completed(&results, 2, 3);
    assert!(freed > storm.detected && freed < OVER, "{freed}");
    // The NIC has no room for what it has asked not to be sent.
    let nic = results.ports.iter().filter(|port| port.node == BROKEN);
    assert!(nic.map(|port| port.headroom_dropped_packets).sum::<u64>() > 100);
}

#[test]
fn an_alert_changes_nothing() {
    let mut results = run(&storm(Some(WatchdogAction::Alert)));
    let without = run(&storm(None));
    assert_eq!(the_storm(&results).dropped_packets, 0);
    results.storms.clear();
    assert_eq!(results.flows, without.flows);
    assert_eq!(results.ports, without.ports);
    assert_eq!(results.pauses, without.pauses);
}

#[test]
fn a_storm_that_is_short_enough_is_left_alone() {
    let mut config = storm(Some(WatchdogAction::Drop));
    if let Some(watchdog) = &mut config.switch.watchdog {
        watchdog.params.detection = ms(2);
    }
    let results = run(&config);
    assert!(results.storms.is_empty());
    assert_eq!(results.totals.dropped_packets, 0);
}

#[test]
fn mellanoxs_rule_finds_it_too() {
    let mut config = storm(Some(WatchdogAction::Drop));
    if let Some(watchdog) = &mut config.switch.watchdog {
        watchdog.params.rule = Rule::Held;
    }
    let storm = the_storm(&run(&config));
    let after = storm.detected - storm.began;
    assert!((us(100)..=us(150)).contains(&after), "{after}");
}

/// Every model has it, and neither threads nor ranks change what comes of it.
#[test]
fn threads_ranks_and_models() {
    let models = [
        SwitchModel::SharedBuffer,
        SwitchModel::Pipeline(PipelineConfig::default()),
        SwitchModel::Cioq(CioqConfig::default()),
        SwitchModel::InputQueued(InputQueuedConfig::default()),
    ];
    for model in models {
        for action in [WatchdogAction::Drop, WatchdogAction::Forward] {
            let mut config = storm(Some(action));
            config.switch.model = model.clone();
            let what = format!("{model:?}, {action:?}");
            assert_threads_do_not_matter(&what, &config);
            let results = run(&config);
            assert!(!results.storms.is_empty(), "{what}");
            assert_eq!(
                assert_ranks_do_not_matter(&what, &config),
                results,
                "{what}"
            );
        }
    }
}

/// A ring of five switches in which all wait for the next from about 1 ms on.
fn deadlock(action: WatchdogAction) -> Config {
    let mut config = crate::deadlock::around(5, ms(30));
    config.probes.deadlock = None;
    config.host.retransmit_timeout = ms(1);
    config.switch.watchdog = Some(WatchdogConfig {
        params: Params {
            detection: ms(4),
            restoration: ms(4),
            poll: ms(2),
            rule: Rule::Frames,
        },
        action,
        hosts_only: false,
    });
    config
}

#[test]
fn a_deadlock_is_broken() {
    let alerted = run(&deadlock(WatchdogAction::Alert));
    let broken = run(&deadlock(WatchdogAction::Drop));
    assert!(alerted.storms.len() >= 5 && broken.storms.len() >= 5);
    let (before, after) = (
        alerted.totals.delivered_packets,
        broken.totals.delivered_packets,
    );
    assert!(after > 2 * before, "{before}, {after}");
    let dropped: u64 = broken.storms.iter().map(|it| it.dropped_data_packets).sum();
    assert_eq!(broken.totals.dropped_packets, dropped);
    assert!(broken.storms.iter().any(|it| it.restored.is_some()));
}

/// A link that fails in a storm and returns in it: its queue stays shut.
#[test]
fn a_link_fails_while_its_queue_is_shut() {
    let mut config = deadlock(WatchdogAction::Drop);
    let first = run(&config).storms[0].detected;
    let event = |at, up| LinkEvent {
        at,
        link: 0,
        direction: Direction::Both,
        up,
    };
    config.events = Events {
        links: vec![event(first + us(100), false), event(first + us(700), true)],
        detection: us(10),
        convergence: Time::ZERO,
        ..Events::default()
    };
    assert_threads_do_not_matter("a link fails in a storm", &config);
    let results = run(&config);
    let dropped: u64 = results
        .storms
        .iter()
        .map(|it| it.dropped_data_packets)
        .sum();
    let lost: u64 = results.losses.iter().map(|it| it.data_packets).sum();
    assert!(dropped > 0 && lost > 0, "{dropped}, {lost}");
    assert_eq!(results.totals.dropped_packets, dropped + lost);
}
