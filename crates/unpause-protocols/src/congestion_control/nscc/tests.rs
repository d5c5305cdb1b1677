use super::*;

const US: fn(u64) -> Time = Time::from_us;

/// The reference network itself, so that a = 1: T = 9 us, 1000 B packets with 1000 B of payload.
fn params() -> Params {
    Params::for_network(US(12), Rate::from_gbps(100), 1000, 1000, true)
}

fn flow() -> Nscc {
    Nscc::new(&params(), US(12))
}

/// An ACK after the base RTT and this queuing delay.
fn ack(now: Time, bytes: u64, delay: Time, marked: bool) -> Ack {
    Ack {
        marked,
        rtt: Some(US(12) + delay),
        ..Ack::at(now, bytes, 100_000)
    }
}

fn nack(now: Time) -> Nack {
    Nack {
        now,
        bytes: 1000,
        rtt: None,
        credited: false,
        in_flight: 5_000,
    }
}

/// Past the first adjustment, with a window of 100 000 B, so that there is room above.
fn smaller() -> Nscc {
    let mut flow = flow();
    flow.on_ack(&ack(US(13), 1000, US(9), true));
    flow.window = 100_000;
    flow
}

#[test]
fn constants_scale_with_the_network() {
    let flow = flow();
    assert_eq!((flow.window(), flow.most), (225_000, 225_000));
    assert_eq!(flow.target, US(9));
    assert_eq!(flow.fair, 5_000 << 32);
    assert_eq!(flow.fast, 1 << 30);
    assert_eq!(flow.steady, 150);
    // 4 payloads in 12 us.
    assert_eq!(
        flow.proportional,
        ((4_000_u128 << 56) / 12_000_000) as u64 + 1
    );
    // Four times the rate and half the round trip: a = 2; without trimming the target is the whole round trip.
    let params = Params::for_network(US(6), Rate::from_gbps(400), 1000, 1000, false);
    let flow = Nscc::new(&params, US(6));
    assert_eq!(flow.target, US(6));
    assert_eq!(flow.fair, 10_000 << 32);
    assert_eq!(flow.fast, 1 << 31);
    assert_eq!(flow.steady, 300);
    assert_eq!(flow.window(), 450_000);
}

#[test]
fn no_network_is_too_large_to_count() {
    let params = Params::for_network(
        Time::NEVER,
        Rate::from_bps(u64::MAX),
        u32::MAX,
        u32::MAX,
        false,
    );
    let mut flow = Nscc::new(&params, Time::NEVER);
    flow.on_ack(&ack(US(1), u64::MAX, US(0), false));
    flow.on_ack(&ack(Time::NEVER, u64::MAX, US(0), false));
    assert!(flow.window() >= u64::from(u32::MAX));
    let nothing = Params::for_network(US(0), Rate::from_bps(0), 0, 0, true);
    let mut flow = Nscc::new(&nothing, US(0));
    flow.on_ack(&Ack::at(US(1), 1, 0));
    flow.on_timeout(10);
    assert_eq!(flow.window(), 1);
}

/// 3 us below the target: 4 payloads / 12 us · 3 us for each byte, over the window.
#[test]
fn proportional_increase_by_how_far_the_delay_is_below_the_target() {
    let mut flow = smaller();
    for _ in 0..8 {
        flow.on_ack(&ack(US(14), 1000, US(6), false));
    }
    assert_eq!(flow.window(), 100_000, "not before 8 packets have passed");
    assert_eq!(flow.increase, 8 * 1_000_000);
    flow.on_ack(&ack(US(14), 1000, US(6), false));
    assert_eq!(flow.window(), 100_000 + 90);
    assert_eq!((flow.increase, flow.received), (0, 0));
}

#[test]
fn fair_increase_is_the_same_however_late() {
    for delay in [9, 20] {
        let mut flow = smaller();
        for _ in 0..9 {
            flow.on_ack(&ack(US(14), 1000, US(delay), false));
        }
        assert_eq!(flow.window(), 100_000 + 9 * 5_000_000 / 100_000, "{delay}");
    }
}

