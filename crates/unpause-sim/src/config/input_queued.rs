//! An input-queued switch with a crossbar.

use unpause_protocols::units::{LinkSpeed, Time};

/// An input-queued switch: frames wait at their inputs until a scheduler of the crossbar has matched input
/// and output, at the beginning of a slot. Then the frame crosses, a cell a slot, and joins the egress queue
/// when its last cell is there.
///
/// XOFF and XON of [`PfcConfig`](super::PfcConfig) act on the bytes of an (input, priority).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputQueuedConfig {
    /// How frames wait at an input.
    pub queues: InputQueues,
    /// Buffer of each (input port, priority), bytes; what does not fit is dropped.
    pub input_buffer_bytes: u64,
    /// Buffer of each (output port, priority), bytes; while it has no room for the largest frame, none
    /// crosses.
    pub output_buffer_bytes: u64,
    /// Size of a cell, bytes. A slot is as long as a cell takes on the switch's fastest link, divided by the
    /// speedup.
    pub cell_bytes: u32,
    /// How much faster than the fastest link the crossbar is, in per cent.
    pub speedup_percent: u32,
}

/// The largest number of ports of a crossbar: its scheduler has sets of them in one word.
pub const MOST_CROSSBAR_PORTS: usize = 128;

/// How frames wait at an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputQueues {
    /// In one FIFO per priority: a frame whose output is taken holds up those behind it.
    Fifo,
    /// In a queue for each (output, priority), matched by iSLIP.
    Voq {
        /// Iterations of iSLIP in a slot.
        iterations: u32,
    },
}

impl InputQueuedConfig {
    /// How long a cell takes to cross, where `speed` is that of the fastest link.
    pub fn slot(&self, speed: LinkSpeed) -> Time {
        let on_link = speed.time_for(self.cell_bytes.into()).as_ps();
        Time::from_ps(on_link * 100 / u64::from(self.speedup_percent))
    }
}

impl Default for InputQueuedConfig {
    /// As many iterations of iSLIP as 16 ports need on average, log2 of them (McKeown 1999), and cells of 64 B
    /// as in the Tiny Tera (McKeown et al., IEEE Micro 17(1), 1997); buffers are ours.
    fn default() -> Self {
        Self {
            queues: InputQueues::Voq { iterations: 4 },
            input_buffer_bytes: 1_000_000,
            output_buffer_bytes: 16_000,
            cell_bytes: 64,
            speedup_percent: 100,
        }
    }
}
