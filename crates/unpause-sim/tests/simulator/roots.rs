//! Roots at which no port of the switch was sent more than its link carries.

use std::collections::BTreeSet;

use unpause_sim::config::{Config, NodeId, PfcThreshold, PortId};
use unpause_sim::results::{Results, RootKind};
use unpause_sim::traffic::FlowSpec;

use crate::common::*;

fn told(mut config: Config) -> Results {
    config.probes.causes = true;
    run(&config)
}

fn roots(results: &Results) -> BTreeSet<(RootKind, NodeId, Option<PortId>)> {
    assert!(!results.causes.is_empty(), "nothing happened");
    let roots = results.causes.iter().filter_map(|cause| cause.root);
    roots.map(|it| (it.kind, it.node, it.port)).collect()
}

/// Switches 0 and 1 with a link ten times as fast as those of their hosts: `near` at the first, `far` at the second,
/// which comes first.
fn two_switches(far: usize, near: usize) -> Net {
    let mut net = Net::default();
    let switches = [net.switch(), net.switch()];
    net.link(switches[0], switches[1], gbps(100), us(1));
    for (switch, hosts) in [(switches[1], far), (switches[0], near)] {
        for _ in 0..hosts {
            net.host(switch, gbps(10), us(1));
        }
    }
    net
}

/// The uplink is faster than what the only sender is on, so that it is no slow link; a priority served first has
/// most of the last one.
#[test]
fn a_link_that_another_priority_takes_is_busy() {
    let urgent = FlowSpec {
        priority: 5,
        rate_limit: Some(gbps(8)),
        ..flow(3, 2)
    };
    let mut config = config(two_switches(1, 2).0, vec![flow(4, 2), urgent], ms(4));
    config.switch.lossless = 1 << 5 | 1 << LOSSLESS;
    config.switch.pfc.threshold = static_threshold(100_000);
    assert_eq!(roots(&told(config)), [(RootKind::Busy, 1, Some(1))].into());
}

/// Hosts 3 to 5 send lossy packets to host 1, whose queue takes the memory; host 6 fills its link to host 2.
fn taken() -> Config {
    let lossy = |src| FlowSpec {
        priority: 0,
        ..flow(src, 1)
    };
    let late = FlowSpec {
        start: ms(1),
        ..flow(6, 2)
    };
    let flows = vec![lossy(3), lossy(4), lossy(5), late];
    let mut config = config(star(&[gbps(10); 6], us(1)), flows, ms(4));
    config.host.retransmit_timeout = us(500);
    config.switch.buffer_bytes = Some(2_000_000);
    config.switch.lossy_queue_bytes = 2_000_000;
    config.switch.pfc.headroom_bytes = Some(20_000);
    config.switch.pfc.threshold = PfcThreshold::Dynamic {
        shift: 0,
        xon_gap_bytes: 2 * FRAME,
    };
    config
}

#[test]
fn memory_that_a_lossy_queue_took_is_the_root() {
    let results = told(taken());
    assert_eq!(roots(&results), [(RootKind::Pool, 0, Some(0))].into());
    for cause in &results.causes {
        let taker = cause.holders.last().expect("there is who took it");
        assert_eq!((taker.egress, taker.bytes), (Some(0), 0));
        assert!(taker.queue_bytes > 1_500_000 && taker.senders > 0);
        let told: u64 = cause.holders.iter().map(|it| it.bytes).sum();
        assert_eq!(told, cause.held_bytes);
    }
}

/// Two hosts send more than the link carries, but the lossy queue has all of the memory: each PAUSE comes at a packet or
/// two, and which of the two hosts has both of them in the queue is a matter of phase.
#[test]
fn hosts_that_do_the_same_are_stopped_for_the_same_reason() {
    let mut config = taken();
    config.fabric = star(&[gbps(10); 7], us(1));
    let lossy = [3, 4, 5].map(|src| FlowSpec {
        priority: 0,
        ..flow(src, 1)
    });
    let late = [6, 7].map(|src| FlowSpec {
        start: ms(1),
        ..flow(src, 2)
    });
    let every = lossy.into_iter().chain(late).collect();
    config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(every)];
    let results = told(config);
    assert_eq!(roots(&results), [(RootKind::Pool, 0, Some(0))].into());
    let stopped: BTreeSet<_> = results.causes.iter().map(|it| it.port).collect();
    assert_eq!(stopped.len(), 2, "both were stopped");
}

/// Three hosts send more than the link carries: the switch would send PAUSE without the lossy queue, too.
#[test]
fn an_incast_stays_one_beside_a_lossy_queue() {
    let mut config = taken();
    config.fabric = star(&[gbps(10); 8], us(1));
    config.switch.lossy_queue_bytes = 1_200_000;
    let lossy = [3, 4, 5].map(|src| FlowSpec {
        priority: 0,
        ..flow(src, 1)
    });
    let late = [6, 7, 8].map(|src| FlowSpec {
        start: ms(1),
        ..flow(src, 2)
    });
    let every = lossy.into_iter().chain(late).collect();
    config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(every)];
    assert_eq!(
        roots(&told(config)),
        [(RootKind::Incast, 0, Some(1))].into()
    );
}

/// Host 9 sends to host 3 no more than its link carries. Its packets wait behind those for host 2, and then come at
/// once over the fast link.
#[test]
fn what_a_pause_had_held_up_is_of_its_root() {
    let mut flows: Vec<FlowSpec> = (4..9).map(|src| sized(src, 2, 1_000_000)).collect();
    flows.push(flow(9, 3));
    let mut config = config(two_switches(2, 6).0, flows, ms(10));
    config.switch.pfc.threshold = static_threshold(60_000);
    let results = told(config);
    assert_eq!(roots(&results), [(RootKind::Incast, 1, Some(1))].into());
    let piled = |it: &unpause_sim::results::Holder| it.egress == Some(2) && it.bytes > 50_000;
    let there = results
        .causes
        .iter()
        .filter(|it| it.holders.iter().any(piled));
    assert!(
        there.count() > 0,
        "it went to XOFF for port 2 at least once"
    );
    assert_eq!(
        results.victims.iter().map(|it| it.flow).collect::<Vec<_>>(),
        [5]
    );
}
