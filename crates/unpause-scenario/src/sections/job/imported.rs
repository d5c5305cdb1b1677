//! Jobs whose ranks do what a file says.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde_spanned::Spanned;

use super::keys::{JobKeys, RanksKey};
use super::phases;
use crate::import::FileError;
use crate::import::files::ReadProgram;
use crate::import::programs::{self, Imported, SimAi};
use crate::sections::traffic::Context;
use crate::text::error::{Checked, Problem};

/// What the file of a job says, if it has one, for so many ranks. The first of its steps, if there are any, is at `step`.
pub(super) fn imported(
    keys: &JobKeys,
    step: Option<Range<usize>>,
    ranks: usize,
    context: &Context<'_>,
) -> Checked<Option<Arc<ReadProgram>>> {
    let ranks = ranks as u32;
    let mut files = Vec::new();
    files.extend(keys.goal.get().map(|file| ("goal", file)));
    files.extend(keys.simai.get().map(|file| ("simai", file)));
    files.extend(keys.chakra.get().map(|file| ("chakra", file)));
    let Some((format, file)) = files.first().copied() else {
        return Ok(None);
    };
    let others = files.get(1).map(|(key, file)| (*key, file.span()));
    only_the_file((keys, step), file, others, format == "simai")?;
    let channels = match format {
        "simai" => phases::at_least_one(&keys.channels, "channels")?,
        _ => 1,
    };
    let read = |path: &Path| -> Result<Imported, FileError> {
        match format {
            "simai" => programs::read_simai(path, SimAi { ranks, channels }),
            "chakra" => programs::read_chakra(path, ranks),
            _ => programs::read_goal(path),
        }
    };
    let read = context
        .files
        .program(file, (format, ranks, channels), &read)?;
    let needs = read.program.ranks();
    if needs != ranks {
        let place = keys.ranks.span();
        let help = match keys.ranks.get_ref() {
            RanksKey::Count(_) => format!("write ranks = {needs}"),
            RanksKey::Hosts(_) => format!("name {needs} hosts"),
        };
        return Problem::new(format!("{ranks} ranks for a file of {needs}"))
            .at(place, "here")
            .at(file.span(), format!("this file has {needs}"))
            .help(help)
            .err();
    }
    for note in &read.notes {
        context.note(format!("{}: {note}", file.get_ref()));
    }
    Ok(Some(read))
}

/// Nothing else says what ranks do.
fn only_the_file(
    (keys, step): (&JobKeys, Option<Range<usize>>),
    file: &Spanned<String>,
    other: Option<(&str, Range<usize>)>,
    file_takes_channels: bool,
) -> Checked<()> {
    let own = written_keys(keys, file_takes_channels);
    let step = step.map(|place| ("[[job.step]]", place));
    match other.or(own).or(step) {
        None => Ok(()),
        Some((key, place)) => Problem::new(format!("`{key}` has no effect"))
            .at(place, "the file says what ranks do")
            .at(file.span(), "this one")
            .help("remove one of the two")
            .err(),
    }
}

/// The first of the keys that say what ranks do.
fn written_keys(keys: &JobKeys, takes_channels: bool) -> Option<(&'static str, Range<usize>)> {
    macro_rules! first {
        ($($key:ident)*) => {
            [$(keys.$key.peek().map(|it| (stringify!($key), it.span()))),*]
        };
    }
    let all = first!(compute collective algorithm size matrix root slices jitter parallel per_server reduce_rate);
    let channels = keys.channels.peek().filter(|_| !takes_channels);
    let channels = channels.map(|it| ("channels", it.span()));
    all.into_iter().flatten().next().or(channels)
}
