//! A scenario that compares the suggested settings on the operator's own flow sizes.

use std::path::Path;

use unpause_protocols::units::{Rate, Time};
use unpause_scenario::{Error, Scenario, cdf};

use super::rtts::wrong;
use super::thresholds::{Parameter, Setting};
use crate::args::{EcnFabric, EcnScenario};

/// Delays of hosts that stand for the RTTs' distribution, each as likely as another.
const DELAYS: u32 = 10;

/// The text of the scenario, to be written to `path`.
pub fn text(setting: &Setting, args: &EcnScenario, path: &Path) -> Result<String, Error> {
    let links = match args.fabric {
        EcnFabric::NToOne => 2,
        EcnFabric::LeafSpine => 4,
    };
    let wires = args.delay * (2 * links);
    let least = setting.rtts.least();
    if least < wires {
        let taken = format!("{links} links of {} take in both directions", args.delay);
        return Err(Error::Other {
            message: format!("a base RTT of {least} is below the {wires} that {taken}"),
            help: Some("set a shorter --delay".into()),
        });
    }
    let sizes = flow_sizes(args)?;
    let (topology, traffic) = place(args.fabric, setting.rate);
    let text = format!(
        "# Written by `unpause suggest ecn`: its thresholds for base RTTs of {average} on average,\n\
         # {tail} at the 90th percentile, compared on one workload.\n\
         title = \"ECN settings for my base RTTs\"\n\
         duration = \"{duration}\"\n\
         \n\
         [topology]\n\
         {topology}\
         delay = \"{delay}\"\n\
         \n\
         [switch]\n\
         lossless = []\n\
         lossy_queue_packets = 1000\n\
         \n\
         # The wires take {wires}; hosts add the rest of the RTT, by decile.\n\
         [host]\n\
         extra_delay = [{delays}]\n\
         {schemes}\n\
         [[traffic]]\n\
         name = \"flows\"\n\
         kind = \"poisson\"\n\
         {traffic}\
         load = {load}\n\
         cdf = \"{sizes}\"\n\
         stop = \"{stop}\"\n\
         \n\
         # One seed's p99 is as much chance as setting: with several, the report says what differs.\n\
         [[sweep]]\n\
         name = \"repetition\"\n\
         key = \"seed\"\n\
         values = [{seeds}]\n",
        average = setting.rtts.average(),
        tail = setting.rtts.percentile(90.0),
        duration = STOP + DRAIN,
        delay = args.delay,
        delays = delays(setting, wires).join(", "),
        schemes = schemes(&setting.parameters()),
        load = args.load,
        stop = STOP,
        seeds = (1..=SEEDS)
            .map(|seed| seed.to_string())
            .collect::<Vec<_>>()
            .join(", "),
    );
    // What is written must run.
    Scenario::parse(&text, path)?;
    Ok(text)
}

/// The delays that hosts add to the RTT of the wires.
fn delays(setting: &Setting, wires: Time) -> Vec<String> {
    let middle = |decile| (f64::from(decile) + 0.5) * 100.0 / f64::from(DELAYS);
    let rtts = (0..DELAYS).map(|decile| setting.rtts.percentile(middle(decile)));
    rtts.map(|rtt| format!("\"{}\"", rtt.saturating_sub(wires)))
        .collect()
}

/// Keys of the topology, and of who sends to whom in it.
fn place(fabric: EcnFabric, rate: Rate) -> (String, &'static str) {
    match fabric {
        EcnFabric::NToOne => (
            format!("builder = \"single-switch\"\nhosts = 17\nrate = \"{rate}\"\n"),
            "from = \"H1..H16\"\nto = \"H0\"\nload_of = \"receivers\"\n",
        ),
        EcnFabric::LeafSpine => (
            format!(
                "builder = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts_per_leaf = 8\nhost_rate = \"{rate}\"\n"
            ),
            "outside_leaf = true\nload_of = \"uplinks\"\n",
        ),
    }
}

/// Workloads that are drawn.
const SEEDS: u32 = 5;
/// Flows start within this time,
const STOP: Time = Time::from_ms(200);
/// and have this time to complete.
const DRAIN: Time = Time::from_ms(300);

/// The value of `cdf` in the scenario: a built-in name, or the absolute path of a file that can be read.
fn flow_sizes(args: &EcnScenario) -> Result<String, Error> {
    let name = args.cdf.as_str();
    if cdf::builtin(name).is_some() {
        return Ok(name.to_owned());
    }
    cdf::load(name, Path::new("")).map_err(|error| wrong_sizes(name, &error.to_string()))?;
    let path = std::path::absolute(name).map_err(|e| Error::io("read", Path::new(name), e))?;
    Ok(path.display().to_string())
}

fn wrong_sizes(name: &str, why: &str) -> Error {
    match wrong(format!("--cdf {name}: {why}")) {
        Error::Other { message, .. } => Error::Other {
            message,
            help: Some("flow sizes are one of those that `unpause list` shows, or a file".into()),
        },
        other => other,
    }
}

/// A `[[scheme]]` for each, with DCTCP senders.
fn schemes(parameters: &[Parameter]) -> String {
    let mut text = String::new();
    let mut last = "";
    for parameter in parameters {
        if parameter.scheme != last {
            text += &format!(
                "\n[[scheme]]\nname = \"{}\"\ncongestion_control = \"dctcp\"\nmarking = \"{}\"\n[scheme.{}]\n",
                parameter.scheme, parameter.marking, parameter.marking
            );
            last = parameter.scheme;
        }
        text += &format!(
            "{} = \"{}\" # {}\n",
            parameter.key, parameter.value, parameter.formula
        );
    }
    text
}
