//! Cases of PFC: the ingress that sends PAUSE, the egress that obeys.

use rand_core::Rng;
use unpause_protocols::by_name::Config;

use crate::event::Event;
use crate::machine::Side;
use crate::script::{BEGINNINGS, Case, Script, chance};

const XOFF: u64 = 100_000;
const XON: u64 = 97_000;
const RANDOM: usize = 400;
const US: u64 = 1_000_000;

pub fn cases(config: &Config) -> Vec<Case> {
    let mut cases = Vec::new();
    thresholds(config, &mut cases);
    refresh(config, &mut cases);
    for (when, beginning) in BEGINNINGS {
        random_ingress(config, when, beginning, &mut cases);
    }
    frames(config, &mut cases);
    expiry(config, &mut cases);
    for (when, beginning) in BEGINNINGS {
        random_egress(config, when, beginning, &mut cases);
    }
    cases
}

fn admit(now_ps: u64, bytes: u32) -> Event {
    Event::Admit {
        now_ps,
        bytes,
        xoff_bytes: XOFF,
    }
}

fn release(now_ps: u64, bytes: u32) -> Event {
    Event::Release {
        now_ps,
        bytes,
        xon_bytes: XON,
    }
}

fn thresholds(config: &Config, cases: &mut Vec<Case>) {
    let mut script = Script::new("XOFF and XON to the byte", config, Side::Ingress);
    for (step, bytes) in [99_999, 1, 1, 1, 5_000].into_iter().enumerate() {
        script.tell(admit(step as u64 * US, bytes));
    }
    // 105,002 bytes: to a byte above XON, to XON, below it.
    for (step, bytes) in [8_001, 1, 1, 5_000].into_iter().enumerate() {
        script.tell(release((10 + step as u64) * US, bytes));
    }
    script.tell(admit(20 * US, 50_000));
    script.end(cases);
}

fn refresh(config: &Config, cases: &mut Vec<Case>) {
    let mut script = Script::new(
        "PAUSE is repeated, and ends at a timer",
        config,
        Side::Ingress,
    );
    script.tell(admit(0, 150_000));
    script.run_timers(u64::MAX, 5);
    if let Some(due) = script.timer_ps() {
        // The timer first, then what happens at its instant.
        script.tell(Event::Timer { now_ps: due });
        script.tell(admit(due, 1_000));
        script.tell(release(due, 151_000));
        script.tell(Event::Timer { now_ps: due });
    }
    script.tell(admit(1 << 50, 150_000));
    // Late by several periods.
    script.tell(Event::Timer {
        now_ps: (1 << 50) + 10_000 * US,
    });
    script.end(cases);
}

fn random_ingress(config: &Config, when: &str, beginning: u64, cases: &mut Vec<Case>) {
    let mut script = Script::new(format!("random, {when}"), config, Side::Ingress);
    let (mut rng, mut now, mut held) = (chance(), beginning, 0_u64);
    for _ in 0..RANDOM {
        now += u64::from(rng.next_u32()) % (40 * US);
        script.run_timers(now, 20);
        let bytes = 64 + rng.next_u32() % 30_000;
        if held < u64::from(bytes) || rng.next_u32() % 100 < 52 {
            held += u64::from(bytes);
            script.tell(admit(now, bytes));
        } else {
            held -= u64::from(bytes);
            script.tell(release(now, bytes));
        }
    }
    script.end(cases);
}

fn frames(config: &Config, cases: &mut Vec<Case>) {
    let mut script = Script::new("PAUSEs of every length", config, Side::Egress);
    let lengths = [0, 1, 0, 65_535, 65_535, 2, 0, 0, 65_535];
    for (step, quanta) in lengths.into_iter().enumerate() {
        let now_ps = step as u64 * US;
        script.run_timers(now_ps, 20);
        script.tell(Event::Frame { now_ps, quanta });
    }
    script.run_timers(u64::MAX, 3);
    script.end(cases);
}

fn expiry(config: &Config, cases: &mut Vec<Case>) {
    let mut script = Script::new("a PAUSE comes when one runs out", config, Side::Egress);
    script.tell(Event::Frame {
        now_ps: 0,
        quanta: 1_000,
    });
    for quanta in [1_000, 0, 65_535] {
        let Some(due) = script.timer_ps() else { break };
        script.tell(Event::Timer { now_ps: due });
        script.tell(Event::Frame {
            now_ps: due,
            quanta,
        });
        script.tell(Event::Frame {
            now_ps: due + 1,
            quanta: 1,
        });
    }
    script.run_timers(u64::MAX, 3);
    script.end(cases);
}

fn random_egress(config: &Config, when: &str, beginning: u64, cases: &mut Vec<Case>) {
    let mut script = Script::new(format!("random, {when}"), config, Side::Egress);
    let (mut rng, mut now) = (chance(), beginning);
    for _ in 0..RANDOM {
        now += u64::from(rng.next_u32()) % (20 * US);
        script.run_timers(now, 20);
        let quanta = match rng.next_u32() % 4 {
            0 => 0,
            1 => u16::MAX,
            _ => (rng.next_u32() % 3_000) as u16,
        };
        script.tell(Event::Frame {
            now_ps: now,
            quanta,
        });
    }
    script.end(cases);
}
