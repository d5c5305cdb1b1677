//! Credits instead of PFC.

use std::ops::ControlFlow;

use unpause_protocols::flow_control::credits::cbfc::Params;
use unpause_protocols::flow_control::credits::{Config as Credits, Settings as _};
use unpause_protocols::units::Time;
use unpause_sim::config::{
    AckPriority, CbfcConfig, Config, DeadlockProbe, NicModel, PipelineConfig, SwitchModel,
    WatchdogConfig,
};
use unpause_sim::results::{PacketKind, Results};
use unpause_sim::traffic::{TrafficSpec, Transport};

use crate::common::*;
use crate::deadlock::around;
use crate::ranks::assert_ranks_do_not_matter;
use crate::retry::small_acks;
use crate::threads::assert_threads_do_not_matter;

pub fn credits(buffer_bytes: Option<u64>) -> Option<CbfcConfig> {
    credits_with(params(), buffer_bytes)
}

fn credits_with(params: Params, buffer_bytes: Option<u64>) -> Option<CbfcConfig> {
    Some(CbfcConfig {
        params: Credits::Cbfc(params),
        buffer_bytes,
    })
}

fn params() -> Params {
    Params {
        credit_bytes: 8,
        ..Params::default()
    }
}

/// Nothing is lost, and nobody sends PAUSE.
fn assert_credits_work(results: &Results) {
    assert_lossless(results);
    assert_eq!(results.totals.pause_frames, 0);
    assert!(results.pauses.is_empty());
    assert!(results.ports.iter().all(|it| it.paused == Time::ZERO));
}

/// A long link at 100 Gb/s between two switches whose hosts are faster.
fn long_link(delay: Time) -> Config {
    let links = [
        (gbps(400), ps(100_000)),
        (gbps(100), delay),
        (gbps(400), ps(100_000)),
    ];
    let mut config = config(chain(&links), vec![sized(1, 2, 1_000_000)], ms(50));
    config.host.ack_priority = AckPriority::Control;
    config.probes.packets = vec![(0, 1)];
    config
}

/// When data packets started on the long link.
fn starts(config: &Config) -> Vec<Time> {
    let results = run(config);
    assert_credits_work(&results);
    assert_complete(&results);
    let data = results
        .packets
        .iter()
        .filter(|it| it.kind == PacketKind::Data);
    data.map(|it| it.time).collect()
}

/// With credit for n packets a link carries min(C, n M / (M/C + 2 t + 8 B/C)), exactly.
#[test]
fn the_rate_of_a_long_link_is_that_of_the_closed_form() {
    for delay in [ps(150_000), us(1), us(10)] {
        let slot = gbps(100).time_for(FRAME);
        let round_trip = slot + delay + delay + gbps(100).time_for(8);
        for packets in [1, 2, 5, 12, 25, 100, 250] {
            let mut config = long_link(delay);
            let params = Params {
                update_spacing_bytes: 0,
                ..params()
            };
            config.switch.cbfc = credits_with(params, Some(packets * FRAME));
            let starts = starts(&config);
            let apart = packets as usize;
            let busy = Time::from_ps(slot.as_ps() * packets);
            let expected = busy.max(round_trip);
            let later = &starts[starts.len() / 2..];
            let mut spans = later.iter().zip(&later[apart..]);
            assert!(later.len() > apart + 10);
            assert!(
                spans.all(|(first, last)| *last - *first == expected),
                "{packets} packets, {delay}: {expected}"
            );
        }
    }
}

/// Unless it is said, buffers fill the link; with a packet less they do not.
#[test]
fn default_buffers_fill_the_link() {
    for delay in [ps(150_000), us(1), us(10)] {
        let mut config = long_link(delay);
        config.switch.cbfc = credits(None);
        let slots = |starts: &[Time]| {
            let later = &starts[starts.len() / 2..];
            (later[later.len() - 1] - later[0]).as_ps() as f64
                / (later.len() - 1) as f64
                / gbps(100).time_for(FRAME).as_ps() as f64
        };
        assert!((slots(&starts(&config)) - 1.0).abs() < 1e-9);
        let bytes = params().full_rate_bytes(gbps(100), delay, FRAME);
        let packets = bytes.div_ceil(FRAME);
        config.switch.cbfc = credits(Some((packets - 1) * FRAME));
        assert!(slots(&starts(&config)) > 1.0 + 1e-9, "{delay}");
    }
}

/// Hosts 2 to 5 send to host 1, at 10 Gb/s and 1 us a link.
fn incast() -> Config {
    let flows = (2..6).map(|host| sized(host, 1, 1_000_000)).collect();
    let mut config = config(star(&[gbps(10); 5], us(1)), flows, ms(10));
    config.switch.cbfc = credits(None);
    config
}

#[test]
fn an_incast_waits_for_credits_and_loses_nothing() {
    let config = incast();
    let results = run(&config);
    assert_credits_work(&results);
    assert_complete(&results);
    let last = results.flows.iter().map(fct).max().expect("flows");
    let busy = gbps(10).time_for(4_000 * FRAME);
    assert!(last < busy + us(20), "{last}");
    let limit = 8_000 + 10 * FRAME;
    for host in 2..6 {
        let nic = port(&results, host, 0, LOSSLESS);
        let switch = port(&results, 0, (host - 1) as u16, LOSSLESS);
        assert!(switch.max_ingress_bytes <= limit, "{switch:?}");
        // Each sends a quarter of the time and waits for the rest.
        let share = nic.credit_wait.as_ps() as f64 / last.as_ps() as f64;
        assert!((0.70..0.80).contains(&share), "{share}");
    }
    // The receiver frees at once.
    assert_eq!(port(&results, 0, 0, LOSSLESS).credit_wait, Time::ZERO);
    assert_threads_do_not_matter("an incast", &config);
    assert!(assert_ranks_do_not_matter("an incast", &config) == results);
}

