//! Receivers that give credits (RCCC).

use std::ops::ControlFlow;

use unpause_protocols::congestion_control::{self, dcqcn, nscc_sender};
use unpause_protocols::congestion_point::{self, red};
use unpause_protocols::loss_recovery::{self, selective_repeat};
use unpause_protocols::spraying::{Config as Spraying, bitmap};
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, Credits, Cut, Direction, ErrorEvent, FrameErrors, Trimming};
use unpause_sim::results::{Awaits, PacketKind, Results};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

/// The most credit of a flow: 1.5 times what 10 Gb/s carry in 40 us.
const MOST: u32 = 75_000;

/// Of these flows over a star of ports of 10 Gb/s and 10 us, whose queues hold 50 packets.
pub fn star_of(hosts: usize, flows: Vec<FlowSpec>) -> Config {
    let mut config = config(star(&vec![gbps(10); hosts], us(10)), flows, ms(20));
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 50 * FRAME;
    config.switch.trimming = Some(Trimming {
        bytes: 64,
        control_queue_bytes: 64_000,
        cut: Cut::Arriving,
    });
    config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(Default::default());
    config.scheme.credits = Some(Credits {
        base_rtt: Some(us(40)),
        oversubscribed: None,
    });
    config
}

fn incast(senders: u32, bytes: u64) -> Config {
    let flows = (0..senders).map(|host| sized(host + 2, 1, bytes));
    star_of(senders as usize + 1, flows.collect())
}

pub fn with_nscc(mut config: Config) -> Config {
    config.scheme.roce = congestion_control::Config::Nscc(nscc_sender::Params {
        credited: true,
        ..Default::default()
    });
    config
}

/// All that a host sends is lost for a while.
fn silence(link: usize, until: Time) -> Vec<ErrorEvent> {
    let event = |at, errors| ErrorEvent {
        at,
        link,
        direction: Direction::Backward,
        errors,
    };
    vec![
        event(Time::ZERO, FrameErrors::Frames(1.0)),
        event(until, FrameErrors::None),
    ]
}

fn count(results: &Results, kind: PacketKind) -> usize {
    let packets = results.packets.iter();
    packets
        .filter(|it| it.kind == kind && it.node == it.src)
        .count()
}

fn fcts(results: &Results) -> (Time, Time) {
    let fcts = || results.flows.iter().map(fct);
    (fcts().min().unwrap(), fcts().max().unwrap())
}

/// Speculative packets at the start are trimmed, and few later; the flows end together, and the link is busy but for the
/// hundredth that the pacer leaves.
#[test]
fn an_incast_is_fair_and_loses_only_what_it_speculates_on() {
    for config in [incast(6, 1_000_000), with_nscc(incast(6, 1_000_000))] {
        let results = run(&config);
        assert_complete(&results);
        assert_eq!(results.totals.dropped_packets, 0);
        let speculative = 6 * 72;
        let trimmed = results.totals.trimmed_packets;
        assert!(
            (speculative / 2..=speculative).contains(&trimmed),
            "{trimmed}"
        );
        assert!(results.flows.iter().all(|it| it.timeouts == 0));
        let (first, last) = fcts(&results);
        assert!(last * 100 <= first * 104, "{first} {last}");
        let paced = gbps(10).time_for(6_000 * FRAME * 100 / 99);
        assert!(
            last <= paced + us(100),
            "{last}, and {paced} at the pacer's rate"
        );
    }
}

/// Without credits the same flows are trimmed all the time: each sends at the link's rate.
#[test]
fn it_is_the_credits_that_do_it() {
    let mut config = incast(6, 1_000_000);
    config.scheme.credits = None;
    assert!(run(&config).totals.trimmed_packets > 1_000);
}

/// A sender sends no more than it may speculate on and the receiver has granted.
#[test]
fn nothing_goes_without_credit() {
    let mut config = star_of(2, vec![sized(2, 1, 400_000)]);
    config.probes.packets = vec![(1, 0), (2, 0)];
    let results = run(&config);
    assert_complete(&results);
    let (mut sent, mut granted) = (0, 0);
    let mut events: Vec<_> = results.packets.iter().collect();
    events.sort_by_key(|it| match it.kind {
        PacketKind::Pull => (it.arrival, 0),
        _ => (it.time, 1),
    });
    for packet in events {
        match packet.kind {
            PacketKind::Pull => granted = packet.seq * 256,
            PacketKind::Data => {
                assert!(sent < granted + MOST, "{sent} {granted}");
                sent += u32::from(packet.bytes);
            }
            _ => {}
        }
    }
    assert!(count(&results, PacketKind::Pull) > 20);
    // Each packet says when it was sent, beside its pull target.
    let data = results
        .packets
        .iter()
        .filter(|it| it.kind == PacketKind::Data);
    assert!(data.clone().count() == 400 && data.clone().all(|it| it.sent == Some(it.time)));
}

/// Pulls, ACKs and NAKs are lost for a while: the flow waits without credit, asks for some at its timeout, and goes on. So does
/// one whose every packet was lost.
#[test]
fn a_flow_without_credit_asks_for_some() {
    for link in [0, 1] {
        let mut config = star_of(2, vec![sized(2, 1, 400_000)]);
        config.events.errors = silence(link, us(600));
        config.probes.packets = vec![(1, 0), (2, 0)];
        let results = run(&config);
        assert_complete(&results);
        let requests = count(&results, PacketKind::Request);
        assert!((1..=3).contains(&requests), "{requests}");
        assert!(fct(&results.flows[0]) < us(1_400), "{:?}", results.flows);
    }
}

