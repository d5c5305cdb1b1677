//! `[switch] model = "cioq"` and `[switch.cioq]`.

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_sim::config::{CioqConfig, HostConfig, SpinesConfig, SwitchConfig, SwitchModel};

use super::cells;
use crate::sections::pfc::PfcDefaults;
use crate::text::checks::positive;
use crate::text::error::{Checked, Problem};
use crate::text::quantity::{DataRate, Duration, Ratio, Size};
use crate::text::setting::show_bytes;

/// `[switch.cioq]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cioq {
    pub input_buffer: Option<Spanned<Size>>,
    pub output_buffer: Option<Spanned<Size>>,
    pub cell: Option<Spanned<Size>>,
    pub latency: Option<Spanned<Duration>>,
    pub speedup: Option<Spanned<Ratio>>,
    pub spines: Option<Spanned<u16>>,
    pub hosts_per_leaf: Option<Spanned<u16>>,
    pub spine_rate: Option<Spanned<DataRate>>,
    pub spine_cells: Option<Spanned<u16>>,
}

/// Qhigh and Qlow of the QCN-at-inputs paper.
pub(crate) const PFC: PfcDefaults = PfcDefaults {
    xoff_bytes: 110_000,
    xon_bytes: Some(44_000),
    only_static: Some((
        "buffers of a cioq switch are not shared",
        "remove it; `xoff` and `xon` are Qhigh and Qlow of each input buffer",
    )),
};

/// A CIOQ fabric.
pub(super) fn model(
    table: Option<&Spanned<Cioq>>,
    switch: &SwitchConfig,
    host: &HostConfig,
) -> Checked<SwitchModel> {
    let empty = Cioq::default();
    let table = table.map_or(&empty, Spanned::get_ref);
    let config = config(table)?;
    check_buffers(table, &config, switch, host)?;
    Ok(SwitchModel::Cioq(config))
}

fn config(table: &Cioq) -> Checked<CioqConfig> {
    let mut config = CioqConfig::default();
    if let Some(size) = &table.input_buffer {
        config.input_buffer_bytes = size.get_ref().0;
    }
    if let Some(size) = &table.output_buffer {
        config.output_buffer_bytes = size.get_ref().0;
    }
    config.cell_bytes = cells::cell(&table.cell, config.cell_bytes)?;
    if let Some(latency) = &table.latency {
        config.latency = positive("latency", latency)?;
    }
    let what = "arbiters grant so many times the rate of their output";
    config.speedup_percent = cells::speedup_percent(&table.speedup, config.speedup_percent, what)?;
    config.spines = spines(table)?;
    Ok(config)
}

/// The fabric inside, if there is one.
fn spines(table: &Cioq) -> Checked<Option<SpinesConfig>> {
    let Some(count) = table
        .spines
        .as_ref()
        .map(Spanned::get_ref)
        .copied()
        .filter(|n| *n > 0)
    else {
        let of_spines = [
            (
                "hosts_per_leaf",
                table.hosts_per_leaf.as_ref().map(Spanned::span),
            ),
            ("spine_rate", table.spine_rate.as_ref().map(Spanned::span)),
            ("spine_cells", table.spine_cells.as_ref().map(Spanned::span)),
        ];
        for (key, span) in of_spines {
            if let Some(span) = span {
                return Problem::new(format!("`{key}` has no effect"))
                    .at(span, "the fabric is a pipe")
                    .help("set spines = 32, or another number, for leaves and spines")
                    .err();
            }
        }
        return Ok(None);
    };
    let mut spines = SpinesConfig {
        count,
        ..SpinesConfig::default()
    };
    for (key, value, slot) in [
        (
            "hosts_per_leaf",
            &table.hosts_per_leaf,
            &mut spines.hosts_per_leaf,
        ),
        ("spine_cells", &table.spine_cells, &mut spines.buffer_cells),
    ] {
        if let Some(value) = value {
            if *value.get_ref() == 0 {
                return Problem::new(format!("`{key}` is zero"))
                    .at(value.span(), "must be 1 or more")
                    .err();
            }
            *slot = *value.get_ref();
        }
    }
    if let Some(rate) = &table.spine_rate {
        spines.rate = rate.get_ref().0;
        if spines.rate.ps_per_byte().is_none() {
            return Problem::new(format!(
                "a byte at {} is no whole number of ps",
                spines.rate
            ))
            .at(rate.span(), "links inside the fabric")
            .help("25Gbps, 40Gbps, 50Gbps and 100Gbps are")
            .err();
        }
    }
    Ok(Some(spines))
}

/// A frame must have credit at the output, and room at the input while its sender is being stopped.
fn check_buffers(
    table: &Cioq,
    config: &CioqConfig,
    switch: &SwitchConfig,
    host: &HostConfig,
) -> Checked<()> {
    let frame = u64::from(host.payload_bytes + host.header_bytes);
    if let Some(output) = &table.output_buffer
        && config.output_buffer_bytes < frame
    {
        return Problem::new("`output_buffer` has no credit for one frame")
            .at(output.span(), format!("a frame has {}", show_bytes(frame)))
            .help("no frame would ever cross; 150KB is the default")
            .err();
    }
    cells::check_input(&table.input_buffer, config.input_buffer_bytes, switch, host)
}
