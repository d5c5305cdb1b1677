//! Configurations of switches as a scenario: their fabric, and what they have in common.

mod buffers;
mod classes;
mod dog;
mod fabric_ports;
mod links;
mod marks;
mod places;
mod queues;
mod same;
mod writer;

use unpause_protocols::units::Time;

use super::finding::Severity;
use super::known::TABLES;
use super::model::ConfigDb;
use super::table::OF_OTHERS;
use super::values::some_of;
use fabric_ports::Ports;
use links::Fabric;
use unpause_import::FileError;
use writer::{Writer, quoted};

/// A scenario made of configurations.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Its text.
    pub text: String,
    /// The files read, and how they were interpreted.
    pub notes: Vec<String>,
    /// Parts of the files that are not carried over, and why.
    pub left_out: Vec<String>,
}

/// Makes a scenario of one configuration a switch.
///
/// # Errors
///
/// If a file has values that cannot be read, if files contradict one another, or if ports differ in what a scenario
/// has once.
pub fn import(switches: &[ConfigDb]) -> Result<Imported, FileError> {
    for db in switches {
        let wrong = db.findings.iter().find(|it| it.severity == Severity::Error);
        if let Some(it) = wrong {
            let expected = "a file without errors of form: `unpause lint` names them all";
            return Err(db.place(&it.spot).error(it.message.clone(), expected));
        }
    }
    let fabric = links::fabric(switches)?;
    let ports = Ports::new(switches, &fabric.ports);
    let mut writer = Writer::default();
    writer.notes.extend(fabric.notes.iter().cloned());
    fabric
        .left_out
        .iter()
        .for_each(|line| writer.leave_out(line.clone()));
    let lossless = buffers::lossless(&ports, &mut writer);
    let cnps = classes::cnp(&ports, &lossless, &mut writer);
    let control = cnps.unwrap_or(classes::CONTROL);
    let has_maps = classes::maps(&ports, &lossless, control, &mut writer)?;
    classes::dscps(&ports, &lossless, &mut writer);
    head(switches, &fabric, &mut writer);
    writer.line("[host]");
    writer.key(
        "payload",
        "\"4096B\"",
        "RoCE's largest; hosts decide, not PORT mtu",
    );
    if let Some(class) = cnps {
        writer.key(
            "control_priority",
            class.to_string(),
            "DSCP_TO_TC_MAP 48, of CNPs",
        );
    }
    writer.line("");
    writer.line("[switch]");
    let names: Vec<String> = lossless.iter().map(u8::to_string).collect();
    writer.key(
        "lossless",
        format!("[{}]", names.join(", ")),
        "PORT_QOS_MAP pfc_enable",
    );
    buffers::write(&ports, &lossless, &mut writer)?;
    classes::scheduler(&ports, control, &mut writer);
    dog::watchdog(&ports, &lossless, has_maps, &mut writer)?;
    marks::schemes(&ports, &lossless, control, &mut writer)?;
    queues::limits(&ports, control, &mut writer);
    queues::shapers(&ports, control, &mut writer)?;
    writer.overrides();
    let lowest = (0..8).find(|it| *it != control).unwrap_or(0);
    let priority = lossless.first().copied().unwrap_or(lowest);
    traffic(&fabric, priority, &mut writer);
    if !has_maps {
        writer.line("");
        writer.line("[probes]");
        writer.line("causes = true");
    }
    for db in switches {
        queues::rest(db, &mut writer);
        buffers::rest(db, &mut writer);
        others(db, &mut writer);
    }
    let (text, notes, left_out) = writer.left_out();
    Ok(Imported {
        text,
        notes,
        left_out,
    })
}

