//! Entries of traffic without a flow, and flows without an end.

use std::collections::HashMap;

use unpause_protocols::units::Time;
use unpause_sim::config::NodeId;
use unpause_sim::results::FlowRecord;
use unpause_sim::traffic::{TrafficSpec, Transport};

use crate::run::cut_off::CutOff;
use crate::run::measured::Measured;
use crate::warnings::foreseen;
use crate::warnings::stuck::{WAITS, place};
use crate::warnings::timeouts;

/// Kind of a warning, what it says, and what to do.
type Said = (&'static str, String, Option<String>);

/// Warnings about the entries of a run.
pub fn of(measured: &Measured) -> Vec<Said> {
    let Measured { run, results, .. } = measured;
    let mut counts = vec![Counts::default(); run.names.traffic.len()];
    let mut cut_off = CutOff::new(measured);
    let stops = Stops::new(measured);
    for flow in &results.flows {
        let counts = &mut counts[usize::from(flow.group)];
        counts.started += 1;
        counts.counted += u64::from(flow.start >= run.warmup);
        counts.gave_up += u64::from(flow.gave_up);
        let has_ended = flow.fct.is_some() || flow.gave_up;
        if flow.size_bytes.is_some() && !has_ended && flow.start >= run.warmup {
            counts.unfinished += 1;
            counts.stopped += u64::from(stops.is_over(flow));
            counts.cut_off += u64::from(cut_off.separates(flow.src, flow.dst));
            if let Some(stuck) = flow.stuck {
                counts.waits[place(stuck.awaits)].count(stuck.since);
            }
        }
    }
    let mut said = Vec::new();
    for (group, (name, counts)) in run.names.traffic.iter().zip(&counts).enumerate() {
        let spec = &run.config.traffic[group];
        let has_none = counts.started == 0 && !run.is_left_out(group);
        if has_none && !run.follows(group) && foreseen::first_of(spec) < run.config.stop {
            let message = format!("traffic `{name}` started no flow");
            said.push(("silent-traffic", message, None));
        }
        // What that does to a job, its own warning says.
        let is_job = run
            .config
            .jobs
            .iter()
            .any(|it| usize::from(it.entry) == group);
        if counts.gave_up > 0 && !is_job {
            said.push(gave_up(measured, group, name, counts));
        }
        if counts.unfinished > 0 {
            said.push(unfinished(measured, group, name, counts));
        }
    }
    said
}

/// Flows of an entry.
#[derive(Clone, Default)]
struct Counts {
    started: u64,
    /// Those of them that started after the warm-up.
    counted: u64,
    /// Those of these that have not ended.
    unfinished: u64,
    /// Those of them between whose hosts there is no path at the end.
    cut_off: u64,
    /// Those of them whose `stop` was before the end.
    stopped: u64,
    /// Those of them that have been waiting for long, in the order of [`WAITS`].
    waits: [Waiting; WAITS.len()],
    gave_up: u64,
}

/// Flows that wait for the same.
#[derive(Clone, Copy)]
struct Waiting {
    flows: u64,
    /// The first of them, since then.
    since: Time,
}

impl Default for Waiting {
    fn default() -> Self {
        let since = Time::NEVER;
        Self { flows: 0, since }
    }
}

impl Waiting {
    fn count(&mut self, since: Time) {
        self.flows += 1;
        self.since = self.since.min(since);
    }
}

fn unfinished(measured: &Measured, group: usize, name: &str, counts: &Counts) -> Said {
    let Counts {
        counted,
        unfinished,
        ..
    } = counts;
    let Measured { run, results, .. } = measured;
    let is_udp = run.config.traffic[group].uses(Transport::Udp);
    let has_lost = results.totals.dropped_packets + results.totals.trimmed_packets > 0;
    let missing = "in means and percentiles they are lower bounds";
    let longer = longer(measured, counts, is_udp && has_lost);
    let (how, help) = match is_udp && has_lost {
        true => (
            "did not arrive completely",
            format!(
                "UDP does not retransmit: delivered_bytes in table flows counts what arrived; {missing}; {longer}"
            ),
        ),
        false => (
            match unfinished {
                1 => "was not complete at the end",
                _ => "were not complete at the end",
            },
            format!("{missing}; {longer}"),
        ),
    };
    let waits = counts.waits.iter().zip(WAITS);
    let waits = waits.filter(|(it, _)| it.flows > 0);
    let waits = waits.map(|(Waiting { flows, since }, what)| match flows {
        1 => format!("1 of them has been {what} since {since}"),
        _ => format!("{flows} of them have been {what}, the first since {since}"),
    });
    let waits: Vec<String> = waits.collect();
    let why = match waits.is_empty() {
        true => String::new(),
        false => format!(": {}", waits.join(", ")),
    };
    let message = format!("{unfinished} of {counted} flows of traffic `{name}` {how}{why}");
    ("unfinished-flows", message, Some(help))
}

/// Whether flows would be complete in a longer run.
fn longer(measured: &Measured, counts: &Counts, may_lack: bool) -> String {
    let down = "whose hosts no path joins at the end, because links are down";
    match counts.cut_off {
        _ if measured.results.deadlock.is_some() => {
            "the deadlock ended the run, and a longer duration does not change that".to_owned()
        }
        0 if counts.stopped > 0 => stopped(counts),
        0 if may_lack => "a longer duration helps only flows that lost nothing".to_owned(),
        0 => "a longer duration helps".to_owned(),
        all if all == counts.unfinished => {
            "no path joins their hosts at the end, because links are down: a longer duration does not help unless these return"
                .to_owned()
        }
        1 => format!("a longer duration does not help the one {down}"),
        some => format!("a longer duration does not help the {some} {down}"),
    }
}

/// The same for flows that send nothing new after their `stop`.
fn stopped(counts: &Counts) -> String {
    let unless = "unless they had sent everything by then";
    match counts.stopped {
        1 if counts.unfinished == 1 => {
            "it stopped sending at its `stop`: a longer duration does not help, unless it had sent everything by then".to_owned()
        }
        all if all == counts.unfinished => {
            format!("they stopped sending at their `stop`: a longer duration does not help, {unless}")
        }
        some => format!(
            "a longer duration does not help the {some} that stopped sending at their `stop`, {unless}"
        ),
    }
}

/// Entry, sender, receiver and size: flows with the same ones are treated alike.
type Alike = (u16, NodeId, NodeId, Option<u64>);

/// When flows stop sending, whatever is left.
struct Stops {
    /// The latest `stop` of flows that are treated alike.
    of: HashMap<Alike, Time>,
    /// End of the run.
    end: Time,
}

impl Stops {
    fn new(measured: &Measured) -> Self {
        let mut of = HashMap::new();
        for (spec, group) in measured.run.config.traffic.iter().zip(0..) {
            let TrafficSpec::Flows(flows) = spec else {
                continue;
            };
            // Most entries have no such flow.
            if flows.iter().all(|flow| flow.stop == Time::NEVER) {
                continue;
            }
            for flow in flows.iter() {
                let alike = (group, flow.src, flow.dst, flow.size_bytes);
                let latest: &mut Time = of.entry(alike).or_default();
                *latest = flow.stop.max(*latest);
            }
        }
        let end = measured.results.totals.simulated;
        Self { of, end }
    }

    /// True if it sends nothing new at the end.
    fn is_over(&self, flow: &FlowRecord) -> bool {
        let alike = (flow.group, flow.src, flow.dst, flow.size_bytes);
        self.of.get(&alike).is_some_and(|stop| *stop <= self.end)
    }
}

fn gave_up(measured: &Measured, group: usize, name: &str, counts: &Counts) -> Said {
    let Measured { run, results, .. } = measured;
    let own = |flow: &&FlowRecord| usize::from(flow.group) == group;
    let times = results.flows.iter().filter(own);
    let first = times.filter_map(|flow| flow.gave_up_at).min();
    let is_tcp = run.config.traffic[group].uses(Transport::Tcp);
    let retries = run.config.host.retry_count.filter(|_| !is_tcp);
    let (how, help) = match (first, retries) {
        (Some(first), Some(retries)) => (
            match retries {
                0 => format!(" after a timeout, first at {first}"),
                _ => format!(
                    " after {} timeouts in a row, first at {first}",
                    u64::from(retries) + 1
                ),
            },
            format!(
                "their queue pairs are in error, and the rest is never sent: see gave_up and timeouts in table flows; \
                 host.retry_count, with {}, determines how long they try",
                timeouts::names(&run.config)
            ),
        ),
        _ => (
            match first {
                Some(first) => format!(", first at {first}: the peer did not answer"),
                None => ": the peer did not answer".to_owned(),
            },
            "see timeouts in table flows; tcp.retries and tcp.syn_tries determine how often they try".to_owned(),
        ),
    };
    let Counts {
        started, gave_up, ..
    } = counts;
    let message = format!("{gave_up} of {started} flows of traffic `{name}` gave up{how}");
    ("gave-up", message, Some(help))
}
