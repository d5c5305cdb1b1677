//! Warnings for the reader of a result: drops, silence, settings without effect.

mod blind_watchdog;
mod buffers;
mod chance;
mod changes;
mod crossings;
mod cycles;
mod ecn;
mod egress;
pub mod fast_watchdog;
mod foreseen;
mod headroom;
mod headroom_drops;
mod in_force;
mod limits;
mod link_failures;
mod link_rates;
mod loads;
mod long_paths;
mod lossy_links;
mod maps;
mod memo;
mod no_pause;
mod queue_drops;
mod reordering;
mod room;
mod said;
mod starved;
mod storms;
mod stuck;
mod thresholds;
mod timeouts;
mod trimming;
pub mod unequal_blocks;
mod unfinished;
mod unfinished_jobs;
mod unreachable;
mod waiting;
mod warm_up;
mod wred;

use serde::{Deserialize, Serialize};
use unpause_protocols::notification_point;
use unpause_protocols::units::Time;
use unpause_sim::results::PortRecord;

use crate::run::Run;
use crate::run::measured::Measured;
use crate::tables::Tables;
use cycles::{Cycles, ring};
use foreseen::Foreseen;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Run it is about.
    pub run: u32,
    /// Its scheme.
    pub scheme: String,
    /// For programs: `input`, `headroom-drops`, `lossless-drops`, `empty-probe`, `silent-traffic`,
    /// `never-triggered`, `unfinished-flows`, `stuck-flows`, `cyclic-buffers`,
    /// `deadlock`, `gave-up`, `late-traffic`, `lossy-roce`, `small-buffer`, `unreachable-threshold`, `low-xon`,
    /// `starved-priority`, `waiting-flows`, `phase`, `same-seeds`, `link-down`, `frame-errors`, `pfc-storm`,
    /// `blind-watchdog`, `reordering`, `long-paths`, `default-thresholds`, `unequal-blocks`,
    /// `fast-watchdog`, `failed-jobs`, `stuck-jobs`, `unfinished-jobs`, `unfinished-iterations`, `warm-up`, `all-warm-up`,
    /// `other-load`, `wred-below-xoff`, `map-mismatch`, `egress-drops-first`, `queue-drops`, `trimmed`,
    /// `trimmed-headers`.
    pub kind: String,
    /// The event.
    pub message: String,
    /// Advice.
    pub help: Option<String>,
    /// True if it may be just what was wanted: no PAUSE where congestion control is to avoid it.
    #[serde(default)]
    pub note: bool,
    /// Path of the key that it is about, while its place in the file is not yet part of the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<String>,
}

impl Warning {
    /// Begins the message with the place of its key. `place` answers where a key of a scheme is written, as `file:line`.
    pub fn place(&mut self, place: impl Fn(&[String], &str) -> Option<String>) {
        let key = std::mem::take(&mut self.key);
        if let Some(place) = Some(key)
            .filter(|key| !key.is_empty())
            .and_then(|key| place(&key, &self.scheme))
        {
            self.message = format!("{place}: {}", self.message);
        }
    }
}

/// Everything worth saying about these runs, of each of which that is known which [`of_run`] answers.
pub fn of_parts<'a>(parts: impl Iterator<Item = (&'a Run, &'a [Warning])>) -> Vec<Warning> {
    let mut cycles = Cycles::default();
    let of_part = |(run, own): (&'a Run, &[Warning])| {
        let mut warnings = own.to_vec();
        warnings.extend(cycles.of(run).map(|cycle| cyclic(run, &cycle)));
        warnings
    };
    parts.flat_map(of_part).collect()
}

fn cyclic(run: &Run, cycle: &str) -> Warning {
    Warning {
        run: run.index,
        scheme: run.scheme.clone(),
        kind: "cyclic-buffers".into(),
        message: format!("PFC can deadlock: buffers wait for one another in a cycle: {cycle}"),
        help: Some(
            match run.config.fabric.groups.is_empty() {
                true => "routes that first go up and then down, as in an intact Clos, have no such cycle",
                false => {
                    "in a dragonfly, paths over several groups have such cycles; without PFC (switch.lossless = [], \
                     loss_recovery = \"selective-repeat\", switch.trimming) nothing can deadlock. Credits of links deadlock \
                     as PFC does; a virtual channel for each hop, which avoids it, is not modelled"
                }
            }
            .into(),
        ),
        note: false,
        key: Vec::new(),
    }
}

/// A warning for each run whose seed changed nothing, of runs with their tables.
pub fn of_seeds(parts: &[(&Run, &Tables)]) -> Vec<Warning> {
    let of_run = |run: &Run| {
        Warning {
        run: run.index,
        scheme: run.scheme.clone(),
        kind: "same-seeds".into(),
        message: "every seed gives the same result: nothing that is drawn at random made a difference".into(),
        help: Some(
            "run one seed; random traffic (mean_interval, load, a cdf), jitter, ECMP, probabilistic marking, errors of links \
             and the like depend on it, and none of them changed a flow or a port here"
                .into(),
        ),
        note: false,
        key: Vec::new(),
    }
    };
    chance::same_seeds(parts).into_iter().map(of_run).collect()
}

