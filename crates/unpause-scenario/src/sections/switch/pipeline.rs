//! `[switch.pipeline]`.

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_protocols::flow_control::capfc::{EgressParams, IngressParams, Stop};
use unpause_protocols::units::Fraction;
use unpause_sim::config::{AdaptiveBalancing, FullQueue, Memory, PipelineConfig, SwitchModel};

use crate::text::error::{Checked, Problem};
use crate::text::quantity::{Duration, Ratio, Size};
use crate::text::setting::show_bytes;

/// `[switch.pipeline]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pipeline {
    pub flow_control: Option<PipelineFlowControl>,
    pub packets_per_second: Option<Spanned<u64>>,
    pub latency: Option<Spanned<Duration>>,
    pub ingress_max: Option<Spanned<Size>>,
    pub ingress_xoff: Option<Spanned<Size>>,
    pub ingress_xon: Option<Spanned<Size>>,
    pub egress_max: Option<Spanned<Size>>,
    pub egress_xoff: Option<Spanned<Size>>,
    pub egress_xon: Option<Spanned<Size>>,
    pub egress_warn: Option<Spanned<Size>>,
    pub cut: Option<Spanned<Ratio>>,
    pub balancing: Option<Spanned<Balancing>>,
    pub balancing_min: Option<Spanned<Size>>,
    pub balancing_max: Option<Spanned<Size>>,
    pub shared: Option<SharedMemory>,
}

/// What becomes of a packet whose egress queue is full.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PipelineFlowControl {
    PfcWdrop,
    PfcWstop,
    CapfcMax,
    CapfcCalibrate,
}

/// How one of several equal next hops is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Balancing {
    Ecmp,
    Adaptive,
}

/// `[switch.pipeline.shared]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedMemory {
    pub queue: Option<Spanned<Size>>,
    pub pool: Option<Spanned<Size>>,
    pub queue_share: Option<Spanned<Size>>,
    pub port_share: Option<Spanned<Size>>,
}

/// Pipelined switches, for frames of up to `mtu` bytes.
pub(super) fn model(table: Option<&Spanned<Pipeline>>, mtu: u64) -> Checked<SwitchModel> {
    let none = Pipeline::default();
    pipeline(table.map_or(&none, Spanned::get_ref), mtu).map(SwitchModel::Pipeline)
}

/// A size that is set, or the default.
struct Bytes<'a> {
    key: &'static str,
    written: Option<&'a Spanned<Size>>,
    value: u64,
}

impl<'a> Bytes<'a> {
    fn new(key: &'static str, written: &'a Option<Spanned<Size>>, default: u64) -> Self {
        let written = written.as_ref();
        let value = written.map_or(default, |size| size.get_ref().0);
        Self {
            key,
            written,
            value,
        }
    }

    /// An error if it is above `limit`.
    fn at_most(&self, limit: &Bytes<'_>) -> Checked<()> {
        if self.value <= limit.value {
            return Ok(());
        }
        let mut problem = Problem::new(format!("`{}` is above `{}`", self.key, limit.key));
        for it in [self, limit] {
            if let Some(written) = it.written {
                problem = problem.at(written.span(), show_bytes(it.value));
            }
        }
        let defaults = [self, limit].into_iter().filter(|it| it.written.is_none());
        for it in defaults {
            let value = show_bytes(it.value);
            problem = problem.help(format!("`{}` is {value} by default", it.key));
        }
        problem.err()
    }
}

fn pipeline(table: &Pipeline, mtu: u64) -> Checked<PipelineConfig> {
    let mut config = PipelineConfig::default();
    if let Some(speed) = &table.packets_per_second {
        config.packets_per_second = *speed.get_ref();
        if !(1..=1_000_000_000_000).contains(speed.get_ref()) {
            return Problem::new("`packets_per_second` must be from 1 to 10^12")
                .at(speed.span(), "the processor's speed, for the whole switch")
                .err();
        }
    }
    if let Some(latency) = &table.latency {
        config.latency = latency.get_ref().0;
    }
    let ingress = IngressParams::default();
    let ingress_xoff = Bytes::new("ingress_xoff", &table.ingress_xoff, ingress.xoff);
    let ingress_xon = Bytes::new("ingress_xon", &table.ingress_xon, ingress.xon);
    ingress_xon.at_most(&ingress_xoff)?;
    config.ingress = IngressParams {
        xoff: ingress_xoff.value,
        xon: ingress_xon.value,
    };
    config.full_queue = full_queue(table)?;
    config.memory = match &table.shared {
        Some(shared) => shared_memory(table, shared, mtu)?,
        None => {
            let ingress_max = Bytes::new("ingress_max", &table.ingress_max, 60_000);
            let egress_max = Bytes::new("egress_max", &table.egress_max, 60_000);
            ingress_xoff.at_most(&ingress_max)?;
            holds_a_frame(&egress_max, mtu)?;
            Memory::Dedicated {
                ingress_bytes: ingress_max.value,
                egress_bytes: egress_max.value,
            }
        }
    };
    config.balancing = balancing(table)?;
    Ok(config)
}

