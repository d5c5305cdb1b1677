//! `unpause testbed`: a scenario with real frames between its nodes.

use std::sync::{Mutex, PoisonError};

use serde_json::json;
use unpause_scenario::{
    Admitted, Error, Names, Options, Place, Run, Scenario, Simulator, Summary, Target,
    WriteOptions, execute_by,
};
use unpause_sim::config::Link;
use unpause_sim::exchange::{GlobalPort, Ports};
use unpause_sim::results::Results;
use unpause_sim::{Invalid, Samples, Subject, Watch, run_over};
#[cfg(target_os = "linux")]
use unpause_sim::{exchange::Worker, run_unsynchronized};
#[cfg(target_os = "linux")]
use unpause_testbed::{Lateness, WallClock};
use unpause_testbed::{LockStep, Medium, Memory, Split, SplitError, Tally};

use crate::args::{Links, Testbed};
use crate::output::{Errors, complain, show_json};
use crate::progress::Bars;
use crate::report::Package;
use crate::{files, interrupt, run, target};

/// Links named in a message; a fabric may have thousands.
const SHOWN_LINKS: usize = 12;

/// `unpause testbed`. Answers the exit code.
pub fn run(args: &Testbed, package: &dyn Package) -> Result<u8, Errors> {
    let scenario = files::load(&args.file)?;
    one(args, &scenario, package).map_err(|error| vec![error])
}

/// Why a run cannot be a testbed, whatever links are wires: frames come whole where they do in reality, and what
/// leaves a node is in a frame.
fn refused(run: &Run, args: &Testbed) -> Option<Invalid> {
    if args.wall_clock && run.config.switch.cut_through_bytes.is_some() {
        let message = format!("{}: in real time switches cannot cut through", run.scheme);
        return Some(
            Invalid::new("switch.cut_through_bytes", message)
                .label("with --wall-clock, expected store-and-forward")
                .help("remove it, or --wall-clock: in simulated time switches can cut through"),
        );
    }
    let error = Split::new(&run.config, None).err()?;
    let (field, label) = match error {
        SplitError::Cioq => ("switch.model", "expected switches that are one node each"),
        SplitError::Telemetry => (
            "scheme.congestion_control",
            "expected one that can be carried in frames",
        ),
        SplitError::Credits => (
            "scheme.congestion_control",
            "expected one without receiver credits",
        ),
        SplitError::Events => ("events.links", "expected no [[event]]"),
        SplitError::Jobs => ("jobs", "expected no [[job]]"),
        SplitError::Cbfc => ("switch.cbfc", "expected `\"pfc\"`"),
        SplitError::Retry => ("switch.retry", "expected `\"none\"`"),
        SplitError::Udp => ("traffic", "expected transport = \"roce\" or \"tcp\""),
        SplitError::Links { host } => {
            let message = "has several links: with real frames, a host must have one";
            let invalid = Invalid::new("fabric.links", message).of(Subject::Host(host));
            return Some(invalid.help("`unpause run` simulates it"));
        }
        // Wires that are chosen may mend these.
        SplitError::Joined { .. } | SplitError::TooMany { .. } => return None,
    };
    let message = format!("{}: {error}", run.scheme);
    let invalid = Invalid::new(field, message).label(label);
    Some(invalid.help("`unpause run` simulates it"))
}

/// Refuses runs that cannot be a testbed, before any of them starts.
fn check(args: &Testbed, scenario: &Scenario) -> Result<(), Error> {
    for run in scenario.runs() {
        if let Some(invalid) = refused(run, args) {
            return Err(scenario.refuse(run, &invalid));
        }
        split(run, &args.wires)?;
    }
    match args.links {
        Links::Veth => try_veth(&scenario.runs()[0], &args.wires),
        Links::Memory => Ok(()),
    }
}