#[test]
fn every_network_rtt_adds_a_little() {
    let mut flow = smaller();
    // The first ACK came at 13 us, when more than a network RTT had passed.
    flow.on_ack(&ack(US(25), 0, US(5), true));
    assert_eq!(flow.window(), 100_000);
    flow.on_ack(&ack(Time::from_ns(25_001), 0, US(5), true));
    assert_eq!(flow.window(), 100_150);
}

/// More than a window comes back with no delay to speak of; then each byte adds a quarter.
#[test]
fn fast_increase_when_the_network_is_empty() {
    let mut flow = smaller();
    flow.on_ack(&ack(US(14), 100_000, US(0), false));
    assert!(!flow.fast_now);
    let before = flow.window();
    flow.on_ack(&ack(US(14), 4_000, US(0), false));
    assert!(flow.fast_now);
    assert_eq!(flow.window(), before + 1_000);
    // A microsecond ends it, and the count starts again.
    flow.on_ack(&ack(US(14), 4_000, US(1), false));
    flow.on_ack(&ack(US(14), 4_000, US(0), false));
    assert!(!flow.fast_now);
}

#[test]
fn a_mark_with_little_delay_only_changes_the_path() {
    let mut flow = smaller();
    flow.on_ack(&ack(US(14), 4_000, US(8), true));
    assert_eq!((flow.window(), flow.increase), (100_000, 0));
}

#[test]
fn multiplicative_decrease_by_the_average_once_a_base_rtt() {
    let mut flow = smaller();
    flow.on_ack(&ack(US(14), 1_000, US(36), true));
    assert_eq!(
        flow.window(),
        100_000,
        "the average is still below the target"
    );
    // The average becomes (79 · 12 + 12)/80 = 12 us: 1 - 0.8 · 3/12 = 0.8.
    flow.average = US(12);
    flow.on_ack(&ack(US(15), 1_000, US(12), true));
    assert_eq!(flow.window(), 80_000);
    flow.on_ack(&ack(US(27), 0, US(12), true));
    assert_eq!(flow.window(), 80_000 + 150, "a base RTT has not passed");
    flow.on_ack(&ack(US(28), 0, US(12), true));
    assert_eq!(flow.window(), 80_150 * 8 / 10);
    // However late, a half is left.
    flow.average = US(900);
    flow.on_ack(&ack(US(41), 0, US(30), true));
    assert_eq!(flow.window(), 80_150 * 8 / 10 / 2 + 150);
}

#[test]
fn a_late_packet_without_a_mark_lowers_the_average() {
    let mut flow = flow();
    flow.average = US(8);
    flow.average_in(US(4), false);
    assert_eq!(flow.average_delay(), Time::from_ps(7_950_000));
    flow.average_in(US(12), true);
    assert_eq!(flow.average_delay(), Time::from_ps(8_000_625));
    // A quarter of the base RTT, 3 us, instead of 12 us.
    flow.average_in(US(12), false);
    assert_eq!(flow.average_delay(), Time::from_ps(7_938_117));
}

#[test]
fn an_ack_without_a_round_trip_has_the_average_delay() {
    let mut flow = smaller();
    flow.average = US(6);
    flow.on_ack(&Ack::at(US(14), 1_000, 0));
    assert_eq!(flow.increase, 1_000_000);
    assert_eq!(flow.average_delay(), US(6));
}

#[test]
fn the_base_rtt_falls_and_with_it_the_largest_window() {
    let mut flow = flow();
    flow.on_ack(&Ack {
        rtt: Some(US(8)),
        ..Ack::at(US(13), 1_000, 0)
    });
    assert_eq!(flow.base_rtt(), US(8));
    assert_eq!(flow.window(), 150_000);
    flow.on_nack(&Nack {
        rtt: Some(US(4)),
        ..nack(US(14))
    });
    assert_eq!(flow.base_rtt(), US(4));
    assert_eq!(flow.window(), 75_000);
}

