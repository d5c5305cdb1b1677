//! How fast this machine is at these runs: the beginning of some of them, simulated.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use crate::run::Run;

/// So many runs are tried, each for so long.
const TRIED: usize = 6;
const LONG: Duration = Duration::from_millis(60);

/// Large fabrics take long to begin: no further run is tried after so long.
const ENOUGH: Duration = Duration::from_secs(1);

/// Seconds for each packet-hop of each run; none where that is not known.
pub(super) fn seconds(runs: &[Run]) -> Vec<Option<f64>> {
    let began = Instant::now();
    let step = runs.len().div_ceil(TRIED).max(1);
    let mut tried: Vec<f64> = Vec::new();
    for run in runs.iter().step_by(step) {
        if began.elapsed() > ENOUGH {
            break;
        }
        let same = tried.last().copied();
        let Some(seconds) = seconds_per_hop(run).or(same) else {
            break;
        };
        tried.push(seconds);
    }
    let of_run = |index: usize| tried.get(index / step).or(tried.last()).copied();
    (0..runs.len()).map(of_run).collect()
}

/// Seconds for each packet-hop at the beginning of a run; none if it cannot be run, or if nothing moves.
fn seconds_per_hop(run: &Run) -> Option<f64> {
    let part = beginning(run, 1, LONG)?;
    (part.packet_hops > 0).then(|| part.time.as_secs_f64() / part.packet_hops as f64)
}

/// A part of a run, on one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beginning {
    /// Packets that went over a link.
    pub packet_hops: u64,
    /// Windows.
    pub windows: u64,
    /// CPU time.
    pub time: Duration,
}

/// The beginning of a run, shared out to so many but in turn on one thread, for about `long`; none if it cannot be run, or is
/// over at once.
pub fn beginning(run: &Run, shares: usize, long: Duration) -> Option<Beginning> {
    // Of this thread alone: what else the machine does is not the run's.
    let cpu = ThreadTime::now();
    let mut first = None;
    let mut last = Beginning::default();
    let ended = unpause_sim::run_in_turn(&run.config, shares, &mut |at| {
        last = Beginning {
            packet_hops: at.packet_hops,
            windows: at.windows,
            time: cpu.elapsed(),
        };
        let (_, began) = *first.get_or_insert((last, Instant::now()));
        match began.elapsed() < long {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    if let Ok(results) = ended {
        last = Beginning {
            packet_hops: results.totals.packet_hops,
            windows: results.totals.windows.0,
            time: cpu.elapsed(),
        };
    }
    let (first, _) = first?;
    Some(Beginning {
        packet_hops: last.packet_hops - first.packet_hops,
        windows: last.windows - first.windows,
        time: last.time.saturating_sub(first.time),
    })
}
