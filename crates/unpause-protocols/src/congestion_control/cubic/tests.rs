//! Numbers of RFC 9438.

use super::*;

const MSS: u64 = 1500;

fn cubic(params: Params) -> Cubic {
    let path = Path::new(Rate::from_gbps(10), MSS as u32);
    Cubic::new(
        &params,
        &Path {
            initial_window: 10 * MSS,
            ..path
        },
    )
}

fn ack(now: Time, rtt: Time) -> Ack<'static> {
    Ack {
        rtt: Some(rtt),
        bytes: MSS,
        ..Ack::at(now)
    }
}

fn timeout(again: bool) -> Loss {
    Loss::Timeout { again, window: 0 }
}

/// With 100 packets in flight, of which one is lost.
fn after_a_loss(params: Params) -> Cubic {
    let mut law = cubic(params);
    law.cwnd = 100 * MSS;
    law.on_loss(Time::ZERO, Loss::Packet, 100 * MSS);
    law
}

#[test]
fn cube_roots_are_whole_and_exact() {
    for root in [0, 1, 2, 3, 10, 1000, 4_217_163, (1 << 42) - 2] {
        let cube = u128::from(root) * u128::from(root) * u128::from(root);
        assert_eq!(cube_root(cube), root);
        let next = u128::from(root + 1);
        assert_eq!(cube_root(next * next * next - 1), root);
    }
}

#[test]
fn a_loss_leaves_seven_tenths_and_sets_k() {
    let mut law = after_a_loss(Params::default());
    assert!(law.cwnd.abs_diff(70 * MSS) <= 1);
    assert_eq!((law.ssthresh, law.w_max), (law.cwnd, 100 * MSS));
    law.start_epoch(Time::ZERO);
    // (30 / 0.4)^(1/3) = 4.217163 s; the window lacks a byte more than 30 packets.
    assert!(law.k.abs_diff(4_217_163_326) < 40_000, "{}", law.k);
}

#[test]
fn the_window_is_the_cubic_around_k() {
    let mut law = after_a_loss(Params::default());
    law.start_epoch(Time::ZERO);
    // (ms since the loss, packets in thousandths): 0.4 (t - K)³ + 100.
    let golden = [
        (0, 70_000),
        (1_000, 86_680),
        (2_000, 95_640),
        (4_000, 99_996),
        (4_217, 100_000),
        (6_000, 102_267),
        (8_434, 129_998),
        (10_000, 177_356),
    ];
    for (ms, expected) in golden {
        let milli = law.w_cubic(Time::from_ms(ms)) * 1000 / MSS;
        assert!(milli.abs_diff(expected) <= 6, "{ms} ms: {milli}");
    }
}

#[test]
fn reno_grows_by_nine_seventeenths_until_it_is_back() {
    let mut law = after_a_loss(Params::default());
    law.start_epoch(Time::ZERO);
    let before = law.w_est;
    // One window of ACKs.
    for _ in 0..70 {
        law.grow_reno(MSS);
    }
    let gained = (law.w_est - before) >> 16;
    assert!(gained.abs_diff(MSS * 9 / 17) <= 1, "{gained}");
    law.w_est = (100 * MSS) << 16;
    let before = law.w_est;
    for _ in 0..70 {
        law.grow_reno(MSS);
    }
    assert!((law.w_est - before).abs_diff(MSS << 16) <= 70 << 16);
}

#[test]
fn a_window_that_shrinks_leaves_more() {
    let mut law = after_a_loss(Params::default());
    law.on_loss(Time::ZERO, Loss::Packet, law.cwnd);
    // 0.85 of 70.
    assert!(law.w_max.abs_diff(MSS * 595 / 10) <= 2, "{}", law.w_max);
    let mut greedy = after_a_loss(Params {
        fast_convergence: false,
        ..Params::default()
    });
    let cwnd = greedy.cwnd;
    greedy.on_loss(Time::ZERO, Loss::Packet, cwnd);
    assert_eq!(greedy.w_max, cwnd);
}