fn full_queue(table: &Pipeline) -> Checked<FullQueue> {
    let default = EgressParams::default();
    let xoff = Bytes::new("egress_xoff", &table.egress_xoff, default.xoff);
    let xon = Bytes::new("egress_xon", &table.egress_xon, default.xon);
    let warn = Bytes::new("egress_warn", &table.egress_warn, default.warn);
    xon.at_most(&xoff)?;
    warn.at_most(&xoff)?;
    let mut cut = Fraction::of(4, 5);
    if let Some(ratio) = &table.cut {
        let (num, den) = (ratio.get_ref().num, ratio.get_ref().den);
        cut = Fraction::of(num, den);
        if cut == Fraction::ZERO || num > den {
            return Problem::new("`cut` must be above 0 and at most 1")
                .at(ratio.span(), "the share of packets whose inputs are marked")
                .help("1 marks every input that has sent to the queue; the paper has 0.8")
                .err();
        }
    }
    let capfc = |stop| {
        FullQueue::Capfc(EgressParams {
            xoff: xoff.value,
            xon: xon.value,
            warn: warn.value,
            stop,
        })
    };
    Ok(match table.flow_control {
        None | Some(PipelineFlowControl::PfcWdrop) => FullQueue::Drop,
        Some(PipelineFlowControl::PfcWstop) => FullQueue::Stop,
        Some(PipelineFlowControl::CapfcMax) => capfc(Stop::Max),
        Some(PipelineFlowControl::CapfcCalibrate) => capfc(Stop::Calibrate { cut }),
    })
}

fn shared_memory(table: &Pipeline, shared: &SharedMemory, mtu: u64) -> Checked<Memory> {
    for (key, size) in [
        ("ingress_max", &table.ingress_max),
        ("egress_max", &table.egress_max),
    ] {
        if let Some(size) = size {
            return Problem::new(format!("`{key}` has no effect"))
                .at(size.span(), "memory is shared")
                .help("remove it, or [switch.pipeline.shared]")
                .err();
        }
    }
    let pool = Bytes::new("pool", &shared.pool, 350_000);
    holds_a_frame(&pool, mtu)?;
    Ok(Memory::Shared {
        queue_bytes: Bytes::new("queue", &shared.queue, 8_000).value,
        pool_bytes: pool.value,
        queue_share_bytes: Bytes::new("queue_share", &shared.queue_share, 80_000).value,
        port_share_bytes: Bytes::new("port_share", &shared.port_share, 100_000).value,
    })
}

fn holds_a_frame(size: &Bytes<'_>, mtu: u64) -> Checked<()> {
    match size.written {
        Some(written) if size.value < mtu => {
            Problem::new(format!("`{}` does not hold a frame", size.key))
                .at(written.span(), show_bytes(size.value))
                .help(format!("a frame has up to {}", show_bytes(mtu)))
                .err()
        }
        _ => Ok(()),
    }
}

fn balancing(table: &Pipeline) -> Checked<Option<AdaptiveBalancing>> {
    let default = AdaptiveBalancing::default();
    let min = Bytes::new("balancing_min", &table.balancing_min, default.min_bytes);
    let max = Bytes::new("balancing_max", &table.balancing_max, default.max_bytes);
    let adaptive = table.balancing.as_ref().map(Spanned::get_ref) == Some(&Balancing::Adaptive);
    if !adaptive {
        if let Some(written) = min.written.or(max.written) {
            return Problem::new("thresholds of balancing have no effect")
                .at(written.span(), "next hops are chosen by a hash")
                .help("set balancing = \"adaptive\", or remove them")
                .err();
        }
        return Ok(None);
    }
    min.at_most(&max)?;
    Ok(Some(AdaptiveBalancing {
        min_bytes: min.value,
        max_bytes: max.value,
    }))
}
