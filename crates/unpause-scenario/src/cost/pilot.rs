//! How fast this machine is at these runs: the beginning of some of them, simulated.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::run::Run;

/// So many runs are tried, each for so long.
const TRIED: usize = 6;
const LONG: Duration = Duration::from_millis(60);

/// Seconds for each packet-hop of each run; none of runs that cannot be run.
pub(super) fn seconds(runs: &[Run]) -> Vec<Option<f64>> {
    let step = runs.len().div_ceil(TRIED).max(1);
    let tried: Vec<Option<f64>> = runs.iter().step_by(step).map(seconds_per_hop).collect();
    (0..runs.len()).map(|index| tried[index / step]).collect()
}

/// Seconds for each packet-hop at the beginning of a run; none if it cannot be run.
fn seconds_per_hop(run: &Run) -> Option<f64> {
    let began = Instant::now();
    let mut hops = 0;
    let mut busy = Duration::ZERO;
    let ended = unpause_sim::run_threads(&run.config, 1, &mut |at| {
        (hops, busy) = (at.packet_hops, began.elapsed());
        match busy < LONG {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    if let Ok(results) = ended {
        (hops, busy) = (results.totals.packet_hops, began.elapsed());
    }
    (hops > 0).then(|| busy.as_secs_f64() / hops as f64)
}
