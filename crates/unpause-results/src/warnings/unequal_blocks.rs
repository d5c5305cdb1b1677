//! Long collective operations whose steps differ by a byte, so that none of them is skipped.

use unpause_sim::config::Skipping;
use unpause_sim::jobs::{Exchange, Group, Job};

use crate::run::Run;
use crate::run::measured::Measured;
use crate::warnings::foreseen::Foreseen;
use unpause_text::count::size;

/// For programs.
pub const KIND: &str = "unequal-blocks";

/// From this number of packet-hops on, some seconds of CPU time, it is worth saying.
pub const MANY: u64 = 100_000_000;

/// A note for each job.
pub fn of(measured: &Measured) -> Vec<Foreseen> {
    of_run(&measured.run, measured.results.totals.packet_hops)
}

/// The notes on `run`, a run of this many packet-hops.
pub fn of_run(run: &Run, packet_hops: u64) -> Vec<Foreseen> {
    let config = &run.config;
    if packet_hops < MANY || config.skipping == Skipping::Never {
        return Vec::new();
    }
    let jobs = config.jobs.iter().filter(|job| job.may_repeat());
    let found = jobs.filter_map(|job| Some((job, unequal(job)?)));
    found.map(|(job, it)| note(run, job, &it)).collect()
}

/// An operation whose blocks differ.
struct Unequal {
    blocks: u32,
    bytes: u64,
    /// The next larger number of bytes with equal blocks.
    equal: u64,
}

/// The largest one of a job.
fn unequal(job: &Job) -> Option<Unequal> {
    let exchanges = job.phases.iter().filter_map(|it| it.collective.as_ref());
    let of = |it: &Exchange| {
        let n = it.groups.iter().map(Group::count).max()?;
        Some(Unequal {
            blocks: it.collective.blocks(n),
            bytes: it.collective.bytes,
            equal: it.collective.equal_blocks(n)?,
        })
    };
    exchanges.filter_map(of).max_by_key(|it| it.bytes)
}

fn note(run: &Run, job: &Job, it: &Unequal) -> Foreseen {
    let Unequal {
        blocks,
        bytes,
        equal,
    } = it;
    Foreseen {
        kind: KIND,
        message: format!(
            "job {}: {} in {blocks} blocks: some blocks are a byte longer, so no step repeats the one before, and every \
             packet was simulated",
            run.names.traffic[usize::from(job.entry)],
            size(*bytes),
        ),
        help: format!(
            "with size = \"{equal}B\", {} B more, all blocks are equal, and repeating steps can be skipped",
            equal - bytes
        ),
        key: Vec::new(),
    }
}
