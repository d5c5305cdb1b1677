//! From the text of a scenario to the configuration of each run.

mod cioq;
mod context;
mod delays;
mod flow_settings;
mod kinds;
mod marking;
mod pipeline;
mod scheduler;
mod settings;
mod switch_model;
mod tcp;
mod topology;
mod traffic;
mod unused;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_spanned::Spanned;
use toml::de::DeValue;
use unpause_protocols::congestion_point;
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, HostConfig, SchemeConfig};
use unpause_sim::traffic::Transport;

use crate::file::{FILE_KEYS, File};
use crate::import::files::Files;
use crate::mechanisms::Mechanism;
use crate::names::Names;
use crate::rtt::base_rtt;
use crate::run::{Heading, Run};
use crate::sweep::{self, Point};
use crate::text::checks::positive;
use crate::text::document::{self, Table, read, split_off, take_string, take_table, take_tables};
use crate::text::error::{Checked, Problem, nearest};

pub use kinds::KINDS;
pub use topology::BUILDERS;

/// Everything a file says.
pub(crate) struct Compiled {
    pub heading: Heading,
    pub runs: Vec<Run>,
}

/// `[[scheme]]` without its `set` and its mechanisms' tables.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SchemeFile {
    #[allow(dead_code, reason = "read before the table gets here")]
    name: Spanned<String>,
}

/// Compiles every scheme at every sweep point. Relative paths start at `directory`.
pub(crate) fn scenario(source: &str, directory: &Path) -> Checked<Compiled> {
    let mut root = document::parse(source)?;
    let sweep = sweep::read_all(take_tables(&mut root, "sweep")?)?;
    let schemes = scheme_names(&root)?;
    let files = Files::new(directory);
    let mut compiled = Compiled {
        heading: Heading {
            sweep_columns: sweep.columns.clone(),
            ..Heading::default()
        },
        runs: Vec::new(),
    };
    for scheme in &schemes {
        for point in &sweep.points {
            // Each run has a document of its own, in which `set` and the sweep replace keys.
            let root = document::parse(source)?;
            let (file, mut run) = compile_run(root, scheme, &schemes, point, &files)?;
            run.index = compiled.runs.len() as u32;
            compiled.heading.title = file.title;
            compiled.heading.source = file.source;
            compiled.runs.push(run);
        }
    }
    unused::check(&root, &compiled.runs)?;
    Ok(compiled)
}

/// Names of the schemes, all different.
fn scheme_names(root: &Table<'_>) -> Checked<Vec<String>> {
    let mut names: Vec<Spanned<String>> = Vec::new();
    for mut table in take_tables(&mut root.clone(), "scheme")? {
        let span = table.span();
        let Some(name) = take_string(&mut table, "name")? else {
            return Problem::new("a scheme without a name")
                .at(span, "this table needs `name`")
                .help("write name = \"PFC+DCQCN\", or whatever its results shall be called")
                .err();
        };
        unique(&mut names, name, "scheme")?;
    }
    if names.is_empty() {
        return Problem::new("no schemes to run")
            .at(root.span(), "this file has no [[scheme]]")
            .help("add [[scheme]] with name = \"PFC\"; `unpause list` shows congestion controls")
            .err();
    }
    Ok(names.into_iter().map(Spanned::into_inner).collect())
}

fn unique(names: &mut Vec<Spanned<String>>, name: Spanned<String>, what: &str) -> Checked<()> {
    if let Some(first) = names.iter().find(|first| first.get_ref() == name.get_ref()) {
        return Problem::new(format!(
            "two entries of `{what}` have the name `{}`",
            name.get_ref()
        ))
        .at(name.span(), "the second")
        .at(first.span(), "the first")
        .err();
    }
    names.push(name);
    Ok(())
}

/// Applies the scheme's `set`, then the sweep's values, and takes the scheme's table out.
fn take_scheme<'i>(root: &mut Table<'i>, scheme: &str, point: &'i Point) -> Checked<Table<'i>> {
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
    for (path, value) in set.into_iter().flat_map(Spanned::into_inner) {
        document::set(root, path.get_ref(), path.span(), value)?;
    }
    point.apply(root)?;
    let mut table = own(take_tables(root, "scheme")?);
    table.get_mut().remove("set");
    Ok(table)
}

