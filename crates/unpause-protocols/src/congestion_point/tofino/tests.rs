//! Vectors of the reference, and the laws by hand.

use super::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn read(clock_registers: &mut Registers, timestamp_ns: u64) -> u32 {
    let pass = clock_registers.pass();
    clock(pass.low, pass.high, timestamp_ns)
}

#[test]
fn the_clock_ticks_in_1024_nanoseconds_and_carries_over() {
    let mut registers = Registers::default();
    for (ns, ticks) in [
        (0, 0),
        (1023, 0),
        (1024, 1),
        ((1 << 32) - 1, (1 << 22) - 1),
        (1 << 32, 1 << 22),
        ((1 << 32) + 5 * 1024, (1 << 22) + 5),
        (2 << 32, 2 << 22),
    ] {
        assert_eq!(read(&mut registers, ns), ticks);
    }
}

#[test]
fn two_packets_of_one_tick_do_not_move_the_clock() {
    let mut registers = Registers::default();
    assert_eq!(read(&mut registers, 10_240), 10);
    assert_eq!(read(&mut registers, 10_250), 10);
    assert_eq!(read(&mut registers, 11_263), 10);
    assert_eq!(registers.high, 0);
}

#[test]
fn the_clock_wraps_after_4398_seconds_and_misses_a_silence_of_4_29() {
    let mut registers = Registers::default();
    for second in 0..4398 {
        let expected = (second * 1_000_000_000_u64) >> 10;
        assert_eq!(
            u64::from(read(&mut registers, second * 1_000_000_000)),
            expected
        );
    }
    assert!(u64::from(read(&mut registers, 4_399_000_000_000)) < 1_000_000);
    let mut registers = Registers::default();
    read(&mut registers, 1_000_000);
    assert_eq!(read(&mut registers, 1_000_000 + (1 << 32)), 976);
}

/// Multiples of 1/128, so that every entry of the reference is whole.
fn approximations(dividend: u32) -> [u64; 10] {
    let divider = Divider::new(dividend);
    [1, 2, 3, 5, 8, 10, 16, 17, 31, 100].map(|divisor| {
        let (mantissa, exponent) = divider.approximate(divisor);
        u64::from(mantissa) << (exponent + 7)
    })
}

#[test]
fn quotients_have_their_golden_values() {
    let in_128ths = |values: [(u64, u64); 10]| values.map(|(whole, part)| whole * 128 + part);
    let half = 64;
    assert_eq!(
        approximations(200),
        in_128ths([
            (200, 0),
            (100, 0),
            (67, 0),
            (40, 0),
            (25, 0),
            (20, 0),
            (12, half),
            (12, half),
            (6, 96),
            // 2.09
            (2, 12)
        ])
    );
    assert_eq!(
        approximations(1000),
        in_128ths([
            (1000, 0),
            (500, 0),
            (336, 0),
            (200, 0),
            (125, 0),
            (100, 0),
            (62, half),
            (62, half),
            (33, half),
            (10, half)
        ])
    );
    assert_eq!(
        approximations(2000),
        in_128ths([
            (2000, 0),
            (1000, 0),
            (672, 0),
            (400, 0),
            (250, 0),
            (200, 0),
            (125, 0),
            (125, 0),
            (67, 0),
            (21, 0)
        ])
    );
}

#[test]
fn scales_are_the_rounded_up_logarithm() {
    for (dividend, scale) in [
        (1, -9),
        (200, -2),
        (508, -1),
        (509, 0),
        (1000, 0),
        (1016, 0),
        (1017, 1),
        (2000, 1),
        (u32::MAX, 23),
    ] {
        let divider = Divider::new(dividend);
        assert_eq!(divider.scale, scale, "{dividend}");
        assert!(divider.table.iter().all(|entry| *entry <= 127));
        assert!(divider.table[..8].iter().all(|entry| *entry == 0));
    }
}

#[test]
fn quotients_are_never_too_small_and_at_most_a_seventh_too_large() {
    let mut largest = 0;
    for dividend in (1..3000).chain([195_312, 1_000_000, u32::MAX]) {
        let divider = Divider::new(dividend);
        for divisor in (1..2000).chain([4095, 4097, 65_535, u32::MAX]) {
            let (mantissa, exponent) = divider.approximate(divisor);
            // Both sides times 2^40.
            let product = (u128::from(mantissa) * u128::from(divisor)) << (exponent + 40);
            let exact = u128::from(dividend) << 40;
            assert!(product >= exact, "{dividend} / {divisor}");
            assert!(divider.quotient(divisor) >= dividend / divisor);
            largest = largest.max((product - exact) * 10_000 / exact);
        }
    }
    // 9/8 by the four bits and 65/64 by the rounding of the table: 14.26 %.
    assert!((1_400..1_427).contains(&largest), "{largest}");
}

fn tofino(params: Params) -> Tofino {
    Tofino::new(&params, &mut Xoshiro256PlusPlus::seed_from_u64(1))
}

#[test]
fn parameters_are_loaded_in_ticks_or_as_if_ticks_were_microseconds() {
    let scaled = tofino(Params::default());
    let ticks = |it: &Tofino| (it.ins_target, it.pst_target, it.pst_interval);
    assert_eq!(ticks(&scaled), (195, 83, 195));
    let unscaled = tofino(Params {
        load: Load::Unscaled,
        ..Params::default()
    });
    assert_eq!(ticks(&unscaled), (200, 85, 200));
    assert_eq!(
        unscaled.exact().pst_interval,
        Time::from_ns(204_800),
        "2.4 % longer"
    );
}

/// Case A of ECN#'s vectors, on a clock that ticks as the reference's does.
#[test]
fn vector_a_of_the_paper_with_the_errors_of_the_table() {
    let mut tofino = tofino(Params {
        ins_target: TICK * 1000,
        pst_target: TICK * 10,
        pst_interval: TICK * 100,
        load: Load::Scaled,
    });
    let mut marks = [0; 119];
    let mut count = 0;
    for now in (10..=1500).step_by(10) {
        let decision = tofino.decide(TICK * now, TICK * (now.max(50) - 50));
        if decision.persistent && now >= 50 {
            marks[count] = now;
            count += 1;
        }
    }
    // The steps are 100, 50, 33, 25, 20, 16, 14, 12, 11, 10, …
    assert_eq!(
        marks[..10],
        [120, 230, 280, 310, 330, 350, 370, 380, 400, 410]
    );
    assert_eq!(count, 119);
}

#[test]
fn the_first_packet_above_the_target_sets_the_deadline_and_marks_nothing() {
    let mut tofino = tofino(Params::default());
    let at = |ticks: u64| TICK * ticks;
    for (now, wait, persistent) in [
        (1000, 83, false),
        (1195, 83, false),
        (1196, 82, false),
        (1197, 83, false),
        (1392, 83, false),
        (1393, 83, true),
    ] {
        let decision = tofino.decide(at(now), at(now - wait));
        assert_eq!(decision.persistent, persistent, "{now}");
    }
}

#[test]
fn a_deadline_of_zero_is_not_mistaken_for_none() {
    let mut tofino = tofino(Params::default());
    tofino.registers.high = HIGH_MASK;
    let start = (1 << 22) - 195;
    let decision = tofino.decide(TICK * start, TICK * (start - 100));
    assert_eq!(decision.now, u32::MAX - 194);
    assert_eq!(tofino.registers.deadline, 1);
    let later = tofino.decide(TICK * (start + 197), TICK * start);
    assert_eq!(later.now, 2);
    assert!(later.persistent);
}
