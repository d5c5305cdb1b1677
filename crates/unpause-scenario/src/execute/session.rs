//! A scenario that another program drives: its fabric and one scheme, and messages that come while it runs.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeId};
use unpause_sim::results::{FlowRecord, Results};
use unpause_sim::session::{self, Completion, Message, Refused};
use unpause_sim::traffic::{FlowSettings, FlowSpec, TrafficSpec};

use crate::compile::scenario::Scenario;
use crate::execute::{self, guard, part, selected};
use crate::sections::traffic::Driver;
use unpause_results::outcome::{Outcome, Timing};
use unpause_results::run::Run;
use unpause_results::run::measured::Measured;
use unpause_text::error::Error;

/// How a scenario is driven.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Which of its schemes; `None` if it has one.
    pub scheme: Option<String>,
    /// Another seed.
    pub seed: Option<u64>,
    /// Another duration.
    pub duration: Option<Time>,
    /// Priority of messages; `None`: 3, or what `[pias]` gives.
    pub priority: Option<u8>,
    /// Sample messages into `flow_series`.
    pub record: bool,
    /// Tell when all of a message has been acknowledged.
    pub acknowledged: bool,
    /// Tell when all of a message has been delivered.
    pub delivered: bool,
    /// Run even what is expected to need more memory than there is.
    pub force: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            scheme: None,
            seed: None,
            duration: None,
            priority: None,
            record: false,
            acknowledged: true,
            delivered: true,
            force: false,
        }
    }
}

/// A message of a driver, by numbers of hosts: their order in the fabric, from 0.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    /// Sender.
    pub src: usize,
    /// Receiver.
    pub dst: usize,
    /// Payload bytes.
    pub bytes: u64,
    /// The caller's own.
    pub tag: u64,
    /// Messages of one connection take one path ([`Message::connection`]).
    pub connection: Option<u32>,
}

/// A scenario that another program drives, on the thread that calls.
#[derive(Debug)]
pub struct Session {
    scenario: Scenario,
    run: Run,
    settings: FlowSettings,
    driven: session::Session,
    is_forced: bool,
    began: Instant,
}

impl Session {
    /// Reads a file, which need not have any traffic, and begins the run.
    ///
    /// # Errors
    ///
    /// A mistake in the file, or options that it has no use for.
    pub fn open(path: &Path, options: &SessionOptions) -> Result<Self, Error> {
        Self::begin(Scenario::load_driven(path, &driver(options))?, options)
    }

