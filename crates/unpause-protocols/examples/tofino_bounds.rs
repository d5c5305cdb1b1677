//! The model of ECN# on Tofino against the exact algorithm on a long random trace.
//!
//! Checks every packet against the bounds that `congestion_point::tofino` states, and counts how often
//! the two disagree. Ends with an error at the first packet out of bounds.
//!
//! `cargo run --release -p unpause-protocols --example tofino_bounds -- [PACKETS [SEED]]`

use std::process::ExitCode;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_point::ecn_sharp::{EcnSharp, Instantaneous};
use unpause_protocols::congestion_point::tofino::{Params, TICK, Tofino};
use unpause_protocols::units::Time;

/// The result of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Packets checked.
    pub packets: u64,
    /// Episodes of persistent marking.
    pub episodes: u64,
    /// Packets that only the exact instantaneous part marks.
    pub instantaneous_missed: u64,
    /// Packets at which only the exact algorithm has detected a persistent queue.
    pub detected_late: u64,
    /// Persistent marks of the exact algorithm.
    pub exact_marks: u64,
    /// Persistent marks of the model.
    pub model_marks: u64,
    /// Packets that only one of the two marks.
    pub different: u64,
    /// Times that the model's clock has gone round.
    pub clock_rounds: u64,
    /// The latest due time of a mark, in thousandths of the exact span since the episode's first.
    pub latest_per_mille: u64,
    /// The earliest due time of a mark, in ticks before the exact one.
    pub earliest_ticks: u64,
}

/// Departures in nanoseconds: a waiting time that wanders, ends now and then, and silences.
struct Trace {
    rng: Xoshiro256PlusPlus,
    now: u64,
    wait: u64,
}

impl Trace {
    /// The longest silence that the clock survives, a little less than 2^32 ns.
    const LONGEST_SILENCE: u64 = (1 << 32) - 1024;

    fn below(&mut self, limit: u64) -> u64 {
        self.rng.next_u64() % limit
    }

    fn next(&mut self) -> (u64, u64) {
        self.now += 64 + self.below(2_400);
        match self.below(100_000) {
            // The queue runs empty.
            0..20 => self.wait = 0,
            // So it does, and nothing comes for a long time.
            20..180 => {
                self.wait = 0;
                self.now += Self::LONGEST_SILENCE - 2_464 - self.below(2_000_000_000);
            }
            // Nothing leaves for up to 4.29 s, but the queue stays.
            180..190 => self.now += self.below(Self::LONGEST_SILENCE - 2_464),
            _ => {
                let step = self.below(8_000);
                self.wait = (self.wait + step).saturating_sub(3_700).min(400_000);
            }
        }
        (self.now, self.wait.min(self.now))
    }
}

/// Bounds on the due times of one episode's marks, in ticks after its first.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    least: u64,
    /// In 2^-20.
    exact: u64,
    model: u64,
}

