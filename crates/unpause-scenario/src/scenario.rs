//! A scenario, read and checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::compile;
use crate::run::{Heading, Run};
use crate::text::error::Error;
use crate::warnings::{self, Warning};

/// A scenario file, read, checked and compiled to its runs.
#[derive(Clone, Debug)]
pub struct Scenario {
    origin: PathBuf,
    source: Arc<str>,
    heading: Heading,
    runs: Vec<Run>,
}

impl Scenario {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let source = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, e))?;
        Self::parse(&source, path)
    }

    /// Reads a text. `origin` is the file's name in messages, and where relative paths start.
    pub fn parse(source: &str, origin: &Path) -> Result<Self, Error> {
        let source: Arc<str> = source.into();
        let directory = origin.parent().unwrap_or(Path::new(""));
        let compiled = compile::scenario(&source, directory)
            .map_err(|problem| problem.in_file(&origin.display().to_string(), &source))?;
        Ok(Self {
            origin: origin.to_owned(),
            heading: compiled.heading,
            runs: compiled.runs,
            source,
        })
    }

    /// The file it came from.
    pub fn origin(&self) -> &Path {
        &self.origin
    }
    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }
    /// What it is about.
    pub fn title(&self) -> Option<&str> {
        self.heading.title.as_deref()
    }
    /// The paper, section and figure that it reproduces.
    pub fn reference(&self) -> Option<&str> {
        self.heading.source.as_deref()
    }
    /// Names of the sweep columns of table `runs`.
    pub fn sweep_columns(&self) -> &[String] {
        &self.heading.sweep_columns
    }
    /// Every scheme at every sweep point.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }
    /// What its reader should know before it is run.
    pub fn warnings(&self) -> Vec<Warning> {
        warnings::of_scenario(&self.runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mechanism;
    use unpause_protocols::reaction_point;
    use unpause_protocols::units::{Rate, Time};
    use unpause_sim::traffic::TrafficSpec;

    fn shipped(name: &str) -> Scenario {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/");
        Scenario::load(&Path::new(root).join(name)).unwrap_or_else(|e| panic!("{}", e.explain()))
    }

    fn limit(run: &Run, entry: usize) -> Option<Rate> {
        match &run.config.traffic[entry] {
            TrafficSpec::Flows(flows) => flows[0].rate_limit,
            _ => None,
        }
    }

    #[test]
    fn f2_has_five_schemes_and_limits_flows_in_one() {
        let scenario = shipped("pcn/f2.toml");
        assert_eq!(scenario.runs().len(), 5);
        let [pfc, .., timely, pcn] = scenario.runs() else {
            panic!()
        };
        assert_eq!(pfc.mechanism, Mechanism::None);
        assert_eq!(limit(pfc, 0), Some(Rate::from_gbps(20)));
        assert_eq!(limit(pcn, 0), None);
        assert_eq!(pcn.config.fabric.nodes.len(), 20);
        assert_eq!(pcn.config.stop, Time::from_ms(150));
        assert_eq!(pcn.config.probes.ports.len(), 8);
        assert_eq!(pcn.names.traffic, ["F0", "F1", "burst"]);
        let reaction_point::Config::Timely(params) = &timely.config.scheme.reaction_point else {
            panic!("TIMELY")
        };
        assert_eq!(params.min_rtt, Time::from_us(30));
    }

    #[test]
    fn f5_sweeps_the_limit_of_one_flow() {
        let scenario = shipped("pcn/f5.toml");
        assert_eq!(scenario.sweep_columns(), ["f1_limit_gbps"]);
        assert_eq!(scenario.runs().len(), 40);
        let second = &scenario.runs()[1];
        assert_eq!(second.values, [19.5]);
        assert_eq!(limit(second, 1), Some(Rate::from_mbps(19_500)));
        assert_eq!(limit(second, 0), Some(Rate::from_gbps(20)));
        assert_eq!(scenario.runs()[39].values, [0.5]);
    }
}
