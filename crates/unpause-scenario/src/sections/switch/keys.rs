//! `[switch]`.

use serde_spanned::Spanned;
use unpause_sim::config::{AdaptiveBalancing, HostConfig, SwitchConfig};

use super::balancing::{BalancingKey, FLOWLET_GAP};
use super::cioq::Cioq;
use super::input_queued::InputQueued;
use super::pipeline::Pipeline;
use super::scheduler::Scheduler;
use super::trimming::Trimming;
use super::watchdog::Watchdog;
use crate::text::checks::data_priority;
use crate::text::keys::{TABLE, keys, kinds, names};
use crate::text::setting::Queueing;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Ratio, Size};

type Priorities = Vec<Spanned<u8>>;

kinds! { Cioq = TABLE, InputQueued = TABLE, Scheduler = TABLE, Trimming = TABLE, Watchdog = TABLE }

const SHARED: (&str, &str) = (
    "only a shared buffer has it",
    "remove it, or choose model = \"shared-buffer\"; buffers of other models are in their tables, as [switch.cioq]",
);
const OUTPUTS: (&str, &str) = (
    "in this switch frames do not wait at outputs",
    "set switch.input_queued.speedup = 2, or remove it",
);

const NOT_ADAPTIVE: (&str, &str) = (
    "next hops are not chosen by load",
    "set balancing = \"adaptive\", or remove it",
);
const NOT_BY_FLOWLETS: (&str, &str) = (
    "next hops are not chosen by flowlet",
    "set balancing = \"flowlet\", or remove it",
);

keys! {
    /// `[switch]`
    #[derive(Default)]
    pub(crate) Switch at "switch" for SwitchConfig {
        model: ModelKey = ["`\"shared-buffer\"`"] "switch architecture, [below](#switchpipeline)";
        cut_through: Size = ["store-and-forward"]
            "bytes of a frame after which a switch forwards it, [below](#cut-through)";
        lossless: Priorities = ["`[3]`"] "priorities with PFC";
        buffer: Size = ["enough for PFC on every port at once"]
            "packet memory of the whole switch, headroom included" idle SHARED;
        lossy_queue: Size = [SwitchConfig::default().lossy_queue_bytes]
            "largest egress queue of a lossy priority" idle SHARED;
        lossy_alpha: Ratio = ["no share"]
            "limit of a lossy queue, as a multiple of the free shared memory: a power of two from 1/256 to 256; SONiC's `dynamic_th` of a lossy profile is its exponent" idle SHARED;
        lossy_queue_packets: u32 = ["no limit"] "largest number of packets in such a queue; if only this is set, bytes are not limited"
            idle OUTPUTS;
        queueing: Queueing = [SwitchConfig::default().queueing]
            "order in which packets of one priority leave a port: `\"fifo\"`, or `\"voq\"`: virtual output queues, one packet per ingress port in turn" idle OUTPUTS;
        balancing: BalancingKey = ["`\"ecmp\"`"]
            "how switches choose next hops, [below](#paths)";
        balancing_min: Size = [AdaptiveBalancing::default().min_bytes]
            "next hops with fewer bytes of equal or higher priority are in the best class" from "DeTail"
            idle NOT_ADAPTIVE;
        balancing_max: Size = [AdaptiveBalancing::default().max_bytes]
            "next hops with fewer bytes are in the second class" from "DeTail" idle NOT_ADAPTIVE;
        flowlet_gap: Duration = [FLOWLET_GAP]
            "gap between two packets of a flow after which the second starts a new flowlet" from "ConWeave's simulator, of LetFlow"
            idle NOT_BY_FLOWLETS;
        scheduler: Scheduler = ["strict priority"] "[below](#switchscheduler)" idle OUTPUTS;
        trimming: Trimming = ["none: packets are dropped"] "packets trimmed to their headers, [below](#switchtrimming)";
        watchdog: Watchdog = ["none"] "PFC watchdog, [below](#switchwatchdog)"
            idle ("no priority is lossless", "set switch.lossless, or remove the table");
        pipeline: Pipeline = ["-"] "[below](#switchpipeline)"
            idle ("", "set switch.model = \"pipeline\", or remove the table");
        cioq: Cioq = ["-"] "[below](#switchcioq)"
            idle ("", "set switch.model = \"cioq\", or remove the table");
        input_queued: InputQueued = ["-"] "[below](#switchinput_queued)"
            idle ("", "set switch.model = \"input-queued\", or remove the table");
    }
}

names! {
    /// How packets get from ingress to egress.
    pub(crate) ModelKey {
        SharedBuffer = "shared-buffer",
        Pipeline = "pipeline",
        Cioq = "cioq",
        InputQueued = "input-queued",
    }
}

/// Bit p set: priority p is lossless.
pub(super) fn lossless(file: &Switch, host: &HostConfig) -> Checked<u8> {
    match file.lossless.get() {
        Some(written) => priorities(written, host),
        None => Ok(SwitchConfig::default().lossless),
    }
}

/// Priorities under PFC, a bit for each.
pub(crate) fn priorities(written: &Spanned<Priorities>, host: &HostConfig) -> Checked<u8> {
    const WHY: &str = "must not be lossless: PAUSE would stop ACKs and CNPs";
    data_priorities(written, host, WHY)
}

/// The priorities of a list, a bit for each, none of which carries control frames, for this reason.
pub(crate) fn data_priorities(
    written: &Spanned<Priorities>,
    host: &HostConfig,
    why: &'static str,
) -> Checked<u8> {
    let mut all = 0;
    for priority in written.get_ref() {
        let number = data_priority(priority)?;
        if number == host.control_priority {
            return Problem::new(format!("priority {number} carries control frames"))
                .at(priority.span(), why)
                .help("choose another priority, or set host.control_priority")
                .err();
        }
        all |= 1 << number;
    }
    Ok(all)
}