/// All packets of its receiver are lost until the end: the time since its last packet is a wait for credit, although packets are lost.
#[test]
fn a_flow_without_credit_at_the_end_waited_for_it() {
    let mut config = star_of(2, vec![sized(2, 1, 400_000)]);
    config.probes.causes = true;
    config.events.errors = silence(0, ms(20));
    config.stop = ms(10);
    let results = run(&config);
    let ([flow], [delay]) = (&results.flows[..], &results.delays[..]) else {
        panic!("{:?}", results.flows);
    };
    let stuck = flow.stuck.expect("it waits");
    assert_eq!(stuck.awaits, Awaits::Credit);
    let waited = config.stop - stuck.since;
    assert!(waited > ms(5), "{stuck:?}");
    // Its timer ran out once before it asked for credit.
    assert!(delay.credit + delay.timeout >= waited, "{delay:?}");
    assert!(delay.timeout < ms(1), "{delay:?}");
}

/// The answer to a request is small and fast, and says nothing of a round trip: NSCC's window stays 1.5 of what the path holds.
#[test]
fn the_answer_to_a_request_measures_nothing() {
    let mut config = with_nscc(star_of(2, vec![sized(2, 1, 400_000)]));
    config.events.errors = silence(0, ms(3));
    if let TrafficSpec::Flows(flows) = &mut config.traffic[0] {
        flows[0].recorded = true;
    }
    config.probes.interval = us(1);
    config.probes.packets = vec![(2, 0)];
    let results = run(&config);
    assert_complete(&results);
    assert!(count(&results, PacketKind::Request) > 0);
    let mut windows = results.flow_series.iter().filter_map(|it| it.cwnd_bytes);
    let last = windows.next_back().expect("there are samples");
    assert!(last > 60_000, "{last}");
}

/// A flow that is not controlled needs no credit, and gets none.
#[test]
fn only_controlled_flows_need_credit() {
    let free = FlowSpec {
        controlled: false,
        ..sized(2, 1, 400_000)
    };
    let mut config = star_of(2, vec![free]);
    config.probes.packets = vec![(1, 0)];
    let results = run(&config);
    assert_eq!(count(&results, PacketKind::Pull), 0);
    assert!(fct(&results.flows[0]) <= gbps(10).time_for(401 * FRAME) + us(20));
}

/// Queues before hosts do not mark; others do.
#[test]
fn queues_before_hosts_do_not_mark() {
    let mut config = incast(6, 1_000_000);
    config.scheme.congestion_point = congestion_point::Config::Red(red::Params {
        kmin: 1_000,
        kmax: 2_000,
        ..Default::default()
    });
    assert_eq!(run(&config).totals.marked_packets, 0);
    let Config { fabric, .. } = &mut config;
    *fabric = chain(&[(gbps(10), us(1)), (gbps(5), us(1)), (gbps(10), us(1))]);
    config.traffic = vec![TrafficSpec::Flows(vec![sized(1, 2, 100_000)])];
    assert!(run(&config).totals.marked_packets > 0);
}

/// Lossless packets are not trimmed: what flows speculate on waits, and credits bound that: no ingress holds more than 72 packets.
#[test]
fn with_pfc_credits_bound_what_waits() {
    let mut config = incast(6, 1_000_000);
    config.switch.trimming = None;
    config.switch.lossless = 1 << LOSSLESS;
    config.switch.pfc.threshold = static_threshold(80 * FRAME);
    let results = run(&config);
    assert_lossless(&results);
    assert_complete(&results);
    assert!(results.pauses.is_empty());
    config.scheme.credits = None;
    let params = selective_repeat::Params {
        window: Some(400_000),
        ..Default::default()
    };
    config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(params);
    assert!(!run(&config).pauses.is_empty());
}

fn refusal(config: &Config) -> String {
    let refused = unpause_sim::run(config, &mut |_| ControlFlow::Continue(()));
    refused.expect_err("it is refused").to_string()
}

#[test]
fn what_cannot_have_credits_is_refused() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 6] = [
        (
            |it| it.scheme.loss_recovery = loss_recovery::Config::GoBackN,
            "go-back-N",
        ),
        (
            |it| {
                it.scheme.roce = congestion_control::Config::Dcqcn(dcqcn::Params::default());
            },
            "with NSCC, or alone",
        ),
        (|it| it.stop = ms(5_000), "cannot be that long"),
        (
            |it| {
                it.scheme.credits = Some(Credits {
                    base_rtt: Some(Time::ZERO),
                    oversubscribed: None,
                })
            },
            "is zero",
        ),
        (
            |it| {
                it.scheme.credits = Some(Credits {
                    base_rtt: Some(ms(100)),
                    oversubscribed: None,
                })
            },
            "too much credit",
        ),
        (
            |it| {
                let link = it.fabric.links[0];
                it.fabric.links.push(link);
            },
            "several links",
        ),
    ];
    for (change, why) in cases {
        let mut config = incast(2, 1_000);
        config.switch.trimming = None;
        change(&mut config);
        let refused = refusal(&config);
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn threads_and_ranks_do_not_matter() {
    for (what, mut config) in [
        ("RCCC", incast(5, 200_000)),
        ("both", with_nscc(incast(5, 200_000))),
    ] {
        config.host.spraying = Spraying::Bitmap(bitmap::Params::default());
        assert_threads_do_not_matter(what, &config);
        assert_eq!(assert_ranks_do_not_matter(what, &config), run(&config));
    }
}
