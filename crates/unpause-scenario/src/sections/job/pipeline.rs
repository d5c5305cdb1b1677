//! Steps that are pipelines.

use std::ops::Range;

use unpause_protocols::units::Time;
use unpause_sim::jobs::Pipeline;

use super::keys::StepOf;
use crate::text::error::{Checked, Problem};
use crate::text::keys::Written;
use crate::text::quantity::Duration;

/// Micro-batches of an iteration.
const MOST_MICRO_BATCHES: u32 = 65_536;

/// What goes through a pipeline; `place` is where that is asked for.
pub(super) fn pipeline(step: &StepOf<'_>, place: Range<usize>) -> Checked<Pipeline> {
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
    for (key, written) in [("channels", step.channels), ("slices", step.slices)] {
        if let Some(several) = written.peek().filter(|it| *it.get_ref() > 1) {
            return Problem::new("a stage of a pipeline computes when a whole message has come")
                .at(several.span(), "it comes in one piece")
                .help(format!("remove `{key}`"))
                .err();
        }
    }
    Ok(Pipeline {
        micro_batches,
        forward: time(step.forward, "forward", &place)?,
        backward: time(step.backward, "backward", &place)?,
    })
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
