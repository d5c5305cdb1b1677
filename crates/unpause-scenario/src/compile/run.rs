//! From a scheme at a point of the sweep to the configuration of its run.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use serde_spanned::Spanned;
use unpause_protocols::congestion_control;
use unpause_protocols::units::Time;
use unpause_sim::config::{
    Config, Fabric, HostConfig, Probes, SchemeConfig, Skipping, SwitchConfig,
};

use super::flows::{self, Entries};
use super::queues::Queues;
use super::rtt::base_rtt;
use super::{idle, unused};
use crate::files::Files;
use crate::sections::extra_delay::Delays;
use crate::sections::file::{FILE_KEYS, File, Sections, warmup};
use crate::sections::hpcc;
use crate::sections::loss_recovery::{loss_recovery, take_loss_recovery};
use crate::sections::marking::{Marking, marking, take_marking};
use crate::sections::scheme::{
    BaseRtt, CONGESTION_CONTROLS, Chosen, CongestionControl, SchemeKeys, congestion_control,
};
use crate::sections::sweep::Point;
use crate::sections::{
    event, host, job, overrides, pias, probes, slow_receiver, switch, tcp, topology, traffic,
};
use crate::size;
use crate::text::document::{self, Table, read, take_table, take_tables};
use crate::text::keys::{Keys as _, Unread};
use unpause_import::fabric::names::Names;
use unpause_import::fabric::topology::Topology;
use unpause_results::run::{Hpcc, Mechanisms, Run};
use unpause_text::error::{Checked, Problem};
use unpause_text::limits;

/// `Err` if there are more than `most` entries of `what`.
pub(super) fn at_most(what: &str, tables: &[Table<'_>], most: usize) -> Checked<()> {
    let Some(beyond) = tables.get(most) else {
        return Ok(());
    };
    Problem::new(format!("{} entries of `{what}`", tables.len()))
        .at(beyond.span(), format!("at most {most} are possible"))
        .err()
}

/// Applies the scheme's `set`, then the sweep's values, and takes the scheme's table out.
pub(super) fn take_scheme<'i>(
    root: &mut Table<'i>,
    scheme: &str,
    point: &'i Point,
) -> Checked<Table<'i>> {
    let own = |mut tables: Vec<Table<'i>>| {
        let index = tables.iter().position(|table| {
            table
                .get_ref()
                .get("name")
                .and_then(|name| name.get_ref().as_str())
                == Some(scheme)
        });
        tables.swap_remove(index.expect("the name comes from the same document"))
    };
    let set = take_table(&mut own(take_tables(&mut root.clone(), "scheme")?), "set")?;
    let mut paths = Vec::new();
    for (path, value) in set.into_iter().flat_map(Spanned::into_inner) {
        document::set(root, path.get_ref(), path.span(), value)?;
        paths.push(path);
    }
    for path in paths {
        traffic::set_has_effect(root, path.get_ref(), path.span(), scheme)?;
    }
    point.apply(root)?;
    let mut table = own(take_tables(root, "scheme")?);
    table.get_mut().remove("set");
    Ok(table)
}

/// A file taken apart.
struct Parts<'i> {
    scheme: Table<'i>,
    topology: Table<'i>,
    events: Vec<Table<'i>>,
    overrides: Vec<Table<'i>>,
    traffic: Entries<'i>,
    /// Where `[probes]` stands, or the whole file.
    probes: Range<usize>,
    rest: File,
    sections: Sections,
}

/// Takes the file apart as it is for `scheme` at `point`. A mistake in a key is found here, before a
/// large fabric is built.
fn take_apart<'i>(
    mut root: Table<'i>,
    scheme: &str,
    point: &'i Point,
    driver: Option<&'i traffic::Driver>,
) -> Checked<Parts<'i>> {
    root.get_mut().remove("sweep");
    let scheme = take_scheme(&mut root, scheme, point)?;
    let topology = take_table(&mut root, "topology")?;
    let traffic = take_tables(&mut root, "traffic")?;
    at_most("traffic", &traffic, limits::TRAFFIC_ENTRIES)?;
    let events = take_tables(&mut root, "event")?;
    at_most("event", &events, limits::LINK_EVENTS)?;
    let overrides = take_tables(&mut root, "override")?;
    at_most("override", &overrides, limits::OVERRIDES)?;
    let jobs = take_tables(&mut root, "job")?;
    at_most("job", &jobs, limits::JOBS)?;
    let whole = root.span();
    let probes = root.get_ref().get("probes").map(Spanned::span);
    let probes = probes.unwrap_or(whole.clone());
    let mut rest: File = read(root, &FILE_KEYS).map_err(of_a_scheme)?;
    let Some(topology) = topology else {
        return Problem::new("no topology")
            .at(whole, "this file has no [topology]")
            .help("add [topology] with a `builder` or a `file`; `unpause list` shows the builders")
            .absent("[topology]\nbuilder = \"single-switch\"\nhosts = 2\nrate = \"1Gbps\"\ndelay = \"1us\"\n")
            .err();
    };
    if traffic.is_empty() && jobs.is_empty() && driver.is_none() {
        return Problem::new("no traffic")
            .at(whole, "this file has no [[traffic]] and no [[job]]")
            .help("add [[traffic]] with a `kind`; `unpause list` shows the kinds")
            .absent("[[traffic]]\nname = \"all\"\nkind = \"permutation\"\n")
            .err();
    }
    controls(scheme.clone(), &|_| Ok(Time::ZERO))?;
    let traffic = traffic.into_iter().map(traffic::read_entry);
    Ok(Parts {
        scheme,
        topology,
        events,
        overrides,
        traffic: Entries {
            written: traffic.collect::<Checked<_>>()?,
            jobs: jobs
                .into_iter()
                .map(job::read_job)
                .collect::<Checked<_>>()?,
            driver: driver.map(|driver| (driver, whole)),
        },
        probes,
        sections: Sections::of(&mut rest),
        rest,
    })
}

