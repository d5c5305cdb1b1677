//! A run of a scenario: what is simulated, and the names of what it counts.

pub mod cut_off;
pub mod digest;
pub mod distances;
pub mod job_ends;
pub mod job_totals;
#[cfg(feature = "parquet")]
pub mod key;
pub mod link_names;
pub mod load;
pub mod measured;
pub mod offered;

use std::fmt;
use std::sync::Arc;

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeId};
use unpause_sim::results::FlowRecord;
use unpause_sim::traffic::{TrafficSpec, Transport};

use crate::Swept;
use unpause_import::fabric::names::Names;

/// Files in the formats of HPCC's simulator that a run writes.
#[derive(Clone, Debug, Default)]
pub struct Hpcc {
    /// `fct.txt`
    pub fct: bool,
    /// `pfc.txt`
    pub pfc: bool,
    /// `qlen.txt`
    pub qlen: bool,
    /// Nodes in `mix.tr`.
    pub trace: Vec<NodeId>,
}

impl Hpcc {
    /// True if any file is asked for.
    pub fn any(&self) -> bool {
        self.fct || self.pfc || self.qlen || !self.trace.is_empty()
    }
}

/// The mechanisms of a scheme, as far as results and warnings depend on them.
#[derive(Clone, Copy)]
pub struct Mechanisms {
    /// Name of the congestion control.
    pub control: &'static str,
    /// Name of the marking, if the scheme names one.
    pub marking: Option<&'static str>,
    /// Switches mark packets.
    pub marks: bool,
    /// The table of the congestion control has a key of its congestion point.
    pub sets_queues: bool,
    /// Transport of the flows that the congestion control governs.
    pub transport: Transport,
    /// Senders obey the congestion control.
    pub reacts: bool,
    /// The notifications that senders get, if any: CNPs, CNMs.
    pub notifies_by: Option<&'static str>,
    /// A warning about a configuration with this congestion control, and advice.
    pub warning: fn(&Config) -> Option<(String, &'static str)>,
}

/// The names alone: the rest follows from them and from the configuration.
impl fmt::Debug for Mechanisms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mechanisms")
            .field(&self.control)
            .field(&self.marking)
            .finish()
    }
}

/// One run of a scenario: a scheme at a sweep point.
#[derive(Clone, Debug)]
pub struct Run {
    /// Order in the scenario, from 0.
    pub index: u32,
    /// Name of the scheme.
    pub scheme: String,
    /// Its mechanisms.
    pub mechanisms: Mechanisms,
    /// Value of each sweep column.
    pub values: Vec<Swept>,
    /// Files in the formats of HPCC's simulator that are asked for.
    pub hpcc: Hpcc,
    /// Flows that start before it, and iterations of jobs, are in no statistic.
    pub warmup: Time,
    /// The loads that entries of the traffic ask for.
    pub loads: Vec<load::Load>,
    /// The configuration.
    pub config: Config,
    /// Notes on the input for the reader of the result.
    pub notes: Vec<String>,
    /// Names of what it counts.
    pub names: Arc<Names>,
}

/// The parts of a scenario besides its runs.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    /// The title.
    pub title: Option<String>,
    /// Where the scenario is from.
    pub source: Option<String>,
    /// Names of the swept columns.
    pub sweep_columns: Vec<String>,
}

impl Run {
    /// Which files in the formats of HPCC's simulator are asked for.
    pub fn hpcc_files(&self) -> impl Iterator<Item = &'static str> {
        let files = [
            (self.hpcc.fct, "fct.txt"),
            (self.hpcc.pfc, "pfc.txt"),
            (self.hpcc.qlen, "qlen.txt"),
            (!self.hpcc.trace.is_empty(), "mix.tr"),
        ];
        files.into_iter().filter(|it| it.0).map(|it| it.1)
    }

    /// The flows that statistics are of: those that started after the warm-up.
    pub fn counted<'a>(&self, flows: &'a [FlowRecord]) -> impl Iterator<Item = &'a FlowRecord> {
        let warmup = self.warmup;
        flows.iter().filter(move |flow| flow.start >= warmup)
    }

    /// Scheme and swept values, for people.
    pub fn label(&self, columns: &[String]) -> String {
        let values = columns
            .iter()
            .zip(&self.values)
            .map(|(name, value)| format!(" {name}={value}"));
        self.scheme.clone() + &values.collect::<String>()
    }

    /// True if this entry of the traffic is not for this scheme.
    pub fn is_left_out(&self, entry: usize) -> bool {
        self.config.traffic[entry] == TrafficSpec::Flows(Vec::new())
    }

    /// True if flows of this entry of the traffic start when others have ended.
    pub fn follows(&self, entry: usize) -> bool {
        let mut following = self.config.following.iter();
        following.any(|it| usize::from(it.entry) == entry)
    }

    /// True if no flow obeys the congestion control.
    pub fn controls_nothing(&self) -> bool {
        let transport = self.mechanisms.transport;
        !self.config.traffic.iter().any(|spec| match spec {
            TrafficSpec::Flows(flows) => {
                let mut flows = flows.iter();
                flows.any(|flow| flow.controlled && flow.transport == transport)
            }
            generated => generated
                .settings()
                .is_some_and(|flow| flow.controlled && flow.transport == transport),
        })
    }
}
