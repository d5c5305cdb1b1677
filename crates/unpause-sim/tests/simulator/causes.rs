//! Why PAUSE was sent, and whom it held up, where arithmetic or the fabric says it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use unpause_protocols::units::Time;
use unpause_sim::config::{
    Config, DeadlockProbe, InputQueuedConfig, InputQueues, NodeId, PortId, SwitchModel,
};
use unpause_sim::results::{CauseRecord, Results, RootKind};

use crate::common::fig1::*;
use crate::common::*;

fn asked(mut config: Config) -> Config {
    config.probes.causes = true;
    config
}

fn roots(results: &Results) -> BTreeSet<(RootKind, NodeId, Option<PortId>)> {
    let roots = results.causes.iter().filter_map(|cause| cause.root);
    roots.map(|it| (it.kind, it.node, it.port)).collect()
}

/// Hosts 2 to 4 send to host 1 behind port 0.
fn incast() -> Config {
    let flows = (2..5).map(|host| sized(host, 1, 400_000)).collect();
    let mut config = config(star(&[gbps(10); 4], us(1)), flows, ms(10));
    config.switch.pfc.threshold = static_threshold(100_000);
    asked(config)
}

#[test]
fn what_held_the_bytes_is_told_to_the_byte() {
    let results = run(&incast());
    assert_eq!(roots(&results), [(RootKind::Incast, 0, Some(0))].into());
    let events: u64 = results.ports.iter().map(|port| port.pause_events).sum();
    assert_eq!(results.causes.len() as u64, events);
    for cause in &results.causes {
        // The frame that crosses the threshold.
        assert!(
            (100_001..=100_000 + FRAME).contains(&cause.held_bytes),
            "{cause:?}"
        );
        let [holder] = &cause.holders[..] else {
            panic!("one egress holds all: {cause:?}");
        };
        assert_eq!((holder.egress, holder.bytes), (Some(0), cause.held_bytes));
        assert!(!holder.is_paused && holder.paused_by.is_none());
        // Host n sends flow n - 2 and is behind port n - 1.
        let own = holder.flows.iter().find(|flow| flow.bytes > 0);
        let own = own.expect("it is of the flow that comes in there");
        assert_eq!(
            (own.flow, own.bytes),
            (Some(u32::from(cause.port) - 1), cause.held_bytes)
        );
        let queued: u64 = holder.flows.iter().map(|flow| flow.queue_bytes).sum();
        assert_eq!(queued, holder.queue_bytes);
        assert!(cause.until > cause.time && cause.dropped_packets == 0);
    }
    assert!(results.victims.is_empty(), "all of them go there");
}

/// The transmitter saw a PAUSE a link later than XOFF, or a frame more if the port was sending.
#[test]
fn every_pause_that_took_effect_has_its_cause() {
    let results = run(&incast());
    let travel = us(1) + Time::from_ps(64 * 800);
    let frame = Time::from_ps(FRAME * 800);
    assert!(!results.pauses.is_empty());
    for pause in &results.pauses {
        let began = |cause: &&CauseRecord| {
            let sent = pause.obeyed - travel;
            NodeId::from(cause.port) + 1 == pause.node
                && cause.time <= sent
                && sent <= cause.time + frame
        };
        assert!(results.causes.iter().any(|it| began(&it)), "{pause:?}");
    }
}

fn burst() -> Config {
    let long = |src, dst| unpause_sim::traffic::FlowSpec {
        rate_limit: Some(gbps(20)),
        ..flow(src, dst)
    };
    let mut flows = vec![long(H0, R0), long(H1, R1)];
    for host in burst_hosts() {
        flows.extend(vec![sized(host, R1, 64_000); 16]);
    }
    asked(config(fabric(), flows, ms(10)))
}

