//! How much a scenario asks for: refused where it would not end in reasonable time or memory.

use std::ops::Range;

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, Fabric};
use unpause_sim::traffic::{Arrivals, BurstFlows, FlowSpec, Interval, Pairs, TrafficSpec};

use crate::sections::sweep::{MANY_POINTS, Sweep};
use unpause_import::fabric::topology::edge_switches;
use unpause_text::count::counted;
use unpause_text::error::{Checked, Problem};
use unpause_text::limits::{self, show_count, show_memory};

/// All runs of a scenario, as they are compiled one after the other.
pub(crate) struct Runs {
    left: u64,
    parts: u64,
    /// Where the runs are written.
    place: Range<usize>,
}

impl Runs {
    /// `Err` if there are too many. `schemes` is how many and where the last one is.
    pub fn new(schemes: (usize, Range<usize>), sweep: &Sweep, source: &str) -> Checked<Self> {
        let (schemes, last) = schemes;
        let points = sweep.points.len();
        let count = schemes * points;
        let place = sweep.place.clone().unwrap_or(last);
        let counted = format!("{count} runs ({schemes} schemes at {points} points of a sweep)");
        if count > limits::RUNS {
            return Problem::new(counted)
                .at(place, format!("at most {} are possible", limits::RUNS))
                .help(MANY_POINTS)
                .err();
        }
        let read = source.len() as u64 * count as u64;
        let most = limits::SOURCE_BYTES_OF_RUNS;
        if read > most {
            return Problem::new(format!(
                "{counted} of a file of {} are {} of text to read",
                show_memory(source.len() as u64),
                show_memory(read)
            ))
            .at(place, format!("at most {} are possible", show_memory(most)))
            .help("write hosts as ranges (\"H0..H9\") and fabrics by a `builder`, or make several scenarios")
            .err();
        }
        let left = count as u64;
        let parts = 0;
        Ok(Self { left, parts, place })
    }

    /// Counts a run of this many nodes, links and flows. `Err` if it and those that are left, were they
    /// as large, would be too many.
    pub fn add(&mut self, config: &Config) -> Checked<()> {
        let listed = config.traffic.iter().map(|spec| match spec {
            TrafficSpec::Flows(flows) => flows.len(),
            _ => 0,
        });
        let fabric = &config.fabric;
        let (nodes, links) = (fabric.nodes.len(), fabric.links.len());
        let flows: usize = listed.sum();
        let parts = (nodes + links + flows) as u64;
        let all = self.parts + parts * self.left;
        if all > limits::PARTS {
            return Problem::new(format!(
                "{} of {}, {} and {} would take {}",
                counted(self.left as usize, "run"),
                counted(nodes, "node"),
                counted(links, "link"),
                counted(flows, "flow"),
                show_memory(all * limits::PART_BYTES)
            ))
            .at(
                self.place.clone(),
                format!(
                    "at most {} for all runs together",
                    show_memory(limits::PARTS * limits::PART_BYTES)
                ),
            )
            .help("make several scenarios, or a smaller fabric")
            .err();
        }
        self.parts += parts;
        self.left -= 1;
        Ok(())
    }
}

/// `Err` if it would take too long to find the routes of `fabric`, which `place` describes.
pub(crate) fn check_routes(fabric: &Fabric, place: Range<usize>) -> Checked<()> {
    let edges = edge_switches(fabric);
    let steps = edges * 2 * fabric.links.len() as u64;
    if steps <= limits::ROUTE_STEPS {
        return Ok(());
    }
    Problem::new(format!(
        "routes to {edges} switches with hosts over {} links take {} steps to find",
        fabric.links.len(),
        show_count(steps as f64)
    ))
    .at(
        place,
        format!("at most {} are possible", limits::ROUTE_STEPS),
    )
    .help("fewer switches with hosts, more hosts on each")
    .err()
}

/// `Err` if the entry is expected to start too many flows until `end`.
pub(crate) fn check_flows(spec: &TrafficSpec, end: Time, place: Range<usize>) -> Checked<()> {
    let flows = expected_flows(spec, end);
    if flows <= limits::FLOWS as f64 {
        return Ok(());
    }
    Problem::new(format!(
        "{} flows until the end, {end}, would take {}",
        show_count(flows),
        show_memory((flows * limits::FLOW_BYTES as f64) as u64)
    ))
    .at(place, format!("at most {} are possible", limits::FLOWS))
    .help("a shorter `duration`, or fewer flows")
    .err()
}

