//! Progress on standard error, for runs longer than a second: a line for each run that is under way, and
//! one for all of them, with the time that is left.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressStyle};
use unpause_protocols::units::Time;
use unpause_scenario::{Cost, Progress, plain_text};

use crate::args::Say;
use crate::interrupt;
use crate::output::complain;

/// A run shorter than this shows no line.
const PATIENCE: Duration = Duration::from_secs(1);
/// Lines are drawn no more often.
const INTERVAL: Duration = Duration::from_millis(100);
/// Where lines cannot be drawn, one is written no more often.
const SELDOM: Duration = Duration::from_secs(10);
/// A bar has this many steps.
const STEPS: u64 = 1000;
/// No more lines than this at a time.
const MOST_LINES: usize = 8;

/// Lines for the runs that are under way, and one for all.
pub struct Bars {
    screen: MultiProgress,
    quiet: bool,
    /// Lines are written one below the other: what shows them is behind a pipe.
    piped: bool,
    began: Instant,
    state: Mutex<State>,
}

struct State {
    /// The share of each run in all work.
    shares: Vec<f64>,
    /// How much of each is done, and its line if it has one.
    runs: Vec<Run>,
    total: Option<ProgressBar>,
    drawn: Instant,
}

#[derive(Clone, Default)]
struct Run {
    label: String,
    done: f64,
    began: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Bars {
    /// For runs that are expected to take so much; `piped`: somebody shows what goes into a pipe.
    pub fn new(costs: &[Cost], say: Say, piped: bool) -> Self {
        let all: f64 = costs.iter().map(weight).sum();
        let began = Instant::now();
        let state = State {
            shares: costs.iter().map(|cost| weight(cost) / all).collect(),
            runs: vec![Run::default(); costs.len()],
            total: None,
            drawn: began,
        };
        Self {
            screen: MultiProgress::new(),
            quiet: say.quiet,
            piped,
            began,
            state: Mutex::new(state),
        }
    }

    fn with(&self, change: impl FnOnce(&mut State)) {
        let state = self.state.lock();
        change(&mut state.unwrap_or_else(|poisoned| poisoned.into_inner()));
    }

    fn bar(&self, state: &State) -> Option<ProgressBar> {
        let lines = state.runs.iter().filter(|run| run.bar.is_some()).count();
        if self.quiet || lines >= MOST_LINES {
            return None;
        }
        let bar = ProgressBar::new(STEPS);
        bar.set_style(style());
        Some(match &state.total {
            Some(total) => self.screen.insert_before(total, bar),
            None => self.screen.add(bar),
        })
    }

    /// The line for all: how much is done, and how long the rest takes at this speed.
    fn draw_total(&self, state: &mut State) {
        let runs = state.runs.len();
        if runs > 1 && state.total.is_none() {
            state.total = self.bar(state);
        }
        let done: f64 = state
            .runs
            .iter()
            .zip(&state.shares)
            .map(|(run, share)| run.done * share)
            .sum();
        let Some(total) = &state.total else { return };
        let finished = state.runs.iter().filter(|run| run.done >= 1.0).count();
        total.set_prefix(format!("{finished} of {runs} runs"));
        total.set_position((done * STEPS as f64) as u64);
        total.set_message(left(self.began.elapsed(), done));
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        let _ = self.screen.clear();
    }
}

/// Even a run of nothing takes some time.
fn weight(cost: &Cost) -> f64 {
    cost.packet_hops as f64 + 1e4
}

/// As wide as the terminal, however narrow that is.
fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{prefix:22!} {wide_bar} {percent:>3}%  {msg:16!}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

fn left(elapsed: Duration, done: f64) -> String {
    if done > 0.001 {
        // Shares of runs may add up to a little more than all.
        let left = elapsed.as_secs_f64() * (1.0 - done).max(0.0) / done;
        format!(
            "{:#} left",
            HumanDuration(Duration::from_secs_f64(left.min(1e9)))
        )
    } else {
        String::new()
    }
}

impl Progress for Bars {
    fn started(&self, run: usize, _runs: usize, label: &str) {
        self.with(|state| {
            state.runs[run].label = plain_text::clean(label);
            state.runs[run].began = Some(Instant::now());
        });
    }

    fn advanced(&self, run: usize, now: Time, stop: Time, _packet_hops: u64) {
        self.with(|state| {
            let done = now.as_secs_f64() / stop.as_secs_f64();
            state.runs[run].done = done.min(0.999);
            let began = state.runs[run].began.unwrap_or(self.began);
            let interval = if self.piped { SELDOM } else { INTERVAL };
            if self.began.elapsed() < PATIENCE || state.drawn.elapsed() < interval {
                return;
            }
            state.drawn = Instant::now();
            if self.piped && !self.quiet {
                let label = &state.runs[run].label;
                complain!(
                    "{label}: {:.0}%, {}",
                    100.0 * done,
                    left(began.elapsed(), done)
                );
                return;
            }
            if state.runs[run].bar.is_none() && began.elapsed() > PATIENCE {
                let bar = self.bar(state);
                if let Some(bar) = &bar {
                    bar.set_prefix(state.runs[run].label.clone());
                }
                state.runs[run].bar = bar;
            }
            if let Some(bar) = &state.runs[run].bar {
                bar.set_position((done * STEPS as f64) as u64);
                bar.set_message(left(began.elapsed(), done));
            }
            self.draw_total(state);
        });
    }

    fn finished(&self, run: usize) {
        self.with(|state| {
            state.runs[run].done = 1.0;
            if let Some(bar) = state.runs[run].bar.take() {
                bar.finish_and_clear();
                self.screen.remove(&bar);
            }
            if state.total.is_some() {
                self.draw_total(state);
            }
        });
    }

    fn interrupted(&self) -> bool {
        interrupt::interrupted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_never_negative() {
        let second = Duration::from_secs(1);
        assert_eq!(left(second, 0.0), "");
        assert_eq!(left(second, 0.5), "1s left");
        assert_eq!(left(second, 1.0 + 1e-12), "0s left");
    }
}
