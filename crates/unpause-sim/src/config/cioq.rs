//! A combined-input-output-queued fabric.

use unpause_protocols::units::{Rate, Time};

/// A combined-input-output-queued fabric: virtual output queues in the buffers of inputs, frames that
/// cross when the output's credit arbiter has granted them room, buffers at outputs.
///
/// XOFF and XON of [`PfcConfig`](super::PfcConfig) are Qhigh and Qlow of the input buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CioqConfig {
    /// Buffer of each (input port, priority), bytes.
    pub input_buffer_bytes: u64,
    /// Buffer of each (output port, priority), bytes.
    pub output_buffer_bytes: u64,
    /// Size of a cell and of a unit of input memory, bytes. Inputs count whole units.
    pub cell_bytes: u32,
    /// How long a cell takes to cross the empty fabric; a request or a grant takes half of it.
    pub latency: Time,
    /// An arbiter grants at most this many times its output's link rate, in per cent.
    pub speedup_percent: u32,
    /// The spines that frames cross. `None`: a pipe of [`CioqConfig::latency`] without limit of rate.
    pub spines: Option<SpinesConfig>,
}

impl CioqConfig {
    /// The least time of a request and its grant: each has half of the latency, in whole picoseconds; over spines
    /// it takes two hops of whole picoseconds again.
    pub fn request_and_grant(&self) -> Time {
        let half = self.latency.as_ps() / 2;
        Time::from_ps(match self.spines {
            None => 2 * half,
            Some(_) => 4 * (half / 2),
        })
    }
}

/// A spine-leaf fabric of cells inside a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinesConfig {
    /// Spines; each leaf has a link to each.
    pub count: u16,
    /// Rate of these links, up to `LinkSpeed::MAX`.
    pub rate: Rate,
    /// Hosts of a leaf.
    pub hosts_per_leaf: u16,
    /// Cells that a spine holds for each of its inputs, and for each of its outputs.
    pub buffer_cells: u16,
}

impl Default for CioqConfig {
    /// The fabric of the QCN-at-inputs paper (Chrysos et al.), as its minimal model: a pipe.
    fn default() -> Self {
        Self {
            input_buffer_bytes: 150_000,
            output_buffer_bytes: 150_000,
            cell_bytes: 256,
            latency: Time::from_us(1),
            speedup_percent: 160,
            spines: None,
        }
    }
}

impl Default for SpinesConfig {
    /// The same paper: 32 spines, 5 hosts a leaf, 16 cells.
    fn default() -> Self {
        Self {
            count: 32,
            rate: Rate::from_gbps(25),
            hosts_per_leaf: 5,
            buffer_cells: 16,
        }
    }
}
