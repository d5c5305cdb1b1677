//! Progress bars on standard error, for runs longer than a second.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use unpause_protocols::units::Time;
use unpause_scenario::Progress;

use crate::interrupt;

/// A run shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// Bars are drawn no more often.
const INTERVAL: Duration = Duration::from_millis(100);

/// A bar for each run that is under way.
#[derive(Default)]
pub struct Bars {
    screen: MultiProgress,
    runs: Mutex<Vec<Option<Run>>>,
}

struct Run {
    label: String,
    started: Instant,
    drawn: Instant,
    bar: Option<ProgressBar>,
}

impl Bars {
    fn with_run(&self, run: usize, change: impl FnOnce(&mut Option<Run>)) {
        let mut runs = self
            .runs
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if runs.len() <= run {
            runs.resize_with(run + 1, || None);
        }
        change(&mut runs[run]);
    }

    fn bar(&self, label: &str, stop: Time) -> ProgressBar {
        let style =
            ProgressStyle::with_template("{prefix:24} {bar:24} {percent:>3}%  {msg}  {eta} left");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = self.screen.add(ProgressBar::new(stop.as_ps() / 1_000));
        bar.set_style(style.progress_chars("=> "));
        bar.set_prefix(label.to_owned());
        bar
    }
}

impl Progress for Bars {
    fn started(&self, run: usize, runs: usize, label: &str) {
        let label = match runs {
            1 => label.to_owned(),
            _ => format!("[{}/{runs}] {label}", run + 1),
        };
        let started = Instant::now();
        self.with_run(run, |run| {
            *run = Some(Run {
                label,
                started,
                drawn: started,
                bar: None,
            });
        });
    }

    fn advanced(&self, run: usize, now: Time, stop: Time, packet_hops: u64) {
        self.with_run(run, |run| {
            let Some(run) = run else { return };
            let elapsed = run.started.elapsed();
            if elapsed < PATIENCE || run.drawn.elapsed() < INTERVAL {
                return;
            }
            run.drawn = Instant::now();
            let bar = run.bar.get_or_insert_with(|| self.bar(&run.label, stop));
            let speed = packet_hops as f64 / elapsed.as_secs_f64() / 1e6;
            bar.set_position(now.as_ps() / 1_000);
            bar.set_message(
                format!(
                    "{:.1} of {stop} simulated, {speed:.1} M packet-hops/s",
                    now.as_secs_f64() * 1e3
                )
                .replace(" of", " ms of"),
            );
        });
    }

    fn finished(&self, run: usize) {
        self.with_run(run, |run| {
            if let Some(bar) = run.take().and_then(|run| run.bar) {
                bar.finish_and_clear();
                self.screen.remove(&bar);
            }
        });
    }

    fn interrupted(&self) -> bool {
        interrupt::interrupted()
    }
}