    /// Reads a text; `origin` is its name in messages, and where relative paths start.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub fn parse(source: &str, origin: &Path, options: &SessionOptions) -> Result<Self, Error> {
        let scenario = Scenario::parse_driven(source, origin, &driver(options))?;
        Self::begin(scenario, options)
    }

    fn begin(scenario: Scenario, options: &SessionOptions) -> Result<Self, Error> {
        let which = execute::Options {
            schemes: options.scheme.iter().cloned().collect(),
            seed: options.seed,
            duration: options.duration,
            ..execute::Options::default()
        };
        let mut runs = selected(&scenario, &which)?;
        if !scenario.sweep_columns().is_empty() {
            return Err(Error::Other {
                message: "a session is one run, and this scenario has a [[sweep]]".into(),
                help: Some("remove it, or open one session for each point".into()),
            });
        }
        if runs.len() > 1 {
            let names: Vec<_> = runs.iter().map(|run| format!("`{}`", run.scheme)).collect();
            return Err(Error::Other {
                message: format!(
                    "a session is one run, and this scenario has {} schemes",
                    runs.len()
                ),
                help: Some(format!("choose one of them: {}", names.join(", "))),
            });
        }
        let mut run = runs.remove(0);
        run.index = 0;
        let mut config = run.config.clone();
        let settings = match config.traffic.pop() {
            Some(TrafficSpec::Flows(flows)) if !flows.is_empty() => settings_of(&flows[0]),
            _ => unreachable!("in a driven scenario the last entry is that of its driver"),
        };
        let is_forced = guard::forced(options.force);
        if !is_forced {
            guard::check_driven(&run, &config)?;
        }
        let options = session::Options {
            flow: settings,
            acknowledged: options.acknowledged,
            delivered: options.delivered,
        };
        let driven = session::Session::open(config, options);
        let driven = driven.map_err(|error| cannot_run(&scenario, &run, error))?;
        Ok(Self {
            scenario,
            run,
            settings,
            driven,
            is_forced,
            began: Instant::now(),
        })
    }

    /// Names of the hosts, by number.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        let names = &self.run.names;
        names.hosts().iter().map(|host| names.name(*host))
    }

    /// The number of a host.
    pub fn host(&self, name: &str) -> Option<usize> {
        self.hosts().position(|it| it == name)
    }

    /// The scenario, as it was read.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The number of a host of the configuration.
    pub fn number(&self, host: NodeId) -> usize {
        let hosts = self.run.names.hosts();
        hosts.binary_search(&host).unwrap_or(hosts.len())
    }

    /// Where the run is.
    pub fn now(&self) -> Time {
        self.driven.now()
    }

    /// True when the run has come to the end of its duration, or to a deadlock.
    pub fn is_over(&self) -> bool {
        self.driven.is_over()
    }

    /// Messages of which something is still to be told.
    pub fn open_messages(&self) -> usize {
        self.driven.open_messages()
    }

    /// Sends now; answers the number of the message, which is that of the flow in the tables.
    ///
    /// # Errors
    ///
    /// Why it cannot be sent, the memory used up among it; the session continues as if it had not been asked.
    pub fn send(&mut self, sending: Sending) -> Result<u32, Error> {
        self.check_growth()?;
        let (src, dst) = (self.node(sending.src)?, self.node(sending.dst)?);
        let message = Message {
            src,
            dst,
            bytes: sending.bytes,
            tag: sending.tag,
            connection: sending.connection,
        };
        self.driven.send(message).map_err(|refused| {
            let name = |node| self.run.names.name(node);
            Error::Other {
                message: match &refused {
                    Refused::ToItself(_) => format!("{} cannot send to itself", name(src)),
                    Refused::NoWay(_) => {
                        format!("there is no path from {} to {}", name(src), name(dst))
                    }
                    other => other.to_string(),
                },
                help: None,
            }
        })
    }

    fn check_growth(&self) -> Result<(), Error> {
        guard::check_growth(self.is_forced, self.driven.now(), self.run.config.stop)
    }

    fn node(&self, host: usize) -> Result<NodeId, Error> {
        let hosts = self.run.names.hosts();
        hosts.get(host).copied().ok_or_else(|| Error::Other {
            message: format!("there is no host {host}"),
            help: Some(format!("this fabric has {}, numbered from 0", hosts.len())),
        })
    }

    /// Sets a timer for `delay` from now; answers its number. `tag` is the caller's own.
    pub fn schedule(&mut self, delay: Time, tag: u64) -> u64 {
        self.driven.schedule(delay, tag)
    }

    /// Goes on to the next completion ([`session::Session::advance`]).
    ///
    /// # Errors
    ///
    /// If flows of the scenario cannot be sent.
    pub fn advance(&mut self, until: Option<Time>) -> Result<Option<Completion>, Error> {
        self.advance_watched(until, &mut || ControlFlow::Continue(()))
    }

    /// The same; `watch` is called now and then, and may stop it.
    ///
    /// # Errors
    ///
    /// As [`Self::advance`], [`Error::Interrupted`] if `watch` said so, and [`Error::TooLarge`] if the memory is used up: the
    /// session can go on.
    pub fn advance_watched(
        &mut self,
        until: Option<Time>,
        watch: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Completion>, Error> {
        let (is_forced, now, stop) = (self.is_forced, self.driven.now(), self.run.config.stop);
        let mut too_large = None;
        let mut watch = || {
            too_large = guard::check_growth(is_forced, now, stop).err();
            match too_large {
                Some(_) => ControlFlow::Break(()),
                None => watch(),
            }
        };
        let advanced = self.driven.advance_watched(until, &mut watch);
        if let Some(error) = too_large {
            return Err(error);
        }
        advanced.map_err(|error| cannot_run(&self.scenario, &self.run, error))
    }

    /// Closes the run at `at`, or where it is ([`session::Session::finish`]), as what the scenario with these messages as
    /// flows has measured.
    ///
    /// # Errors
    ///
    /// If flows of the scenario cannot be sent.
    pub fn finish(self, at: Option<Time>) -> Result<Outcome, Error> {
        let Self {
            scenario,
            mut run,
            settings,
            driven,
            began,
            ..
        } = self;
        let results = driven.finish(at);
        let results = results.map_err(|error| cannot_run(&scenario, &run, error))?;
        describe(&mut run.config, &settings, &results);
        let timing = Timing {
            run: run.index,
            wall_s: began.elapsed().as_secs_f64(),
            threads: 1,
            cpu_s: None,
            packet_hops: results.totals.packet_hops,
        };
        let columns = scenario.sweep_columns();
        let measured = Measured::new(run, results, Default::default());
        let part = part(columns, measured, timing, None);
        scenario.outcome(vec![part])
    }
}

fn driver(options: &SessionOptions) -> Driver {
    Driver {
        priority: options.priority,
        record: options.record,
    }
}

/// The settings that all messages share with the flow that stands for them.
fn settings_of(flow: &FlowSpec) -> FlowSettings {
    FlowSettings {
        priority: flow.priority,
        recorded: flow.recorded,
        transport: flow.transport,
        extra_delay: flow.extra_delay,
        ..FlowSettings::default()
    }
}

/// Puts the messages into `config` as what they are in the results, and the end where it was.
fn describe(config: &mut Config, settings: &FlowSettings, results: &Results) {
    let Some(entry) = config.traffic.len().checked_sub(1) else {
        return;
    };
    let flow = |flow: &FlowRecord| FlowSpec {
        size_bytes: flow.size_bytes,
        start: flow.start,
        priority: flow.priority,
        source_port: flow.source_port,
        ..settings.flow(flow.src, flow.dst)
    };
    let sent = results.flows.iter();
    let sent = sent.filter(|flow| usize::from(flow.group) == entry);
    config.traffic[entry] = TrafficSpec::Flows(sent.map(flow).collect());
    config.stop = results.totals.simulated;
}

fn cannot_run(scenario: &Scenario, run: &Run, error: unpause_sim::Error) -> Error {
    match error {
        unpause_sim::Error::Interrupted => Error::Interrupted,
        unpause_sim::Error::Invalid(invalid) => scenario.refuse(run, &invalid),
        other => Error::Other {
            message: format!("scheme {}: {other}", run.scheme),
            help: None,
        },
    }
}