fn one(args: &Testbed, scenario: &Scenario, package: &dyn Package) -> Result<u8, Error> {
    check(args, scenario)?;
    let place = place_of(args)?;
    let options = options(args);
    let all = Mutex::new(Vec::new());
    let simulate = |run: &Run, watch: &mut Watch<'_>, _: Option<&Samples<'_>>| {
        let mut label = run.label(scenario.sweep_columns());
        if args.seeds.is_some() {
            label += &format!(", seed {}", run.config.seed);
        }
        let (results, tally, late) = if args.wall_clock {
            in_real_time(run, args, &label, watch)?
        } else {
            let (results, tally) = over_frames(run, args, watch)?;
            (results, tally, String::new())
        };
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        let faults = late + &faults(run, &label, &tally);
        all.push((run.index, tally, faults));
        Ok(results)
    };
    interrupt::end_in_order();
    let admitted = Admitted::of(scenario, &options, Target::Place(&place))?;
    let bars = Bars::new(admitted.costs(), args.say, false);
    let simulator = Simulator {
        simulate: &simulate,
        threads: 1,
    };
    let outcome = match execute_by(simulator, scenario, admitted, &bars) {
        Err(Error::Interrupted) => {
            complain!("interrupted: nothing was written");
            return Ok(interrupt::code());
        }
        outcome => outcome?,
    };
    drop(bars);
    let before = outcome.write_with(&place, &WriteOptions::default())?;
    let summaries = Summary::of(&outcome.tables);
    let say = args.say;
    let printed = (args.no_report, package, place.directory(), say);
    let code = run::print(printed, scenario.title(), &outcome, &summaries);
    say.tell(&format!("tables: {}\n", place.directory().display()));
    say.tell(&target::replaced(&before));
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sort_by_key(|(index, ..)| *index);
    let mut sum = Tally::default();
    all.iter().for_each(|(_, tally, _)| sum.add(tally));
    say.tell(&total(args, &sum));
    all.iter().for_each(|(_, _, faults)| say.tell(faults));
    if say.is_json() {
        let faults: String = all.iter().map(|(_, _, faults)| faults.as_str()).collect();
        show_json(&json!({
            "file": args.file.display().to_string(),
            "directory": place.directory().display().to_string(),
            "runs": summaries,
            "frames": sum.frames,
            "frames_lost": sum.lost,
            "frames_refused": sum.refusals(),
            "frames_said": faults,
        }));
    }
    Ok(code)
}

/// The options of the runs.
fn options(args: &Testbed) -> Options {
    Options {
        schemes: args.schemes.clone(),
        seed: args.seed,
        seeds: args.seeds,
        duration: args.duration,
        // In real time, runs are in one another's way.
        threads: args.wall_clock.then_some(1),
        exact_packets: false,
        force: args.force,
    }
}

/// Locks the result directory, before anything is simulated.
fn place_of(args: &Testbed) -> Result<Place, Error> {
    if let Some(out) = &args.out {
        return Place::take(out);
    }
    let file = files::named(&args.file);
    let directory = target::default_directory(file, args.seed, "-testbed");
    target::check_default(&directory, file)?;
    Place::take(&directory)
}

/// Which links of a run are wires.
fn split(run: &Run, wires: &[String]) -> Result<Split, Error> {
    let (fabric, names) = (&run.config.fabric, &run.names);
    let mut named = Vec::new();
    for wire in wires {
        let is_it = |link: &Link| [name(link, names), back(link, names)].contains(wire);
        let links = fabric.links.iter().enumerate();
        let before = named.len();
        named.extend(links.filter(|(_, it)| is_it(it)).map(|(index, _)| index));
        if named.len() == before {
            let all = fabric.links.iter().map(|link| name(link, names));
            let mut some: Vec<String> = all.take(SHOWN_LINKS).collect();
            if fabric.links.len() > SHOWN_LINKS {
                some.push("…".into());
            }
            return Err(Error::Other {
                message: format!("there is no link `{wire}`"),
                help: Some(format!("links are {}", some.join(", "))),
            });
        }
    }
    let named = (!wires.is_empty()).then_some(named.as_slice());
    Split::new(&run.config, named).map_err(|error| Error::Other {
        message: match &error {
            SplitError::Joined { link } => format!(
                "{} alone does not separate anything: its ends are also connected by other links",
                name(&fabric.links[*link], names)
            ),
            other => format!("{}: {other}", run.scheme),
        },
        help: match error {
            SplitError::Cioq
            | SplitError::Telemetry
            | SplitError::Credits
            | SplitError::Events
            | SplitError::Jobs
            | SplitError::Cbfc
            | SplitError::Retry
            | SplitError::Udp
            | SplitError::Links { .. } => None,
            SplitError::Joined { .. } => Some("name those links with --wire, too".into()),
            SplitError::TooMany { .. } => Some("name some of the links with --wire".into()),
        },
    })
}

