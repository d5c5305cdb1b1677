//! The scenario file as serde sees it.
//!
//! Tables whose meaning depends on one of their keys (topologies, schemes, traffic) are read in
//! [`crate::compile`]; here are the others.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde_spanned::Spanned;
use unpause_protocols::units::Time;

use crate::text::quantity::{DataRate, Duration, Ratio, Size};

/// What is left of the file when topology, schemes and traffic are taken out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub title: Option<String>,
    pub source: Option<String>,
    pub seed: Option<u64>,
    pub duration: Spanned<Duration>,
    pub load_scale: Option<Spanned<Ratio>>,
    #[serde(default)]
    pub host: Host,
    #[serde(default)]
    pub switch: Switch,
    #[serde(default)]
    pub pfc: Pfc,
    #[serde(default)]
    pub tcp: Tcp,
    pub pias: Option<Spanned<Pias>>,
    #[serde(default)]
    pub probes: Probes,
    #[serde(default, rename = "report")]
    pub _report: Report,
}

/// Keys of [`File`] that are read elsewhere.
pub(crate) const FILE_KEYS: [&str; 4] = ["topology", "scheme", "traffic", "sweep"];

/// `[host]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Host {
    pub payload: Option<Spanned<Size>>,
    pub header: Option<Spanned<Size>>,
    pub framing: Option<Spanned<Size>>,
    pub ack_every: Option<Spanned<u32>>,
    pub retransmit_timeout: Option<Spanned<Duration>>,
    pub control_priority: Option<Spanned<u8>>,
    pub extra_delay: Option<Spanned<ExtraDelay>>,
    pub notification_reaction: Option<Spanned<Duration>>,
}

/// `[tcp]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tcp {
    pub mss: Option<Spanned<Size>>,
    pub header: Option<Spanned<Size>>,
    pub initial_window: Option<Spanned<u32>>,
    pub max_burst: Option<Spanned<CountOrNone>>,
    pub dupack_threshold: Option<Spanned<CountOrNone>>,
    pub limited_transmit: Option<bool>,
    pub delayed_ack: Option<Spanned<CountOrNone>>,
    pub delayed_ack_timeout: Option<Spanned<Duration>>,
    pub min_rto: Option<Spanned<Duration>>,
    pub max_rto: Option<Spanned<Duration>>,
    pub rto_granularity: Option<Spanned<Duration>>,
    pub initial_rtt: Option<Spanned<Duration>>,
    pub retries: Option<Spanned<u32>>,
    pub syn_timeout: Option<Spanned<Duration>>,
    pub syn_tries: Option<Spanned<u32>>,
    pub ack_priority: Option<AckPriority>,
    pub buffer: Option<Spanned<Size>>,
}

/// Which priority SYNs and ACKs have.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AckPriority {
    Flow,
    Control,
}

/// `[pias]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pias {
    pub thresholds: Option<Spanned<Vec<Spanned<Size>>>>,
    pub priorities: Spanned<Vec<Spanned<u8>>>,
}

/// What carries the flows of an entry.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    Roce,
    Tcp,
}

/// `[switch]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    pub model: Option<Spanned<SwitchModel>>,
    pub pipeline: Option<Spanned<Pipeline>>,
    pub cioq: Option<Spanned<Cioq>>,
    pub lossless: Option<Vec<Spanned<u8>>>,
    pub buffer: Option<Spanned<Size>>,
    pub lossy_queue: Option<Spanned<Size>>,
    pub lossy_queue_packets: Option<Spanned<u32>>,
    pub queueing: Option<Spanned<Queueing>>,
    pub scheduler: Option<Spanned<Scheduler>>,
}

/// How packets get from ingress to egress.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SwitchModel {
    SharedBuffer,
    Pipeline,
    Cioq,
}

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

/// `[switch.cioq]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cioq {
    pub input_buffer: Option<Spanned<Size>>,
    pub output_buffer: Option<Spanned<Size>>,
    pub cell: Option<Spanned<Size>>,
    pub latency: Option<Spanned<Duration>>,
    pub speedup: Option<Spanned<Ratio>>,
    pub spines: Option<Spanned<u16>>,
    pub hosts_per_leaf: Option<Spanned<u16>>,
    pub spine_rate: Option<Spanned<DataRate>>,
    pub spine_cells: Option<Spanned<u16>>,
}

