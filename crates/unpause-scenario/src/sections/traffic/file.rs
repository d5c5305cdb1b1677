//! Flows of a file.

use serde_spanned::Spanned;
use std::ops::Range;
use unpause_text::error::{Checked, Problem};

use unpause_sim::traffic::{FlowSettings, FlowSpec, TrafficSpec};

use super::context::Context;
use super::kind::Kind;
use crate::text::keys::Keys;

/// Its keys.
#[derive(Keys)]
#[keys("traffic")]
pub(super) struct File {
    /// path of the flow file
    file: Spanned<String>,
}

impl Kind for File {
    const NAME: &'static str = "file";
    const WHAT: &'static str = "flows of an HPCC/ns-3 flow file";
    const HAS_PRIORITIES: bool = true;

    fn spec(
        &self,
        flow: FlowSettings,
        context: &Context<'_>,
        _entry: Range<usize>,
    ) -> Checked<TrafficSpec> {
        let read = context.files.flows(&self.file, &flow, context.topology)?;
        let control = context.host.control_priority;
        let is_control = |flow: &&FlowSpec| flow.priority == control;
        if let Some(flow) = read.flows.iter().find(is_control) {
            let all = read.flows.iter().filter(is_control).count();
            return Problem::new(format!(
                "priority {control} carries control frames, and {all} flows have it in {}",
                self.file.get_ref()
            ))
            .at(self.file.span(), format!("one starts at {}", flow.start))
            .help("give them another priority in the file, or set host.control_priority")
            .err();
        }
        for note in read.notes() {
            context.note(format!("{}: {note}", self.file.get_ref()));
        }
        Ok(TrafficSpec::Flows(read.flows))
    }
}
