//! The gain from more threads: wall time on 1, 2, 4 and more threads in turn.

use crate::cases::Case;
use crate::measure::{self, Measurement};

/// Powers of two up to `most`, and `most` itself.
pub fn counts(most: usize) -> Vec<usize> {
    let powers = (0..usize::BITS).map(|bit| 1 << bit);
    let mut counts: Vec<usize> = powers.take_while(|count| *count < most).collect();
    counts.push(most);
    counts
}

/// Runs each case for some rounds, each with all numbers of threads in turn, so that other load on the machine affects all alike.
/// Prints medians of wall time, and the speed-up over one thread; returns all measurements.
pub fn run(cases: &[&Case], flows: Option<u64>, counts: &[usize], rounds: u32) -> Vec<Measurement> {
    println!(
        "{:<14} {:>7} {:>10} {:>10} {:>9}",
        "case", "threads", "wall s", "fastest s", "speed-up"
    );
    let mut all = Vec::new();
    for case in cases {
        let mut of_count: Vec<Vec<Measurement>> = vec![Vec::new(); counts.len()];
        for _ in 0..rounds.max(1) {
            for (threads, found) in counts.iter().zip(&mut of_count) {
                found.push(measure::best(case, flows, *threads, 1));
            }
        }
        let first = of_count[0][0].digest.clone();
        let mut one = None;
        for found in of_count {
            assert!(
                found.iter().all(|it| it.digest == first),
                "results differ by threads"
            );
            let mut walls: Vec<f64> = found.iter().map(|it| it.wall_s).collect();
            walls.sort_unstable_by(f64::total_cmp);
            let median = walls[walls.len() / 2];
            let speed_up = *one.get_or_insert(median) / median;
            let (name, threads) = (case.name, found[0].threads);
            println!(
                "{name:<14} {threads:>7} {median:>10.3} {:>10.3} {speed_up:>9.2}",
                walls[0]
            );
            all.extend(found);
        }
    }
    all
}
