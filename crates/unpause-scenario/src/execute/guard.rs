//! The guard of every run, wherever it is started from: what needs more memory or disk than there is, is refused before it
//! starts, and what turns out to need more is stopped.

use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::compile::scenario::Scenario;
use crate::execute::options::{Options, selected};
use unpause_protocols::units::Time;
use unpause_results::cost::{self, Cost, Effort, STREAMED};
use unpause_results::machine;
use unpause_results::outcome::directory::Place;
use unpause_results::run::Run;
use unpause_sim::config::Config;
use unpause_text::count::{count, rounded, size};
use unpause_text::error::Error;

/// If this variable is set, and not to 0, every run is forced: for programs that have no other way to say so.
const FORCE: &str = "UNPAUSE_FORCE";
const HELP: &str = "use fewer samples, recorded packets or flows, a shorter duration, fewer seeds or points; to run it anyway: --force, in Python force=True, elsewhere UNPAUSE_FORCE=1";
/// How often a run that waits for memory asks whether it is interrupted.
const TICK: Duration = Duration::from_millis(100);

/// Where results go.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// They stay in memory.
    Memory,
    /// Finished runs go into a directory.
    Place(&'a Place),
    /// The same, and long series of ports go there while they are sampled.
    Streamed(&'a Place),
}

impl<'a> Target<'a> {
    fn directory(self) -> Option<&'a Path> {
        match self {
            Self::Memory => None,
            Self::Place(place) | Self::Streamed(place) => Some(place.directory()),
        }
    }

    /// Whether long series of ports go to the disk.
    fn streams(self) -> bool {
        matches!(self, Self::Streamed(_))
    }
}

/// Runs that the guard has let through. No others are executed.
#[derive(Clone, Debug)]
pub struct Admitted {
    pub(crate) runs: Vec<Run>,
    costs: Vec<Cost>,
    total: Cost,
    pub(crate) threads: Option<usize>,
    /// Series of ports are long, and go to the disk.
    pub(crate) streams: bool,
    pub(crate) is_forced: bool,
}

impl Admitted {
    /// The runs that the options ask for.
    ///
    /// # Errors
    ///
    /// If options name what there is not, or if the runs are expected to need more memory or disk than there is and are not
    /// forced.
    pub fn of(scenario: &Scenario, options: &Options, target: Target<'_>) -> Result<Self, Error> {
        let runs = selected(scenario, options)?;
        let effort = match target {
            // Progress is shown by it.
            Target::Streamed(_) => Effort::Quick,
            Target::Memory | Target::Place(_) => Effort::Memory,
        };
        let costs = cost::of(&runs, effort);
        let total = Cost::of_all(&costs, target.streams());
        let is_forced = forced(options.force);
        if !is_forced {
            check(&total, target.directory())?;
        }
        Ok(Self {
            runs,
            costs,
            total,
            threads: options.threads,
            streams: target.streams() && total.port_samples > STREAMED,
            is_forced,
        })
    }

    /// The expected cost of each run.
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }

    /// The expected cost of all of them.
    pub fn total(&self) -> &Cost {
        &self.total
    }

    /// The runs, numbered from 0.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Waits until other runs of this process leave enough memory for these.
    pub(crate) fn reserve(&self, is_over: &dyn Fn() -> bool) -> Result<Reserved, Error> {
        let bytes = self.total.memory_bytes;
        let most = match self.is_forced {
            true => u64::MAX,
            false => machine::most_at_once(),
        };
        reserve(&RESERVED, bytes, most, is_over)
    }
}

