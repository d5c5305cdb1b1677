//! Links that send corrupted frames again.

use unpause_protocols::units::Time;
use unpause_sim::config::{
    AckPriority, CbfcConfig, Config, Direction, ErrorEvent, FrameErrors, RetryConfig, WindowConfig,
};
use unpause_sim::results::{PacketKind, Results};
use unpause_sim::traffic::TrafficSpec;

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

/// A link at 100 Gb/s with retry between two switches whose hosts are faster; its frames are seen where they come and go.
fn long_link(delay: Time) -> Config {
    let links = [
        (gbps(400), ps(100_000)),
        (gbps(100), delay),
        (gbps(400), ps(100_000)),
    ];
    let mut config = config(chain(&links), vec![sized(1, 2, 2_000_000)], ms(50));
    config.host.ack_priority = AckPriority::Control;
    config.switch.retry = Some(RetryConfig::default());
    config.probes.packets = vec![(0, 1), (3, 1)];
    config
}

/// Errors of the long link, from the first switch to the second.
fn errors(at: Time, errors: FrameErrors) -> ErrorEvent {
    ErrorEvent {
        at,
        link: 1,
        direction: Direction::Forward,
        errors,
    }
}

/// When data packets left a switch.
fn starts(results: &Results, node: u32) -> Vec<Time> {
    let packets = results.packets.iter();
    let data = packets.filter(|it| it.kind == PacketKind::Data && it.node == node);
    data.map(|it| it.time).collect()
}

/// Nothing is lost, dropped or sent again by a host.
fn assert_nothing_lost(results: &Results) {
    assert_lossless(results);
    assert!(results.losses.is_empty());
    assert_complete(results);
}

fn replayed(results: &Results) -> u64 {
    results.ports.iter().map(|it| it.replayed_packets).sum()
}

/// With a timer shorter than the round trip, frames are sent again that have arrived. What comes meanwhile waits for that, and
/// is recorded as it is sent: the switch behind the link forwards it when the record says that it arrives.
#[test]
fn frames_wait_for_those_sent_again_in_vain() {
    let mut config = long_link(us(1));
    config.switch.retry = Some(RetryConfig {
        replay_timer: Some(ps(700_000)),
        ..RetryConfig::default()
    });
    let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
        unreachable!()
    };
    flows[0].rate_limit = Some(gbps(20));
    let results = run(&config);
    assert_nothing_lost(&results);
    assert!(replayed(&results) > 0, "the timer is too long");
    let packets = results.packets.iter();
    let data = packets.filter(|it| it.kind == PacketKind::Data && it.node == 0);
    let arrivals: Vec<Time> = data.map(|it| it.arrival).collect();
    assert_eq!(arrivals, starts(&results, 3));
    let slot = gbps(100).time_for(FRAME);
    let sent = starts(&results, 0);
    assert!(sent.windows(2).all(|pair| pair[1] >= pair[0] + slot));
    assert_threads_do_not_matter("frames sent again in vain", &config);
}

/// A frame that is corrupted is sent again 1 + m slots after it was, m = ceil((2 t + 8 B/C) / slot), and those behind it follow
/// at once: between the arrivals of the frame before it and its own there are 2 + m slots.
#[test]
fn a_corrupted_frame_comes_as_late_as_the_closed_form_says() {
    let slot = gbps(100).time_for(FRAME);
    for delay in [ps(10_000), ps(150_000), us(1), us(10)] {
        let mut config = long_link(delay);
        let clean = run(&config);
        assert_nothing_lost(&clean);
        assert_eq!(replayed(&clean), 0);
        let sent = starts(&clean, 0);
        let hit = 700;
        config.events.errors = vec![
            errors(sent[hit], FrameErrors::Frames(1.0)),
            errors(sent[hit] + ps(1), FrameErrors::None),
        ];
        let found = run(&config);
        assert_nothing_lost(&found);
        let (before, after) = (starts(&clean, 3), starts(&found, 3));
        let round_trip = delay + delay + gbps(100).time_for(8);
        let m = round_trip.as_ps().div_ceil(slot.as_ps());
        assert_eq!(before[..hit], after[..hit]);
        for at in hit..before.len() {
            let late = after[at] - before[at];
            assert_eq!(late, slot * (1 + m), "{delay}: frame {at}");
        }
        assert_eq!(replayed(&found), 1 + m);
    }
}