fn name(link: &Link, names: &Names) -> String {
    format!("{}-{}", names.name(link.a), names.name(link.b))
}

fn back(link: &Link, names: &Names) -> String {
    format!("{}-{}", names.name(link.b), names.name(link.a))
}

/// Simulates a run with its packets as frames.
fn over_frames(
    run: &Run,
    args: &Testbed,
    watch: &mut Watch<'_>,
) -> Result<(Results, Tally), unpause_sim::Error> {
    let fail = |error: String| unpause_sim::Error::Exchange(error);
    unpause_sim::check(&run.config)?;
    let split = split(run, &args.wires).map_err(|error| fail(error.to_string()))?;
    match args.links {
        Links::Memory => {
            let ports = 2 * run.config.fabric.links.len();
            over(run, &split, Memory::new(ports), watch)
        }
        Links::Veth => {
            let veth = veth::new(run, &split).map_err(|error| fail(error.to_string()))?;
            over(run, &split, veth, watch)
        }
    }
}

/// Runs it in real time; answers also how late it was.
#[cfg(target_os = "linux")]
fn in_real_time(
    run: &Run,
    args: &Testbed,
    label: &str,
    watch: &mut Watch<'_>,
) -> Result<(Results, Tally, String), unpause_sim::Error> {
    let fail = |error: String| unpause_sim::Error::Exchange(error);
    unpause_sim::check(&run.config)?;
    let split = split(run, &args.wires).map_err(|error| fail(error.to_string()))?;
    let veth = veth::new(run, &split).map_err(|error| fail(error.to_string()))?;
    let clock = WallClock::new(&run.config, &split, veth);
    let mut came_to = None;
    let drive = |workers: &mut [Worker<'_>]| {
        let (tally, lateness) = clock.drive(workers, watch)?;
        let lost = tally.lost_data;
        came_to = Some((tally, lateness));
        Ok(lost)
    };
    let results = run_unsynchronized(&run.config, &split.shard_of, drive)?;
    let (tally, lateness) = came_to.unwrap_or_default();
    let late = lateness_of(run, label, &lateness);
    Ok((results, tally, late))
}

#[cfg(not(target_os = "linux"))]
fn in_real_time(
    _run: &Run,
    _args: &Testbed,
    _label: &str,
    _watch: &mut Watch<'_>,
) -> Result<(Results, Tally, String), unpause_sim::Error> {
    Err(unpause_sim::Error::Exchange("it needs Linux".into()))
}

/// How late a run was, and whether that is too much: a frame in a hundred later than a tenth of the shortest
/// link's delay.
#[cfg(target_os = "linux")]
fn lateness_of(run: &Run, label: &str, lateness: &Lateness) -> String {
    let delays = run.config.fabric.links.iter().map(|link| link.delay);
    let shortest = delays.min().map_or(0.0, |delay| delay.as_ns_f64() / 1e3);
    let [middle, most, worst] = [50, 99, 100].map(|percent| lateness.percentile(percent));
    let mut text = format!(
        "{label}: frames were late by {middle} us (median), {most} us (99 %), {worst} us (worst)\n"
    );
    if f64::from(most) > shortest / 10.0 || lateness.too_late > 0 {
        text += &format!(
            "warning: {label}: unreliable: one frame in a hundred was more than {most} us late, where \
             links are {shortest} us long; {} came too late for their time\n   hint: on an idle machine, or at lower rates and longer delays, frames are on time\n",
            lateness.too_late
        );
    }
    for what in &lateness.not_permitted {
        text += &format!("   note: {label}: not permitted: {what}\n");
    }
    text
}

