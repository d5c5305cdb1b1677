//! `[switch] model`: how switches are built.

use serde_spanned::Spanned;
use unpause_sim::config::{Fabric, HostConfig, Link, NodeKind, SwitchConfig, SwitchModel};

use super::keys::{ModelKey, Switch};
use super::scheduler::{Scheduler, SchedulerKind};
use super::{cells, cioq, input_queued, pipeline};
use crate::sections::pfc::{Pfc, PfcDefaults};
use crate::sections::probes::ProbeKeys;
use crate::text::error::{Checked, Problem};

/// XOFF and XON of the chosen model.
pub(crate) fn pfc_defaults(table: &Switch) -> PfcDefaults {
    match table.model.as_ref().map(Spanned::get_ref) {
        Some(ModelKey::Cioq) => cioq::PFC,
        Some(ModelKey::InputQueued) => input_queued::PFC,
        _ => PfcDefaults {
            xoff_bytes: 512_000,
            xon_bytes: None,
            only_static: None,
        },
    }
}

/// The model of the switches, which are otherwise `switch`, for frames of up to `mtu` bytes.
pub(crate) fn model(
    (table, pfc, probes): (&Switch, &Pfc, &ProbeKeys),
    switch: &SwitchConfig,
    host: &HostConfig,
    mtu: u64,
) -> Checked<SwitchModel> {
    let chosen = table.model.as_ref().map(Spanned::get_ref);
    let tables = [
        (
            "pipeline",
            "pipeline",
            table.pipeline.as_ref().map(Spanned::span),
        ),
        ("cioq", "cioq", table.cioq.as_ref().map(Spanned::span)),
        (
            "input-queued",
            "input_queued",
            table.input_queued.as_ref().map(Spanned::span),
        ),
    ];
    let name = match chosen {
        None | Some(ModelKey::SharedBuffer) => "shared-buffer",
        Some(ModelKey::Pipeline) => "pipeline",
        Some(ModelKey::Cioq) => "cioq",
        Some(ModelKey::InputQueued) => "input-queued",
    };
    for (other, key, span) in tables {
        if let Some(span) = span.filter(|_| other != name) {
            return Problem::new(format!("[switch.{key}] has no effect"))
                .at(span, "these settings")
                .help(format!(
                    "set switch.model = \"{other}\", or remove the table"
                ))
                .err();
        }
    }
    match chosen {
        None | Some(ModelKey::SharedBuffer) => Ok(SwitchModel::SharedBuffer),
        Some(ModelKey::Pipeline) => {
            unread_by_pipeline(table, pfc)?;
            pipeline::model(table.pipeline.as_ref(), mtu)
        }
        Some(ModelKey::Cioq) => {
            unread_by_cioq(table, pfc, probes)?;
            cioq::model(table.cioq.as_ref(), switch, host)
        }
        Some(ModelKey::InputQueued) => {
            unread_by_input_queued(table, pfc)?;
            input_queued::model(table.input_queued.as_ref(), switch, host)
        }
    }
}

/// Settings of other models.
fn unread_by_cioq(switch: &Switch, pfc: &Pfc, probes: &ProbeKeys) -> Checked<()> {
    const BUFFERS: &str = "its buffers are in [switch.cioq]";
    const ALONE: &str = "one such switch is a whole fabric: nothing can wait in a cycle";
    let spans = [
        ("buffer", switch.buffer.as_ref().map(Spanned::span), BUFFERS),
        (
            "lossy_queue",
            switch.lossy_queue.as_ref().map(Spanned::span),
            BUFFERS,
        ),
        (
            "headroom",
            pfc.headroom.as_ref().map(Spanned::span),
            "what switch.cioq.input_buffer has beyond XOFF is the headroom",
        ),
        (
            "deadlock",
            probes.deadlock.as_ref().map(Spanned::span),
            ALONE,
        ),
    ];
    for (key, span, why) in spans {
        if let Some(span) = span {
            return Problem::new(format!("`{key}` has no effect"))
                .at(span, format!("the switch is a cioq: {why}"))
                .help("remove it, or choose model = \"shared-buffer\"")
                .err();
        }
    }
    Ok(())
}

