//! `[switch] model = "input-queued"` and `[switch.input_queued]`.

use unpause_protocols::names::Names;
use unpause_sim::config::{InputQueuedConfig, InputQueues};
use unpause_text::error::Checked;
use unpause_text::quantity::Size;

use crate::text::keys::{Keys, Param, WithDefault};
use crate::text::kind::OneOf;
use crate::text::setting::Speedup;

/// `[switch.input_queued]`
#[derive(Keys)]
#[keys("switch.input_queued", sets = InputQueuedConfig)]
pub(crate) struct InputQueued {
    /// one queue per output at each input; `"fifo"`: one queue per input, in which a frame holds up those behind it
    #[key(default = OneOf(Queues::Voq))]
    pub(crate) queues: WithDefault<OneOf<Queues>>,
    /// iterations of iSLIP per slot; only with `"voq"`
    #[key(default = ITERATIONS, from = "McKeown 1999: log2 of 16 ports", idle = ("a FIFO requests one output only", "remove it, or set queues = \"voq\""))]
    pub(crate) iterations: WithDefault<u32>,
    /// of each (port, priority)
    #[key(sets = input_buffer_bytes)]
    pub(crate) input_buffer: Param<Size>,
    /// of each (port, priority): while it has no room for the largest frame, none crosses
    #[key(sets = output_buffer_bytes)]
    pub(crate) output_buffer: Param<Size>,
    /// a slot is the time of a cell of this size on the switch's fastest link
    #[key(sets = cell_bytes, from = "Tiny Tera, IEEE Micro 1997")]
    pub(crate) cell: Param<Size>,
    /// slots are this many times shorter
    #[key(sets = speedup_percent)]
    pub(crate) speedup: Param<Speedup>,
}

/// How frames wait at an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum Queues {
    Fifo,
    Voq,
}

/// As many as 16 ports need on average, log2 of them.
const ITERATIONS: u32 = 4;

/// A switch with a crossbar.
pub(super) fn config(table: &InputQueued) -> Checked<InputQueuedConfig> {
    let mut config = InputQueuedConfig::default();
    table.apply(&mut config)?;
    config.queues = match table.queues.value().0 {
        Queues::Fifo => InputQueues::Fifo,
        Queues::Voq => InputQueues::Voq {
            iterations: *table.iterations.value(),
        },
    };
    Ok(config)
}
