//! Cases of receivers.

use rand_core::Rng;
use unpause_protocols::by_name::Config;

use crate::event::Event;
use crate::machine::Side;
use crate::script::{BEGINNINGS, Case, Script, chance, value};

const US: u64 = 1_000_000;
const RANDOM: usize = 500;

pub fn cases(config: &Config) -> Vec<Case> {
    let mut cases = Vec::new();
    let named = |name| value(config, name, &["ps"]);
    let period = named("period").or(named("cnp_interval")).unwrap_or(50 * US);
    shares(config, period, &mut cases);
    intervals(config, period, &mut cases);
    silence(config, period, &mut cases);
    sizes(config, period, &mut cases);
    for (when, beginning) in BEGINNINGS {
        random(config, when, beginning, &mut cases);
    }
    cases
}

fn data(now_ps: u64, bytes: u32, ce: bool) -> Event {
    Event::Data { now_ps, bytes, ce }
}

/// 100 packets a period, 93 to 100 of them marked; then none, and one.
fn shares(config: &Config, period: u64, cases: &mut Vec<Case>) {
    let mut script = Script::new("shares of marked packets around 95 %", config, Side::Only);
    for (round, marked) in [93, 94, 95, 96, 97, 100, 0, 1].into_iter().enumerate() {
        for packet in 0..100 {
            let now_ps = (round * 100 + packet) as u64 * (period / 100);
            script.run_timers(now_ps, 20);
            script.tell(data(now_ps, 1_000, packet < marked));
        }
    }
    script.run_timers(u64::MAX, 20);
    script.end(cases);
}

/// Marks one period and a picosecond more or less after the one before.
fn intervals(config: &Config, period: u64, cases: &mut Vec<Case>) {
    let name = "a packet when the timer is due, and a picosecond beside";
    let mut script = Script::new(name, config, Side::Only);
    let mut now_ps = 0;
    script.tell(data(now_ps, 1_000, true));
    for after in [period - 1, 1, period, period + 1, 2 * period, period] {
        now_ps += after;
        script.run_timers(now_ps, 20);
        script.tell(data(now_ps, 1_000, true));
        script.tell(data(now_ps, 1_000, false));
    }
    script.run_timers(u64::MAX, 20);
    script.end(cases);
}

/// A burst, silence of many periods, one packet.
fn silence(config: &Config, period: u64, cases: &mut Vec<Case>) {
    let mut script = Script::new("silence of many periods", config, Side::Only);
    for ce in [true, false] {
        let beginning = if ce { 0 } else { 1_000 * period };
        for packet in 0..10 {
            script.run_timers(beginning + packet * US, 20);
            script.tell(data(beginning + packet * US, 1_000, ce));
        }
        script.run_timers(beginning + 999 * period, 20);
    }
    // Late by several periods.
    script.tell(data(2_000 * period, 1_000, true));
    script.tell(Event::Timer {
        now_ps: 2_005 * period + 1,
    });
    script.end(cases);
}

fn sizes(config: &Config, period: u64, cases: &mut Vec<Case>) {
    let mut script = Script::new("packets of a byte and of 2^32 - 1", config, Side::Only);
    for (round, bytes) in [1, 64, 65_535, u32::MAX].into_iter().enumerate() {
        for packet in 0..3 {
            let now_ps = round as u64 * 3 * period + packet * US;
            script.run_timers(now_ps, 20);
            script.tell(data(now_ps, bytes, true));
        }
    }
    script.run_timers(u64::MAX, 20);
    script.end(cases);
}

fn random(config: &Config, when: &str, beginning: u64, cases: &mut Vec<Case>) {
    let mut script = Script::new(format!("random, {when}"), config, Side::Only);
    let (mut rng, mut now) = (chance(), beginning);
    for event in 0..RANDOM {
        now += u64::from(rng.next_u32()) % (2 * US);
        if event % 50 == 0 {
            now += 130 * US;
        }
        script.run_timers(now, 20);
        let ce = event / 100 % 2 == 0 || rng.next_u32() % 4 == 0;
        script.tell(data(now, 64 + rng.next_u32() % 1_437, ce));
    }
    script.end(cases);
}
