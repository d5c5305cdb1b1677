//! Cases of ways to spray.

use rand_core::Rng;
use unpause_protocols::by_name::Config;
use unpause_protocols::spraying::MOST_PATHS;

use crate::event::{Answer, Event};
use crate::machine::Side;
use crate::script::{BEGINNINGS, Case, Script, chance, value};

const RANDOM: usize = 600;
const US: u64 = 1_000_000;

pub fn cases(config: &Config) -> Vec<Case> {
    let mut cases = Vec::new();
    let paths = value(config, "paths", &["1"]).map_or(1, |value| value.clamp(1, MOST_PATHS.into()));
    let mut script = Script::new(
        "all values three times, nothing comes back",
        config,
        Side::Only,
    );
    for step in 0..3 * paths {
        script.tell(Event::Next { now_ps: step * US });
    }
    script.end(&mut cases);
    echoes(config, paths, &mut cases);
    timeouts(config, &mut cases);
    for (when, beginning) in BEGINNINGS {
        random(config, when, beginning, &mut cases);
    }
    cases
}

fn echo(now_ps: u64, value: u16, echo: &'static str) -> Event {
    Event::Echo {
        now_ps,
        value,
        echo,
    }
}

/// One value after the other comes back as each kind, more often than any state counts.
fn echoes(config: &Config, paths: u64, cases: &mut Vec<Case>) {
    for kind in ["clear", "marked", "lost", "timeout"] {
        let mut script = Script::new(format!("each value comes back, {kind}"), config, Side::Only);
        for round in 0..20 {
            let now_ps = round * US;
            for of in 0..round {
                script.tell(echo(now_ps, (of % paths) as u16, kind));
            }
            for _ in 0..10 {
                script.tell(Event::Next { now_ps });
            }
        }
        script.end(cases);
    }
}

/// Where REPS freezes: to the picosecond at which it ends.
fn timeouts(config: &Config, cases: &mut Vec<Case>) {
    let freeze = value(config, "freeze", &["ps"]).unwrap_or(US);
    for late in [0, 1] {
        let name = format!("a timeout, and {late} ps after its end");
        let mut script = Script::new(name, config, Side::Only);
        for value in 1..5 {
            script.tell(echo(US, value, "clear"));
        }
        script.tell(Event::Next { now_ps: US });
        script.tell(echo(2 * US, 9, "timeout"));
        script.tell(echo(2 * US, 7, "clear"));
        for _ in 0..12 {
            script.tell(Event::Next { now_ps: 3 * US });
        }
        // Another timeout does not prolong it.
        script.tell(echo(3 * US, 9, "timeout"));
        for _ in 0..20 {
            let now_ps = freeze.saturating_add(2 * US + late);
            script.tell(Event::Next { now_ps });
            script.tell(echo(now_ps, 3, "clear"));
        }
        script.end(cases);
    }
}

fn random(config: &Config, when: &str, beginning: u64, cases: &mut Vec<Case>) {
    let mut script = Script::new(format!("random, {when}"), config, Side::Only);
    let (mut rng, mut now) = (chance(), beginning);
    let mut sent = vec![0];
    for _ in 0..RANDOM {
        now += u64::from(rng.next_u32()) % US;
        if let Answer::Chooses { value } = *script.tell(Event::Next { now_ps: now }) {
            sent.push(value);
        }
        let value = sent[rng.next_u32() as usize % sent.len()];
        match rng.next_u32() % 60 {
            0 => script.tell(echo(now, value, "timeout")),
            1..8 => script.tell(echo(now, value, "lost")),
            8..20 => script.tell(echo(now, value, "marked")),
            20..50 => script.tell(echo(now, value, "clear")),
            _ => continue,
        };
    }
    script.end(cases);
}