/// The goodput of a saturated link is within the interval of C (1 - p) / (1 + m p) for frame losses p, where frames that are
/// sent again are lost as often.
#[test]
fn goodput_is_that_of_the_closed_form() {
    let slot = gbps(100).time_for(FRAME).as_ps() as f64;
    let delay = ps(150_000);
    let m = ((2.0 * 150_000.0 + 640.0) / slot).ceil();
    for (loss, bytes) in [(1e-3, 40_000_000), (1e-2, 10_000_000)] {
        let mut config = long_link(delay);
        let flow = sized(1, 2, bytes);
        config.traffic = vec![TrafficSpec::Flows(vec![flow])];
        config.events.errors = vec![errors(Time::ZERO, FrameErrors::Frames(loss))];
        let results = run(&config);
        assert_nothing_lost(&results);
        let came = starts(&results, 3);
        let frames = (came.len() - 1) as f64;
        let found = frames * slot / (*came.last().unwrap() - came[0]).as_ps() as f64;
        // A frame lost again waits for the replay timer.
        let timer = 5_000_000.0 + 300_000.0 + (2.0 * FRAME as f64 + 2056.0) * 80.0;
        let expected = (1.0 - loss) / (1.0 + m * loss + loss * loss * timer / slot);
        let events = frames * loss;
        let spread = 3.0 * (m + 1.0) * loss / events.sqrt() + loss * loss * timer / slot;
        assert!(
            (found / expected - 1.0).abs() < spread,
            "{loss}: {found} {expected} {spread}"
        );
    }
}

/// With every bit wrong nothing gets through: frames are given up after the replays, and counted as lost; and once errors end
/// the flow completes.
#[test]
fn a_dead_wire_loses_what_is_given_up() {
    // With credits, those of the frames that are given up come back.
    for credits in [None, Some(CbfcConfig::default())] {
        let mut config = long_link(us(1));
        config.switch.cbfc = credits;
        config.host.retransmit_timeout = us(100);
        config.events.errors = vec![
            errors(us(20), FrameErrors::Frames(1.0)),
            errors(us(200), FrameErrors::None),
        ];
        let results = run(&config);
        assert_complete(&results);
        assert!(!results.losses.is_empty());
        assert!(results.totals.dropped_packets > 0);
    }
}

/// Frames, answers and updates of credits are corrupted alike; nothing is lost, with PFC and with credits.
#[test]
fn bit_errors_both_ways_lose_nothing() {
    for credits in [None, Some(CbfcConfig::default())] {
        let mut config = long_link(us(1));
        config.switch.cbfc = credits;
        config.traffic = vec![TrafficSpec::Flows(vec![
            sized(1, 2, 2_000_000),
            sized(2, 1, 2_000_000),
        ])];
        config.events.errors = (0..3)
            .map(|link| ErrorEvent {
                at: Time::ZERO,
                link,
                direction: Direction::Both,
                errors: FrameErrors::Bits(1e-7),
            })
            .collect();
        let results = run(&config);
        assert_nothing_lost(&results);
        assert!(replayed(&results) > 0);
        assert_threads_do_not_matter("retry", &config);
        assert_ranks_do_not_matter("retry", &config);
    }
}

/// The hosts of a switch send each other small packets, with a window, so that there is much to do at every instant. ACKs
/// have a byte.
pub fn small_acks() -> Config {
    let hosts = 1..=7;
    let pairs = hosts
        .clone()
        .flat_map(|src| hosts.clone().map(move |dst| (src, dst)));
    let flows = pairs.filter(|(src, dst)| src != dst).map(|(src, dst)| {
        let mut flow = sized(src, dst, 5_000);
        flow.start = ps(u64::from(src * 1_009 + dst * 3_001));
        flow
    });
    let mut config = config(star(&[gbps(100); 7], ps(1)), flows.collect(), ms(1));
    config.host.window = Some(WindowConfig {
        bytes: Some(500),
        by_rate: false,
    });
    config.host.ack_priority = AckPriority::Control;
    config.host.payload_bytes = 50;
    config.host.ack_bytes = 1;
    config.probes.packets = (0..7).map(|port| (0, port)).collect();
    config
}

/// ACKs of a byte are on the wire for less time than an answer of retry, and nodes are not ahead of them: without errors,
/// and with buffers that are never full, all is as without retry.
#[test]
fn small_acks_arrive_in_time() {
    let mut config = small_acks();
    let plain = run(&config);
    config.switch.retry = Some(RetryConfig {
        buffer_bytes: Some(500_000),
        ..RetryConfig::default()
    });
    let results = run(&config);
    assert_nothing_lost(&results);
    assert!(results.flows == plain.flows);
    assert!(results.packets == plain.packets);
    assert_threads_do_not_matter("small ACKs", &config);
    assert!(assert_ranks_do_not_matter("small ACKs", &config) == results);
}
