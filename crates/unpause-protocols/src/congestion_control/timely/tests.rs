use super::*;

const LINE: u64 = 40_000_000_000;
const DELTA: u64 = 10_000_000;

fn at_us(us: u64) -> Time {
    Time::from_us(us)
}

fn rp(params: Params, rate: u64) -> Timely {
    let mut rp = Timely::new(&params, &Path::new(Rate::from_bps(LINE), 1000));
    rp.rate = rate;
    rp
}

#[test]
fn recovery_of_17_5_gigabits_takes_52_milliseconds_at_30_microseconds() {
    let mut rp = rp(Params::per_packet(), 20_000_000_000);
    let mut now = Time::ZERO;
    while rp.rate < 37_500_000_000 {
        now += at_us(30);
        rp.on_rtt(now, at_us(30));
    }
    assert_eq!(now, at_us(1750 * 30));
}

#[test]
fn hpcc_updates_once_a_round_trip_and_counts_increases_of_either_kind() {
    let params = Params {
        hai_delta: Some(Rate::from_mbps(70)),
        min_rate: Rate::from_mbps(100),
        ..Params::hpcc()
    };
    let mut rp = rp(params, LINE / 2);
    let ack = |rp: &mut Timely, acknowledged, sent, us| {
        let before = rp.rate;
        rp.on_ack(&Ack {
            rtt: Some(at_us(us)),
            bytes: 1,
            acknowledged,
            sent,
            ..Ack::at(at_us(acknowledged))
        });
        rp.rate as i64 - before as i64
    };
    // The first only begins; what was under way then does not count.
    assert_eq!(ack(&mut rp, 1, 10, 30), 0);
    assert_eq!(ack(&mut rp, 10, 20, 90), 0);
    // Five steps below t_low, then larger ones, also by the gradient.
    for round in 1..=5 {
        assert_eq!(
            ack(&mut rp, 10 * round + 1, 10 * round + 10, 30),
            10_000_000
        );
    }
    assert_eq!(ack(&mut rp, 61, 70, 30), 70_000_000);
    // 0.2 us of its own serialisation: rises by 40 us, of 20 us of base RTT, are cut to the minimum.
    assert!(ack(&mut rp, 71, 80, 70) < -19_000_000_000);
    assert_eq!(rp.rate, 100_000_000);
    assert_eq!(ack(&mut rp, 81, 90, 30), 10_000_000);
}

#[test]
fn per_packet_steps_are_scaled_by_the_time_passed() {
    let mut rp = rp(Params::per_packet(), LINE / 2);
    rp.on_rtt(at_us(100), at_us(30));
    assert_eq!(rp.rate, LINE / 2 + DELTA);
    // A quarter of min_rtt later.
    rp.on_rtt(at_us(105), at_us(30));
    assert_eq!(rp.rate, LINE / 2 + DELTA + DELTA / 4);
}

#[test]
fn a_rising_rtt_cuts_by_beta_times_the_gradient() {
    let mut rp = rp(Params::per_packet(), LINE / 2);
    rp.on_rtt(at_us(100), at_us(30));
    let before = rp.rate;
    rp.on_rtt(at_us(200), at_us(40));
    // 0.8 x 0.02 x 10 us / 20 us = 0.8 %
    assert!((before - rp.rate).abs_diff(before / 1000 * 8) < 1000);
}

#[test]
fn a_long_rtt_cuts_by_its_excess() {
    let mut rp = rp(Params::segment(), LINE / 2);
    rp.on_rtt(at_us(1000), at_us(1000));
    // 0.8 x (1 - 500 / 1000)
    assert!(rp.rate.abs_diff(LINE / 2 / 10 * 6) < 100);
}

#[test]
fn per_packet_never_more_than_halves() {
    let mut rp = rp(Params::per_packet(), LINE / 2);
    rp.on_rtt(at_us(100), at_us(30));
    rp.params.ewma = Fraction::ONE;
    let before = rp.rate;
    rp.on_rtt(at_us(200), at_us(900));
    assert_eq!(rp.rate, before / 2);
}

#[test]
fn falling_five_times_in_a_row_multiplies_the_step() {
    let mut rp = rp(Params::per_packet(), LINE / 2);
    rp.on_rtt(at_us(100), at_us(100));
    for fall in 1..=6 {
        let before = rp.rate;
        rp.on_rtt(at_us(100 + 100 * fall), at_us(100 - fall));
        let steps = if fall < 5 { 1 } else { 5 };
        assert_eq!(rp.rate - before, steps * DELTA);
    }
    // An unchanged RTT is no fall.
    let before = rp.rate;
    rp.on_rtt(at_us(800), at_us(94));
    assert_eq!(rp.rate - before, DELTA);
}

#[test]
fn a_segment_counts_an_unchanged_rtt_as_a_fall() {
    let mut rp = rp(Params::segment(), LINE / 2);
    for completion in 1..=6 {
        let before = rp.rate;
        rp.on_rtt(at_us(100 * completion), at_us(60));
        let steps = if completion < 5 { 1 } else { 5 };
        assert_eq!(rp.rate - before, steps * DELTA);
    }
}

#[test]
fn below_t_low_the_rate_grows_whatever_the_gradient() {
    let mut rp = rp(Params::segment(), LINE / 2);
    rp.on_rtt(at_us(100), at_us(20));
    rp.on_rtt(at_us(200), at_us(49));
    assert_eq!(rp.rate, LINE / 2 + 2 * DELTA);
}

#[test]
fn patched_weighs_step_and_cut_by_the_gradient() {
    // No gradient: weight 1/2, error (100 - 50) / 50 = 1.
    let mut flat = rp(Params::patched(), LINE / 2);
    flat.on_rtt(at_us(100), at_us(100));
    let expected = LINE / 2 - LINE / 2 / 1000 * 4 + DELTA / 2;
    assert!(flat.rate.abs_diff(expected) < 100);
    // Steep rise: weight 1, error 3.
    let mut rising = rp(Params::patched(), LINE / 2);
    rising.on_rtt(at_us(100), at_us(50));
    rising.rate = LINE / 2;
    rising.on_rtt(at_us(200), at_us(200));
    assert!(rising.rate.abs_diff(LINE / 2 - LINE / 2 / 1000 * 24) < 100);
    // Steep fall: weight 0.
    rising.rate = LINE / 2;
    rising.on_rtt(at_us(300), at_us(100));
    assert_eq!(rising.rate, LINE / 2 + DELTA);
}

#[test]
fn only_the_segment_variants_send_bursts() {
    assert_eq!(rp(Params::default(), LINE).burst_bytes(), None);
    assert_eq!(rp(Params::segment(), LINE).burst_bytes(), Some(16_000));
    assert_eq!(rp(Params::patched(), LINE).burst_bytes(), Some(16_000));
}

#[test]
fn a_positive_average_fades_to_zero() {
    let mut rp = rp(Params::per_packet(), LINE / 2);
    rp.on_rtt(at_us(100), at_us(30));
    rp.on_rtt(at_us(200), at_us(31));
    assert!(rp.average > 0);
    for ack in 0..1500 {
        rp.on_rtt(at_us(300 + ack), at_us(31));
    }
    assert_eq!(rp.average, 0);
}