/// In which order an egress queue serves packets.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Queueing {
    Fifo,
    Voq,
}

/// `[switch.scheduler]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scheduler {
    pub kind: SchedulerKind,
    /// By priority.
    pub weights: Option<Spanned<BTreeMap<String, Spanned<u32>>>>,
    /// By priority.
    pub quanta: Option<Spanned<BTreeMap<String, Spanned<Size>>>>,
    pub quantum: Option<Spanned<Size>>,
    pub strict: Option<Spanned<Vec<Spanned<u8>>>>,
}

/// How the priorities of a port share it.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SchedulerKind {
    Strict,
    Dwrr,
}

/// `[pfc]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pfc {
    pub xoff: Option<Spanned<Size>>,
    pub xon: Option<Spanned<Size>>,
    pub dynamic_shift: Option<Spanned<u32>>,
    pub xon_gap: Option<Spanned<Size>>,
    pub headroom: Option<Spanned<Size>>,
    pub reaction: Option<Spanned<Duration>>,
    pub mode: Option<Spanned<PfcMode>>,
    pub pause_time: Option<Spanned<Duration>>,
    pub pause_quanta: Option<Spanned<u16>>,
}

/// How PAUSE frames are sent.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PfcMode {
    Standard,
    #[serde(rename = "ns3-rdma")]
    Ns3Rdma,
}

/// `[probes]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probes {
    pub interval: Option<Spanned<Duration>>,
    pub flow_interval: Option<Spanned<Duration>>,
    pub start: Option<Spanned<Duration>>,
    #[serde(default)]
    pub ports: Vec<Spanned<String>>,
    pub pauses: Option<bool>,
    #[serde(default)]
    pub packets: Vec<Spanned<String>>,
    pub packet_flows: Option<Spanned<Vec<u32>>>,
    pub deadlock: Option<Spanned<Duration>>,
    pub deadlock_hold: Option<Spanned<Duration>>,
}

/// `[report]`; only its shape is checked here.
#[expect(
    dead_code,
    reason = "the report's renderer reads it from the copy of the scenario"
)]
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    #[serde(default)]
    pub figures: Vec<String>,
    #[serde(default)]
    pub claims: Vec<String>,
}

/// A number, or `"none"`.
#[derive(Clone, Copy)]
pub(crate) struct CountOrNone(pub Option<u32>);

struct CountVisitor;

impl Visitor<'_> for CountVisitor {
    type Value = CountOrNone;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or \"none\"")
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<CountOrNone, E> {
        u32::try_from(number)
            .map(|count| CountOrNone(Some(count)))
            .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<CountOrNone, E> {
        match text {
            "none" => Ok(CountOrNone(None)),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for CountOrNone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

/// A delay, delays of which each flow has one, or a file with their distribution.
pub(crate) enum ExtraDelay {
    One(Time),
    OneOf(Vec<Time>),
    File(String),
}

struct ExtraDelayVisitor;

impl<'de> Visitor<'de> for ExtraDelayVisitor {
    type Value = ExtraDelay;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time such as \"20us\", an array of times or a file's name")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<ExtraDelay, E> {
        // A file whose name looks like a number can be written with its directory: "./20us".
        if !text
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c))
        {
            return Ok(ExtraDelay::File(text.to_owned()));
        }
        let duration = Duration::deserialize(de::value::StrDeserializer::new(text))?;
        Ok(ExtraDelay::One(duration.0))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<ExtraDelay, A::Error> {
        let mut times = Vec::new();
        while let Some(time) = sequence.next_element::<Duration>()? {
            times.push(time.0);
        }
        Ok(ExtraDelay::OneOf(times))
    }
}

impl<'de> Deserialize<'de> for ExtraDelay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExtraDelayVisitor)
    }
}

/// One name or several, as a string or an array of strings.
#[derive(Clone)]
pub(crate) struct Names(pub Vec<String>);

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name or an array of names")
    }
    fn visit_str<E: de::Error>(self, name: &str) -> Result<Names, E> {
        Ok(Names(vec![name.to_owned()]))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Names, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = sequence.next_element()? {
            names.push(name);
        }
        Ok(Names(names))
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor)
    }
}