fn compile_run<'i>(
    mut root: Table<'i>,
    scheme: &str,
    schemes: &[String],
    point: &'i Point,
    files: &Files,
) -> Checked<(File, Run)> {
    root.get_mut().remove("sweep");
    let mut scheme_table = take_scheme(&mut root, scheme, point)?;
    let topology = take_table(&mut root, "topology")?;
    let traffic_tables = take_tables(&mut root, "traffic")?;
    let whole = root.span();
    let pfc_span = root.get_ref().get("pfc").map(Spanned::span);
    let mut file: File = read(root, &FILE_KEYS)?;
    let stop = positive("duration", &file.duration)?;

    let Some(topology) = topology else {
        return Problem::new("no topology")
            .at(whole, "this file has no [topology]")
            .help("add [topology] with a `builder` or a `file`; `unpause list` shows the builders")
            .err();
    };
    let built = topology::read_table(topology, files)?;
    let mut fabric = built.fabric.clone();
    let mut names = Names::new(built.names.clone(), &fabric);

    let mut host = settings::host(&file.host)?;
    host.tcp = tcp::tcp(&file.tcp)?;
    let delays = delays::Delays::new(&file.host.extra_delay, files)?;
    fabric.framing_bytes = settings::framing(&file.host)?;
    settings::without_lossless(&file, pfc_span)?;
    cioq::check_fabric(&file.switch, &fabric)?;
    let pfc = settings::pfc(&file.pfc, &switch_model::pfc_defaults(&file.switch), &host)?;
    let mut switch = settings::switch(&file.switch, pfc, &host)?;
    let mtu = host.payload_bytes + host.header_bytes + fabric.framing_bytes;
    switch.model = switch_model::model(&file, &switch, &host, mtu.into())?;
    let scheduled = scheduler::scheduler(&file.switch.scheduler, &host)?;
    let probes = settings::probes(&file.probes, &names)?;
    let marking_table = split_off(&mut scheme_table, &marking::KEYS);
    let marked = marking_table.get_ref().get("marking").map(Spanned::span);
    let longest_rtt = || base_rtt(&fabric, &names) + delays.longest_of_host();
    let chosen = congestion_control(&mut scheme_table, marked, longest_rtt)?;
    let marking = marking::marking(marking_table)?;
    let more_keys = ["congestion_control", "tcp", "marking", "set"];
    read::<SchemeFile>(scheme_table, &more_keys)?;
    let (mechanism, mut scheme_config) = (chosen.mechanism, chosen.config);
    let marking = marking.map(|(marking, config)| {
        scheme_config.congestion_point = config;
        marking
    });
    tcp::window(&file.tcp, scheme_config.window.tcp_mut())?;
    if let Some(pias) = &file.pias {
        let tags = tcp::pias(pias, host.control_priority)?;
        let used = tags.priorities.iter().fold(0, |all, p| all | 1 << p);
        scheduler::check_queues(&scheduled, &file.switch.scheduler, used, pias.span())?;
        host.tcp.tags = Some(tags);
    }

    if traffic_tables.is_empty() {
        return Problem::new("no traffic")
            .at(whole, "this file has no [[traffic]]")
            .help("add [[traffic]] with a `kind`; `unpause list` shows the kinds")
            .err();
    }
    let context = context::Context {
        topology: &built,
        names: &names,
        files,
        scheme,
        schemes,
        control_priority: host.control_priority,
        transport: match mechanism.is_tcp() {
            true => Transport::Tcp,
            false => Transport::Roce,
        },
        has_tcp: chosen.has_tcp,
        first_priority: first_priority(&host),
        delays: &delays,
    };
    let load_scale = settings::load_scale(&file.load_scale)?;
    let mut traffic_names = Vec::new();
    let mut traffic = Vec::new();
    let mut notes = Vec::from_iter(cioq::note(&fabric, &switch, &host));
    for table in traffic_tables {
        let span = table.span();
        let mut entry = traffic::entry(table, &context)?;
        if let Some(factor) = load_scale {
            entry.spec.scale_load(factor);
        }
        if let Err(why) = entry.spec.validate(&fabric) {
            return Problem::new(why).at(span, "in this entry").err();
        }
        let used = entry.spec.priorities();
        scheduler::check_queues(&scheduled, &file.switch.scheduler, used, span)?;
        unique(&mut traffic_names, entry.name, "traffic")?;
        traffic.push(entry.spec);
        notes.extend(entry.note);
    }
    names.traffic = traffic_names.into_iter().map(Spanned::into_inner).collect();
    switch.scheduler = scheduled.scheduler;
    let seed = file.seed.take().unwrap_or(1);
    host.extra_delays = delays.into_distributions();
    let config = Config {
        fabric,
        host,
        switch,
        scheme: scheme_config,
        traffic,
        probes,
        seed,
        stop,
    };
    let run = Run {
        index: 0,
        scheme: scheme.to_owned(),
        mechanism,
        marking,
        values: point.values.clone(),
        config,
        names: Arc::new(names),
        notes,
    };
    Ok((file, run))
}

