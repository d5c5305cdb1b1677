//! `[switch] model = "pipeline"` and `[switch.pipeline]`.

use unpause_protocols::flow_control::capfc::{EgressParams, Stop};
use unpause_protocols::names::Names;
use unpause_protocols::units::Fraction;
use unpause_sim::config::{FullQueue, Memory, PipelineConfig};
use unpause_text::error::Checked;
use unpause_text::quantity::{Duration, Ratio, Size};

use crate::text::keys::{Keys, Param, WithDefault, Written};
use crate::text::kind::OneOf;

/// The pipeline, with what is of one of its variants only.
pub(crate) struct Params {
    pipeline: PipelineConfig,
    capfc: EgressParams,
    cut: Fraction,
    ingress_max: u64,
    egress_max: u64,
}

impl Default for Params {
    fn default() -> Self {
        let pipeline = PipelineConfig::default();
        let (ingress_max, egress_max) = match pipeline.memory {
            Memory::Dedicated {
                ingress_bytes,
                egress_bytes,
            } => (ingress_bytes, egress_bytes),
            Memory::Shared { .. } => (0, 0),
        };
        Self {
            pipeline,
            capfc: EgressParams::default(),
            cut: Fraction::of(4, 5),
            ingress_max,
            egress_max,
        }
    }
}

const SHARED: (&str, &str) = ("memory is shared", "remove it, or [switch.pipeline.shared]");
/// `[switch.pipeline]`
#[derive(Keys)]
#[keys("switch.pipeline", sets = Params)]
pub(crate) struct Pipeline {
    /// what a full egress queue does: with `"pfc-wdrop"` the packet is dropped, with `"pfc-wstop"` the whole pipeline stops until there is room, and with `"capfc-max"` and `"capfc-calibrate"`, CaPFC, inputs have been paused before; otherwise it is dropped
    pub(crate) flow_control: WithDefault<OneOf<FlowControl>>,
    /// speed of the processor, for the whole switch
    #[key(sets = pipeline.packets_per_second, from = "CaPFC, Table II")]
    pub(crate) packets_per_second: Param<u64>,
    /// from the end of processing to the egress queue
    #[key(sets = pipeline.latency, from = "CaPFC, IV")]
    pub(crate) latency: Param<Duration>,
    /// largest ingress queue of a priority, packets in the processor included
    #[key(default = Size(Params::default().ingress_max), from = "CaPFC, Table II", idle = SHARED)]
    pub(crate) ingress_max: WithDefault<Size>,
    /// PAUSE at or above this
    #[key(sets = pipeline.ingress.xoff, from = "CaPFC, Table II")]
    pub(crate) ingress_xoff: Param<Size>,
    /// resume at or below
    #[key(sets = pipeline.ingress.xon, from = "CaPFC, Table II")]
    pub(crate) ingress_xon: Param<Size>,
    /// limit of an egress queue of a priority: a packet that would reach it finds no room
    #[key(default = Size(Params::default().egress_max), from = "CaPFC, Table II", idle = SHARED)]
    pub(crate) egress_max: WithDefault<Size>,
    /// CaPFC marks inputs above
    #[key(sets = capfc.xoff, from = "CaPFC, Table II")]
    pub(crate) egress_xoff: Param<Size>,
    /// CaPFC clears all marks at or below
    #[key(sets = capfc.xon, from = "CaPFC, Table II")]
    pub(crate) egress_xon: Param<Size>,
    /// CaPFC counts packets by input at or above this
    #[key(sets = capfc.warn, from = "CaPFC, Table II")]
    pub(crate) egress_warn: Param<Size>,
    /// `"capfc-calibrate"` marks the fewest inputs with this share of the packets
    #[key(from = "CaPFC, Table II")]
    pub(crate) cut: Param<Ratio>,
    /// [below](#switchpipeline)
    pub(crate) shared: Written<SharedMemory>,
}

/// The reaction of a full egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum FlowControl {
    PfcWdrop,
    PfcWstop,
    CapfcMax,
    CapfcCalibrate,
}

/// Memory that queues share.
pub(crate) struct Pool {
    queue: u64,
    pool: u64,
    queue_share: u64,
    port_share: u64,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            queue: 8_000,
            pool: 350_000,
            queue_share: 80_000,
            port_share: 100_000,
        }
    }
}

/// `[switch.pipeline.shared]`
#[derive(Keys)]
#[keys("switch.pipeline.shared", sets = Pool)]
pub(crate) struct SharedMemory {
    /// memory of each (port, priority)
    pub(crate) queue: Param<Size>,
    /// memory that all share; a packet is stored once and counts by its ingress until it leaves
    pub(crate) pool: Param<Size>,
    /// limit of an egress queue's share of the pool
    pub(crate) queue_share: Param<Size>,
    /// limit of the share of all egress queues of a port
    pub(crate) port_share: Param<Size>,
}

/// A pipelined switch.
pub(super) fn config(table: &Pipeline) -> Checked<PipelineConfig> {
    let mut params = Params::default();
    table.apply(&mut params)?;
    let capfc = |stop| {
        FullQueue::Capfc(EgressParams {
            stop,
            ..params.capfc
        })
    };
    let mut config = params.pipeline;
    config.full_queue = match table.flow_control.value().0 {
        FlowControl::PfcWdrop => FullQueue::Drop,
        FlowControl::PfcWstop => FullQueue::Stop,
        FlowControl::CapfcMax => capfc(Stop::Max),
        FlowControl::CapfcCalibrate => capfc(Stop::Calibrate { cut: params.cut }),
    };
    config.memory = match table.shared.value() {
        Some(shared) => shared_memory(shared)?,
        None => Memory::Dedicated {
            ingress_bytes: table.ingress_max.value().0,
            egress_bytes: table.egress_max.value().0,
        },
    };
    Ok(config)
}

fn shared_memory(table: &SharedMemory) -> Checked<Memory> {
    let mut pool = Pool::default();
    table.apply(&mut pool)?;
    Ok(Memory::Shared {
        queue_bytes: pool.queue,
        pool_bytes: pool.pool,
        queue_share_bytes: pool.queue_share,
        port_share_bytes: pool.port_share,
    })
}