/// Warnings before anything runs; each once for all the runs that it applies to.
///
/// `place` answers where a key of a scheme is written, as `file:line`.
pub fn of_scenario(
    runs: &[Run],
    place: impl Fn(&[String], &str) -> Option<String>,
) -> Vec<Warning> {
    let mut cycles = Cycles::default();
    let mut warnings: Vec<Warning> = Vec::new();
    for run in runs {
        let said = |new: &Warning| warnings.iter().any(|old| old.message == new.message);
        let of_scheme = (run.mechanisms.warning)(&run.config);
        let of_scheme = of_scheme.map(|(message, help)| Warning {
            run: run.index,
            scheme: run.scheme.clone(),
            kind: "input".into(),
            message,
            help: Some(help.into()),
            note: false,
            key: Vec::new(),
        });
        let cycle = cycles.of(run).map(|cycle| cyclic(run, &cycle));
        let of_input = run.notes.iter().map(|note| Warning {
            run: run.index,
            scheme: run.scheme.clone(),
            kind: "input".into(),
            message: note.clone(),
            help: None,
            note: false,
            key: Vec::new(),
        });
        let foreseen = foreseen::of(run).into_iter().chain(loads::foreseen(run));
        let foreseen = foreseen.map(|it| Warning {
            run: run.index,
            scheme: run.scheme.clone(),
            kind: it.kind.into(),
            message: it.message,
            help: Some(it.help),
            note: is_note(it.kind),
            key: it.key,
        });
        let new = of_input.chain(cycle).chain(of_scheme).chain(foreseen);
        let mut new: Vec<Warning> = new.collect();
        new.iter_mut().for_each(|it| it.place(&place));
        new.retain(|new| !said(new));
        warnings.extend(new);
    }
    warnings
}

/// True of kinds that may be just what was wanted.
fn is_note(kind: &str) -> bool {
    let of_links = [
        link_failures::KIND,
        link_rates::KIND,
        lossy_links::KIND,
        queue_drops::LOSSY,
        queue_drops::TRIMMED,
    ];
    let others = [
        storms::KIND,
        thresholds::KIND,
        trimming::KIND,
        warm_up::KIND,
        loads::KIND,
    ];
    let of_jobs = [unequal_blocks::KIND, unfinished_jobs::SOME];
    of_links.contains(&kind) || others.contains(&kind) || of_jobs.contains(&kind)
}

/// Warnings about one run.
pub fn of_run(measured: &Measured) -> Vec<Warning> {
    let mut found = Found {
        measured,
        warnings: Vec::new(),
    };
    for note in &measured.run.notes {
        found.add("input", note.clone(), None);
    }
    found.deadlock();
    found.drops();
    found.probes();
    found.traffic();
    found.stuck();
    found.mechanism();
    found.scheme();
    found.starved();
    let others = [
        chance::phase(measured),
        foreseen::of(&measured.run),
        waiting::of(measured),
        link_failures::of(measured),
        link_rates::of(measured),
        lossy_links::of(measured),
        storms::of(measured),
        Vec::from_iter(reordering::of(measured)),
        Vec::from_iter(long_paths::of(measured)),
        unequal_blocks::of(measured),
        unfinished_jobs::of(measured),
        Vec::from_iter(warm_up::of(measured)),
        loads::of(measured),
    ];
    for it in others.concat() {
        if found.repeats(&it) {
            continue;
        }
        found.add_at(it.kind, it.message, Some(it.help), it.key);
    }
    found.warnings
}

struct Found<'a> {
    measured: &'a Measured,
    warnings: Vec<Warning>,
}

