//! Keys that flows of every kind have.

use serde_spanned::Spanned;
use unpause_protocols::units::Rate;
use unpause_sim::traffic::{FlowSettings, PriorityBySize};

use super::kinds::{Common, SizeClass};
use super::settings;
use super::traffic::Context;
use crate::error::{Checked, Problem};

pub(super) fn settings(common: &Common, context: &Context<'_>) -> Checked<FlowSettings> {
    let mut settings = FlowSettings::default();
    if let Some(priority) = &common.priority {
        settings.priority = data_priority(priority, context)?;
    }
    if let Some(classes) = &common.priority_by_size {
        settings.by_size = by_size(classes, context)?;
    }
    if let Some(limit) = &common.rate_limit {
        if limit.get_ref().0 == Rate::ZERO {
            return Problem::new("`rate_limit` is zero")
                .at(limit.span(), "nothing would be sent")
                .err();
        }
        settings.rate_limit = Some(limit.get_ref().0);
    }
    settings.controlled = common.controlled.unwrap_or(settings.controlled);
    settings.recorded = common.record.unwrap_or(settings.recorded);
    Ok(settings)
}

fn by_size(classes: &Spanned<Vec<SizeClass>>, context: &Context<'_>) -> Checked<PriorityBySize> {
    let mut found = Vec::new();
    for class in classes.get_ref() {
        let priority = data_priority(&class.priority, context)?;
        found.push((class.upto.get_ref().0, priority));
    }
    PriorityBySize::new(&found).or_else(|reason| {
        Problem::new(format!("`priority_by_size`: {reason}"))
            .at(classes.span(), "here")
            .help("from the smallest `upto` to the largest; larger flows have `priority`")
            .err()
    })
}

/// The sizes of flows of this kind are not known, or their priorities are said elsewhere.
pub(super) fn without_sizes(kind: &Spanned<String>, common: &Common) -> Checked<()> {
    let Some(classes) = &common.priority_by_size else {
        return Ok(());
    };
    Problem::new("`priority_by_size` has no effect")
        .at(classes.span(), "here")
        .at(
            kind.span(),
            match kind.get_ref().as_str() {
                "file" => "the file says the priority of each flow",
                _ => "these flows have no size",
            },
        )
        .help("remove it")
        .err()
}

/// A priority that is not that of control frames.
fn data_priority(value: &Spanned<u8>, context: &Context<'_>) -> Checked<u8> {
    let priority = settings::data_priority(value)?;
    if priority == context.control_priority {
        return Problem::new(format!("priority {priority} carries control frames"))
            .at(value.span(), "data cannot use it")
            .help("choose another priority, or set host.control_priority")
            .err();
    }
    Ok(priority)
}