/// Two switches with three hosts each, flows of all sizes both ways, and every scheme.
fn across() -> Config {
    let mut net = Net::default();
    let (a, b) = (net.switch(), net.switch());
    net.link(a, b, gbps(40), us(3));
    let hosts = [a, a, a, b, b, b].map(|switch| net.host(switch, gbps(40), us(1)));
    let flows = (0..24).map(|i| {
        let mut flow = sized(
            hosts[i % 6],
            hosts[(i + 3 + i % 2) % 6],
            777 * (1 + i as u64 * 37),
        );
        flow.start = us(i as u64 / 3);
        flow
    });
    let flows = flows.filter(|it| it.src != it.dst).collect();
    let mut config = config(net.0, flows, ms(50));
    config.switch.cbfc = credits(Some(9_000));
    config
}

#[test]
fn every_scheme_runs_with_credits_on_any_number_of_threads() {
    for (name, scheme) in schemes() {
        let mut config = across();
        config.scheme = scheme;
        let results = run(&config);
        assert_credits_work(&results);
        // That law leaves flows at its lowest rate, with PFC as well.
        if name != "TIMELY segment" {
            assert_complete(&results);
        }
        assert_threads_do_not_matter(name, &config);
        assert!(assert_ranks_do_not_matter(name, &config) == results);
    }
}

/// ACKs of a byte are on the wire for less time than an update of credits: one that starts during an update arrives before
/// it, by near wires and by far ones. With buffers that are never full all is as without credits.
#[test]
fn small_acks_overtake_updates() {
    for far in [ps(1), us(1)] {
        let mut config = small_acks();
        config.fabric.links[0].delay = far;
        let plain = run(&config);
        let params = Params {
            update_spacing_bytes: 0,
            ..params()
        };
        config.switch.cbfc = credits_with(params, Some(100_000));
        let results = run(&config);
        assert_credits_work(&results);
        assert_complete(&results);
        assert!(results.flows == plain.flows, "{far}");
        assert!(results.packets == plain.packets, "{far}");
        let what = format!("a link of {far}");
        assert_threads_do_not_matter(&what, &config);
        assert!(assert_ranks_do_not_matter(&what, &config) == results);
    }
}

/// Once all is at rest credits are back: what starts then finds the link as the first flow did.
#[test]
fn credits_are_back_when_nothing_is_in_flight() {
    let mut config = incast();
    let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
        unreachable!()
    };
    for (at, host) in (2..6).enumerate() {
        let mut alone = sized(host, 1, 300_000);
        alone.start = ms(5 + at as u64);
        flows.push(alone);
    }
    config.switch.cbfc = credits(Some(6 * FRAME));
    let results = run(&config);
    assert_credits_work(&results);
    assert_complete(&results);
    let alone = &results.flows[4..];
    assert!(alone.iter().all(|it| it.fct == alone[0].fct));
}

/// Credits are no cure for a ring of buffers that wait for one another.
#[test]
fn credits_deadlock_on_a_ring_as_pfc_does() {
    let mut config = around(5, ms(100));
    config.switch.cbfc = credits(None);
    config.probes.deadlock = Some(DeadlockProbe::default());
    let results = run(&config);
    let deadlock = results.deadlock.clone().expect("all wait for the next");
    assert_eq!(deadlock.cycle.len(), 5);
    assert_credits_work(&results);
    assert_threads_do_not_matter("a ring", &config);
    config = around(4, ms(20));
    config.switch.cbfc = credits(None);
    assert_eq!(run(&config).deadlock, None);
}

fn refusal(config: &Config) -> String {
    let refused = unpause_sim::run(config, &mut |_| ControlFlow::Continue(()));
    refused.expect_err("it is refused").to_string()
}

#[test]
fn what_cannot_have_credits_is_refused() {
    type Change = fn(&mut Config);
    let changes: [(Change, &str); 11] = [
        (|it| it.switch.lossless = 0, "no priority has credits"),
        (
            |it| it.switch.model = SwitchModel::Pipeline(PipelineConfig::default()),
            "only switches with a shared buffer have credits",
        ),
        (
            |it| it.switch.cut_through_bytes = Some(64),
            "store and forward",
        ),
        (
            |it| {
                it.switch.watchdog = Some(WatchdogConfig {
                    params: Default::default(),
                    action: unpause_sim::config::WatchdogAction::Alert,
                    hosts_only: false,
                });
            },
            "a PFC watchdog",
        ),
        (
            |it| it.host.ack_priority = AckPriority::Flow,
            "ACKs in the priority",
        ),
        (|it| it.host.nic = NicModel::Hpcc, "a NIC like that of HPCC"),
        (
            |it| {
                let TrafficSpec::Flows(flows) = &mut it.traffic[0] else {
                    unreachable!()
                };
                flows[0].transport = Transport::Tcp;
            },
            "TCP flows have no credits",
        ),
        (
            |it| it.switch.cbfc = credits(Some(1047)),
            "could ever start",
        ),
        (
            |it| it.switch.cbfc = credits(Some(8 << 20)),
            "credits cannot count",
        ),
        (
            |it| {
                let params = Params {
                    update_spacing_bytes: 799,
                    ..params()
                };
                it.switch.cbfc = credits_with(params, None);
            },
            "updates cannot be 799B apart",
        ),
        (
            |it| {
                let params = Params {
                    credit_bytes: 0,
                    ..params()
                };
                it.switch.cbfc = credits_with(params, None);
            },
            "is zero",
        ),
    ];
    for (change, expected) in changes {
        let mut config = incast();
        change(&mut config);
        let found = refusal(&config);
        assert!(found.contains(expected), "{expected}: {found}");
    }
}