/// Settings of other models, and of queues at outputs where nothing waits.
fn unread_by_input_queued(switch: &Switch, pfc: &Pfc) -> Checked<()> {
    const BUFFERS: &str = "its buffers are in [switch.input_queued]";
    const HEADROOM: &str = "what switch.input_queued.input_buffer has beyond XOFF is the headroom";
    const OUTPUTS: &str = "with a speedup of 1 frames do not wait at outputs";
    let turns = |table: &&Spanned<Scheduler>| matches!(table.get_ref().kind, SchedulerKind::Dwrr);
    let scheduler = switch.scheduler.as_ref().filter(turns);
    let packets = switch.lossy_queue_packets.as_ref().map(Spanned::span);
    let queueing = switch.queueing.as_ref().map(Spanned::span);
    let spans = [
        ("buffer", switch.buffer.as_ref().map(Spanned::span), BUFFERS),
        (
            "lossy_queue",
            switch.lossy_queue.as_ref().map(Spanned::span),
            BUFFERS,
        ),
        (
            "headroom",
            pfc.headroom.as_ref().map(Spanned::span),
            HEADROOM,
        ),
        ("lossy_queue_packets", packets, OUTPUTS),
        ("queueing", queueing, OUTPUTS),
        ("scheduler", scheduler.map(Spanned::span), OUTPUTS),
    ];
    let faster = switch
        .input_queued
        .as_ref()
        .is_some_and(|table| table.get_ref().is_faster());
    for (key, span, why) in spans {
        let Some(span) = span.filter(|_| why != OUTPUTS || !faster) else {
            continue;
        };
        return Problem::new(format!("`{key}` has no effect"))
            .at(span, format!("the switch is input-queued: {why}"))
            .help(match why {
                OUTPUTS => "set switch.input_queued.speedup = 2, or remove it",
                _ => "remove it, or choose model = \"shared-buffer\"",
            })
            .err();
    }
    Ok(())
}

/// Settings that are of the shared buffer only.
fn unread_by_pipeline(switch: &Switch, pfc: &Pfc) -> Checked<()> {
    let spans = [
        ("switch.buffer", switch.buffer.as_ref().map(Spanned::span)),
        (
            "switch.lossy_queue",
            switch.lossy_queue.as_ref().map(Spanned::span),
        ),
        ("pfc.xoff", pfc.xoff.as_ref().map(Spanned::span)),
        ("pfc.xon", pfc.xon.as_ref().map(Spanned::span)),
        ("pfc.xon_gap", pfc.xon_gap.as_ref().map(Spanned::span)),
        (
            "pfc.dynamic_shift",
            pfc.dynamic_shift.as_ref().map(Spanned::span),
        ),
        ("pfc.headroom", pfc.headroom.as_ref().map(Spanned::span)),
        ("pfc.mode", pfc.mode.as_ref().map(Spanned::span)),
    ];
    for (key, span) in spans {
        if let Some(span) = span {
            return Problem::new(format!("`{key}` has no effect"))
                .at(span, "switch.model is \"pipeline\"")
                .help("thresholds and sizes of that model are in [switch.pipeline]")
                .err();
        }
    }
    Ok(())
}

/// A cioq switch is a whole fabric, and a crossbar has not many ports.
pub(crate) fn check_fabric(file: &Switch, fabric: &Fabric) -> Checked<()> {
    if let Some(model) = &file.model
        && matches!(model.get_ref(), ModelKey::InputQueued)
    {
        return input_queued::check_ports(model.span(), fabric);
    }
    let is_switch = |node: u32| fabric.nodes[node as usize] == NodeKind::Switch;
    let inner = |link: &Link| is_switch(link.a) && is_switch(link.b);
    if let Some(model) = &file.model
        && matches!(model.get_ref(), ModelKey::Cioq)
        && fabric.links.iter().any(inner)
    {
        return Problem::new("links between cioq switches")
            .at(model.span(), "one such switch is a whole fabric, with leaves and spines inside")
            .help("use [topology] builder = \"single-switch\", and switch.cioq.spines for a fabric inside")
            .err();
    }
    Ok(())
}

/// What a user should know of the buffers.
pub(crate) fn note(fabric: &Fabric, switch: &SwitchConfig, host: &HostConfig) -> Option<String> {
    let input_buffer = match &switch.model {
        SwitchModel::SharedBuffer | SwitchModel::Pipeline(_) => return None,
        SwitchModel::Cioq(config) => config.input_buffer_bytes,
        SwitchModel::InputQueued(config) => config.input_buffer_bytes,
    };
    cells::note(input_buffer, fabric, switch, host)
}