/// Whether runs are forced: by the caller, or by the environment.
pub(crate) fn forced(asked: bool) -> bool {
    asked || std::env::var_os(FORCE).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Refuses a run that a program drives, without its messages, of which only the program knows; `config`: without them.
pub(crate) fn check_driven(run: &Run, config: &Config) -> Result<(), Error> {
    let mut run = run.clone();
    run.config = config.clone();
    let costs = cost::of(&[run], Effort::Memory);
    check(&Cost::of_all(&costs, false), None)
}

/// Refuses what would take more memory or disk than there is; `directory`: where tables go, if they go to the disk.
pub(crate) fn check(cost: &Cost, directory: Option<&Path>) -> Result<(), Error> {
    let most = machine::most_at_once();
    if cost.memory_bytes > most {
        return Err(too_large(format!(
            "this would take about {} of memory ({} flows, {}); three quarters of the memory here are {}",
            size(rounded(cost.memory_bytes)),
            count(rounded(cost.flows)),
            cost.recorded(),
            size(most)
        )));
    }
    let Some(directory) = directory else {
        return Ok(());
    };
    match machine::free_disk(directory) {
        Some(free) if cost.disk_bytes > free => Err(too_large(format!(
            "the tables would take about {}; {} has {} free",
            size(rounded(cost.disk_bytes)),
            directory.display(),
            size(free)
        ))),
        _ => Ok(()),
    }
}

/// An error if this process has used up the memory, of a run that has come to `now` of `stop`.
pub(crate) fn check_growth(is_forced: bool, now: Time, stop: Time) -> Result<(), Error> {
    match machine::full(is_forced) {
        None => Ok(()),
        Some(full) => Err(too_large(format!(
            "stopped at {now} of {stop}: this process has {} of {} of memory in use",
            size(full.used),
            size(full.of)
        ))),
    }
}

fn too_large(message: String) -> Error {
    Error::TooLarge {
        message,
        help: HELP,
    }
}

/// Memory of runs of this process that have been let through and are not over.
static RESERVED: Ledger = Ledger {
    bytes: Mutex::new(0),
    returned: Condvar::new(),
};

#[derive(Debug)]
struct Ledger {
    bytes: Mutex<u64>,
    returned: Condvar,
}

/// Memory that is kept for runs, until this is dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    ledger: &'static Ledger,
    bytes: u64,
}

/// Takes `bytes` from `ledger`, of at most `most`; what needs more than that has it alone.
fn reserve(
    ledger: &'static Ledger,
    bytes: u64,
    most: u64,
    is_over: &dyn Fn() -> bool,
) -> Result<Reserved, Error> {
    let mut reserved = ledger.bytes.lock().unwrap_or_else(PoisonError::into_inner);
    while *reserved > 0 && reserved.saturating_add(bytes) > most {
        if is_over() {
            return Err(Error::Interrupted);
        }
        let waited = ledger.returned.wait_timeout(reserved, TICK);
        reserved = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    if *reserved == 0 {
        machine::forget_blocks();
    }
    *reserved = reserved.saturating_add(bytes);
    Ok(Reserved { ledger, bytes })
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let ledger = self.ledger;
        let mut reserved = ledger.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *reserved = reserved.saturating_sub(self.bytes);
        ledger.returned.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use super::*;

    #[test]
    fn what_is_more_than_there_is_is_refused() {
        let cost = Cost {
            memory_bytes: 1 << 60,
            packets: 1_234_567,
            ..Cost::default()
        };
        let refused = check(&cost, None).unwrap_err().explain();
        assert!(
            refused.contains("0 samples, 1,200,000 recorded packets); three quarters")
                && refused.contains("--force"),
            "{refused}"
        );
        let cost = Cost {
            disk_bytes: 1 << 60,
            ..Cost::default()
        };
        let refused = check(&cost, Some(Path::new("."))).unwrap_err().explain();
        assert!(refused.contains("free"), "{refused}");
        assert!(check(&cost, None).is_ok());
        assert!(check(&Cost::default(), Some(Path::new("."))).is_ok());
    }

    #[test]
    fn runs_that_do_not_fit_together_wait_for_one_another() {
        static LEDGER: Ledger = Ledger {
            bytes: Mutex::new(0),
            returned: Condvar::new(),
        };
        static AT_ONCE: AtomicU32 = AtomicU32::new(0);
        let never = || false;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let reserved = reserve(&LEDGER, 60, 100, &never);
                    assert!(reserved.is_ok());
                    assert_eq!(AT_ONCE.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::sleep(Duration::from_millis(5));
                    AT_ONCE.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        // What does not fit at all has the memory alone, and one that waits hears an interruption.
        let _alone = reserve(&LEDGER, 200, 100, &never).unwrap();
        let over = AtomicBool::new(true);
        let waited = reserve(&LEDGER, 60, 100, &|| over.load(Ordering::Relaxed));
        assert!(matches!(waited, Err(Error::Interrupted)));
    }
}