fn expected_flows(spec: &TrafficSpec, end: Time) -> f64 {
    let seconds = |from: Time, to: Time| (to.min(end) - from.min(end).min(to)).as_secs_f64();
    let events = |arrivals: &Arrivals| {
        let time = seconds(arrivals.start, arrivals.stop);
        let events = match arrivals.interval {
            Interval::Fixed(interval) => time / interval.as_secs_f64() + 1.0,
            Interval::Exponential { events_per_second } => time * events_per_second,
        };
        events.min(
            arrivals
                .max_events
                .map_or(f64::INFINITY, |most| most as f64),
        )
    };
    let pattern = match spec {
        TrafficSpec::Flows(flows) => return flows.len() as f64,
        TrafficSpec::Pattern(pattern) => pattern,
    };
    let arrivals = &pattern.arrivals;
    let flows = match &pattern.pairs {
        Pairs::Burst { from, flows, .. } => match flows {
            BurstFlows::PerHost(flows) => f64::from(*flows) * from.len() as f64,
            BurstFlows::InAll(flows) => f64::from(*flows),
        },
        Pairs::Incast {
            senders: (least, most),
            ..
        } => (f64::from(*least) + f64::from(*most)) / 2.0,
        Pairs::Random {
            from,
            synchronised: true,
            ..
        } => from.len() as f64,
        Pairs::Random { .. } => 1.0,
    };
    let most = arrivals.max_flows.map_or(f64::INFINITY, |most| most as f64);
    (events(arrivals) * flows).min(most)
}

/// `Err` if the probed ports have too many samples, or recorded flows.
pub(crate) fn check_samples(config: &Config, place: Range<usize>) -> Checked<()> {
    check_port_samples(config, place.clone())?;
    check_flow_samples(config, place)
}

fn check_port_samples(config: &Config, place: Range<usize>) -> Checked<()> {
    let probes = &config.probes;
    let time = (config.stop - probes.start.min(config.stop)).as_secs_f64();
    let each = time / probes.interval.as_secs_f64();
    let samples = each * probes.ports.len() as f64;
    // The simulator refuses an interval of zero.
    if probes.interval == Time::ZERO || samples <= limits::SAMPLES as f64 {
        return Ok(());
    }
    Problem::new(format!(
        "{} samples, {} of each of {} ports, would take {}",
        show_count(samples),
        show_count(each),
        probes.ports.len(),
        show_memory((samples * limits::SAMPLE_BYTES as f64) as u64)
    ))
    .at(place, format!("at most {} are possible", limits::SAMPLES))
    .help("a longer `interval`, fewer `ports`, or a shorter `duration`")
    .err()
}

/// Flows with a size are left out: their end is not known before the run.
fn check_flow_samples(config: &Config, place: Range<usize>) -> Checked<()> {
    let probes = &config.probes;
    let interval = probes.flow_interval.unwrap_or(probes.interval);
    let lasts = |flow: &FlowSpec| {
        let stop = flow.stop.min(config.stop);
        stop.saturating_sub(flow.start.max(probes.start))
            .as_secs_f64()
    };
    let listed = config.traffic.iter().flat_map(|spec| match spec {
        TrafficSpec::Flows(flows) => flows.as_slice(),
        _ => &[],
    });
    let endless = listed.filter(|flow| flow.recorded && flow.size_bytes.is_none());
    let (flows, time) = endless.fold((0, 0.0), |(flows, time), flow| {
        (flows + 1, time + lasts(flow))
    });
    let samples = time / interval.as_secs_f64();
    if interval == Time::ZERO || samples <= limits::SAMPLES as f64 {
        return Ok(());
    }
    Problem::new(format!(
        "{} samples of {flows} recorded flows, one each {interval}, would take {}",
        show_count(samples),
        show_memory((samples * limits::SAMPLE_BYTES as f64) as u64)
    ))
    .at(place, format!("at most {} are possible", limits::SAMPLES))
    .help("a longer `flow_interval`, fewer flows with `record`, or a shorter `duration`")
    .err()
}
