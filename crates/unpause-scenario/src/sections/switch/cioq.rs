//! `[switch] model = "cioq"` and `[switch.cioq]`.

use unpause_sim::config::{CioqConfig, SpinesConfig};
use unpause_text::error::Checked;
use unpause_text::quantity::{DataRate, Duration, Size};

use crate::sections::pfc::PfcDefaults;
use crate::text::keys::{Keys, Param, WithDefault};
use crate::text::setting::Speedup;

const PIPE: (&str, &str) = (
    "the fabric is a pipe",
    "set spines = 32, or another number, for leaves and spines",
);

/// `[switch.cioq]`
#[derive(Keys)]
#[keys("switch.cioq", sets = CioqConfig, from = "QCN at inputs")]
pub(crate) struct Cioq {
    /// of each (port, priority); frames count in whole units of `cell`
    #[key(sets = input_buffer_bytes)]
    pub(crate) input_buffer: Param<Size>,
    /// of each (port, priority)
    #[key(sets = output_buffer_bytes)]
    pub(crate) output_buffer: Param<Size>,
    /// size of a cell, and of a unit of input memory
    #[key(sets = cell_bytes)]
    pub(crate) cell: Param<Size>,
    /// latency of a cell through the empty fabric; a request or a grant takes half of it
    pub(crate) latency: Param<Duration>,
    /// an arbiter grants at most this many times the rate of its output's link
    #[key(sets = speedup_percent)]
    pub(crate) speedup: Param<Speedup>,
    /// number of spines that cells cross; 0: the fabric is a pipe without a rate limit
    #[key(from = "32 in QCN at inputs")]
    pub(crate) spines: WithDefault<u16>,
    /// hosts per leaf, in order of their ports
    #[key(default = SpinesConfig::default().hosts_per_leaf, idle = PIPE)]
    pub(crate) hosts_per_leaf: WithDefault<u16>,
    /// rate of the link between each leaf and each spine
    #[key(default = DataRate(SpinesConfig::default().rate), idle = PIPE)]
    pub(crate) spine_rate: WithDefault<DataRate>,
    /// cells held for each input and each output of a spine
    #[key(default = SpinesConfig::default().buffer_cells, idle = PIPE)]
    pub(crate) spine_cells: WithDefault<u16>,
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
    if *table.spines.value() > 0 {
        config.spines = Some(SpinesConfig {
            count: *table.spines.value(),
            hosts_per_leaf: *table.hosts_per_leaf.value(),
            buffer_cells: *table.spine_cells.value(),
            rate: table.spine_rate.value().0,
        });
    }
    Ok(config)
}
