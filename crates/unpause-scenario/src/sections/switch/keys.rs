//! `[switch]`.

use serde_spanned::Spanned;
use unpause_protocols::names::Names;
use unpause_sim::config::{AdaptiveBalancing, HostConfig, SwitchConfig};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Ratio, Size};

use super::balancing::{BalancingKey, FLOWLET_GAP};
use super::cioq::Cioq;
use super::input_queued::InputQueued;
use super::pipeline::Pipeline;
use super::scheduler::Scheduler;
use super::trimming::Trimming;
use super::watchdog::Watchdog;
use crate::text::checks::data_priority;
use crate::text::keys::{Keys, WithDefault, Written};
use crate::text::kind::OneOf;
use crate::text::setting::Queueing;

type Priorities = Vec<Spanned<u8>>;

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

/// `[switch]`
#[derive(Keys)]
#[keys("switch", sets = SwitchConfig)]
pub(crate) struct Switch {
    /// switch architecture, [below](#switchpipeline)
    pub(crate) model: WithDefault<OneOf<ModelKey>>,
    /// bytes of a frame after which a switch forwards it, [below](#cut-through)
    #[key(unset = "store-and-forward")]
    pub(crate) cut_through: Written<Size>,
    /// priorities with PFC
    #[key(unset = "`[3]`")]
    pub(crate) lossless: Written<Priorities>,
    /// packet memory of the whole switch, headroom included
    #[key(unset = "enough for PFC on every port at once", idle = SHARED)]
    pub(crate) buffer: Written<Size>,
    /// largest egress queue of a lossy priority
    #[key(default = Size(SwitchConfig::default().lossy_queue_bytes), idle = SHARED)]
    pub(crate) lossy_queue: WithDefault<Size>,
    /// limit of a lossy queue, as a multiple of the free shared memory: a power of two from 1/256 to 256; SONiC's `dynamic_th` of a lossy profile is its exponent
    #[key(unset = "no share", idle = SHARED)]
    pub(crate) lossy_alpha: Written<Ratio>,
    /// largest number of packets in such a queue; if only this is set, bytes are not limited
    #[key(unset = "no limit", idle = OUTPUTS)]
    pub(crate) lossy_queue_packets: Written<u32>,
    /// order in which packets of one priority leave a port: `"fifo"`, or `"voq"`: virtual output queues, one packet per ingress port in turn
    #[key(default = OneOf(SwitchConfig::default().queueing), idle = OUTPUTS)]
    pub(crate) queueing: WithDefault<Queueing>,
    /// how switches choose next hops, [below](#paths)
    pub(crate) balancing: WithDefault<OneOf<BalancingKey>>,
    /// next hops with fewer bytes of equal or higher priority are in the best class
    #[key(default = Size(AdaptiveBalancing::default().min_bytes), from = "DeTail", idle = NOT_ADAPTIVE)]
    pub(crate) balancing_min: WithDefault<Size>,
    /// next hops with fewer bytes are in the second class
    #[key(default = Size(AdaptiveBalancing::default().max_bytes), from = "DeTail", idle = NOT_ADAPTIVE)]
    pub(crate) balancing_max: WithDefault<Size>,
    /// gap between two packets of a flow after which the second starts a new flowlet
    #[key(default = Duration(FLOWLET_GAP), from = "ConWeave's simulator, of LetFlow", idle = NOT_BY_FLOWLETS)]
    pub(crate) flowlet_gap: WithDefault<Duration>,
    /// [below](#switchscheduler)
    #[key(unset = "strict priority", idle = OUTPUTS)]
    pub(crate) scheduler: Written<Scheduler>,
    /// packets trimmed to their headers, [below](#switchtrimming)
    #[key(unset = "none: packets are dropped")]
    pub(crate) trimming: Written<Trimming>,
    /// PFC watchdog, [below](#switchwatchdog)
    #[key(unset = "none", idle = ("no priority is lossless", "set switch.lossless, or remove the table"))]
    pub(crate) watchdog: Written<Watchdog>,
    /// `true`: NVSwitches send no PAUSE and drop what does not fit, as in SimAI's simulator; otherwise NVLink loses nothing
    #[key(default = SwitchConfig::default().nvlink_drops)]
    pub(crate) nvlink_drops: WithDefault<bool>,
    /// [below](#switchpipeline)
    #[key(idle = ("", "set switch.model = \"pipeline\", or remove the table"))]
    pub(crate) pipeline: Written<Pipeline>,
    /// [below](#switchcioq)
    #[key(idle = ("", "set switch.model = \"cioq\", or remove the table"))]
    pub(crate) cioq: Written<Cioq>,
    /// [below](#switchinput_queued)
    #[key(idle = ("", "set switch.model = \"input-queued\", or remove the table"))]
    pub(crate) input_queued: Written<InputQueued>,
}

/// How packets get from ingress to egress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum ModelKey {
    SharedBuffer,
    Pipeline,
    Cioq,
    InputQueued,
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
