//! Steps that are pipelines.

use std::ops::Range;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Duration;

use unpause_protocols::units::Time;
use unpause_sim::jobs::Pipeline;

use super::keys::{Algorithm, Work};
use crate::text::keys::Written;

/// Micro-batches of an iteration.
const MOST_MICRO_BATCHES: u32 = 65_536;

/// Chunks of the model at a rank.
const MOST_CHUNKS: u32 = 64;

/// A pipeline of `n` ranks, asked for at `place`.
pub(super) fn pipeline(step: &Work, n: u32, place: Range<usize>) -> Checked<Pipeline> {
    let micro_batches = match step.micro_batches.get() {
        Some(it) if (1..=MOST_MICRO_BATCHES).contains(it.get_ref()) => *it.get_ref(),
        Some(it) => {
            return Problem::new(format!("{} micro-batches", it.get_ref()))
                .at(it.span(), format!("from 1 to {MOST_MICRO_BATCHES}"))
                .err();
        }
        None => {
            return Problem::new("a pipeline of no micro-batches")
                .at(place, "needs `micro_batches`")
                .help("write micro_batches = 8")
                .err();
        }
    };
    for (key, written) in [("channels", &step.channels), ("slices", &step.slices)] {
        if let Some(several) = written.peek().filter(|it| *it.get_ref() > 1) {
            return Problem::new("a pipeline stage computes when a whole message has arrived")
                .at(several.span(), "pipelines do not split messages")
                .help(format!("remove `{key}`"))
                .err();
        }
    }
    Ok(Pipeline {
        micro_batches,
        chunks: chunks(step, (n, micro_batches), &place)?,
        forward: time(&step.forward, "forward", &place)?,
        backward: time(&step.backward, "backward", &place)?,
    })
}

/// Chunks of the model at each rank.
fn chunks(step: &Work, (n, micro_batches): (u32, u32), place: &Range<usize>) -> Checked<u32> {
    let algorithm = step.algorithm.peek();
    let Some(algorithm) = algorithm.filter(|it| it.get_ref().0 == Algorithm::Interleaved) else {
        return Ok(1);
    };
    if n < 3 {
        return Problem::new(format!("an interleaved pipeline of {n} ranks"))
            .at(
                algorithm.span(),
                "needs at least 3: with 2, both ways share a connection",
            )
            .help("write algorithm = \"1f1b\"")
            .err();
    }
    if !micro_batches.is_multiple_of(n) {
        let place = step
            .micro_batches
            .peek()
            .map_or(place.clone(), |it| it.span());
        let whole = micro_batches.next_multiple_of(n);
        return Problem::new(format!("{micro_batches} micro-batches for {n} ranks"))
            .at(
                place,
                format!("an interleaved pipeline takes {n} at a time"),
            )
            .help(format!("write micro_batches = {whole}"))
            .err();
    }
    match step.virtual_stages.get() {
        None => Ok(*step.virtual_stages.value()),
        Some(it) if (2..=MOST_CHUNKS).contains(it.get_ref()) => Ok(*it.get_ref()),
        Some(it) => Problem::new(format!("{} virtual stages", it.get_ref()))
            .at(it.span(), format!("from 2 to {MOST_CHUNKS}"))
            .help("write algorithm = \"1f1b\" for one stage at each rank")
            .err(),
    }
}

fn time(written: &Written<Duration>, key: &str, place: &Range<usize>) -> Checked<Time> {
    match written.get() {
        Some(it) => Ok(it.get_ref().0),
        None => Problem::new(format!("a pipeline without `{key}`"))
            .at(place.clone(), "here")
            .help(format!(
                "write {key} = \"1ms\": how long a stage computes for a micro-batch"
            ))
            .err(),
    }
}