fn first_priority(host: &HostConfig) -> Option<u8> {
    host.tcp.tags.as_ref()?.priorities.first().copied()
}

/// What a scheme says of congestion control.
struct Chosen {
    mechanism: Mechanism,
    config: SchemeConfig,
    /// It has a window law.
    has_tcp: bool,
}

/// Reads `congestion_control`, `tcp` and the tables of what they name. `marking` is where another
/// congestion point than theirs is named.
fn congestion_control(
    table: &mut Table<'_>,
    marking: Option<Range<usize>>,
    base_rtt: impl Fn() -> Time,
) -> Checked<Chosen> {
    let all = Mechanism::ALL.map(Mechanism::name);
    let said = take_string(table, "congestion_control")?;
    let mechanism = match &said {
        None => Mechanism::None,
        Some(name) => mechanism(name, &Mechanism::ALL, "congestion control")?,
    };
    let said_tcp = take_string(table, "tcp")?;
    let beside = match &said_tcp {
        None => None,
        Some(name) if mechanism.is_tcp() => {
            return Problem::new("`tcp` has no effect")
                .at(name.span(), "flows are TCP already")
                .at(
                    said.as_ref().map_or(name.span(), Spanned::span),
                    "by this congestion control",
                )
                .help("remove it; it gives TCP flows a window law beside a RoCE congestion control")
                .err();
        }
        Some(name) => {
            let laws: Vec<Mechanism> = Mechanism::ALL.into_iter().filter(|m| m.is_tcp()).collect();
            Some(self::mechanism(name, &laws, "window law")?)
        }
    };
    let mut tables = [None, None];
    for (key, value) in split_off(table, &all).into_inner() {
        let span = value.span();
        let slot = if key.get_ref() == mechanism.name() {
            0
        } else if beside.is_some_and(|law| key.get_ref() == law.name()) {
            1
        } else {
            return Problem::new(format!("[scheme.{}] has no effect", key.get_ref()))
                .at(key.span(), "these parameters")
                .at(
                    said.as_ref().map_or(key.span(), Spanned::span),
                    format!("congestion_control is \"{}\"", mechanism.name()),
                )
                .help(format!(
                    "remove the table, or set congestion_control = \"{}\"",
                    key.get_ref()
                ))
                .err();
        };
        match value.into_inner() {
            DeValue::Table(table) => tables[slot] = Some(Spanned::new(span, table)),
            _ => {
                return Problem::new(format!("`{}` is not a table", key.get_ref()))
                    .at(span, "expected parameters")
                    .err();
            }
        }
    }
    let [own, of_law] = tables;
    if let Some(marking) = marking {
        marking::replaces(mechanism, marking.clone(), own.as_ref())?;
        if let Some(law) = beside {
            marking::replaces(law, marking, of_law.as_ref())?;
        }
    }
    let base_rtt = match mechanism {
        Mechanism::Timely => base_rtt(),
        _ => Time::ZERO,
    };
    let mut config = mechanism.configure(own, base_rtt)?;
    if let Some(law) = beside {
        let span = of_law.as_ref().map_or(0..0, Spanned::span);
        let queues = ["k", "drop_probability"];
        let sets_queues = of_law
            .as_ref()
            .is_some_and(|table| queues.iter().any(|key| table.get_ref().contains_key(*key)));
        let with = law.configure(of_law, base_rtt)?;
        config.window = with.window;
        if config.congestion_point == congestion_point::Config::None {
            config.congestion_point = with.congestion_point;
        } else if sets_queues {
            return Problem::new(format!("what {} says of queues has no effect", law.name()))
                .at(span, "in this table")
                .help(format!(
                    "remove it: switches do what congestion_control = \"{}\" makes them do",
                    mechanism.name()
                ))
                .err();
        }
    }
    Ok(Chosen {
        mechanism,
        config,
        has_tcp: mechanism.is_tcp() || beside.is_some(),
    })
}

fn mechanism(name: &Spanned<String>, among: &[Mechanism], what: &str) -> Checked<Mechanism> {
    let found = among.iter().find(|m| m.name() == name.get_ref());
    match found {
        Some(mechanism) => Ok(*mechanism),
        None => {
            let known: Vec<&str> = among.iter().map(|m| m.name()).collect();
            Problem::new(format!("unknown {what} \"{}\"", name.get_ref()))
                .at(name.span(), "here")
                .help_if(nearest(name.get_ref(), &known))
                .err()
        }
    }
}