#[test]
fn a_timeout_starts_over_and_forgets_where_the_loss_was() {
    let mut law = after_a_loss(Params::default());
    law.on_loss(Time::ZERO, timeout(false), 60 * MSS);
    assert_eq!(law.cwnd, MSS);
    assert!(law.ssthresh.abs_diff(42 * MSS) <= 1);
    law.on_loss(Time::ZERO, timeout(true), MSS);
    assert!(law.ssthresh.abs_diff(42 * MSS) <= 1);
    let rtt = Time::from_ms(10);
    for segment in 0..41 {
        assert_eq!(law.cwnd, (1 + segment) * MSS);
        law.on_ack(&ack(rtt, rtt));
    }
    law.on_ack(&ack(rtt, rtt));
    assert_eq!((law.k, law.w_max / MSS), (0, 42));
}

#[test]
fn a_repair_ends_with_no_more_than_it_is_told_and_a_packet_at_least() {
    let mut law = after_a_loss(Params::default());
    let before = law.cwnd;
    law.on_recovered(before + MSS);
    assert_eq!(law.cwnd, before);
    law.on_recovered(20 * MSS);
    assert_eq!(law.cwnd, 20 * MSS);
    law.on_recovered(0);
    assert_eq!(law.cwnd, MSS);
}

#[test]
fn growth_is_at_most_half_a_window_for_each_round_trip() {
    let mut law = after_a_loss(Params::default());
    let before = law.cwnd;
    law.on_ack(&ack(Time::ZERO, Time::from_ms(1)));
    for _ in 1..70 {
        law.on_ack(&ack(Time::from_ms(60_000), Time::from_ms(1)));
    }
    assert!(law.cwnd <= before + before / 2 + MSS, "{}", law.cwnd);
    assert!(law.cwnd >= before + before * 2 / 5, "{}", law.cwnd);
}

#[test]
fn time_without_need_of_the_window_does_not_count() {
    let mut law = after_a_loss(Params::default());
    let rtt = Time::from_ms(100);
    law.on_ack(&ack(rtt, rtt));
    let idle = Ack {
        may_grow: false,
        ..ack(Time::from_ms(5_100), rtt)
    };
    law.on_ack(&idle);
    assert_eq!(law.epoch, Time::from_ms(5_100));
}

#[test]
fn marks_are_answered_if_it_says_so() {
    let params = Params {
        ecn: true,
        ..Params::default()
    };
    assert!(cubic(params).is_ecn_capable() && !cubic(Params::default()).is_ecn_capable());
    let mut law = cubic(params);
    law.cwnd = MSS;
    law.on_loss(Time::ZERO, Loss::Mark, MSS);
    assert_eq!((law.cwnd, law.ssthresh), (MSS, 2 * MSS));
}

/// Packets in flight on average when one in `one_in` is lost, in a deterministic pattern.
fn average_window(rtt: Time, one_in: u64) -> u64 {
    let mut law = cubic(Params::default());
    law.ssthresh = 10 * MSS;
    let (mut now, mut acked, mut start, mut losses) = (0_u64, 0_u64, 0, 0);
    let skipped = 20;
    while losses < skipped + 20 {
        now += (u128::from(rtt.as_ps()) * u128::from(MSS) / u128::from(law.cwnd)) as u64;
        law.on_ack(&ack(Time::from_ps(now), rtt));
        acked += 1;
        if acked.is_multiple_of(one_in) {
            law.on_loss(Time::from_ps(now), Loss::Packet, law.cwnd);
            losses += 1;
            if losses == skipped {
                (start, acked) = (now, 0);
            }
        }
    }
    (u128::from(acked) * u128::from(rtt.as_ps()) / u128::from(now - start)) as u64
}

/// RFC 9438, tables 1 and 2, the column of C = 0.4: average windows.
#[test]
fn average_windows_are_those_of_the_tables_of_the_rfc() {
    let tables = [
        (100, 100, 12),
        (100, 1_000, 38),
        (100, 10_000, 187),
        (100, 100_000, 1_054),
        (10, 1_000, 38),
        (10, 10_000, 120),
        (10, 100_000, 379),
    ];
    for (rtt, one_in, expected) in tables {
        let average = average_window(Time::from_ms(rtt), one_in);
        let error = average.abs_diff(expected) * 100;
        assert!(
            error <= 10 * expected + 50,
            "{rtt} ms, 1 in {one_in}: {average} of {expected}"
        );
    }
}
