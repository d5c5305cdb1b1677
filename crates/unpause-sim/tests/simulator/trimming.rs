//! Switches that trim packets to their headers.

use std::ops::ControlFlow;

use unpause_protocols::congestion_point::red;
use unpause_protocols::loss_recovery::{self, selective_repeat};
use unpause_protocols::spraying::{Config as Spraying, reps};
use unpause_sim::config::{Config, Cut, Queueing, SwitchModel, Trimming};
use unpause_sim::results::{PacketKind, PacketRecord, Results};
use unpause_sim::traffic::TrafficSpec;

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

/// The priority of headers and their NAKs.
const CONTROL: u8 = 7;

/// Headers of 64 bytes, and room for very many of them.
fn trimming(cut: Cut) -> Option<Trimming> {
    Some(Trimming {
        bytes: 64,
        control_queue_bytes: 64_000,
        cut,
    })
}

/// Hosts 2 to 5 send 1 MB each to host 1, 10 Gb/s and 1 us a link; the queue holds ten packets.
fn incast(cut: Cut) -> Config {
    let flows = (2..6).map(|host| sized(host, 1, 1_000_000)).collect();
    let mut config = config(star(&[gbps(10); 5], us(1)), flows, ms(10));
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 10_480;
    config.switch.trimming = trimming(cut);
    let params = selective_repeat::Params {
        window: Some(20_000),
        ..selective_repeat::Params::default()
    };
    config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(params);
    config
}

fn again(results: &Results) -> u64 {
    let flows = results.flows.iter();
    flows.map(|it| it.retransmitted_packets).sum()
}

fn first(results: &Results, kind: PacketKind) -> &PacketRecord {
    let found = results.packets.iter().find(|it| it.kind == kind);
    found.expect("there is such a packet")
}

/// Each trimmed packet is sent again once, none waits for a timeout, and the link stays busy: the four flows take as long as
/// their packets, those headers and the headers take.
#[test]
fn what_is_trimmed_is_sent_again_at_once() {
    for cut in [Cut::Arriving, Cut::Either] {
        let results = run(&incast(cut));
        let totals = &results.totals;
        assert_complete(&results);
        assert_eq!(totals.dropped_packets, 0);
        assert!(totals.trimmed_packets > 1_000, "{totals:?}");
        assert_eq!(totals.trimmed_packets, again(&results));
        assert_eq!(totals.delivered_packets, 4_000);
        assert!(results.flows.iter().all(|it| it.timeouts == 0));
        let at_port = port(&results, 0, 0, LOSSLESS);
        assert_eq!(at_port.trimmed_packets, totals.trimmed_packets);
        let bytes = 4_000 * FRAME + totals.trimmed_packets * 64;
        let busy = gbps(10).time_for(bytes);
        let last = results.flows.iter().filter_map(|it| it.fct).max();
        let idle = last.expect("they are complete") - busy;
        assert!(idle < us(10), "{cut:?}: idle for {idle}");
    }
}

/// A trimmed packet overtakes the queue, and so does the answer: the sender knows within a round trip.
#[test]
fn headers_overtake_the_queue() {
    let mut config = incast(Cut::Arriving);
    config.probes.packets = vec![(0, 0), (1, 0)];
    let results = run(&config);
    let trimmed = first(&results, PacketKind::Trimmed);
    let nak = first(&results, PacketKind::TrimNak);
    assert_eq!((trimmed.bytes, trimmed.priority), (64, CONTROL));
    assert_eq!(trimmed.flow, nak.flow);
    // At most a frame is in flight when it comes to the port.
    let frame = gbps(10).time_for(FRAME);
    assert!(nak.time - trimmed.time <= us(1) + frame + gbps(10).time_for(64));
}

/// Of three packets one leaves at once, one waits, and there is no room for the third: that is trimmed, or the one that waits.
#[test]
fn either_packet_is_trimmed_by_the_toss_of_a_coin() {
    let trimmed = |cut, seed| {
        let flows = (2..5).map(|host| sized(host, 1, 1_000)).collect();
        let mut config = Config {
            traffic: vec![TrafficSpec::Flows(flows)],
            seed,
            ..incast(cut)
        };
        config.switch.lossy_queue_bytes = FRAME;
        config.probes.packets = vec![(0, 0)];
        let results = run(&config);
        assert_complete(&results);
        assert_eq!(results.totals.trimmed_packets, 1);
        let header = first(&results, PacketKind::Trimmed);
        // It leaves before the packet that waits.
        assert_eq!(results.packets[1], *header);
        header.src
    };
    assert!((0..20).all(|seed| trimmed(Cut::Arriving, seed) == 4));
    let waited = (0..40).filter(|seed| trimmed(Cut::Either, *seed) == 3);
    assert!((10..=30).contains(&waited.count()));
}

/// Beyond the limit of the control queue headers are dropped, and the timeout repairs that.
#[test]
fn the_control_queue_has_a_limit() {
    let mut config = incast(Cut::Arriving);
    if let Some(trimming) = &mut config.switch.trimming {
        trimming.control_queue_bytes = 64;
    }
    let results = run(&config);
    assert_complete(&results);
    let control = port(&results, 0, 0, CONTROL);
    assert!(control.dropped_packets > 0 && control.max_queue_bytes <= 64);
    assert!(results.flows.iter().any(|it| it.timeouts > 0));
    // A header is no data packet: what is dropped had been trimmed.
    assert_eq!(results.totals.dropped_packets, 0);
}

/// A lossless priority is not trimmed: PFC holds its packets back.
#[test]
fn lossless_packets_are_not_trimmed() {
    let mut config = incast(Cut::Arriving);
    config.switch.lossless = 1 << LOSSLESS;
    let refused = refusal(&config);
    assert!(refused.contains("lossless"), "{refused}");
}

fn refusal(config: &Config) -> String {
    let refused = unpause_sim::run(config, &mut |_| ControlFlow::Continue(()));
    refused.expect_err("it is refused").to_string()
}

#[test]
fn what_cannot_be_trimmed_is_refused() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 6] = [
        (
            |it| it.scheme.loss_recovery = loss_recovery::Config::GoBackN,
            "go-back-N",
        ),
        (
            |it| it.switch.model = SwitchModel::InputQueued(Default::default()),
            "shared buffer",
        ),
        (|it| it.switch.queueing = Queueing::Voq, "only a FIFO"),
        (|it| it.host.control_priority = LOSSLESS, "share a priority"),
        (
            |it| it.switch.trimming.as_mut().expect("it is there").bytes = 60,
            "trimmed to 60",
        ),
        (
            |it| it.switch.trimming.as_mut().expect("it is there").bytes = 1_048,
            "trims nothing",
        ),
    ];
    for (change, why) in cases {
        let mut config = incast(Cut::Either);
        change(&mut config);
        let refused = refusal(&config);
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn threads_and_ranks_do_not_matter() {
    for cut in [Cut::Arriving, Cut::Either] {
        let mut config = incast(cut);
        config.host.spraying = Spraying::Reps(reps::Params::default());
        config.scheme.congestion_point =
            unpause_protocols::congestion_point::Config::Red(red::Params::default());
        let what = format!("{cut:?}");
        assert_threads_do_not_matter(&what, &config);
        assert_eq!(assert_ranks_do_not_matter(&what, &config), run(&config));
    }
}
