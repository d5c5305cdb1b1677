//! How long the queues of a switch are, counted at regular instants.

use unpause_protocols::units::Time;

use crate::config::HistogramProbe;
use crate::engine::log::Log;
use crate::fabric::{NodeId, PortId};
use crate::outcome::results::QueueHistogram;
use crate::plan::Plan;

/// Bytes of a step of the histogram.
const STEP_BYTES: u64 = 1000;

/// Histograms of the ports of a switch.
#[derive(Debug)]
pub struct Histogram {
    /// When to count next.
    pub at: Time,
    /// When samples of ports are due, which are another thing.
    pub series_at: Time,
    probe: HistogramProbe,
    /// The last instant of which anything is reported: what comes later is not counted.
    last: Time,
    /// By port.
    counts: Vec<Vec<u64>>,
}

impl Histogram {
    /// Of a switch with this many ports, which are sampled from `series_at` on; `None` if the run reports none.
    pub fn of(ports: usize, series_at: Time, plan: &Plan<'_>) -> Option<Self> {
        let probe = plan.config.probes.histogram?;
        Some(Self {
            at: probe.start,
            series_at,
            probe,
            last: last_report(&probe, plan.config.stop)?,
            counts: vec![Vec::new(); ports],
        })
    }

    /// When anything is due.
    pub fn next_time(&self) -> Time {
        self.at.min(self.series_at)
    }

    /// Counts the bytes that wait at each port.
    pub fn count(&mut self, now: Time, waiting: impl Iterator<Item = u64>) {
        for (counts, bytes) in self.counts.iter_mut().zip(waiting) {
            let step = (bytes / STEP_BYTES) as usize;
            if counts.len() <= step {
                counts.resize(step + 1, 0);
            }
            counts[step] += 1;
        }
        self.at = if now < self.last {
            now + self.probe.interval
        } else {
            Time::NEVER
        };
    }

    /// Reports what has been counted, if it is time to.
    pub fn report(&self, now: Time, node: NodeId, log: &mut Log) {
        if !now.as_ps().is_multiple_of(self.probe.report.as_ps()) {
            return;
        }
        let of_port = |(port, counts): (usize, &Vec<u64>)| QueueHistogram {
            time: now,
            node,
            port: port as PortId,
            counts: counts.clone(),
        };
        log.histograms
            .extend(self.counts.iter().enumerate().map(of_port));
    }
}

/// The last instant at which a run that stops at `stop` reports; `None` if it never does.
fn last_report(probe: &HistogramProbe, stop: Time) -> Option<Time> {
    let [interval, start, report] = [probe.interval, probe.start, probe.report].map(Time::as_ps);
    // Reports are at multiples of the interval.
    if !start.is_multiple_of(interval) {
        return None;
    }
    let lasts = probe.end.saturating_sub(probe.start).as_ps();
    let last = start.checked_add(lasts.div_ceil(interval) * interval)?;
    let last = last.min(stop.as_ps().checked_sub(1)?) / report * report;
    (last >= start).then_some(Time::from_ps(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As HPCC's simulator does with `QLEN_MON_START`, `QLEN_MON_END` and `SIMULATOR_STOP_TIME`, of which an
    /// event at its very end is no part.
    #[test]
    fn nothing_is_counted_after_the_last_report() {
        let last = |start: u64, end: u64, stop: u64| {
            let probe = HistogramProbe {
                interval: Time::from_ns(100),
                start: Time::from_ns(start),
                end: Time::from_ns(end),
                report: Time::from_ms(100),
            };
            last_report(&probe, Time::from_ns(stop)).map(|at| at.as_ps() / 1000)
        };
        let ms = 1_000_000;
        assert_eq!(last(2000 * ms, 2010 * ms, 4000 * ms), Some(2000 * ms));
        assert_eq!(last(2000 * ms, 2100 * ms, 4000 * ms), Some(2100 * ms));
        // The first instant at or after the end is the last one.
        assert_eq!(last(2000 * ms, 2100 * ms - 99, 4000 * ms), Some(2100 * ms));
        assert_eq!(last(2000 * ms, 2100 * ms - 100, 4000 * ms), Some(2000 * ms));
        // An end before the start leaves the first instant alone.
        assert_eq!(last(3000 * ms, 2010 * ms, 4000 * ms), Some(3000 * ms));
        assert_eq!(last(2000 * ms, 9000 * ms, 2500 * ms), Some(2400 * ms));
        assert_eq!(last(2000 * ms, 9000 * ms, 2500 * ms + 1), Some(2500 * ms));
        assert_eq!(last(2001 * ms, 2010 * ms, 4000 * ms), None);
        assert_eq!(last(2000 * ms + 50, 2100 * ms, 4000 * ms), None);
        assert_eq!(last(2000 * ms, 2100 * ms, 2000 * ms), None);
    }
}
