//! Frames that are lost to errors on links.

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, Direction, ErrorEvent, Fec, FrameErrors, Skipping, SwitchModel};
use unpause_sim::results::{LinkChange, LossPlace, PauseRecord, Results};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

fn errors(at: Time, link: usize, direction: Direction, errors: FrameErrors) -> ErrorEvent {
    ErrorEvent {
        at,
        link,
        direction,
        errors,
    }
}

/// All frames from host to switch (or back) are lost in a span of time: links of stars begin at their switch.
fn span(from: Time, until: Time, link: usize, direction: Direction) -> Vec<ErrorEvent> {
    vec![
        errors(from, link, direction, FrameErrors::Frames(1.0)),
        errors(until, link, direction, FrameErrors::None),
    ]
}

fn lost(results: &Results) -> u64 {
    assert!(
        results
            .losses
            .iter()
            .all(|it| it.place == LossPlace::Error && it.packets > 0)
    );
    results.losses.iter().map(|it| it.packets).sum()
}

fn assert_all_accounted(results: &Results) {
    let totals = &results.totals;
    let in_errors: u64 = results.losses.iter().map(|it| it.data_packets).sum();
    let dropped: u64 = results.ports.iter().map(|it| it.dropped_packets).sum();
    assert_eq!(totals.dropped_packets, in_errors + dropped);
    assert!(totals.data_packets >= totals.delivered_packets + totals.dropped_packets);
}

/// Two flows that repair what they lose, over a star of 40 Gb/s.
fn star_with_losses(share: f64) -> Config {
    let flows = vec![sized(1, 2, 20_000_000), sized(2, 3, 20_000_000)];
    let mut config = config(star(&[gbps(40); 3], us(1)), flows, ms(20));
    config.host.retransmit_timeout = us(100);
    config.events.errors = (0..3)
        .map(|link| {
            errors(
                Time::ZERO,
                link,
                Direction::Both,
                FrameErrors::Frames(share),
            )
        })
        .collect();
    config
}

/// Of the frames that every port sends its share is lost, within five standard deviations, ACKs among them; the flows repair
/// it all the same.
#[test]
fn the_share_of_lost_frames_is_what_was_asked_for() {
    let share = 0.002;
    let config = star_with_losses(share);
    let results = run(&config);
    assert_complete(&results);
    assert_all_accounted(&results);
    let mut checked = 0;
    for (node, port) in [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (3, 0)] {
        let of_port = results
            .ports
            .iter()
            .filter(|it| (it.node, it.port) == (node, port));
        let sent: u64 = of_port.map(|it| it.tx_packets).sum();
        let own = results
            .losses
            .iter()
            .filter(|it| (it.node, it.port) == (node, port));
        let lost: u64 = own.map(|it| it.packets).sum();
        let mean = sent as f64 * share;
        let deviation = (mean * (1.0 - share)).sqrt();
        assert!(
            (lost as f64 - mean).abs() < 5.0 * deviation,
            "{node} {port}: {lost} of {sent}"
        );
        checked += sent;
    }
    assert!(checked > 80_000, "{checked}");
    assert!(results.losses.iter().any(|it| it.data_packets < it.packets));
    let told = LinkChange::Errors {
        at: Time::ZERO,
        node: 0,
        port: 0,
        errors: FrameErrors::Frames(share),
    };
    assert!(results.link_changes.contains(&told));
}

/// Longer frames meet more wrong bits and more codewords that cannot be corrected.
#[test]
fn long_frames_are_lost_more_often_than_short_ones() {
    let bits = FrameErrors::Bits(1e-6);
    let codewords = FrameErrors::Codewords {
        fec: Fec::Rs272,
        interleave: 1,
        codeword_errors: 0.004,
    };
    for of in [bits, codewords] {
        let mut config = star_with_losses(0.0);
        config.events.errors = vec![errors(Time::ZERO, 0, Direction::Both, of)];
        let results = run(&config);
        assert_all_accounted(&results);
        let count = |data: bool| -> (u64, u64) {
            let kept = results.losses.iter().filter(|it| (it.node == 1) == data);
            kept.fold((0, 0), |sum, it| {
                (sum.0 + it.packets, sum.1 + it.data_packets)
            })
        };
        // Host 1 sends data, and the switch acknowledges every packet.
        let ((data, _), (acks, of_data)) = (count(true), count(false));
        assert_eq!(of_data, 0);
        assert!(data > 3 * acks && data > 20, "{of:?}: {data} {acks}");
    }
}

/// Errors that are in no run cost it nothing, not even another order of random numbers; those of a share of zero neither.
#[test]
fn no_errors_change_nothing() {
    let with = star_with_losses(0.0);
    let mut without = with.clone();
    without.events.errors.clear();
    let (with, without) = (run(&with), run(&without));
    assert!(with.flows == without.flows && with.ports == without.ports);
    assert_eq!(lost(&with), 0);
}

/// One direction only, and only while it lasts.
#[test]
fn errors_begin_and_end() {
    let mut config = star_with_losses(0.0);
    config.events.errors = span(us(100), us(101), 0, Direction::Backward);
    config
        .events
        .errors
        .extend(span(us(500), us(501), 0, Direction::Backward));
    config.probes.packets = vec![(1, 0)];
    let results = run(&config);
    assert_complete(&results);
    for since in [us(100), us(500)] {
        let sent = results.packets.iter();
        let sent = sent.filter(|it| since <= it.time && it.time < since + us(1));
        let own = results.losses.iter().filter(|it| it.since == since);
        let lost: u64 = own.map(|it| it.packets).sum();
        assert_eq!(lost, sent.count() as u64);
        assert!(lost >= 4, "{lost}");
    }
    assert!(results.losses.iter().all(|it| it.node == 1 && it.port == 0));
}

