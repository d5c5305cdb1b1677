//! Jobs that did not come to their end: which have failed, which were stuck, and the link that is down.

use unpause_protocols::units::Time;
use unpause_sim::config::NodeId;
use unpause_sim::jobs::{Job, JobFailure};

use crate::run::cut_off::{CutOff, down_during};
use crate::run::link_names::{Port, links};
use crate::run::measured::Measured;

/// What kept a job from its end, as far as that is known.
#[derive(Clone, Debug, Default)]
pub struct JobEnd {
    /// The connection that gave up.
    pub failure: Option<JobFailure>,
    /// Since when the job could not come to its end, if it did not fail: a link is down at the end of the run without which some of its
    /// ranks cannot reach each other, or queues were deadlocked.
    pub stuck_since: Option<Time>,
    /// The links, and since when the first of them is down.
    pub down: Option<(String, Time)>,
}

impl JobEnd {
    /// The end of `job`, of whose iterations this many were complete.
    pub fn of(measured: &Measured, job: &Job, complete: u32) -> Self {
        let Measured { run, results, .. } = measured;
        let failures = &mut results.job_failures.iter();
        if let Some(failure) = failures.find(|it| it.entry == job.entry) {
            let ends = [failure.rank, failure.peer].map(|rank| job.host(rank));
            return Self {
                failure: Some(*failure),
                stuck_since: None,
                down: down_between(measured, ends, (failure.at, failure.at)),
            };
        }
        if complete >= job.iterations || job.start >= run.config.stop {
            return Self::default();
        }
        if let Some(deadlock) = &results.deadlock {
            return Self {
                stuck_since: Some(deadlock.began),
                ..Self::default()
            };
        }
        let mut cut_off = CutOff::new(measured);
        let mut own = results.flows.iter().filter(|it| it.group == job.entry);
        let parted = own.find(|it| it.fct.is_none() && cut_off.separates(it.src, it.dst));
        let end = results.totals.simulated;
        let down = parted.and_then(|it| down_between(measured, [it.src, it.dst], (end, end)));
        Self {
            failure: None,
            stuck_since: down.as_ref().map(|(_, since)| *since),
            down,
        }
    }

    /// Such as "failed at 12ms: rank 5 to 13 gave up, H5-leaf0 down since 3ms"; `None` if it is not known that it would never have come
    /// to its end.
    pub fn text(&self) -> Option<String> {
        let down = self.down.as_ref();
        if let Some(JobFailure { at, rank, peer, .. }) = self.failure {
            let down = down.map_or(String::new(), |(links, since)| {
                format!(", {links} down since {since}")
            });
            return Some(format!(
                "failed at {at}: rank {rank} to {peer} gave up{down}"
            ));
        }
        let since = self.stuck_since?;
        Some(match down {
            Some((links, _)) => format!("stuck since {since}: {links} down"),
            None => format!("stuck since {since}: deadlocked"),
        })
    }
}

/// Links that are down at some time from the one to the other: those of these hosts, or all if none of them is. Their names, and since
/// when the first is down.
pub fn down_between(
    measured: &Measured,
    ends: [NodeId; 2],
    during: (Time, Time),
) -> Option<(String, Time)> {
    let run = &measured.run;
    let all = down_during(&measured.results, during);
    let joins = |(node, port): &Port| {
        let peer = run.names.peers[*node as usize][usize::from(*port)];
        ends.contains(node) || ends.contains(&peer)
    };
    let is_near = all.keys().any(joins);
    let down: Vec<(Port, Time)> = all
        .into_iter()
        .filter(|(wire, _)| !is_near || joins(wire))
        .collect();
    let since = down.iter().map(|(_, since)| *since).min()?;
    let wires: Vec<Port> = down.iter().map(|(wire, _)| *wire).collect();
    Some((links(run, &wires), since))
}
