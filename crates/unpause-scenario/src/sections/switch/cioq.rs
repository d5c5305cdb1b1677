//! `[switch] model = "cioq"` and `[switch.cioq]`.

use unpause_sim::config::{CioqConfig, SpinesConfig};

use crate::sections::pfc::PfcDefaults;
use crate::text::keys::{Keys, Written, keys};
use crate::text::setting::Speedup;
use unpause_text::error::Checked;
use unpause_text::quantity::{DataRate, Duration, Size};

const PIPE: (&str, &str) = (
    "the fabric is a pipe",
    "set spines = 32, or another number, for leaves and spines",
);

keys! {
    /// `[switch.cioq]`
    #[derive(Default)]
    pub(crate) Cioq at "switch.cioq" for CioqConfig {
        input_buffer: Size "of each (port, priority); frames count in whole units of `cell`"
            from "QCN at inputs" => input_buffer_bytes;
        output_buffer: Size "of each (port, priority)" from "QCN at inputs" => output_buffer_bytes;
        cell: Size "size of a cell, and of a unit of input memory" from "QCN at inputs" => cell_bytes;
        latency: Duration "latency of a cell through the empty fabric; a request or a grant takes half of it"
            from "QCN at inputs" => latency;
        speedup: Speedup "an arbiter grants at most this many times the rate of its output's link"
            from "QCN at inputs" => speedup_percent;
        spines: u16 = ["`0`"] "number of spines that cells cross; 0: the fabric is a pipe without a rate limit"
            from "32 in QCN at inputs";
        hosts_per_leaf: u16 = [SpinesConfig::default().hosts_per_leaf] "hosts per leaf, in order of their ports"
            from "QCN at inputs" idle PIPE;
        spine_rate: DataRate = [SpinesConfig::default().rate] "rate of the link between each leaf and each spine"
            from "QCN at inputs" idle PIPE;
        spine_cells: u16 = [SpinesConfig::default().buffer_cells]
            "cells held for each input and each output of a spine" from "QCN at inputs" idle PIPE;
    }
}

/// Qhigh and Qlow of the QCN-at-inputs paper.
pub(super) const PFC: PfcDefaults = PfcDefaults {
    xoff_bytes: 110_000,
    xon_bytes: Some(44_000),
};

/// A CIOQ fabric.
pub(super) fn config(table: &Cioq) -> Checked<CioqConfig> {
    let mut config = CioqConfig::default();
    table.apply(&mut config)?;
    let Some(count) = table.spines.value().copied().filter(|count| *count > 0) else {
        return Ok(config);
    };
    let or = |written: &Written<u16>, default| written.value().copied().unwrap_or(default);
    let default = SpinesConfig::default();
    config.spines = Some(SpinesConfig {
        count,
        hosts_per_leaf: or(&table.hosts_per_leaf, default.hosts_per_leaf),
        buffer_cells: or(&table.spine_cells, default.buffer_cells),
        rate: table.spine_rate.value().map_or(default.rate, |rate| rate.0),
    });
    Ok(config)
}
