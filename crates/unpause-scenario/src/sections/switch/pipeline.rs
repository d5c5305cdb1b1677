//! `[switch] model = "pipeline"` and `[switch.pipeline]`.

use unpause_protocols::flow_control::capfc::{EgressParams, Stop};
use unpause_protocols::units::Fraction;
use unpause_sim::config::{FullQueue, Memory, PipelineConfig};

use crate::text::keys::{Keys, TABLE, Written, keys, kinds, names};
use unpause_text::error::Checked;
use unpause_text::quantity::{Duration, Ratio, Size};

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
keys! {
    /// `[switch.pipeline]`
    #[derive(Default)]
    pub(crate) Pipeline at "switch.pipeline" for Params {
        flow_control: FlowControl = ["`\"pfc-wdrop\"`"]
            "what a full egress queue does: with `\"pfc-wdrop\"` the packet is dropped, with `\"pfc-wstop\"` the whole \
             pipeline stops until there is room, and with `\"capfc-max\"` and `\"capfc-calibrate\"`, CaPFC, inputs have been paused before; otherwise it is dropped";
        packets_per_second: u64 "speed of the processor, for the whole switch" from "CaPFC, Table II"
            => pipeline.packets_per_second;
        latency: Duration "from the end of processing to the egress queue" from "CaPFC, IV" => pipeline.latency;
        ingress_max: Size = [Params::default().ingress_max]
            "largest ingress queue of a priority, packets in the processor included" from "CaPFC, Table II" idle SHARED;
        ingress_xoff: Size "PAUSE at or above this" from "CaPFC, Table II" => pipeline.ingress.xoff;
        ingress_xon: Size "resume at or below" from "CaPFC, Table II" => pipeline.ingress.xon;
        egress_max: Size = [Params::default().egress_max] "limit of an egress queue of a priority: a packet that would reach it finds no room"
            from "CaPFC, Table II" idle SHARED;
        egress_xoff: Size "CaPFC marks inputs above" from "CaPFC, Table II" => capfc.xoff;
        egress_xon: Size "CaPFC clears all marks at or below" from "CaPFC, Table II" => capfc.xon;
        egress_warn: Size "CaPFC counts packets by input at or above this" from "CaPFC, Table II" => capfc.warn;
        cut: Ratio "`\"capfc-calibrate\"` marks the fewest inputs with this share of the packets"
            from "CaPFC, Table II" => cut;
        shared: SharedMemory = ["-"] "[below](#switchpipeline)";
    }
}

kinds! { Pipeline = TABLE, SharedMemory = TABLE }

names! {
    /// What a full egress queue does.
    pub(crate) FlowControl {
        PfcWdrop = "pfc-wdrop",
        PfcWstop = "pfc-wstop",
        CapfcMax = "capfc-max",
        CapfcCalibrate = "capfc-calibrate",
    }
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

keys! {
    /// `[switch.pipeline.shared]`
    #[derive(Default)]
    pub(crate) SharedMemory at "switch.pipeline.shared" for Pool {
        queue: Size "memory of each (port, priority)" => queue;
        pool: Size "memory that all share; a packet is stored once and counts by its ingress until it leaves" => pool;
        queue_share: Size "limit of an egress queue's share of the pool" => queue_share;
        port_share: Size "limit of the share of all egress queues of a port" => port_share;
    }
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
    config.full_queue = match table.flow_control.value() {
        None | Some(FlowControl::PfcWdrop) => FullQueue::Drop,
        Some(FlowControl::PfcWstop) => FullQueue::Stop,
        Some(FlowControl::CapfcMax) => capfc(Stop::Max),
        Some(FlowControl::CapfcCalibrate) => capfc(Stop::Calibrate { cut: params.cut }),
    };
    config.memory = match table.shared.value() {
        Some(shared) => shared_memory(shared)?,
        None => Memory::Dedicated {
            ingress_bytes: bytes(&table.ingress_max, params.ingress_max),
            egress_bytes: bytes(&table.egress_max, params.egress_max),
        },
    };
    Ok(config)
}

fn bytes(written: &Written<Size>, default: u64) -> u64 {
    written.value().map_or(default, |size| size.0)
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
