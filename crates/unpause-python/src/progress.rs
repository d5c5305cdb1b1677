//! Running on another thread, so that this one can answer Ctrl-C and call Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use unpause_protocols::units::Time;
use unpause_scenario::{
    Admitted, Options, Outcome, Place, Progress, Scenario, Target, execute, execute_at,
};

use crate::errors;

/// How often Python is asked for signals and told of progress.
const TICK: Duration = Duration::from_millis(100);

/// Runs `scenario` with the GIL released. A signal handler that raises (Ctrl-C) and a `callback`
/// that raises end the run, and their exception is answered.
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    options: &Options,
    place: Option<&Place>,
    callback: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let board = Board::default();
    let outcome = std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let outcome = match place {
                None => execute(scenario, options, &board),
                Some(place) => Admitted::of(scenario, options, Target::Place(place))
                    .and_then(|runs| execute_at(place, scenario, runs, &board, None, None)),
            };
            board.end();
            outcome
        });
        let mut raised = None;
        while !py.detach(|| board.ended_within(TICK)) && !worker.is_finished() {
            if raised.is_none()
                && let Err(error) = board.tell(py, callback.as_ref())
            {
                board.interrupted.store(true, Ordering::Relaxed);
                raised = Some(error);
            }
        }
        let outcome = py.detach(|| worker.join());
        match raised {
            Some(error) => Err(error),
            None => Ok(outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
        }
    })?;
    outcome.map_err(|e| errors::to_python(py, &e))
}

/// The last status of each run.
#[derive(Default)]
struct Board {
    interrupted: AtomicBool,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    ended: bool,
    label: String,
    finished: usize,
    runs: Vec<RunState>,
}

#[derive(Clone, Default)]
struct RunState {
    label: String,
    fraction: f64,
    packet_hops: u64,
}

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.state().ended = true;
        self.ended.notify_all();
    }

    /// Waits for the end, `time` at most.
    fn ended_within(&self, time: Duration) -> bool {
        let waited = self
            .ended
            .wait_timeout_while(self.state(), time, |s| !s.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }

    fn tell(&self, py: Python<'_>, callback: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        let Some(callback) = callback else {
            return Ok(());
        };
        let arguments = {
            let state = self.state();
            let runs = state.runs.len();
            let fraction: f64 = state.runs.iter().map(|r| r.fraction).sum();
            let hops: u64 = state.runs.iter().map(|r| r.packet_hops).sum();
            (
                state.label.clone(),
                state.finished,
                runs,
                fraction / runs.max(1) as f64,
                hops,
            )
        };
        callback.call1(py, arguments).map(drop)
    }
}

impl Progress for Board {
    fn started(&self, run: usize, runs: usize, label: &str) {
        let mut state = self.state();
        state.runs.resize(runs, RunState::default());
        state.runs[run].label = label.to_owned();
    }

    fn advanced(&self, run: usize, now: Time, stop: Time, packet_hops: u64) {
        let mut state = self.state();
        let entry = &mut state.runs[run];
        entry.fraction = now.as_ps() as f64 / stop.as_ps().max(1) as f64;
        entry.packet_hops = packet_hops;
        state.label = state.runs[run].label.clone();
    }

    fn finished(&self, run: usize) {
        let mut state = self.state();
        state.finished += 1;
        state.runs[run].fraction = 1.0;
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}
