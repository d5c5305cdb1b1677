//! A scenario, read and checked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use unpause_sim::Invalid;

use crate::compile::base::{Text, read};
use crate::compile::mistakes;
use crate::compile::refusal;
use crate::compile::{self, Compiled};
use crate::sections::traffic::Driver;
use unpause_import::FileError;
use unpause_import::hpcc_config::Imported;
use unpause_results::outcome::{Outcome, Part, ScenarioNote};
use unpause_results::run::digest::sha256;
#[cfg(feature = "parquet")]
use unpause_results::run::key::key;
use unpause_results::run::{Heading, Run};
use unpause_results::warnings::{self, Warning};
use unpause_text::error::Error;

/// A scenario file, read, checked and compiled to its runs.
#[derive(Clone, Debug)]
pub struct Scenario {
    origin: PathBuf,
    text: Text,
    heading: Heading,
    runs: Vec<Run>,
    /// What drives it, if a program does.
    driver: Option<Driver>,
}

impl Scenario {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The first mistake in it.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::parse(&read(path)?, path)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Every mistake that can be told from what follows from others.
    pub fn load_all(path: &Path) -> Result<Self, Vec<Error>> {
        Self::parse_all(&read(path).map_err(|error| vec![error])?, path)
    }

    /// Reads a text. `origin` is the file's name in messages, and where relative paths start.
    ///
    /// # Errors
    ///
    /// The first mistake in it.
    pub fn parse(source: &str, origin: &Path) -> Result<Self, Error> {
        let text = Text::of(source, origin)?;
        match compile::file(&text.whole, directory_of(origin)) {
            Ok(compiled) => Ok(Self::of(compiled, text, origin, None)),
            Err(problem) => Err(text.error(*problem)),
        }
    }

    /// Reads a text, as [`Self::parse`].
    ///
    /// # Errors
    ///
    /// As [`Self::load_all`].
    pub fn parse_all(source: &str, origin: &Path) -> Result<Self, Vec<Error>> {
        let text = Text::of(source, origin).map_err(|error| vec![error])?;
        match compile::file(&text.whole, directory_of(origin)) {
            Ok(compiled) => Ok(Self::of(compiled, text, origin, None)),
            Err(first) => {
                let all = mistakes::all(&text.whole, directory_of(origin), *first);
                Err(all.into_iter().map(|problem| text.error(problem)).collect())
            }
        }
    }

    /// Reads what was made of a configuration of HPCC's simulator, as the file `origin` that it is to become.
    ///
    /// # Errors
    ///
    /// The first mistake, at the place of the configuration or of the file it names that it comes from.
    pub fn of_import(imported: &Imported, origin: &Path) -> Result<Self, FileError> {
        Self::parse(&imported.text, origin).map_err(|error| {
            let line = match error.location() {
                Some((file, line, _)) if Path::new(&file) == origin => Some(line),
                _ => None,
            };
            imported.mistake(line, error.to_string())
        })
    }

    /// Reads a file that somebody drives, which need not have any traffic.
    pub(crate) fn load_driven(path: &Path, driver: &Driver) -> Result<Self, Error> {
        Self::parse_driven(&read(path)?, path, driver)
    }

    /// The same of a text.
    pub(crate) fn parse_driven(
        source: &str,
        origin: &Path,
        driver: &Driver,
    ) -> Result<Self, Error> {
        let text = Text::of(source, origin)?;
        match compile::driven(&text.whole, directory_of(origin), driver) {
            Ok(compiled) => Ok(Self::of(compiled, text, origin, Some(*driver))),
            Err(problem) => Err(text.error(*problem)),
        }
    }

    fn of(compiled: Compiled, text: Text, origin: &Path, driver: Option<Driver>) -> Self {
        Self {
            driver,
            origin: origin.to_owned(),
            heading: compiled.heading,
            runs: compiled.runs,
            text,
        }
    }

    /// The file it came from.
    pub fn origin(&self) -> &Path {
        &self.origin
    }
    /// Its text; with a `base`, what both files say together.
    pub fn source(&self) -> &str {
        &self.text.whole
    }
    /// The title.
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
    /// Digest of everything that the results depend on, this program included; none if this program
    /// cannot be told from others.
    #[cfg(feature = "parquet")]
    pub fn digest(&self) -> Option<String> {
        let keys: Option<String> = self
            .runs
            .iter()
            .map(|run| key(run, self.sweep_columns()))
            .collect();
        Some(sha256((self.text.whole.to_string() + &keys?).as_bytes()))
    }
    /// `run`, one of its runs, with another seed, as if the file had that seed.
    ///
    /// # Errors
    ///
    /// If a file that it names can no longer be read.
    pub(crate) fn with_seed(&self, run: &Run, seed: u64) -> Result<Run, Error> {
        let mut again = run.clone();
        // Only jobs draw while the file is compiled. Other runs share one fabric.
        if seed != run.config.seed && !run.config.jobs.is_empty() {
            let (whole, directory) = (&self.text.whole, directory_of(&self.origin));
            again = compile::with_seed(whole, directory, self.driver.as_ref(), run, seed)
                .map_err(|problem| self.text.error(*problem))?;
        }
        again.config.seed = seed;
        for swept in again.values.iter_mut().filter(|swept| swept.is_seed) {
            swept.value = seed as f64;
        }
        Ok(again)
    }
    /// The refusal of `run`, one of its runs, by the program that runs it, at the position of that field in the file.
    pub fn refuse(&self, run: &Run, invalid: &Invalid) -> Error {
        let problem = compile::refused(&self.text.whole, run, invalid);
        self.text.error(*problem.unwrap_or_else(|problem| problem))
    }
    /// The outcome of its parts.
    pub(crate) fn outcome(&self, mut parts: Vec<Part>) -> Result<Outcome, Error> {
        let note = ScenarioNote {
            title: self.title().map(str::to_owned),
            file: self.origin().display().to_string(),
            sha256: sha256(self.source().as_bytes()),
            digest: None,
        };
        let own = parts.iter_mut().flat_map(|part| &mut part.warnings);
        // Runs of a sweep say the same of the same keys.
        let known = RefCell::new(BTreeMap::new());
        let place = |path: &[String], scheme: &str| {
            let mut known = known.borrow_mut();
            let asked = (path.to_vec(), scheme.to_owned());
            known
                .entry(asked)
                .or_insert_with(|| self.place(path, scheme))
                .clone()
        };
        own.for_each(|warning| warning.place(place));
        let source = self.source().to_owned();
        Outcome::new(note, source, self.sweep_columns(), parts)
    }

