//! NICs that take less than their link brings.

use std::ops::ControlFlow;

use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, Direction, Events, LinkEvent, PauseStorm, SlowReceiver};
use unpause_sim::results::{PortRecord, Results, RootKind};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

const XOFF: u64 = 100_000;

/// Host 2 sends to host 1, which is slow.
fn one_flow(drain_rate: Rate, start: Time, stop: Time) -> Config {
    let flows = vec![sized(2, 1, 2_000_000)];
    let mut config = config(star(&[gbps(10); 2], us(1)), flows, ms(10));
    config.probes.causes = true;
    config.probes.pauses = true;
    config.host.slow_receiver = Some(SlowReceiver {
        hosts: vec![1],
        drain_rate,
        start,
        stop,
        xoff_bytes: XOFF,
        xon_bytes: XOFF / 2,
        buffer_bytes: None,
    });
    config
}

fn nic(results: &Results) -> PortRecord {
    let mut of_host = results.ports.iter().filter(|port| port.node == 1);
    *of_host
        .find(|port| port.priority == LOSSLESS)
        .expect("it has received something")
}

/// All data packets are as long as the first ones.
fn fct_at(rate: Rate) -> Time {
    rate.time_for(2000 * FRAME)
}

#[test]
fn a_slow_nic_sends_pause_and_loses_nothing() {
    let results = run(&one_flow(gbps(4), Time::ZERO, Time::NEVER));
    let nic = nic(&results);
    assert!(nic.pause_events > 10, "{nic:?}");
    assert_eq!(nic.headroom_dropped_packets, 0);
    // The frame that crosses XOFF, and what comes while the PAUSE goes there and what was sent comes back.
    assert!((XOFF + FRAME..XOFF + 10 * FRAME).contains(&nic.max_ingress_bytes));
    assert_eq!(results.totals.dropped_packets, 0);
    // The last packet leaves the buffer when all have, at the rate at which it is drained.
    let fct = results.flows[0].fct.expect("it is complete");
    let least = fct_at(gbps(4));
    assert!(fct > least && fct < least + us(10), "{fct}, {least}");
    let roots = results.causes.iter().map(|cause| cause.root.unwrap());
    assert!(
        roots
            .into_iter()
            .all(|it| it.kind == RootKind::Nic && it.node == 1)
    );
    let events: u64 = results.ports.iter().map(|port| port.pause_events).sum();
    assert_eq!(results.causes.len() as u64, events);
    assert!(results.causes.iter().all(|cause| !cause.expired));
}

/// Lossy traffic has its own share of the buffer, and fills no headroom.
#[test]
fn lossy_traffic_leaves_room_for_lossless() {
    let mut config = one_flow(Rate::ZERO, Time::ZERO, Time::NEVER);
    let lossy = FlowSpec {
        priority: 0,
        ..flow(3, 1)
    };
    config.fabric = star(&[gbps(10); 3], us(1));
    let later = FlowSpec {
        start: us(500),
        ..flow(2, 1)
    };
    config.traffic = vec![TrafficSpec::Flows(vec![lossy, later])];
    let results = run(&config);
    assert!(nic(&results).pause_events > 0);
    assert_eq!(nic(&results).headroom_dropped_packets, 0);
    let of_lossy = |port: &&PortRecord| port.node == 1 && port.priority == 0;
    let lossy = results.ports.iter().find(of_lossy);
    assert!(lossy.is_some_and(|port| port.dropped_packets > 0));
}

#[test]
fn a_nic_that_is_fast_enough_sends_none() {
    let results = run(&one_flow(gbps(10), Time::ZERO, Time::NEVER));
    assert_eq!(results.totals.pause_frames, 0);
    let mut config = one_flow(gbps(10), Time::ZERO, Time::NEVER);
    config.host.slow_receiver = None;
    let fast = run(&config);
    // In a buffer a packet is taken whole before the next one.
    let later = results.flows[0].fct.unwrap() - fast.flows[0].fct.unwrap();
    assert_eq!(later, gbps(10).time_for(FRAME));
}

#[test]
fn a_storm_stops_the_switch_until_it_ends() {
    let results = run(&one_flow(Rate::ZERO, us(200), us(900)));
    let pauses = &results.pauses;
    // The buffer fills at 10 Gb/s from 200 us on; the PAUSE is repeated until the storm is over.
    let full = us(200) + gbps(10).time_for(XOFF);
    let [stopped, ..] = &pauses[..] else {
        panic!("nothing was paused");
    };
    assert_eq!((stopped.node, stopped.port), (0, 0));
    assert!(
        stopped.start > full && stopped.start < full + us(4),
        "{stopped:?}"
    );
    assert!(
        stopped.end > us(900) && stopped.end < us(1000),
        "{stopped:?}"
    );
    let refreshes = nic(&results).pause_frames - nic(&results).pause_events;
    assert_eq!(refreshes, 0, "65,535 quanta at 10 Gb/s are 3.4 ms");
    assert!(results.flows[0].fct.is_some());
}

#[test]
fn a_storm_that_outlasts_its_pause_repeats_it() {
    let mut config = one_flow(Rate::ZERO, us(200), ms(9));
    config.stop = ms(12);
    let results = run(&config);
    // Half of 3.355 ms apart.
    let nic = nic(&results);
    assert_eq!((nic.pause_events, nic.pause_frames), (1, 6));
}