/// PCN-F2: everything began at R1's port, and F0, which goes to R0, is the only victim.
#[test]
fn a_chain_of_pauses_is_followed_to_where_it_began() {
    let results = run(&burst());
    let at_r1 = results.causes.iter().filter(|it| it.node == S1);
    let root = at_r1
        .clone()
        .next()
        .and_then(|it| it.root)
        .expect("S1 is first");
    assert_eq!((root.kind, root.node), (RootKind::Incast, S1));
    assert_eq!(roots(&results), [(RootKind::Incast, S1, root.port)].into());

    let followed = |cause: &&CauseRecord| cause.node == S0;
    let of_s0: Vec<&CauseRecord> = results.causes.iter().filter(followed).collect();
    assert!(!of_s0.is_empty());
    for cause in of_s0 {
        let holder = &cause.holders[0];
        assert_eq!(holder.egress, Some(TRUNK));
        let by = holder.paused_by.expect("S1 stops the trunk") as usize;
        let by = &results.causes[by];
        assert!(
            by.node == S1 && by.time < cause.time,
            "{by:?} before {cause:?}"
        );
    }

    let [victim] = &results.victims[..] else {
        panic!("F0 alone: {:?}", results.victims);
    };
    assert_eq!((victim.flow, victim.node, victim.port), (0, S1, root.port));
    // It waited while H0 was stopped, and where the trunk was; never longer than either was in total.
    let stopped = port(&results, H0, 0, LOSSLESS).paused;
    let trunk = port(&results, S0, TRUNK, LOSSLESS).paused;
    assert!(victim.waited > Time::ZERO && victim.waited <= stopped + trunk);
    // Not more than it was allowed, 20 Gb/s, at its host, or a FIFO's share of the trunk.
    let line = (stopped + trunk).as_secs_f64() * 40e9 / 8.0;
    assert!(victim.unsent_bytes > 0 && (victim.unsent_bytes as f64) < line);
}

/// One host on a link ten times as fast.
#[test]
fn a_slow_link_needs_no_second_sender() {
    let fabric = star(&[gbps(10), gbps(100)], us(1));
    let mut config = config(fabric, vec![sized(2, 1, 2_000_000)], ms(10));
    config.switch.pfc.threshold = static_threshold(100_000);
    let results = run(&asked(config));
    assert_eq!(roots(&results), [(RootKind::SlowLink, 0, Some(0))].into());
}

#[test]
fn what_headroom_did_not_hold_is_counted_at_its_pause() {
    let mut config = incast();
    config.switch.pfc.headroom_bytes = Some(2 * FRAME);
    let results = run(&config);
    let of_causes: u64 = results.causes.iter().map(|it| it.dropped_packets).sum();
    let of_ports = results.ports.iter().map(|it| it.headroom_dropped_packets);
    assert!(of_causes > 0);
    assert_eq!(of_causes, of_ports.sum::<u64>());
}

/// Five hosts around a ring (see `deadlock`); what waits forever is a cycle, whether a search is on or off.
#[test]
fn who_waits_in_a_cycle_has_it_as_root() {
    let mut config = asked(crate::deadlock::around(5, ms(20)));
    let results = run(&config);
    assert!(results.deadlock.is_some());
    let last = |results: &Results| {
        let in_force = results
            .causes
            .iter()
            .filter(|it| it.until == results.totals.simulated);
        in_force.filter_map(|it| it.root).collect::<Vec<_>>()
    };
    let found = last(&results);
    assert!(found.len() >= 5);
    assert!(
        found.iter().all(|root| root.kind == RootKind::Cycle),
        "{found:?}"
    );
    config.probes.deadlock = None::<DeadlockProbe>;
    assert!(
        last(&run(&config))
            .iter()
            .all(|root| root.kind == RootKind::Cycle)
    );
    // Without the fifth it goes on.
    let crowded = run(&asked(crate::deadlock::around(4, ms(20))));
    assert!(crowded.causes.len() > 10);
    assert!(roots(&crowded).iter().all(|root| root.0 != RootKind::Cycle));
}

/// In a crossbar with FIFOs the bytes wait at the inputs.
#[test]
fn what_waits_at_an_input_is_told_by_its_output() {
    let mut config = incast();
    config.switch.model = SwitchModel::InputQueued(InputQueuedConfig {
        queues: InputQueues::Voq { iterations: 1 },
        ..InputQueuedConfig::default()
    });
    let results = run(&config);
    assert!(!results.causes.is_empty());
    for cause in &results.causes {
        assert_eq!(cause.holders[0].egress, Some(0));
        assert!(cause.held_bytes > 100_000, "{cause:?}");
    }
}

#[test]
fn asking_changes_nothing_else_and_threads_do_not_matter() {
    let config = burst();
    let results = run(&config);
    for threads in [2, 3, 5] {
        let go_on = &mut |_| ControlFlow::Continue(());
        let many = unpause_sim::run_threads(&config, threads, go_on);
        assert!(
            results == many.expect("the run is valid"),
            "{threads} threads"
        );
    }
    let mut unasked = config;
    unasked.probes.causes = false;
    let plain = run(&unasked);
    assert!(plain.causes.is_empty() && plain.victims.is_empty());
    let same = Results {
        causes: Vec::new(),
        victims: Vec::new(),
        delays: Vec::new(),
        ..results
    };
    assert!(same == plain);
}
