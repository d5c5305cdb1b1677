//! `[switch] model = "input-queued"` and `[switch.input_queued]`.

use std::ops::Range;

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_sim::config::{
    Fabric, HostConfig, InputQueuedConfig, InputQueues, MOST_CROSSBAR_PORTS, NodeKind,
    SwitchConfig, SwitchModel,
};

use super::cells;
use crate::sections::pfc::PfcDefaults;
use crate::text::checks::at_least_one;
use crate::text::error::{Checked, Problem};
use crate::text::quantity::{Ratio, Size};
use crate::text::setting::show_bytes;

/// `[switch.input_queued]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputQueued {
    pub queues: Option<Queues>,
    pub iterations: Option<Spanned<u32>>,
    pub input_buffer: Option<Spanned<Size>>,
    pub output_buffer: Option<Spanned<Size>>,
    pub cell: Option<Spanned<Size>>,
    pub speedup: Option<Spanned<Ratio>>,
}

/// How frames wait at an input.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Queues {
    Fifo,
    Voq,
}

impl InputQueued {
    /// True if the crossbar is faster than the links.
    pub(super) fn is_faster(&self) -> bool {
        let speedup = self.speedup.as_ref();
        speedup.is_some_and(|speedup| speedup.get_ref().as_f64() > 1.0)
    }
}

/// Those of shared buffers; an input buffer has room for twice as much.
pub(super) const PFC: PfcDefaults = PfcDefaults {
    xoff_bytes: 512_000,
    xon_bytes: None,
    only_static: Some((
        "input buffers are not shared",
        "remove it; `xoff` and `xon` are thresholds of each input buffer",
    )),
};

/// A switch with a crossbar.
pub(super) fn model(
    table: Option<&Spanned<InputQueued>>,
    switch: &SwitchConfig,
    host: &HostConfig,
) -> Checked<SwitchModel> {
    let empty = InputQueued::default();
    let table = table.map_or(&empty, Spanned::get_ref);
    let default = InputQueuedConfig::default();
    let what = "the crossbar is so many times as fast as the fastest link";
    let bytes = |written: &Option<Spanned<Size>>, default| {
        written.as_ref().map_or(default, |size| size.get_ref().0)
    };
    let config = InputQueuedConfig {
        queues: queues(table)?,
        input_buffer_bytes: bytes(&table.input_buffer, default.input_buffer_bytes),
        output_buffer_bytes: bytes(&table.output_buffer, default.output_buffer_bytes),
        cell_bytes: cells::cell(&table.cell, default.cell_bytes)?,
        speedup_percent: cells::speedup_percent(&table.speedup, default.speedup_percent, what)?,
    };
    let frame = u64::from(host.payload_bytes + host.header_bytes);
    if let Some(output) = &table.output_buffer
        && config.output_buffer_bytes < frame
    {
        return Problem::new("`output_buffer` has no room for one frame")
            .at(output.span(), format!("a frame has {}", show_bytes(frame)))
            .help(format!(
                "no frame would ever cross; {} is the default",
                show_bytes(default.output_buffer_bytes)
            ))
            .err();
    }
    cells::check_input(&table.input_buffer, config.input_buffer_bytes, switch, host)?;
    Ok(SwitchModel::InputQueued(config))
}

fn queues(table: &InputQueued) -> Checked<InputQueues> {
    let fifo = table.queues == Some(Queues::Fifo);
    match &table.iterations {
        Some(iterations) if fifo => Problem::new("`iterations` has no effect")
            .at(iterations.span(), "every FIFO asks for one output only")
            .help("remove it, or set queues = \"voq\"")
            .err(),
        Some(iterations) => Ok(InputQueues::Voq {
            iterations: at_least_one("iterations", iterations, "nothing would ever be matched")?,
        }),
        None if fifo => Ok(InputQueues::Fifo),
        None => Ok(InputQueuedConfig::default().queues),
    }
}

/// Switches, of a model chosen at `place`, have no more ports than a crossbar can.
pub(super) fn check_ports(place: Range<usize>, fabric: &Fabric) -> Checked<()> {
    let mut ports = vec![0; fabric.nodes.len()];
    for link in &fabric.links {
        ports[link.a as usize] += 1;
        ports[link.b as usize] += 1;
    }
    let switches = fabric.nodes.iter().zip(ports);
    let switches = switches.filter(|(kind, _)| **kind == NodeKind::Switch);
    match switches.map(|(_, ports)| ports).max() {
        Some(most) if most > MOST_CROSSBAR_PORTS => Problem::new(format!(
            "a crossbar has at most {MOST_CROSSBAR_PORTS} ports"
        ))
        .at(place, format!("a switch here has {most}"))
        .help("choose another topology, or model = \"shared-buffer\"")
        .err(),
        _ => Ok(()),
    }
}