#[test]
fn without_pause_a_full_buffer_drops() {
    let mut config = one_flow(gbps(4), Time::ZERO, Time::NEVER);
    config.switch.lossless = 0;
    config.probes.causes = false;
    let results = run(&config);
    assert_eq!(results.totals.pause_frames, 0);
    let nic = nic(&results);
    assert!(nic.dropped_packets > 0);
    assert_eq!(nic.dropped_bytes, nic.dropped_packets * FRAME);
    assert_eq!(results.totals.dropped_packets, nic.dropped_packets);
}

#[test]
fn threads_do_not_matter() {
    let config = one_flow(gbps(3), us(50), ms(1));
    let alone = run(&config);
    for threads in [2, 3] {
        let go_on = &mut |_| ControlFlow::Continue(());
        let together = unpause_sim::run_threads(&config, threads, go_on);
        assert_eq!(alone, together.expect("the run is valid"));
    }
}

/// The link of host 1 fails at 300 us and returns at 500 us.
fn flap() -> Events {
    let event = |at, up| LinkEvent {
        at,
        link: 0,
        direction: Direction::Both,
        up,
    };
    Events {
        links: vec![event(us(300), false), event(us(500), true)],
        ..Events::default()
    }
}

/// The switch was stopped until the link failed, and from when it had returned to `last`, when the NIC sent XON.
fn assert_stopped_twice(results: &Results, last: Time) {
    let pauses: Vec<_> = results.pauses.iter().filter(|it| it.node == 0).collect();
    let [first, second] = &pauses[..] else {
        panic!("{pauses:?}");
    };
    let travel = us(1) + gbps(10).time_for(64);
    assert_eq!((first.end, second.obeyed), (us(300), us(500) + travel));
    assert_eq!(second.end, last + travel);
}

#[test]
fn a_nic_above_xoff_says_so_again_when_its_link_returns() {
    let mut config = one_flow(Rate::ZERO, Time::ZERO, us(900));
    config.host.retransmit_timeout = us(200);
    config.events = flap();
    let results = run(&config);
    let nic = nic(&results);
    assert_eq!((nic.pause_events, nic.pause_frames), (1, 2));
    assert_eq!(nic.headroom_dropped_packets, 0);
    assert_complete(&results);
    // The bytes above XON leave from 900 us on, at 10 Gb/s; the first frame has waited for that.
    let frames = (nic.max_ingress_bytes - XOFF / 2).div_ceil(FRAME);
    let last = us(900) + gbps(10).time_for((frames - 1) * FRAME);
    assert_stopped_twice(&results, last);
    assert_threads_do_not_matter("slow where a link fails", &config);
    assert_ranks_do_not_matter("slow where a link fails", &config);
}

/// Nor is an XON that was due in the meantime missed.
#[test]
fn a_storm_goes_on_when_its_link_returns() {
    for (stop, times) in [(us(900), 2), (us(400), 1)] {
        let mut config = one_flow(Rate::ZERO, Time::ZERO, Time::ZERO);
        config.host.slow_receiver = None;
        config.host.retransmit_timeout = us(200);
        config.events = flap();
        config.events.storms = vec![PauseStorm {
            host: 1,
            nic: None,
            start: us(100),
            stop,
        }];
        let results = run(&config);
        assert_complete(&results);
        assert_eq!(nic(&results).pause_frames, times);
        if times == 2 {
            assert_stopped_twice(&results, stop);
        } else {
            let ends: Vec<Time> = results.pauses.iter().map(|it| it.end).collect();
            assert_eq!(ends, [us(300)]);
        }
        assert_threads_do_not_matter("a storm where a link fails", &config);
    }
}

/// The switch always has something to send: what the link carries and what it is held make up the time.
#[test]
fn held_and_carried_make_up_the_time() {
    let mut config = one_flow(gbps(5), Time::ZERO, Time::NEVER);
    config.traffic = vec![TrafficSpec::Flows(vec![flow(2, 1)])];
    let results = run(&config);
    let link = port(&results, 0, 0, LOSSLESS);
    assert!(results.pauses.len() > 50);
    let sent = gbps(10).time_for(link.tx_bytes);
    // All but the delay of the first packet, an XON and a frame in flight at the end.
    let all = link.paused + sent;
    assert!(all > ms(10) - us(8) && all < ms(10) + us(2), "{all}");
    // Half, but for what filled the buffer.
    let held = link.paused;
    assert!(held > ms(5) - us(200) && held < ms(5), "{held}");
}

/// A PAUSE that nobody repeats runs out; what comes then finds no room.
#[test]
fn a_cause_ends_when_its_pause_runs_out() {
    let mut config = one_flow(Rate::ZERO, us(200), Time::NEVER);
    config.switch.pfc.params = pfc::Params {
        pause_time: pfc::PauseTime::Absolute(us(100)),
        mode: pfc::PauseMode::Once,
    };
    let results = run(&config);
    let pause = results.pauses.iter().find(|it| it.node == 0).expect("one");
    assert_eq!(pause.end - pause.obeyed, us(100));
    let mut of_nic = results.causes.iter().filter(|it| it.node == 1);
    let cause = of_nic.next().expect("one");
    assert!(cause.expired && cause.dropped_packets > 0, "{cause:?}");
    assert_eq!(cause.until, pause.end);
    assert!(of_nic.next().is_none());

    // Repeated in time, it never does.
    config.switch.pfc.params.mode = pfc::PauseMode::Standard;
    let results = run(&config);
    let cause = results.causes.iter().find(|it| it.node == 1).expect("one");
    assert!(!cause.expired && cause.until == results.totals.simulated);
    assert_eq!(cause.dropped_packets, 0);
}
