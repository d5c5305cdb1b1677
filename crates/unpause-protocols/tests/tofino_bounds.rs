//! The bounds that `congestion_point::tofino` states, on traces shorter than those of the example.

#[allow(dead_code, reason = "the example's `main`")]
#[path = "../examples/tofino_bounds.rs"]
mod example;

use example::check;
use unpause_protocols::congestion_point::tofino::{Load, Params};
use unpause_protocols::units::Time;

#[test]
fn a_million_packets_stay_within_the_bounds() {
    let report = check(1_000_000, 1, &Params::default()).unwrap();
    assert_eq!(report.packets, 1_000_000);
    // The trace must have tried what the bounds are about.
    assert!(report.episodes > 100, "{report:?}");
    assert!(report.clock_rounds >= 1, "{report:?}");
    assert!(report.instantaneous_missed > 100, "{report:?}");
    assert!(report.detected_late > 10, "{report:?}");
    assert!(report.earliest_ticks > 10, "{report:?}");
    let ratio = report.model_marks * 1000 / report.exact_marks;
    assert!((950..1100).contains(&ratio), "{report:?}");
}

#[test]
fn other_parameters_stay_within_the_bounds_too() {
    for (seed, (ins, pst, interval, load)) in [
        (220, 10, 240, Load::Scaled),
        (220, 10, 240, Load::Unscaled),
        (80, 10, 150, Load::Scaled),
        (50, 40, 1000, Load::Scaled),
        (300, 200, 20, Load::Scaled),
    ]
    .into_iter()
    .enumerate()
    {
        let params = Params {
            ins_target: Time::from_us(ins),
            pst_target: Time::from_us(pst),
            pst_interval: Time::from_us(interval),
            load,
        };
        let report = check(100_000, seed as u64, &params).unwrap();
        assert!(report.episodes > 3, "{report:?}");
    }
}

#[test]
fn a_long_interval_shows_the_excess_of_the_division_table() {
    let params = Params {
        pst_target: Time::from_us(20),
        pst_interval: Time::from_us(1_000),
        ..Params::default()
    };
    let report = check(300_000, 7, &params).unwrap();
    assert!(
        (1_010..1_143).contains(&report.latest_per_mille),
        "{report:?}"
    );
}