/// A period is 12 + 9 us; the largest window over 8 is 28 125 B.
#[test]
fn quick_adapt_leaves_what_has_arrived() {
    let mut flow = smaller();
    flow.on_nack(&nack(US(20)));
    assert_eq!(flow.window(), 99_000);
    flow.on_ack(&ack(US(30), 5_000, US(9), true));
    assert_eq!(flow.window(), 99_000 + 150);
    flow.on_ack(&ack(US(35), 1_000, US(9), true));
    assert_eq!(flow.window(), 6_000, "the period ended at 34 us");
    assert_eq!((flow.increase, flow.achieved), (0, 0));
    assert_eq!(flow.to_ignore, 100_000);
    // Marks and trims of what was in flight are ignored, what is not marked is not.
    flow.on_nack(&nack(US(36)));
    assert_eq!((flow.window(), flow.to_ignore), (6_000, 99_000));
    flow.on_ack(&ack(US(36), 98_999, US(9), true));
    assert_eq!((flow.window(), flow.to_ignore), (6_000, 1));
    flow.on_ack(&ack(US(36), 1, US(9), false));
    assert_eq!(flow.increase, 5_000);
    flow.on_nack(&nack(US(36)));
    assert_eq!(flow.window(), 5_000);
}

#[test]
fn quick_adapt_needs_very_late_packets_or_trims_and_little_arrived() {
    let period_over = |bytes, delay, trimmed: bool| {
        let mut flow = smaller();
        flow.trimmed = trimmed;
        flow.on_ack(&ack(US(35), bytes, delay, false));
        flow.window()
    };
    assert!(period_over(28_124, US(36), false) > 90_000);
    assert_eq!(
        period_over(28_124, Time::from_ps(36_000_001), false),
        28_124
    );
    assert!(period_over(28_125, US(37), false) > 90_000);
    assert_eq!(period_over(28_124, US(9), true), 28_124);
    assert_eq!(period_over(10, US(9), true), 1_000, "a packet at least");
    // A trim may end the period itself.
    let mut flow = smaller();
    flow.on_nack(&nack(US(35)));
    assert_eq!((flow.window(), flow.to_ignore), (1_000, 5_000));
}

#[test]
fn a_trim_takes_its_size_unless_credits_slow_the_senders() {
    let mut flow = smaller();
    flow.on_nack(&nack(US(20)));
    assert_eq!(flow.window(), 99_000);
    // A network RTT counts as its delay; the mark of 13 us is in the average as well.
    let average = 9_000_000 / 80 * 79 / 80 + 12_000_000 / 80;
    assert_eq!(flow.average_delay(), Time::from_ps(average));
    flow.on_nack(&Nack {
        credited: true,
        ..nack(US(20))
    });
    assert_eq!(flow.window(), 99_000);
    flow.window = 1_500;
    flow.on_nack(&nack(US(20)));
    assert_eq!(flow.window(), 1_000);
}

#[test]
fn a_timeout_takes_the_packet() {
    let mut flow = smaller();
    flow.on_timeout(1_000);
    assert_eq!(flow.window(), 99_000);
    flow.on_timeout(98_500);
    assert_eq!(flow.window(), 1_000);
}

/// At 51/255 the receiver leaves a fifth of 1000 B: the window loses 800 B.
#[test]
fn the_receivers_penalty_takes_its_share() {
    let mut flow = smaller();
    let penalised = |kept| Ack {
        penalty: Some(kept),
        ..ack(US(14), 1_000, US(0), true)
    };
    flow.on_ack(&penalised(51));
    assert_eq!(flow.window(), 99_200);
    flow.on_ack(&penalised(255));
    assert_eq!(flow.window(), 99_200);
    flow.on_ack(&penalised(0));
    assert_eq!(flow.window(), 98_200);
}
