//! Some hundred random scenarios, others with each commit, with every assertion of the engine on.

use std::process::Command;

use unpause_vopr::generate::generate;
use unpause_vopr::judge::{Scope, Verdict, judge};

/// Seeds that are judged, unless `VOPR_SEEDS` says another number.
const SEEDS: u64 = 300;

/// The first seed: from the hash of the commit, or 1 where there is none.
fn first() -> u64 {
    let head = Command::new("git").args(["rev-parse", "HEAD"]).output();
    let head = head.map(|head| String::from_utf8_lossy(&head.stdout).into_owned());
    let hash = head
        .ok()
        .and_then(|it| u64::from_str_radix(it.get(..8)?, 16).ok());
    hash.unwrap_or(1)
}

#[test]
fn what_must_hold_of_any_scenario_holds() -> Result<(), String> {
    let seeds = std::env::var("VOPR_SEEDS").ok();
    let seeds = seeds.map_or(SEEDS, |seed| seed.parse().expect("a number of seeds"));
    let directory = tempfile::tempdir().expect("there is room for a directory");
    let mut sound = 0;
    let first = first();
    for seed in first..first + seeds {
        match judge(&generate(seed), directory.path(), Scope::Sample) {
            // Not by a panic: those are caught without a word.
            Verdict::Broken(broken) => {
                return Err(format!(
                    "seed {seed}: {}: {}; `cargo run -p unpause-vopr -- shrink {seed}` makes it small",
                    broken.check, broken.what
                ));
            }
            Verdict::Sound(_) => sound += 1,
            Verdict::Refused(_) | Verdict::TooLarge => {}
        }
    }
    if sound * 2 > seeds {
        Ok(())
    } else {
        Err(format!("only {sound} of {seeds} were run"))
    }
}
