//! Jobs whose ranks do what a file says.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use unpause_text::error::{Checked, Problem};

use serde_spanned::Spanned;
use unpause_protocols::names::Names as _;
use unpause_sim::jobs;

use super::keys::{Algorithm, JobKeys, Operation, RanksKey};
use super::phases::{self, possible};
use crate::files::{ReadAs, ReadProgram};
use crate::sections::traffic::Context;
use crate::text::keys::Keys as _;
use unpause_import::FileError;
use unpause_import::programs::{self, Collectives, Imported, SimAi, Used};

/// Files of jobs: their keys, and which keys of collective operations they leave to the job.
const FORMATS: [(&str, &[&str]); 4] = [
    ("goal", &[]),
    ("simai", &["channels"]),
    ("chakra", &["channels", "algorithm"]),
    ("htsim", &[]),
];

/// The program of the file of a job, if it has one, for this many ranks. The first of its steps, if there are any, is at `step`.
pub(super) fn imported(
    keys: &JobKeys,
    step: Option<Range<usize>>,
    ranks: usize,
    context: &Context<'_>,
) -> Checked<Option<Arc<ReadProgram>>> {
    let ranks = ranks as u32;
    let written = [
        keys.goal.get(),
        keys.simai.get(),
        keys.chakra.get(),
        keys.htsim.get(),
    ];
    let mut files = FORMATS.into_iter().zip(written);
    let mut files = std::iter::from_fn(|| files.find_map(|(format, file)| Some((format, file?))));
    let Some(((format, left), file)) = files.next() else {
        return Ok(None);
    };
    let others = files.next().map(|((key, _), file)| (key, file.span()));
    only_the_file((keys, step), file, others, left)?;
    let channels = if left.contains(&"channels") {
        phases::at_least_one(&keys.work.channels, "channels")?
    } else {
        1
    };
    let collectives = if left.contains(&"algorithm") {
        collectives(keys, channels)?
    } else {
        Collectives::default()
    };
    let read = |path: &Path| -> Result<Imported, FileError> {
        match format {
            "simai" => programs::read_simai(path, SimAi { ranks, channels }),
            "chakra" => programs::read_chakra(path, ranks, collectives),
            "htsim" => programs::read_htsim(path),
            _ => programs::read_goal(path),
        }
    };
    let read_as = ReadAs {
        format,
        ranks,
        channels,
        algorithm: keys
            .work
            .algorithm
            .peek()
            .map_or("", |it| it.get_ref().0.name()),
    };
    let read = context.files.program(file, read_as, &read)?;
    if format == "chakra" {
        check_used(keys, read.used)?;
    }
    check_ranks(keys, file, ranks, read.program.ranks())?;
    for note in &read.notes {
        context.note(format!("{}: {note}", file.get_ref()));
    }
    Ok(Some(read))
}

fn check_ranks(keys: &JobKeys, file: &Spanned<String>, ranks: u32, needs: u32) -> Checked<()> {
    if needs == ranks {
        return Ok(());
    }
    let place = keys.ranks.span();
    let help = match keys.ranks.get_ref() {
        RanksKey::Count(_) => format!("write ranks = {needs}"),
        RanksKey::Hosts(_) => format!("name {needs} hosts"),
    };
    Problem::new(format!("{ranks} ranks for a file of {needs}"))
        .at(place, "here")
        .at(file.span(), format!("this file has {needs}"))
        .help(help)
        .err()
}

/// The part of an algorithm that a trace can use.
const OF_TRACES: [Operation; 3] = [
    Operation::AllReduce,
    Operation::AllGather,
    Operation::AllToAll,
];

/// How collective operations of traces are done: by the job's algorithm, where there is such a one.
fn collectives(keys: &JobKeys, channels: u32) -> Checked<Collectives> {
    let chosen = keys.work.algorithm.get();
    let by = |operation: Operation| {
        let possible = possible(operation);
        let chosen = chosen.map(|it| it.get_ref().0);
        of_trace(
            chosen
                .filter(|it| possible.contains(it))
                .unwrap_or(possible[0]),
        )
    };
    if let Some(chosen) = chosen.filter(|it| of_trace(it.get_ref().0).is_none()) {
        let why = match chosen.get_ref().0 {
            Algorithm::Rails => "process groups of traces have no servers",
            _ => "traces say themselves how their pipelines run",
        };
        return Problem::new(why)
            .at(chosen.span(), "here")
            .help("there are: ring, halving-doubling, direct, pairwise, double-binary-tree")
            .err();
    }
    let default = Collectives::default();
    let [all_reduce, all_gather, all_to_all] = OF_TRACES.map(by);
    Ok(Collectives {
        all_reduce: all_reduce.unwrap_or(default.all_reduce),
        all_gather: all_gather.unwrap_or(default.all_gather),
        all_to_all: all_to_all.unwrap_or(default.all_to_all),
        channels,
    })
}

fn of_trace(algorithm: Algorithm) -> Option<jobs::Algorithm> {
    Some(match algorithm {
        Algorithm::Ring => jobs::Algorithm::Ring,
        Algorithm::HalvingDoubling => jobs::Algorithm::HalvingDoubling,
        Algorithm::Direct => jobs::Algorithm::Direct,
        Algorithm::Pairwise => jobs::Algorithm::Pairwise,
        Algorithm::Tree => jobs::Algorithm::DoubleBinaryTree,
        Algorithm::Rails
        | Algorithm::OneForwardOneBackward
        | Algorithm::GPipe
        | Algorithm::Interleaved => return None,
    })
}

/// Refuses keys of collective operations that no operation of the traces uses.
fn check_used(keys: &JobKeys, used: Used) -> Checked<()> {
    let has = [used.all_reduce, used.all_gather, used.all_to_all];
    let idle = |key: &str, place: Range<usize>| {
        Problem::new(format!("`{key}` has no effect"))
            .at(place, "no collective of the traces uses it")
            .help("remove it")
            .err()
    };
    if let Some(algorithm) = keys.work.algorithm.peek() {
        let takes = |(operation, has): (Operation, bool)| {
            has && possible(operation).contains(&algorithm.get_ref().0)
        };
        if !OF_TRACES.into_iter().zip(has).any(takes) {
            return idle("algorithm", algorithm.span());
        }
    }
    match keys.work.channels.peek() {
        Some(channels) if !used.any() => idle("channels", channels.span()),
        _ => Ok(()),
    }
}

/// Nothing else says what ranks do.
fn only_the_file(
    (keys, step): (&JobKeys, Option<Range<usize>>),
    file: &Spanned<String>,
    other: Option<(&str, Range<usize>)>,
    left: &[&str],
) -> Checked<()> {
    let own = written_keys(keys, left);
    let step = step.map(|place| ("[[job.step]]", place));
    match other.or(own).or(step) {
        None => Ok(()),
        Some((key, place)) => Problem::new(format!("`{key}` has no effect"))
            .at(place, "the file describes what ranks do")
            .at(file.span(), "this one")
            .help("remove one of the two")
            .err(),
    }
}

/// The first of the keys that say what ranks do, but for those that are left to the job.
fn written_keys(keys: &JobKeys, left: &[&str]) -> Option<(&'static str, Range<usize>)> {
    let of_steps = ["parallel", "per_server", "reduce_rate"];
    let of_steps = keys
        .written()
        .into_iter()
        .filter(|(key, _)| of_steps.contains(key));
    let all = keys.work.written().into_iter().chain(of_steps);
    all.into_iter().find(|(key, _)| !left.contains(key))
}