/// Where the parameters of a mechanism belong that are not in a scheme.
fn of_a_scheme(mut problem: Box<Problem>) -> Box<Problem> {
    let name = problem.message.strip_prefix("unknown key `");
    let name = name.and_then(|it| it.strip_suffix('`')).unwrap_or_default();
    if CONGESTION_CONTROLS.iter().any(|it| it.name() == name) {
        problem.help = Some(format!(
            "parameters of a mechanism belong to a scheme: [scheme.{name}]; a sweep calls them scheme.NAME.{name}"
        ));
    }
    problem
}

/// The topology, unless its routes are too many.
fn build(topology: Table<'_>, files: &Files) -> Checked<Topology> {
    let place = topology.span();
    let built = topology::topology(topology, files)?;
    size::check_routes(&built.fabric, place)?;
    Ok(built)
}

pub(super) fn compile_run<'i>(
    root: Table<'i>,
    (scheme, schemes): (&str, &[String]),
    point: &'i Point,
    files: &Files,
    driver: Option<&'i traffic::Driver>,
) -> Checked<(File, Run, Vec<Unread>)> {
    let parts = take_apart(root, scheme, point, driver)?;
    let (file, sections) = (parts.rest, parts.sections);
    let built = build(parts.topology, files)?;
    let (mut fabric, mut names) = Names::of(&built);
    let (mut host, switch, queues, mut unread) =
        nodes(&sections, parts.overrides, &mut fabric, &names)?;
    let delays = Delays::new(&sections.host.extra_delay, files)?;
    let (probes, hpcc) = recorded(&sections, &names, &switch)?;
    let (stop, routing) = (file.duration.get_ref().0, &sections.routing);
    let events = event::events(parts.events, routing, (&names, &built), stop)?;
    unread.extend(sections.unread(&switch));
    let unread = idle::of_several(unread, schemes.len() > 1 || !point.values.is_empty())?;
    slow_receiver::check_start(&sections.slow_receiver, stop)?;
    let (at, own) = (parts.scheme.span(), delays.longest_of_host());
    let longest_rtt = |key: &str| Ok(base_rtt(&fabric, switch.balancing, &at, key)? + own);
    let (chosen, marking) = controls(parts.scheme, &longest_rtt)?;
    tag(&file, &queues, &mut host)?;
    let context = traffic::Context {
        topology: &built,
        names: &names,
        files,
        scheme,
        schemes,
        host: &host,
        framing_bytes: fabric.framing_bytes,
        transport: chosen.congestion_control.transport(),
        law: chosen.law,
        delays: &delays,
        load: Cell::new(None),
        notes: notes(&built, switch::note(&fabric, &switch, &host)),
    };
    let flows = flows::read(parts.traffic, &file, &queues, &fabric, &context)?;
    let notes = context.notes.into_inner();
    (names.traffic, names.jobs) = (flows.names, flows.named_jobs);
    host.extra_delays = delays.into_distributions();
    let config = Config {
        fabric,
        host,
        switch,
        scheme: with_laws(chosen.config, flows.laws),
        traffic: flows.specs,
        following: flows.following,
        jitters: flows.jitters,
        jobs: flows.jobs,
        events,
        probes,
        seed: *file.seed.value(),
        stop,
        skipping: Skipping::default(),
    };
    check_whole(
        &config,
        &names,
        (parts.probes, chosen.recovery, &flows.places),
    )?;
    let run = Run {
        index: 0,
        scheme: scheme.to_owned(),
        mechanisms: mechanisms(chosen.congestion_control, marking, chosen.sets_queues),
        values: point.values.clone(),
        hpcc,
        warmup: warmup(&file, stop)?,
        loads: flows.loads,
        config,
        names: Arc::new(names),
        notes,
    };
    Ok((file, run, unread))
}