/// Hosts 2 and 3 send to host 1, and the switch stops them.
fn incast() -> Config {
    let flows = vec![sized(2, 1, 300_000), sized(3, 1, 300_000)];
    let mut config = config(star(&[gbps(40); 3], us(1)), flows, ms(2));
    config.switch.pfc.threshold = static_threshold(20_000);
    config.host.retransmit_timeout = us(500);
    config.probes.pauses = true;
    config
}

fn of_host(results: &Results, host: u32) -> Vec<&PauseRecord> {
    let pauses = results.pauses.iter();
    pauses.filter(|it| it.node == host).collect()
}

#[test]
fn a_lost_xoff_overflows_the_headroom() {
    let before = run(&incast());
    assert_lossless(&before);
    let first = of_host(&before, 3)[0].obeyed;
    // The frame is on the wire for 1 us.
    let mut config = incast();
    config.events.errors = span(first - us(2), first, 2, Direction::Forward);
    let results = run(&config);
    let pfc = results.losses.iter().filter(|it| it.data_packets == 0);
    assert!(pfc.map(|it| it.packets).sum::<u64>() > 0);
    assert!(port(&results, 0, 2, LOSSLESS).headroom_dropped_packets > 0);
    assert_eq!(port(&results, 0, 1, LOSSLESS).headroom_dropped_packets, 0);
}

#[test]
fn a_lost_xon_stops_its_sender_until_the_pause_is_over() {
    let before = run(&incast());
    let pause = *of_host(&before, 3)[0];
    let mut config = incast();
    let xon = pause.end - us(1);
    config.events.errors = span(xon - ps(200_000), xon + ps(1), 2, Direction::Forward);
    let results = run(&config);
    assert_eq!(
        results.losses.iter().map(|it| it.data_packets).sum::<u64>(),
        0
    );
    assert!(lost(&results) > 0);
    let longer = of_host(&results, 3)[0];
    assert_eq!(longer.obeyed, pause.obeyed);
    // 65,535 quanta of 512 bits at 40 Gb/s.
    assert_eq!(longer.end - longer.obeyed, ps(838_848_000));
    assert!(pause.end - pause.obeyed < us(50));
    assert_complete(&results);
}

/// Threads and processes change nothing, whatever the switch and the scheme, nor does what of a run is skipped.
#[test]
fn whoever_runs_it_the_results_are_the_same() {
    for (name, scheme) in schemes() {
        let mut config = incast();
        config.scheme = scheme;
        config.events.errors = (0..3)
            .map(|link| errors(us(20), link, Direction::Both, FrameErrors::Frames(0.01)))
            .collect();
        config.probes.interval = us(20);
        config.probes.ports = vec![(0, 0), (2, 0)];
        let pipeline = SwitchModel::Pipeline(Default::default());
        let input_queued = SwitchModel::InputQueued(Default::default());
        for model in [SwitchModel::SharedBuffer, pipeline, input_queued] {
            config.switch.model = model;
            let results = run(&config);
            assert!(lost(&results) > 5, "{name}: {:?}", results.losses);
            assert_threads_do_not_matter(name, &config);
        }
        config.switch.model = SwitchModel::SharedBuffer;
        assert_ranks_do_not_matter(name, &config);
        config.switch.cut_through_bytes = Some(64);
        assert_threads_do_not_matter(name, &config);
    }
}

/// A run that repeats itself but for its errors is skipped where there are none.
#[test]
fn nothing_is_skipped_while_there_are_errors() {
    let slow = [(1, 2), (2, 3)].map(|(src, dst)| FlowSpec {
        rate_limit: Some(gbps(1)),
        ..flow(src, dst)
    });
    let mut config = star_with_losses(0.0);
    config.stop = ms(4);
    config.traffic = vec![TrafficSpec::Flows(slow.to_vec())];
    config.events.errors = vec![
        errors(ms(1), 0, Direction::Both, FrameErrors::Frames(0.05)),
        errors(ms(2), 0, Direction::Both, FrameErrors::None),
    ];
    let exact = Config {
        skipping: Skipping::Never,
        ..config.clone()
    };
    let exact = run(&exact);
    assert!(lost(&exact) > 5);
    config.skipping = Skipping::Always;
    assert!(run(&config) == exact);
}

/// Impossible error models are refused.
#[test]
fn impossible_errors_are_refused() {
    let codewords = |interleave, codeword_errors| FrameErrors::Codewords {
        fec: Fec::Rs544,
        interleave,
        codeword_errors,
    };
    let impossible = [
        (0, FrameErrors::Frames(-0.1)),
        (0, FrameErrors::Frames(1.5)),
        (0, FrameErrors::Frames(f64::NAN)),
        (0, FrameErrors::Bits(0.6)),
        (0, codewords(0, 0.1)),
        (0, codewords(1, 2.0)),
        (3, FrameErrors::Frames(0.1)),
    ];
    for (link, of) in impossible {
        let mut config = star_with_losses(0.0);
        config.events.errors = vec![errors(Time::ZERO, link, Direction::Both, of)];
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        assert!(unpause_sim::run(&config, go_on).is_err(), "{of:?}");
    }
}
