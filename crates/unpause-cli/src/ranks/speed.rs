//! Whether more machines make a run faster.

use std::time::Duration;

use unpause_protocols::units::Time;
use unpause_scenario::{Cost, Run};

use crate::text::time;

/// What ranks are expected to make of runs, all together.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// How many ranks, of how many threads.
    pub ranks: usize,
    pub threads: usize,
    /// What they need to meet.
    pub meeting: Duration,
    /// Work of a window on one core.
    pub window: Duration,
}

impl Speed {
    pub fn new(
        (ranks, threads): (usize, usize),
        meeting: Duration,
        runs: &[Run],
        cost: &Cost,
    ) -> Self {
        let windows: f64 = runs.iter().map(windows).sum();
        Self {
            ranks,
            threads,
            meeting,
            window: Duration::from_secs_f64(cost.core_s / windows.max(1.0)),
        }
    }

    /// How many times as fast as one rank.
    fn factor(&self) -> f64 {
        let alone = self.window.as_secs_f64() / self.threads as f64;
        alone / (alone / self.ranks as f64 + self.meeting.as_secs_f64())
    }

    /// Work of a window on one core from which on these ranks are no slower than one.
    fn pays_from(&self) -> Duration {
        let ranks = self.ranks as f64;
        self.meeting
            .mul_f64(self.threads as f64 * ranks / (ranks - 1.0))
    }

    pub fn text(&self) -> String {
        let said = |time_: Duration| time(time_.as_secs_f64() * 1e9);
        let Self { ranks, threads, .. } = self;
        let plural = if *threads == 1 { "" } else { "s" };
        let head = format!(
            "{ranks} ranks of {threads} thread{plural}: a window is about {} of work for one core, a meeting \
             takes {}",
            said(self.window),
            said(self.meeting),
        );
        let factor = self.factor();
        match factor >= 1.0 {
            true => format!("{head}: at most {factor:.1} times as fast as one rank\n"),
            false => format!(
                "{head}\nwarning: one rank is {:.1} times as fast as these\n   hint: leave mpirun out; more \
                 than one rank pays from {} of work in a window on, with more hosts, higher rates or longer \
                 links\n",
                1.0 / factor,
                said(self.pays_from()),
            ),
        }
    }
}

/// How many windows a run has at most: one for each time that the shortest link takes.
fn windows(run: &Run) -> f64 {
    let shortest = run.config.fabric.links.iter().map(|link| link.delay).min();
    let shortest = shortest.unwrap_or(Time::from_us(1));
    run.config.stop.as_secs_f64() / shortest.as_secs_f64().max(1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(ranks: usize, threads: usize, window_us: u64, meeting_us: u64) -> Speed {
        Speed {
            ranks,
            threads,
            meeting: Duration::from_micros(meeting_us),
            window: Duration::from_micros(window_us),
        }
    }

    #[test]
    fn more_ranks_pay_where_a_window_is_long_beside_a_meeting() {
        assert_eq!(speed(2, 1, 100, 50).factor(), 1.0);
        assert_eq!(speed(2, 1, 100, 50).pays_from(), Duration::from_micros(100));
        // Its half, and a meeting.
        assert_eq!(speed(2, 1, 300, 50).factor(), 1.5);
        assert_eq!(speed(4, 2, 300, 50).factor(), 150.0 / 87.5);
        let slower = speed(2, 4, 100, 50);
        assert_eq!(slower.factor(), 25.0 / 62.5);
        let said = slower.text();
        assert!(said.contains("one rank is 2.5 times as fast"), "{said}");
        assert!(said.contains("pays from 400 us"), "{said}");
        let said = speed(2, 1, 300, 50).text();
        assert!(said.contains("1.5 times as fast as one rank"), "{said}");
    }
}