/// The mechanisms of a scheme, as its results know them.
fn mechanisms(
    control: CongestionControl,
    marking: Option<Marking>,
    sets_queues: bool,
) -> Mechanisms {
    Mechanisms {
        control: control.name(),
        marking: marking.map(Marking::name),
        marks: marking.map_or(control.marks(), Marking::marks),
        sets_queues,
        transport: control.transport(),
        reacts: control.reacts(),
        notifies_by: control.notifies_by(),
        warning: control.warning(),
    }
}

/// A scheme in which some entries have window laws of their own.
fn with_laws(scheme: SchemeConfig, laws: Vec<(u16, congestion_control::Config)>) -> SchemeConfig {
    SchemeConfig {
        tcp_of_entry: laws,
        ..scheme
    }
}

/// Hosts, switches and their queues.
fn nodes<'s>(
    sections: &'s Sections,
    others: Vec<Table<'_>>,
    fabric: &mut Fabric,
    names: &Names,
) -> Checked<(HostConfig, SwitchConfig, Queues<'s>, Vec<Unread>)> {
    let mut host = hosts(sections, fabric)?;
    let of_default = sections.switch.lossless.peek().is_none();
    let lossless = of_default.then(|| SwitchConfig::default().lossless);
    host::check_control(&sections.host, lossless)?;
    let mut switch = switch::switch(&sections.switch, (&sections.link, &sections.pfc), &host)?;
    let unread;
    (switch.overrides, unread) = overrides::overrides(others, names, &switch, &host)?;
    let queues = Queues::of(sections, &host, &switch)?;
    switch.scheduler = queues.scheduled.scheduler.clone();
    let is_paused = switch.lossless != 0 && switch.cbfc.is_none();
    if is_paused && let Some(hosts) = sections.host.ignore_pause.get() {
        host.ignores_pause = names.host_list(hosts)?;
    }
    host.slow_receiver = slow_receiver::slow_receiver(&sections.slow_receiver, names, is_paused)?;
    Ok((host, switch, queues, unread))
}

/// Notes of topology and switches for the reader of a result.
fn notes(built: &Topology, of_switch: Option<String>) -> RefCell<Vec<String>> {
    RefCell::new(built.notes.iter().cloned().chain(of_switch).collect())
}

/// Where `[probes]`, `loss_recovery` and entries that follow others stand.
type Places<'p> = (
    Range<usize>,
    Option<Range<usize>>,
    &'p [(u16, Range<usize>)],
);

/// Flows that follow others can start, and samples fit into memory; `probes` and `following` are where they are asked for.
fn check_whole(
    config: &Config,
    names: &Names,
    (probes, recovery, following): Places<'_>,
) -> Checked<()> {
    traffic::check(config, following, names)?;
    unused::check_recovery(config, recovery)?;
    size::check_samples(config, probes)
}

/// The series to record, and the files in formats of HPCC's simulator that are made of them.
fn recorded(sections: &Sections, names: &Names, switch: &SwitchConfig) -> Checked<(Probes, Hpcc)> {
    let mut hpcc = Hpcc::default();
    sections.hpcc.apply(&mut hpcc)?;
    let mut probes = probes::probes(&sections.probes, names, switch::can_deadlock(switch))?;
    hpcc::record(
        &mut hpcc,
        &sections.hpcc,
        (names, &sections.probes),
        &mut probes,
    )?;
    Ok((probes, hpcc))
}

/// The hosts, but for delays and tags, and what a frame takes of a wire beyond its own bytes.
fn hosts(sections: &Sections, fabric: &mut Fabric) -> Checked<HostConfig> {
    let mut hosts = host::Hosts::of(&sections.host)?;
    fabric.framing_bytes = hosts.framing_bytes;
    hosts.config.tcp = tcp::tcp(&sections.tcp)?;
    Ok(hosts.config)
}

/// Lets hosts tag segments as `[pias]` says.
fn tag(file: &File, queues: &Queues<'_>, host: &mut HostConfig) -> Checked<()> {
    if let Some(pias) = file.pias.get() {
        let tags = pias::pias(pias, host.control_priority)?;
        let used = tags.priorities.iter().fold(0, |all, p| all | 1 << p);
        queues.check(used, pias.span())?;
        host.tcp.tags = Some(tags);
    }
    Ok(())
}

/// The congestion control of a scheme, with the marking that takes the place of its own.
fn controls(mut table: Table<'_>, base_rtt: BaseRtt<'_>) -> Checked<(Chosen, Option<Marking>)> {
    let marking_table = take_marking(&mut table);
    let recovery = take_loss_recovery(&mut table);
    let recovery_at = recovery.get_ref().get("loss_recovery").map(Spanned::span);
    let marked = marking_table.get_ref().get("marking").map(Spanned::span);
    let mut chosen = congestion_control(&mut table, marked, base_rtt)?;
    let marking = marking(marking_table)?.map(|(marking, config)| {
        chosen.config.congestion_point = config;
        marking
    });
    chosen.config.loss_recovery = loss_recovery(recovery, base_rtt)?;
    chosen.recovery = recovery_at;
    read::<SchemeKeys>(table, &[])?;
    Ok((chosen, marking))
}