fn over<M: Medium>(
    run: &Run,
    split: &Split,
    medium: M,
    watch: &mut Watch<'_>,
) -> Result<(Results, Tally), unpause_sim::Error> {
    let exchange = LockStep::new(&run.config, split, medium);
    let mut exchange = exchange.map_err(unpause_sim::Error::Exchange)?;
    let results = run_over(&run.config, &split.shard_of, &mut exchange, watch)?;
    Ok((results, exchange.tally().clone()))
}

#[cfg(target_os = "linux")]
mod veth {
    use unpause_scenario::Run;
    pub use unpause_testbed::Unable;
    use unpause_testbed::{Split, Veth};

    pub fn new(run: &Run, split: &Split) -> Result<Veth, Unable> {
        Veth::new(&run.config, split)
    }

    /// Advice.
    pub fn help(unable: &Unable) -> &'static str {
        match unable {
            Unable::Capabilities(_) => {
                "run it as root, or with `unshare --user --map-root-user --net`; or use `--links memory`, which has no requirements"
            }
            Unable::NoIp => "install iproute2; or use `--links memory`, which has no requirements",
            Unable::Failed { .. } => "`--links memory` has no requirements",
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod veth {
    use unpause_scenario::Run;
    use unpause_testbed::{Memory, Split};

    #[derive(Debug, thiserror::Error)]
    #[error("virtual Ethernet devices need Linux")]
    pub struct Unable;

    pub fn new(_run: &Run, _split: &Split) -> Result<Memory, Unable> {
        Err(Unable)
    }

    pub fn help(_unable: &Unable) -> &'static str {
        "use `--links memory`"
    }
}

/// An error, if there can be no virtual Ethernet.
fn try_veth(run: &Run, wires: &[String]) -> Result<(), Error> {
    let split = split(run, wires)?;
    let tried = veth::new(run, &split);
    tried.map(drop).map_err(|unable| Error::Other {
        help: Some(veth::help(&unable).into()),
        message: unable.to_string(),
    })
}

/// The totals of all runs.
fn total(args: &Testbed, sum: &Tally) -> String {
    let over = match args.links {
        Links::Veth => "virtual Ethernet",
        Links::Memory => "memory",
    };
    let spent = sum.spent.as_secs_f64();
    let frames = sum.frames as f64;
    let cost = if args.wall_clock {
        format!("{:.0} frames a second", frames / spent.max(1e-9))
    } else {
        format!("{:.1} us each", spent * 1e6 / frames.max(1.0))
    };
    format!(
        "testbed: {} frames of {:.1} MB in total over {over}, {cost}; {} lost, {} not obeyed\n",
        sum.frames,
        sum.bytes as f64 / 1e6,
        sum.lost,
        sum.refusals()
    )
}

/// The faults in the frames of a run.
fn faults(run: &Run, label: &str, tally: &Tally) -> String {
    let mut lines = String::new();
    for ((port, kind), (count, first)) in &tally.refused {
        let at = arrow(run, *port);
        lines += &format!(
            "warning: {label}: {at}: frames not obeyed: {count}, {kind} (the first: {first})\n"
        );
    }
    if tally.lost > 0 {
        let lost = tally.lost;
        lines += &format!(
            "warning: {label}: frames lost: {lost}; its tables describe a fabric that loses frames\n"
        );
    }
    lines
}

/// A port as people name it: from the node that sends into the wire to the one at which it ends.
fn arrow(run: &Run, port: GlobalPort) -> String {
    let ports = Ports::new(&run.config.fabric);
    let to = &ports.transmitters[port as usize];
    let from = &ports.transmitters[to.peer_port as usize];
    let names = &run.names;
    format!("{}->{}", names.name(to.peer), names.name(from.peer))
}
