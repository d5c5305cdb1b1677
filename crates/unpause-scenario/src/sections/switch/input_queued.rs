//! `[switch] model = "input-queued"` and `[switch.input_queued]`.

use unpause_sim::config::{InputQueuedConfig, InputQueues};

use crate::text::keys::{Keys, keys, names};
use crate::text::setting::Speedup;
use unpause_text::error::Checked;
use unpause_text::quantity::Size;

keys! {
    /// `[switch.input_queued]`
    #[derive(Default)]
    pub(crate) InputQueued at "switch.input_queued" for InputQueuedConfig {
        queues: Queues = ["`\"voq\"`"]
            "one queue per output at each input; `\"fifo\"`: one queue per input, in which a frame holds up those behind it";
        iterations: u32 = [ITERATIONS] "iterations of iSLIP per slot; only with `\"voq\"`"
            from "McKeown 1999: log2 of 16 ports"
            idle ("a FIFO requests one output only", "remove it, or set queues = \"voq\"");
        input_buffer: Size "of each (port, priority)" => input_buffer_bytes;
        output_buffer: Size "of each (port, priority): while it has no room for the largest frame, none crosses"
            => output_buffer_bytes;
        cell: Size "a slot is the time of a cell of this size on the switch's fastest link"
            from "Tiny Tera, IEEE Micro 1997" => cell_bytes;
        speedup: Speedup "slots are this many times shorter" => speedup_percent;
    }
}

names! {
    /// How frames wait at an input.
    pub(crate) Queues { Fifo = "fifo", Voq = "voq" }
}

/// As many as 16 ports need on average, log2 of them.
const ITERATIONS: u32 = 4;

/// A switch with a crossbar.
pub(super) fn config(table: &InputQueued) -> Checked<InputQueuedConfig> {
    let mut config = InputQueuedConfig::default();
    table.apply(&mut config)?;
    config.queues = match table.queues.value() {
        Some(Queues::Fifo) => InputQueues::Fifo,
        None | Some(Queues::Voq) => InputQueues::Voq {
            iterations: table.iterations.value().copied().unwrap_or(ITERATIONS),
        },
    };
    Ok(config)
}
