//! The load that the flows of an entry bring.
//!
//! Arrivals and sizes are drawn at random. With heavy tails the bytes of a short run are often fewer than the mean says:
//! most flows are small, and most bytes are in few flows.

use unpause_protocols::units::Time;
use unpause_sim::results::FlowRecord;
use unpause_sim::traffic::{Traffic, TrafficSpec};

use super::load::Load;
use crate::run::Run;

/// The load of an entry in a run.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'a> {
    /// The entry's.
    pub load: &'a Load,
    /// Start of the time that it is of: the first arrivals, or the end of the warm-up.
    pub from: Time,
    /// End of that time: of the arrivals, or of the run.
    pub until: Time,
    /// Flows that started in that time.
    pub flows: u64,
    /// Their payload.
    pub bytes: u64,
    last: Time,
}

impl Offered<'_> {
    /// A share of what the links carry; `None` if no time is left.
    pub fn share(&self) -> Option<f64> {
        let seconds = self.until.saturating_sub(self.from).as_secs_f64();
        (seconds > 0.0).then(|| self.bytes as f64 * 8.0 / seconds / self.load.bits_per_second)
    }

    fn add(&mut self, start: Time, bytes: u64) {
        if start >= self.from && start < self.until {
            self.flows += 1;
            self.bytes += bytes;
        }
        self.last = self.last.max(start);
    }
}

/// The load of each entry that asks for one, in a run with these flows that ended at `end`.
pub fn offered<'a>(run: &'a Run, flows: &[FlowRecord], end: Time) -> Vec<Offered<'a>> {
    let flows = flows.iter();
    of_arrivals(
        run,
        flows.map(|it| (it.group, it.start, it.size_bytes.unwrap_or(0))),
        end,
    )
}

/// The same before the run: arrivals depend on the seed alone. `None` if there may be more than `most` flows.
pub fn foreseen(run: &Run, most: f64) -> Option<Vec<Offered<'_>>> {
    let config = &run.config;
    let has_load = |entry: usize| run.loads.iter().any(|it| usize::from(it.entry) == entry);
    let mut flows = 0.0;
    let specs: Vec<TrafficSpec> = (0..)
        .zip(&config.traffic)
        .map(|(entry, spec)| match spec {
            TrafficSpec::Pattern(pattern) if has_load(entry) => {
                let mean = pattern
                    .size
                    .as_ref()
                    .map_or(1.0, |size| size.mean())
                    .max(1.0);
                let load = run.loads.iter().find(|it| usize::from(it.entry) == entry);
                let bits = load.map_or(0.0, |it| it.asked * it.bits_per_second);
                flows += bits / 8.0 / mean * config.stop.as_secs_f64();
                spec.clone()
            }
            _ => TrafficSpec::Flows(Vec::new()),
        })
        .collect();
    if flows > most {
        return None;
    }
    let entries = (&specs[..], &config.jitters[..]);
    let traffic = Traffic::without(entries, &config.fabric, config.seed, &config.following);
    let arrivals = traffic.ok()?.take_while(|it| it.start < config.stop);
    let arrivals = arrivals.map(|it| (it.group, it.start, it.size_bytes.unwrap_or(0)));
    Some(of_arrivals(run, arrivals, config.stop))
}

fn of_arrivals(
    run: &Run,
    arrivals: impl Iterator<Item = (u16, Time, u64)>,
    end: Time,
) -> Vec<Offered<'_>> {
    let mut started = vec![0; run.config.traffic.len()];
    let loads = run.loads.iter().filter(|it| !run.follows(it.entry.into()));
    let mut found: Vec<Offered<'_>> = loads
        .map(|load| Offered {
            load,
            from: load.start.max(run.warmup),
            until: load.stop.min(end),
            flows: 0,
            bytes: 0,
            last: Time::ZERO,
        })
        .collect();
    for (group, start, bytes) in arrivals {
        started[usize::from(group)] += 1;
        if let Some(offered) = found.iter_mut().find(|it| it.load.entry == group) {
            offered.add(start, bytes);
        }
    }
    for offered in &mut found {
        // Its last flow ends the arrivals of an entry with a number of flows.
        let all = offered.load.most == Some(started[usize::from(offered.load.entry)]);
        if all && offered.last < offered.until {
            offered.until = offered.last.max(offered.from);
        }
    }
    found
}
