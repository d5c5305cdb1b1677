//! Keys of `[[traffic]]` that every kind has: what all flows of an entry have in common.

use unpause_protocols::units::Rate;
use unpause_sim::traffic::{FlowSettings, Transport};

use super::kinds::Common;
use super::settings::data_priority;
use super::traffic::Context;
use crate::error::{Checked, Problem};
use crate::file;

/// What an entry says of all its flows.
pub(super) fn read(common: &Common, context: &Context<'_>) -> Checked<FlowSettings> {
    let mut settings = FlowSettings::default();
    if let Some(priority) = &common.priority {
        settings.priority = data_priority(priority)?;
        if settings.priority == context.control_priority {
            return Problem::new(format!(
                "priority {} carries control frames",
                settings.priority
            ))
            .at(priority.span(), "data cannot use it")
            .help("choose another priority, or set host.control_priority")
            .err();
        }
    }
    if let Some(limit) = &common.rate_limit {
        if limit.get_ref().0 == Rate::ZERO {
            return Problem::new("`rate_limit` is zero")
                .at(limit.span(), "nothing would be sent")
                .err();
        }
        settings.rate_limit = Some(limit.get_ref().0);
    }
    settings.controlled = common.controlled.as_ref().is_none_or(|it| *it.get_ref());
    settings.transport = transport(common, context)?;
    if let Some(first) = context
        .first_priority
        .filter(|_| settings.transport == Transport::Tcp)
    {
        if let Some(priority) = &common.priority {
            return Problem::new("`priority` has no effect")
                .at(
                    priority.span(),
                    "[pias] gives the segments of TCP flows theirs",
                )
                .help("remove it, or [pias]")
                .err();
        }
        settings.priority = first;
    }
    settings.extra_delay = context
        .delays
        .of_entry(&common.extra_delay, context.files)?;
    settings.recorded = common.record.unwrap_or(settings.recorded);
    Ok(settings)
}

/// What carries the flows of an entry: what it says, else TCP if that is what the scheme controls.
/// Flows that obey PFC only are RoCE.
fn transport(common: &Common, context: &Context<'_>) -> Checked<Transport> {
    let uncontrolled = common.controlled.as_ref().filter(|it| !*it.get_ref());
    let Some(said) = &common.transport else {
        return Ok(match uncontrolled {
            Some(_) => Transport::Roce,
            None => context.transport,
        });
    };
    if let file::Transport::Roce = said.get_ref() {
        return Ok(Transport::Roce);
    }
    if !context.has_tcp {
        return Problem::new(format!("scheme `{}` has no TCP", context.scheme))
            .at(said.span(), "needs the law of a congestion window")
            .help(
                "set tcp = \"dctcp\" in that [[scheme]] (or newreno, ecn-tcp), or leave this entry \
                 out of it by `schemes`",
            )
            .err();
    }
    if let Some(uncontrolled) = uncontrolled {
        return Problem::new("TCP is always controlled")
            .at(uncontrolled.span(), "cannot be switched off")
            .at(said.span(), "by this transport")
            .help("remove `controlled`, or set transport = \"roce\"")
            .err();
    }
    Ok(Transport::Tcp)
}
