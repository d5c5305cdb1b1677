//! A run of a scenario: what is simulated, and the names of what it counts.

pub(crate) mod digest;
pub(crate) mod job_totals;
#[cfg(feature = "parquet")]
pub(crate) mod key;
pub(crate) mod measured;

use std::sync::Arc;

use unpause_sim::config::Config;
use unpause_sim::traffic::TrafficSpec;

use crate::sections::hpcc::Hpcc;
use crate::sections::marking::Marking;
use crate::sections::scheme::CongestionControl;
use crate::swept::Swept;
use unpause_import::fabric::names::Names;

/// One run of a scenario: a scheme at a sweep point.
#[derive(Clone, Debug)]
pub struct Run {
    /// Order in the scenario, from 0.
    pub index: u32,
    /// Name of the scheme.
    pub scheme: String,
    /// Its `congestion_control`.
    pub congestion_control: CongestionControl,
    /// Its `marking`, if it says.
    pub marking: Option<Marking>,
    /// The table of `congestion_control` has a key of its congestion point.
    pub(crate) sets_queues: bool,
    /// Value of each sweep column.
    pub values: Vec<Swept>,
    /// Files in the formats of HPCC's simulator that are asked for.
    pub(crate) hpcc: Hpcc,
    /// The configuration.
    pub config: Config,
    /// Notes on the input for the reader of the result.
    pub notes: Vec<String>,
    /// Names of what it counts.
    pub names: Arc<Names>,
}

/// The parts of a scenario besides its runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heading {
    pub title: Option<String>,
    pub source: Option<String>,
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

    /// Scheme and swept values, for people.
    pub fn label(&self, columns: &[String]) -> String {
        let values = columns
            .iter()
            .zip(&self.values)
            .map(|(name, value)| format!(" {name}={value}"));
        self.scheme.clone() + &values.collect::<String>()
    }

    /// True if this entry of the traffic is not for this scheme.
    pub(crate) fn is_left_out(&self, entry: usize) -> bool {
        self.config.traffic[entry] == TrafficSpec::Flows(Vec::new())
    }

    /// True if flows of this entry of the traffic start when others have ended.
    pub(crate) fn follows(&self, entry: usize) -> bool {
        let mut following = self.config.following.iter();
        following.any(|it| usize::from(it.entry) == entry)
    }

    /// True if no flow obeys the congestion control.
    pub(crate) fn controls_nothing(&self) -> bool {
        let transport = self.congestion_control.transport();
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
