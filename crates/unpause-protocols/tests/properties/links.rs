//! Frame times on a link of any rate.

use proptest::prelude::*;
use unpause_protocols::units::{LinkSpeed, Rate, Time};

/// Rates of links: those of Ethernet, whole Gb/s, and any number of bits per second.
fn speed() -> impl Strategy<Value = LinkSpeed> {
    let most = LinkSpeed::MAX.as_bps();
    prop_oneof![
        prop::sample::select(vec![1, 10, 25, 40, 100, 200, 400, 800, 1_600])
            .prop_map(Rate::from_gbps),
        (1..=8_000_u64).prop_map(Rate::from_gbps),
        (1..=most).prop_map(Rate::from_bps),
        (1..=1_000_000_u64).prop_map(Rate::from_bps),
    ]
    .prop_map(|rate| LinkSpeed::of(rate).expect("a rate of a link"))
}

/// Bits times 10^12, as exact as can be.
fn scaled_bits(bytes: u64) -> u128 {
    u128::from(bytes) * 8_000_000_000_000
}

fn carried(speed: LinkSpeed, ps: u64) -> u128 {
    u128::from(ps) * u128::from(speed.rate().as_bps())
}

proptest! {
    #[test]
    fn a_frame_lasts_as_long_as_its_bits_and_less_than_a_picosecond_more(
        speed in speed(), bytes in 1_u64..100_000,
    ) {
        let lasts = speed.time_for(bytes).as_ps();
        prop_assert!(carried(speed, lasts) >= scaled_bits(bytes));
        prop_assert!(carried(speed, lasts - 1) < scaled_bits(bytes));
    }

    #[test]
    fn frames_one_by_one_last_less_than_a_picosecond_each_longer_than_as_one(
        speed in speed(), frames in prop::collection::vec(1_u64..10_000, 1..50),
    ) {
        let each: u64 = frames.iter().map(|bytes| speed.time_for(*bytes).as_ps()).sum();
        let whole = speed.time_for(frames.iter().sum()).as_ps();
        prop_assert!((whole..whole + frames.len() as u64).contains(&each));
    }

    #[test]
    fn whole_picoseconds_are_not_rounded(twos in 0_u32..16, fives in 0_u32..13, bytes in 0_u64..1_000_000) {
        // A divisor of 8 x 10^12: the time of a byte at a whole rate.
        let ps = 2_u64.pow(twos) * 5_u64.pow(fives);
        let rate = Rate::of(1, Time::from_ps(ps));
        let speed = LinkSpeed::of(rate).expect("a rate of a link");
        prop_assert_eq!(speed.time_for(bytes), Time::from_ps(bytes * ps));
        prop_assert_eq!(speed.rate(), rate);
    }

    #[test]
    fn bytes_of_a_time_are_those_that_it_is_long_enough_for(speed in speed(), bytes in 0_u64..1_000_000) {
        let lasts = speed.time_for(bytes);
        prop_assert!(speed.bytes_in(lasts) >= bytes);
        if bytes > 0 {
            prop_assert!(speed.bytes_in(lasts - Time::from_ps(1)) < bytes);
        }
    }
}