    /// Warnings that its reader should see before it runs.
    pub fn warnings(&self) -> Vec<Warning> {
        warnings::of_scenario(&self.runs, |path, scheme| self.place(path, scheme))
    }

    /// Where a key of a scheme is written, as `file:line`.
    fn place(&self, path: &[String], scheme: &str) -> Option<String> {
        let at = refusal::written_at(&self.text.whole, path, scheme)?;
        Some(self.text.place(at))
    }
}

fn directory_of(origin: &Path) -> &Path {
    origin.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use unpause_protocols::congestion_control;
    use unpause_protocols::units::{Rate, Time};
    use unpause_sim::traffic::TrafficSpec;

    fn shipped(name: &str) -> Scenario {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/");
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
        let scenario = shipped("pcn/scenarios/f2.toml");
        let first_seed = scenario.runs().iter().step_by(3);
        let [pfc, _, _, timely, pcn] = first_seed.collect::<Vec<_>>()[..] else {
            panic!()
        };
        assert_eq!(pfc.mechanisms.control, "none");
        assert_eq!(limit(pfc, 0), Some(Rate::from_gbps(20)));
        assert_eq!(limit(pcn, 0), None);
        assert_eq!(pcn.config.fabric.nodes.len(), 20);
        assert_eq!(pcn.config.stop, Time::from_ms(150));
        assert_eq!(pcn.config.probes.ports.len(), 8);
        assert_eq!(pcn.names.traffic, ["F0", "F1", "burst"]);
        let congestion_control::Config::Timely(params) = &timely.config.scheme.roce else {
            panic!("TIMELY")
        };
        assert_eq!(params.min_rtt, Time::from_us(30));
    }

    #[test]
    fn f5_sweeps_the_limit_of_one_flow() {
        let scenario = shipped("pcn/scenarios/f5.toml");
        assert_eq!(scenario.sweep_columns(), ["f1_limit_gbps"]);
        assert_eq!(scenario.runs().len(), 40);
        let second = &scenario.runs()[1];
        assert_eq!(second.values[0].value, 19.5);
        assert_eq!(limit(second, 1), Some(Rate::from_mbps(19_500)));
        assert_eq!(limit(second, 0), Some(Rate::from_gbps(20)));
        assert_eq!(scenario.runs()[39].values[0].value, 0.5);
    }

    /// The keys that the message about a wrong one offers, up to `end`.
    fn offered(text: &str, end: &str) -> BTreeSet<String> {
        let Err(error) = Scenario::parse(text, Path::new("x.toml")) else {
            panic!("{text} has an unknown key")
        };
        let help = error.help_text().expect("it lists the keys").to_owned();
        let names = help.split('`').skip(1).step_by(2).map(str::to_owned);
        names.take_while(|name| name != end).collect()
    }

    fn named(keys: Vec<crate::Key>) -> BTreeSet<String> {
        keys.iter().map(|key| key.name.to_owned()).collect()
    }

    #[test]
    fn what_is_said_of_keys_is_what_is_read() {
        let wrong = "zzzzzzzzzzzzzzzzzzzzzzzz = 1\n";
        let top = "duration = \"1us\"\n[[scheme]]\nname = \"x\"\n";
        for builder in crate::BUILDERS {
            let name = builder.name();
            let text = format!(
                "{top}[topology]\nbuilder = \"{name}\"\n{wrong}[[traffic]]\nname = \"x\"\nkind = \"permutation\""
            );
            assert_eq!(named(builder.keys()), offered(&text, "builder"), "{name}");
        }
        let fabric = "[topology]\nbuilder = \"single-switch\"\nhosts = 2\nrate = \"10Gbps\"\n\
                      delay = \"1us\"\n";
        for kind in crate::TRAFFIC_KINDS {
            let name = kind.name();
            let text =
                format!("{top}{fabric}[[traffic]]\nname = \"x\"\nkind = \"{name}\"\n{wrong}");
            assert_eq!(named(kind.keys()), offered(&text, "name"), "{name}");
        }
    }
}
