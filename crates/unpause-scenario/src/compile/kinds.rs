//! Keys of the kinds of traffic.

use serde::Deserialize;
use serde_spanned::Spanned;

use crate::file;
use crate::text::quantity::{self, DataRate, Duration, Ratio};

/// Keys of every kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Common {
    pub name: Spanned<String>,
    pub schemes: Option<Spanned<file::Names>>,
    pub priority: Option<Spanned<u8>>,
    pub priority_by_size: Option<Spanned<Vec<SizeClass>>>,
    pub rate_limit: Option<Spanned<DataRate>>,
    pub offered: Option<Spanned<DataRate>>,
    pub controlled: Option<Spanned<bool>>,
    pub record: Option<bool>,
    pub transport: Option<Spanned<file::Transport>>,
    pub extra_delay: Option<Spanned<file::ExtraDelay>>,
}

/// An entry of `priority_by_size`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SizeClass {
    pub upto: Spanned<quantity::Size>,
    pub priority: Spanned<u8>,
}

pub(super) const COMMON_KEYS: [&str; 10] = [
    "name",
    "schemes",
    "priority",
    "priority_by_size",
    "rate_limit",
    "offered",
    "controlled",
    "record",
    "transport",
    "extra_delay",
];

/// Kinds of traffic with a line on each.
pub const KINDS: [(&str, &str); 7] = [
    (
        "flow",
        "a flow from each of `from` to each of `to`: size, start, stop",
    ),
    (
        "burst",
        "all of `from` send to one host at once: size or cdf, flows_per_host or flows, start, interval",
    ),
    ("on-off", "all of `from` send for `on`, pause for `off`"),
    (
        "poisson",
        "random arrivals: size or cdf, and load, rate or mean_interval",
    ),
    (
        "incast",
        "random `senders` of `from` send to one of `to` at each event",
    ),
    (
        "permutation",
        "each of `from` sends one flow, each receives one",
    ),
    ("file", "flows of an HPCC/ns-3 flow file"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowKind {
    pub from: Spanned<file::Names>,
    pub to: Spanned<file::Names>,
    pub size: Option<Spanned<quantity::Size>>,
    pub start: Option<Spanned<Duration>>,
    pub stop: Option<Spanned<Duration>>,
    pub source_port: Option<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BurstKind {
    pub from: Spanned<file::Names>,
    pub to: Spanned<file::Names>,
    pub size: Option<Spanned<quantity::Size>>,
    pub cdf: Option<Spanned<String>>,
    pub flows_per_host: Option<Spanned<u32>>,
    pub flows: Option<Spanned<u32>>,
    pub start: Option<Spanned<Duration>>,
    pub stop: Option<Spanned<Duration>>,
    pub interval: Option<Spanned<Duration>>,
    pub mean_interval: Option<Spanned<Duration>>,
    pub events: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OnOffKind {
    pub from: Spanned<file::Names>,
    pub to: Spanned<file::Names>,
    pub on: Spanned<Duration>,
    pub off: Spanned<Duration>,
    pub start: Option<Spanned<Duration>>,
    pub stop: Option<Spanned<Duration>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PoissonKind {
    pub from: Option<Spanned<file::Names>>,
    pub to: Option<Spanned<file::Names>>,
    pub permutation: Option<Spanned<bool>>,
    pub outside_leaf: Option<Spanned<bool>>,
    pub size: Option<Spanned<quantity::Size>>,
    pub cdf: Option<Spanned<String>>,
    pub load: Option<Spanned<Ratio>>,
    pub load_of: Option<Spanned<LoadOf>>,
    pub rate: Option<Spanned<DataRate>>,
    pub mean_interval: Option<Spanned<Duration>>,
    #[serde(default)]
    pub synchronised: bool,
    pub start: Option<Spanned<Duration>>,
    pub stop: Option<Spanned<Duration>>,
    pub flows: Option<Spanned<u64>>,
}

/// Of which links `load` is a share.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LoadOf {
    /// Of the senders.
    Senders,
    /// Of the receivers.
    Receivers,
    /// From the senders' switches to other switches.
    Uplinks,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IncastKind {
    pub from: Option<Spanned<file::Names>>,
    pub to: Option<Spanned<file::Names>>,
    pub senders: Spanned<u32>,
    pub max_senders: Option<Spanned<u32>>,
    pub size: Option<Spanned<quantity::Size>>,
    pub cdf: Option<Spanned<String>>,
    pub start: Option<Spanned<Duration>>,
    pub stop: Option<Spanned<Duration>>,
    pub interval: Option<Spanned<Duration>>,
    pub mean_interval: Option<Spanned<Duration>>,
    pub events: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PermutationKind {
    pub from: Option<Spanned<file::Names>>,
    pub size: Option<Spanned<quantity::Size>>,
    pub cdf: Option<Spanned<String>>,
    pub start: Option<Spanned<Duration>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileKind {
    pub file: Spanned<String>,
}
