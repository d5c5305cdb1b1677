//! Clocks of ports that differ.

use unpause_protocols::units::{Fraction, Time};
use unpause_sim::config::{Config, Direction, Events, RateEvent};
use unpause_sim::traffic::FlowSpec;

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

const TOLERANCE: u32 = 100;

/// Four hosts send to another one, each port by a clock within 100 ppm.
fn incast(flows: Vec<FlowSpec>, seed: u64) -> Config {
    let mut config = config(star(&[gbps(40); 5], us(1)), flows, ms(2));
    config.host.clock_tolerance = Fraction::from_ppm(TOLERANCE);
    config.seed = seed;
    config
}

/// Nothing but PAUSE holds the senders, and the headroom suffices for a fast one before a slow port.
#[test]
fn nothing_is_lost_whatever_the_clocks() {
    for seed in 1..=5 {
        let flows = (1..=4).map(|src| sized(src, 5, 1_000_000)).collect();
        let results = run(&incast(flows, seed));
        assert_lossless(&results);
        assert_complete(&results);
    }
}

#[test]
fn clocks_are_the_same_on_any_threads_and_ranks() {
    let flows: Vec<FlowSpec> = (1..=4).map(|src| sized(src, 5, 500_000)).collect();
    let mut config = incast(flows, 3);
    // The rate of a link changes for both clocks.
    config.events = Events {
        rates: vec![RateEvent {
            at: us(50),
            link: 0,
            direction: Direction::Both,
            rate: gbps(10),
        }],
        ..Events::default()
    };
    assert_threads_do_not_matter("clocks", &config);
    assert_ranks_do_not_matter("clocks", &config);
}

/// A flow alone takes as long as its slowest clock says: by up to 100 ppm more or less than with exact ones, by the seed. A limit of its
/// rate is kept by the clock of the host, too.
#[test]
fn a_flow_takes_as_long_as_its_clocks_say() {
    const BYTES: u64 = 10_000_000;
    for rate_limit in [None, Some(gbps(10))] {
        let flow = FlowSpec {
            rate_limit,
            ..sized(1, 2, BYTES)
        };
        let time = |tolerance: u32, seed: u64| -> Time {
            let mut config = incast(vec![flow], seed);
            config.stop = ms(20);
            config.host.clock_tolerance = Fraction::from_ppm(tolerance);
            let results = run(&config);
            fct(&results.flows[0])
        };
        let exact = time(0, 1);
        let times: Vec<Time> = (1..=8).map(|seed| time(TOLERANCE, seed)).collect();
        // Times of frames are rounded up to a picosecond, another 10 ppm at most.
        for own in &times {
            let off = own.as_ps().abs_diff(exact.as_ps());
            assert!(off <= exact.as_ps() / 9_000, "{off} of {exact}");
        }
        let mut different = times.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), times.len());
        assert_eq!(times[0], time(TOLERANCE, 1));
        assert_eq!(exact, time(0, 2));
    }
}