/// Runs `packets` packets through the model and the exact algorithm.
pub fn check(packets: u64, seed: u64, params: &Params) -> Result<Report, String> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut model = Tofino::new(params, &mut rng);
    let targets = model.exact();
    let mut exact = EcnSharp::new(&targets, &mut rng);
    let interval = targets.pst_interval.as_ps() / TICK.as_ps();
    let mut trace = Trace {
        rng,
        now: 1_000_000,
        wait: 0,
    };
    let mut report = Report::default();
    let (mut due, mut last_due, mut last_clock) = (Due::default(), 0, 0);
    let mut first_above: Option<u64> = None;
    for packet in 0..packets {
        let (now, wait) = trace.next();
        let fail = |what: &str| {
            Err(format!(
                "packet {packet} at {now} ns, waited {wait}: {what}"
            ))
        };
        let decision = model.decide(Time::from_ns(now), Time::from_ns(now - wait));
        let marks = exact.persistent(Time::from_ns(now), Time::from_ns(wait));

        if decision.now != (now >> 10) as u32 {
            return fail("the clock is wrong");
        }
        report.clock_rounds += u64::from(decision.now < last_clock);
        last_clock = decision.now;

        let Instantaneous::Above(target) = targets.instantaneous else {
            unreachable!("the model has one threshold");
        };
        let target = target.as_ps() / 1000;
        let instantaneous = wait > target;
        if decision.instantaneous != instantaneous {
            report.instantaneous_missed += 1;
            if decision.instantaneous || wait >= target + 1024 {
                return fail("the instantaneous part is more than a tick off");
            }
        }

        // The comparison with `pst_target` must agree, or the deadlines below would not.
        let above = wait >= targets.pst_target.as_ps() / 1000;
        let since = if above {
            *first_above.get_or_insert(now)
        } else {
            first_above = None;
            now
        };
        let past = (now - since).saturating_sub(interval * 1024);
        if decision.detected && past == 0 {
            return fail("a queue was detected early");
        }
        if past > 0 && !decision.detected {
            report.detected_late += 1;
            if past >= 1024 {
                return fail("a queue was detected more than a tick late");
            }
        }

        if decision.persistent {
            let (count, next) = model.episode();
            if count == 1 {
                report.episodes += 1;
                due = Due {
                    least: interval,
                    exact: interval << 20,
                    model: interval,
                };
            } else {
                let count = u64::from(count);
                due.least += interval / count;
                due.exact += (interval << 20) / count;
                due.model += u64::from(next.wrapping_sub(last_due));
                let latest = due.exact + due.exact * 143 / 1000;
                if due.model < due.least || due.model << 20 > latest + count {
                    return fail("a mark is due too early or too late");
                }
                let late = (due.model << 20) * 1000 / due.exact;
                report.latest_per_mille = report.latest_per_mille.max(late);
                let early = due.exact.saturating_sub(due.model << 20) >> 20;
                report.earliest_ticks = report.earliest_ticks.max(early);
            }
            last_due = next;
        }
        report.packets += 1;
        report.exact_marks += u64::from(marks);
        report.model_marks += u64::from(decision.persistent);
        let model_marks = decision.instantaneous || decision.persistent;
        report.different += u64::from(model_marks != (instantaneous || marks));
    }
    Ok(report)
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| {
        argument
            .parse::<u64>()
            .map_err(|_| format!("`{argument}` is not a number"))
    });
    let outcome = (|| {
        let packets = arguments.next().unwrap_or(Ok(10_000_000))?;
        let seed = arguments.next().unwrap_or(Ok(1))?;
        check(packets, seed, &Params::default())
    })();
    let report = match outcome {
        Ok(report) => report,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::FAILURE;
        }
    };
    let share = |count: u64| count as f64 / report.packets.max(1) as f64 * 100.0;
    println!(
        "packets                                  {}",
        report.packets
    );
    println!(
        "rounds of the clock of 2^32 ticks        {}",
        report.clock_rounds
    );
    println!(
        "episodes of persistent marking           {}",
        report.episodes
    );
    println!(
        "instantaneous marks missed               {} ({:.4} %), each by less than a tick",
        report.instantaneous_missed,
        share(report.instantaneous_missed)
    );
    println!(
        "persistent queue detected late           {} ({:.4} %), each by less than a tick",
        report.detected_late,
        share(report.detected_late)
    );
    println!(
        "due times of marks since the first       at most {:.1} % of the exact ones, {} ticks early",
        report.latest_per_mille as f64 / 10.0,
        report.earliest_ticks
    );
    println!(
        "persistent marks, exact and Tofino       {} and {} ({:+.2} %)",
        report.exact_marks,
        report.model_marks,
        (report.model_marks as f64 / report.exact_marks.max(1) as f64 - 1.0) * 100.0
    );
    println!(
        "packets that only one of the two marks   {} ({:.3} %)",
        report.different,
        share(report.different)
    );
    ExitCode::SUCCESS
}