impl Found<'_> {
    fn add(&mut self, kind: &str, message: String, help: Option<String>) {
        self.add_at(kind, message, help, Vec::new());
    }

    /// About a key of the file.
    fn add_at(&mut self, kind: &str, message: String, help: Option<String>, key: Vec<String>) {
        let run = &self.measured.run;
        let (run, scheme) = (run.index, run.scheme.clone());
        self.warnings.push(Warning {
            run,
            scheme,
            kind: kind.to_owned(),
            message,
            help,
            note: is_note(kind),
            key,
        });
    }

    /// Turns the last warning into a note: what it says may be wanted.
    fn is_note(&mut self) {
        if let Some(warning) = self.warnings.last_mut() {
            warning.note = true;
        }
    }

    /// PFC has stopped the fabric for good.
    fn deadlock(&mut self) {
        let Measured { run, results, .. } = self.measured;
        let Some(deadlock) = &results.deadlock else {
            return;
        };
        let priority = deadlock.cycle.first().map_or(0, |port| port.2);
        let ports = deadlock.cycle.iter().map(|&(node, port, _)| (node, port));
        self.add(
            "deadlock",
            format!(
                "PFC deadlocked at {} in priority {priority}: {}; the run was ended at {}",
                deadlock.began,
                ring(run, ports),
                results.totals.simulated
            ),
            None,
        );
    }

    /// Frames of a lossless priority were lost.
    fn drops(&mut self) {
        for (message, help) in headroom_drops::of(self.measured) {
            self.add("headroom-drops", message, Some(help));
        }
        for it in queue_drops::of(self.measured) {
            let help = Some(it.help).filter(|help| !help.is_empty());
            self.add_at(it.kind, it.message, help, it.key);
        }
    }

    /// True if a warning about the outcome gives this one, about a setting, as its reason.
    fn repeats(&self, it: &Foreseen) -> bool {
        let has = |kind: &str| self.warnings.iter().any(|old| old.kind == kind);
        match it.kind {
            unreachable::KIND => self.measured.results.totals.marked_packets == 0,
            wred::KIND => has(queue_drops::LOSSLESS),
            maps::KIND => {
                let is_reason = |old: &Warning| {
                    old.kind == "headroom-drops" && old.message.contains(maps::SAYS)
                };
                self.warnings.iter().any(is_reason)
            }
            _ => false,
        }
    }

    /// Probes that saw nothing.
    fn probes(&mut self) {
        let Measured { run, results, .. } = self.measured;
        for (node, port) in &run.config.probes.ports {
            let mut records = results.ports.iter();
            if records.any(|r| (r.node, r.port) == (*node, *port) && r.tx_packets > 0) {
                continue;
            }
            let name = run.names.name(*node);
            let peer = run
                .names
                .name(run.names.peers[*node as usize][usize::from(*port)]);
            self.add(
                "empty-probe",
                format!("probe {name}->{peer} recorded nothing: no packet was sent on this port"),
                None,
            );
        }
        let probes = &run.config.probes;
        let interval = probes.flow_interval.unwrap_or(probes.interval);
        if probes.start.saturating_add(interval) > run.config.stop {
            let after = match probes.start {
                Time::ZERO => String::new(),
                start => format!(" after {start}"),
            };
            let key = match probes.flow_interval {
                Some(_) => "flow_interval",
                None => "interval",
            };
            self.add(
                "empty-probe",
                format!("probes are sampled every {interval}{after} and the run ends before"),
                Some(format!(
                    "set a shorter probes.{key}, or an earlier probes.start"
                )),
            );
        }
    }

    /// Entries without a flow, and flows without an end.
    fn traffic(&mut self) {
        for (kind, message, help) in unfinished::of(self.measured) {
            self.add(kind, message, help);
        }
    }

    /// Flows that something lost has left waiting for what did not come before the end.
    fn stuck(&mut self) {
        for (message, help) in stuck::of(self.measured) {
            self.add("stuck-flows", message, Some(help));
        }
    }

    /// Hosts that never served one of their priorities.
    fn starved(&mut self) {
        for (message, help) in starved::of(self.measured) {
            self.add("starved-priority", message, Some(help));
        }
    }

    /// Warnings of the congestion control itself.
    fn scheme(&mut self) {
        let run = &self.measured.run;
        if let Some((message, help)) = (run.mechanisms.warning)(&run.config) {
            self.add("input", message, Some(help.into()));
        }
    }

    /// No packet was marked, and why.
    fn unmarked(&mut self) {
        let (message, never) = ("no packet was marked", "never-triggered");
        match unreachable::why_unmarked(self.measured) {
            Some(it) => {
                let message = format!("{message}: {}", it.message);
                self.add_at(
                    never,
                    message,
                    Some(it.help).filter(|it| !it.is_empty()),
                    it.key,
                );
            }
            None => self.add(never, message.into(), None),
        }
    }

    /// Flow control or congestion control that did nothing at all.
    fn mechanism(&mut self) {
        let Measured { run, results, .. } = self.measured;
        let totals = &results.totals;
        let switch = &run.config.switch;
        let never = "never-triggered";
        let has_waited = |port: &PortRecord| port.credit_wait != Time::ZERO;
        if switch.cbfc.is_some() && !results.ports.iter().any(has_waited) {
            self.add(never, "nobody waited for credits".to_owned(), None);
            self.is_note();
        } else if switch.cbfc.is_none() && switch.lossless != 0 && totals.pause_frames == 0 {
            self.add(never, no_pause::why(self.measured), None);
            self.is_note();
        }
        let mechanisms = run.mechanisms;
        if mechanisms.marks && totals.marked_packets == 0 {
            self.unmarked();
            // Its queues before hosts, where credits do their work, mark nothing.
            if run.config.scheme.credits.is_some() {
                self.is_note();
            }
        }
        if let Some(what) = mechanisms.notifies_by
            && totals.notifications == 0
            && run.config.scheme.notification_point != notification_point::Config::None
        {
            let message = format!("no {what} was sent: {} had no effect", mechanisms.control);
            self.add(never, message, None);
        }
        if mechanisms.reacts && run.controls_nothing() {
            self.add(
                never,
                format!(
                    "no flow obeys {}: all have controlled = false or another transport",
                    mechanisms.control
                ),
                None,
            );
        }
    }
}
