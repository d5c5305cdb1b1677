//! Invariants that hold whatever happens, in whatever order.

mod capfc;
mod congestion;
mod credits;
mod flow_control;
mod laws;
mod links;
mod notifications;
mod nscc;
mod receiver_credits;
mod scheduling;
mod windows;

use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::units::{Fraction, Rate, Time};

/// Mostly plausible times, some absurd; nothing keeps them in order.
fn time() -> impl Strategy<Value = Time> {
    prop_oneof![
        8 => (0..10_000_000_000_u64).prop_map(Time::from_ps),
        2 => (0..100_000_000_u64).prop_map(Time::from_ps),
        1 => any::<u64>().prop_map(Time::from_ps),
        1 => Just(Time::NEVER),
        1 => Just(Time::ZERO),
    ]
}

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![
        4 => prop::sample::select(vec![1, 10, 40, 100, 400]).prop_map(Rate::from_gbps),
        1 => any::<u64>().prop_map(Rate::from_bps),
        1 => Just(Rate::ZERO),
    ]
}

fn fraction() -> impl Strategy<Value = Fraction> {
    (0..=1_u64 << 32).prop_map(Fraction::from_q32)
}

fn rng() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}
