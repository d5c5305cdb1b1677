//! The scenario file as serde sees it.
//!
//! Tables whose meaning depends on one of their keys (topologies, schemes, traffic) are read in
//! [`crate::compile`]; here are the others.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde_spanned::Spanned;

use crate::quantity::{DataRate, Duration, Ratio, Size};

/// What is left of the file when topology, schemes and traffic are taken out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub title: Option<String>,
    pub source: Option<String>,
    pub seed: Option<u64>,
    pub duration: Spanned<Duration>,
    #[serde(default)]
    pub host: Host,
    #[serde(default)]
    pub switch: Switch,
    #[serde(default)]
    pub pfc: Pfc,
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
    pub notification_reaction: Option<Spanned<Duration>>,
}

/// `[switch]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    pub model: Option<Spanned<SwitchModel>>,
    pub cioq: Option<Spanned<Cioq>>,
    pub lossless: Option<Vec<Spanned<u8>>>,
    pub buffer: Option<Spanned<Size>>,
    pub lossy_queue: Option<Spanned<Size>>,
    pub queueing: Option<Spanned<Queueing>>,
}

/// How switches are built.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SwitchModel {
    SharedBuffer,
    Cioq,
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
    #[serde(default)]
    pub ports: Vec<Spanned<String>>,
    pub pauses: Option<bool>,
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
