//! Long collective operations whose steps differ by a byte, so that none of them is skipped.

use unpause_sim::config::Skipping;
use unpause_sim::jobs::{Exchange, Job};

use crate::run::Run;
use crate::run::measured::Measured;
use crate::warnings::foreseen::Foreseen;
use unpause_text::count::size;

/// For programs.
pub(crate) const KIND: &str = "unequal-blocks";

/// From this number of packet-hops on, some seconds of CPU time, it is worth saying.
const MANY: u64 = 100_000_000;

/// A note for each job.
pub(crate) fn of(measured: &Measured) -> Vec<Foreseen> {
    of_run(&measured.run, measured.results.totals.packet_hops)
}

fn of_run(run: &Run, packet_hops: u64) -> Vec<Foreseen> {
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
        let n = it.groups.iter().map(Vec::len).max()? as u32;
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Scenario;

    fn said(job: &str, hops: u64, skipping: Skipping) -> Vec<String> {
        let text = format!(
            "duration = \"1ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 8\nrate = \"100Gbps\"\n\
             delay = \"1us\"\n[[scheme]]\nname = \"PFC\"\n[[job]]\nname = \"J\"\nranks = 8\n{job}"
        );
        let scenario = Scenario::parse(&text, Path::new("job.toml")).expect("it is sound");
        let mut run = scenario.runs()[0].clone();
        run.config.skipping = skipping;
        let found = of_run(&run, hops).into_iter();
        found.map(|it| it.message + "; " + &it.help).collect()
    }

    #[test]
    fn a_long_ring_whose_blocks_differ_names_a_size_without_that() {
        let ring = |size: &str, more: &str| {
            format!("collective = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"{size}\"\n{more}")
        };
        let said_of = |size, more| said(&ring(size, more), MANY, Skipping::WhereItPays);
        assert_eq!(
            said_of("1000001B", ""),
            [
                "job J: 1 MB in 8 blocks: some blocks are a byte longer, so no step repeats the one before, and every packet \
                 was simulated; with size = \"1000008B\", 7 B more, all blocks are equal, and repeating steps can be skipped"
            ]
        );
        assert!(said_of("1000008B", "")[..].is_empty());
        // Two channels of 500,004 B are no multiple of eight.
        assert!(said_of("1000008B", "channels = 2\n")[0].contains("\"1000016B\", 8 B more"));
        assert!(said_of("1000001B", "connection = \"per-message\"\n").is_empty());
    }

    #[test]
    fn nothing_is_said_where_nothing_could_be_skipped() {
        let ring = "collective = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"1000001B\"\n";
        assert!(said(ring, MANY - 1, Skipping::WhereItPays).is_empty());
        assert!(said(ring, MANY, Skipping::Never).is_empty());
        let other = ring.replace("ring", "direct");
        assert!(said(&other, MANY, Skipping::WhereItPays).is_empty());
    }
}