fn head(switches: &[ConfigDb], fabric: &Fabric, writer: &mut Writer) {
    let files: Vec<String> = switches
        .iter()
        .map(|db| db.path.display().to_string())
        .collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let title = format!(
        "SONiC: {}",
        some_of(
            &fabric
                .switches
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
        )
    );
    writer.line(format!(
        "# Made by `unpause import sonic` from {}.",
        some_of(&files).replace(['\n', '\r'], " ")
    ));
    writer.line(format!("title = {}", quoted(&title)));
    writer.key(
        "duration",
        format!("\"{}\"", duration(fabric)),
        "of the traffic below",
    );
    writer.line("");
    writer.line("[topology]");
    writer.line("builder = \"explicit\"");
    let hosts: Vec<String> = fabric.hosts.iter().map(|name| quoted(name)).collect();
    writer.line(format!("hosts = [{}]", hosts.join(", ")));
    let names: Vec<String> = fabric.switches.iter().map(|name| quoted(name)).collect();
    writer.line(format!("switches = [{}]", names.join(", ")));
    writer.line("");
    for link in &fabric.links {
        writer.line("[[topology.link]]");
        writer.line(format!("a = {}", quoted(&link.a)));
        writer.line(format!("b = {}", quoted(&link.b)));
        writer.key("rate", format!("\"{}\"", link.rate), "PORT speed");
        writer.key(
            "delay",
            format!("\"{}\"", link.delay),
            "CABLE_LENGTH, 5 ns/m",
        );
        if link.parallel > 1 {
            writer.key(
                "parallel",
                link.parallel.to_string(),
                "ports to the same neighbour",
            );
        }
        writer.line("");
    }
}

/// Bytes that each sends in the example.
const BYTES: u64 = 1_000_000;

/// Twice what the example takes on the slowest link, in whole milliseconds, and one more.
fn duration(fabric: &Fabric) -> Time {
    let slowest = fabric.links.iter().map(|link| link.rate).min();
    let all = BYTES * fabric.hosts.len() as u64;
    let time = slowest.map_or(Time::ZERO, |rate| rate.time_for(2 * all));
    Time::from_ms(time.as_ps() / 1_000_000_000 + 2)
}

/// An incast, for the files say nothing of traffic.
fn traffic(fabric: &Fabric, priority: u8, writer: &mut Writer) {
    let mut hosts = fabric.hosts.iter();
    let to = hosts.next().map_or(String::new(), |name| quoted(name));
    let from: Vec<String> = hosts.map(|name| quoted(name)).collect();
    writer.line("# The files say nothing of traffic: this is an example. Put yours here (docs/scenario.md).");
    writer.line("[[traffic]]");
    writer.line("name = \"incast\"");
    writer.line("kind = \"burst\"");
    writer.line(format!("from = [{}]", from.join(", ")));
    writer.line(format!("to = {to}"));
    writer.line("size = \"1MB\"");
    writer.line(format!("priority = {priority}"));
    writer
        .notes
        .push("traffic: an incast of 1 MB from every host, as an example".into());
}

/// Tables of link aggregation.
const CHANNELS: [&str; 2] = ["PORTCHANNEL", "PORTCHANNEL_MEMBER"];

/// Tables that say nothing that a scenario could.
fn others(db: &ConfigDb, writer: &mut Writer) {
    let is_other = |name: &&str| !TABLES.contains(name) && !CHANNELS.contains(name);
    let names = || db.tables.iter().map(String::as_str);
    let other: Vec<&str> = names().filter(is_other).collect();
    if !other.is_empty() {
        writer.leave_out(format!(
            "{}: {}: no counterpart in a scenario",
            db.name(),
            other.join(", ")
        ));
    }
    let channels: Vec<&str> = names().filter(|name| CHANNELS.contains(name)).collect();
    if !channels.is_empty() {
        writer.leave_out(format!(
            "{}: {}: each member is a link of its own here, and links to the same neighbour share flows (ECMP); hashing and \
             min_links of a LAG are not modelled",
            db.name(),
            some_of(&channels)
        ));
    }
    for (table, fields) in &db.unread {
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        writer.leave_out(format!(
            "{}: {table} {}: no counterpart in a scenario",
            db.name(),
            fields.join(", ")
        ));
    }
    let elsewhere = db.findings.iter().filter(|it| it.rule == OF_OTHERS);
    for it in elsewhere {
        writer.leave_out(format!("{}: {}", db.name(), it.message));
    }
    for (table, why) in [
        (
            "DOT1P_TO_TC_MAP",
            "classes of tags: traffic names its priority",
        ),
        ("BUFFER_PORT_INGRESS_PROFILE_LIST", "limits of a whole port"),
        ("BUFFER_PORT_EGRESS_PROFILE_LIST", "limits of a whole port"),
        (
            "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
            "of SONiC's dynamic buffer model",
        ),
    ] {
        if db.tables.iter().any(|name| name == table) {
            writer.leave_out(format!("{}: {table}: {why}", db.name()));
        }
    }
}
