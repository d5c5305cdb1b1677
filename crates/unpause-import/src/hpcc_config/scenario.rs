//! The scenario that does what a `config.txt` says.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use unpause_protocols::units::Time;
use unpause_sim::traffic::FlowSettings;

use super::find::{Finder, relative};
use super::forks;
use super::of_forks;
use super::parse::{HpccConfig, parse};
use super::writer::Writer;
use crate::hpcc::{self, Flows, TopologyKind};
use crate::{FileError, Place};
use unpause_text::count::counted;
use unpause_text::limits;

/// A scenario made of a `config.txt`.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Its text.
    pub text: String,
    /// The files read, and what is read in another way than written; one line each.
    pub notes: Vec<String>,
    /// Parts of the configuration that are not carried over, and why; one line each.
    pub left_out: Vec<String>,
    /// The files that it was made of.
    pub files: Vec<PathBuf>,
    config: HpccConfig,
}

/// Settings that a `config.txt` does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish<'a> {
    /// Where the simulator is started: files are named from there. If none is given, they are looked for in the
    /// folder of the configuration and in all above.
    pub base: Option<&'a Path>,
    /// How many links between two nodes are parallel ones. If none is given, the last of them counts, as there.
    pub parallel: Option<u32>,
}

impl Imported {
    /// A mistake in a line of the text, by its number, reported for the key that the line comes from.
    pub fn mistake(&self, line: Option<usize>, found: String) -> FileError {
        // The comment of a line begins with that key.
        let line = line.and_then(|line| self.text.lines().nth(line.saturating_sub(1)));
        let comment = line.and_then(|line| line.rsplit_once("# "));
        let words = comment.into_iter().flat_map(|(_, comment)| {
            comment.split(|c: char| c != '_' && !c.is_ascii_alphanumeric())
        });
        let key = words.into_iter().find(|word| self.config.has(word));
        let place = self.config.place(key.unwrap_or(""));
        place.error(found, "what can be simulated")
    }
}

/// Reads the `config.txt` at `path` and the files that it names, and makes a scenario of it that is to lie
/// in the folder `to`.
///
/// # Errors
///
/// If a file cannot be read, or something in it cannot be simulated, or would be another experiment here.
pub fn import(path: &Path, to: &Path, wish: Wish<'_>) -> Result<Imported, FileError> {
    let text = read_text(path)?;
    let config = parse(&text, path)?;
    if config.topology.is_none() {
        hpcc::refuse_text(&text, path)?;
    }
    let files = Finder::new(path, wish.base);
    let topology_file = files.find(&config, "TOPOLOGY_FILE", &config.topology)?;
    of_forks::check(&config)?;
    check(&config)?;
    let flow_file = files.find(&config, "FLOW_FILE", &config.flows)?;
    let (topology, header) = hpcc::read_topology_kind(&topology_file, wish.parallel)?;
    let flows = hpcc::read_flows(&flow_file, &topology, &FlowSettings::default())?;
    let mut priorities: Vec<u8> = flows.flows.iter().map(|flow| flow.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    let mut writer = Writer {
        config: &config,
        topology: &topology,
        text: String::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
    };
    writer.read(&topology_file, header, &flow_file, &flows);
    writer.head(&relative(to, &topology_file), &flows, wish.parallel)?;
    writer.hosts(&priorities)?;
    writer.switches(&priorities)?;
    writer.scheme()?;
    if header == TopologyKind::Four && config.cc_mode == 3 {
        let note = "CC_MODE 3: HPCC here; ns3-datacenter has PowerTCP in its place if its command line says so";
        writer.notes.push(note.into());
    }
    writer.traffic(&relative(to, &flow_file), &files);
    writer.rest();
    let (text, notes, left_out) = (writer.text, writer.notes, writer.left_out);
    Ok(Imported {
        text,
        notes,
        left_out,
        files: vec![path.to_owned(), topology_file, flow_file],
        config,
    })
}

/// Refuses what HPCC's own keys say that would be another experiment here.
fn check(config: &HpccConfig) -> Result<(), FileError> {
    let wrong =
        |key: &str, found: String, expected: &str| Err(config.place(key).error(found, expected));
    if !(0.0..=1.0).contains(&config.error_rate) {
        let found = format!("ERROR_RATE_PER_LINK {}", config.error_rate);
        let expected = "from 0 to 1: the share of packets that a link loses";
        return wrong("ERROR_RATE_PER_LINK", found, expected);
    }
    if !config.rate_bound {
        return wrong(
            "RATE_BOUND",
            "RATE_BOUND 0".into(),
            "1: rates pace flows here",
        );
    }
    Ok(())
}

/// The text of the file, if it is no longer than a configuration.
fn read_text(path: &Path) -> Result<String, FileError> {
    let io = |reason| Place::of_line(path, 0).io(reason);
    let file = std::fs::File::open(path).map_err(io)?;
    let mut bytes = Vec::new();
    let most = limits::SCENARIO_BYTES;
    file.take(most + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > most {
        return Err(io(limits::too_large(most)));
    }
    limits::utf8(bytes, 0)
        .map_err(|not| Place::of_line(path, not.line).error(not.found, limits::EXPECTED_TEXT))
}

/// Bytes of headers of data packets without telemetry: Ethernet 14, IPv4 20, UDP 8, number and priority 6.
const HEADERS: u32 = 48;

impl Writer<'_> {
    /// Says what the files hold.
    fn read(&mut self, topology_file: &Path, kind: TopologyKind, flow_file: &Path, flows: &Flows) {
        self.notes.extend(self.config.notes.iter().cloned());
        let hosts = self.topology.hosts().count();
        let ends = self
            .topology
            .fabric
            .links
            .iter()
            .flat_map(|it| [it.a, it.b]);
        let linked: HashSet<_> = ends.collect();
        self.notes.push(format!(
            "{}: hosts: {hosts}, switches: {}, links: {}; header of {}",
            topology_file.display(),
            linked.len().saturating_sub(hosts),
            self.topology.fabric.links.len(),
            kind.named()
        ));
        self.notes.extend(self.topology.notes.iter().cloned());
        let file = flow_file.display();
        self.notes
            .push(format!("{file}: {}", counted(flows.flows.len(), "flow")));
        for note in flows.notes() {
            self.notes.push(format!("{file}: {note}"));
        }
    }

    fn head(
        &mut self,
        topology: &str,
        flows: &Flows,
        parallel: Option<u32>,
    ) -> Result<(), FileError> {
        let name = self.config.path.display().to_string();
        self.line(format!(
            "# Made by `unpause import hpcc` from {name}; docs/hpcc.md explains each key."
        ));
        let file = self.config.path.file_name().unwrap_or_default();
        self.line(format!(
            "title = {:?}",
            format!("HPCC's simulator, {}", file.to_string_lossy())
        ));
        let (stop, of) = self.stop(flows)?;
        self.key("duration", format!("\"{stop}\""), of);
        self.line("");
        self.line("[topology]");
        self.key("file", format!("{topology:?}"), "TOPOLOGY_FILE");
        if let Some(parallel) = parallel {
            self.key("parallel", parallel.to_string(), "as given to the import");
        }
        if !of_forks::has_letflow(self.config) {
            self.key("ecmp", "\"hpcc\"", "its hash, its order of next hops");
        }
        self.line("");
        self.errors();
        self.failure(stop)
    }

    /// When the run ends, and which key says so.
    fn stop(&mut self, flows: &Flows) -> Result<(Time, &'static str), FileError> {
        const GRACE: Time = Time::from_ps(10_000_000_000_000);
        /// Beyond this, an end means that there is none: 4e13 s are longer than a time can be.
        const NO_END: Time = Time::from_ps(1_000_000_000_000_000_000);
        let config = self.config;
        let starts = flows.flows.iter().map(|flow| flow.start);
        let last = starts.max().unwrap_or(Time::ZERO);
        let read = |key: &str, text: &str| {
            hpcc::seconds(text).ok_or_else(|| {
                let is_long = text
                    .parse::<f64>()
                    .is_ok_and(|it| it > 1e6 && it.is_finite());
                if is_long {
                    None
                } else {
                    Some(self.wrong(key, format!("`{text}`"), "a time in seconds"))
                }
            })
        };
        let long = |found: Result<Time, Option<FileError>>| match found {
            Ok(time) => Ok(time),
            Err(None) => Ok(NO_END),
            Err(Some(error)) => Err(error),
        };
        if let Some(text) = &config.stop {
            const KEY: &str = "SIMULATOR_STOP_TIME";
            let stop = long(read(KEY, text))?;
            if stop >= NO_END {
                let stop = last + GRACE;
                self.notes.push(format!(
                    "{KEY} {text}: no end; the run ends {GRACE} after the last flow starts, at {stop}"
                ));
                return Ok((stop, KEY));
            }
            let late = flows.flows.iter().filter(|flow| flow.start >= stop).count();
            if late > 0 {
                self.notes.push(format!(
                    "{KEY} {text}: {late} of {} flows start later, and are not sent, as in HPCC's simulator; the last \
                     starts at {last}: set `duration`",
                    flows.flows.len()
                ));
            }
            return Ok((stop, KEY));
        }
        if let Some(text) = config.of_forks.get("FLOWGEN_STOP_TIME") {
            const KEY: &str = "FLOWGEN_STOP_TIME";
            let stop = (long(read(KEY, text))?.min(NO_END) + GRACE).max(last + GRACE);
            self.notes.push(format!(
                "no SIMULATOR_STOP_TIME; the run ends at {stop}, {GRACE} after {KEY} or after the last flow starts, as \
                 ConWeave does at the latest"
            ));
            return Ok((stop, KEY));
        }
        let stop = Time::from_ms(3010).max(last + GRACE * u64::from(last >= Time::from_ms(3010)));
        let why = if last >= Time::from_ms(3010) {
            "that HPCC's simulator would end at 3.01 s, before the last flow starts"
        } else {
            "the default of HPCC's simulator"
        };
        let note = format!("no SIMULATOR_STOP_TIME: the run ends at {stop}, {why}");
        self.notes.push(note);
        Ok((stop, "SIMULATOR_STOP_TIME is not set"))
    }

    /// Bytes of telemetry in data packets and ACKs.
    fn telemetry(&self) -> u32 {
        match self.config.cc_mode {
            // Five hops of 8 bytes, and their number.
            3 => 42,
            // A time.
            7 => 8,
            // A code, in two bytes even if it has one.
            10 => 2,
            _ => 0,
        }
    }

    fn hosts(&mut self, priorities: &[u8]) -> Result<(), FileError> {
        let config = self.config;
        if config.ack_interval == 0 {
            let found = "L2_ACK_INTERVAL 0";
            let expected = "1: without ACKs no flow ever completes";
            return Err(self.wrong("L2_ACK_INTERVAL", found, expected));
        }
        self.line("[host]");
        self.key(
            "payload",
            format!("\"{}B\"", config.payload),
            "PACKET_PAYLOAD_SIZE",
        );
        let telemetry = self.telemetry();
        self.key(
            "header",
            format!("\"{}B\"", HEADERS + telemetry),
            "Ethernet 14, IPv4 20, UDP 8, number 6, telemetry by CC_MODE",
        );
        self.key("min_frame", "\"0B\"", "it pads no data");
        // Ethernet, IPv4, ports, flags, priority, number; padded to 60.
        let ack = (14 + 20 + 12 + telemetry).max(60);
        self.key(
            "ack_size",
            format!("\"{ack}B\""),
            "padded to 60, or what telemetry makes it",
        );
        self.key(
            "ack_priority",
            "\"flow\"",
            "its switches have no other, whatever ACK_HIGH_PRIO is",
        );
        self.key(
            "pause_acks",
            (!config.ack_high_prio).to_string(),
            "ACK_HIGH_PRIO, of hosts only",
        );
        let control = (0..8).rev().find(|p| !priorities.contains(p)).unwrap_or(7);
        if control != 7 {
            self.key(
                "control_priority",
                control.to_string(),
                "flows have the higher ones",
            );
        }
        let change = if [3, 10].contains(&config.cc_mode) {
            "at-once"
        } else {
            "next-packet"
        };
        self.key(
            "rate_change",
            format!("\"{change}\""),
            "only HPCC moves the time of the next packet",
        );
        if !of_forks::has_irn(config) {
            self.key("nic", "\"hpcc\"", "its order of flows, its one timer");
            self.key("nak_interval", "\"500us\"", "its NACK interval");
            self.key("retransmit_timeout", "\"1000s\"", "it has no timeout");
        }
        self.windows();
        self.line("");
        Ok(())
    }

    fn switches(&mut self, priorities: &[u8]) -> Result<(), FileError> {
        let config = self.config;
        let buffer = self.buffer()?;
        self.line("[switch]");
        let is_lossy = of_forks::is_lossy(config);
        if is_lossy {
            self.key("lossless", "[]", "ENABLE_PFC 0");
            self.key("lossy_queue", format!("\"{buffer}\""), "BUFFER_SIZE");
            self.leave_out(
                "ENABLE_PFC 0",
                "there an ingress drops what exceeds its PFC threshold and its headroom; here what finds no memory is dropped",
            );
        } else {
            self.key(
                "lossless",
                format!("{priorities:?}"),
                "the priorities of FLOW_FILE",
            );
        }
        if of_forks::has_letflow(config) {
            self.key("balancing", "\"flowlet\"", "LB_MODE 6, LetFlow");
            self.key("flowlet_gap", "\"100us\"", "its letflow_flowletTimeout");
        }
        self.key(
            "buffer",
            format!("\"{buffer}\""),
            "BUFFER_SIZE, headroom and reserves included",
        );
        self.line("");
        if !is_lossy {
            self.pfc();
        }
        if priorities.len() > 1 {
            self.leave_out(
                "pg of FLOW_FILE",
                "there priorities of a port take turns packet by packet; here higher ones go first, unless [switch.scheduler] says otherwise",
            );
        }
        if config.pause_time == 0.0 {
            self.leave_out("PAUSE_TIME", "0 would mean that no PAUSE has an effect");
        }
        Ok(())
    }

    /// Windows, and what is said of hosts that is not carried over.
    fn windows(&mut self) {
        let config = self.config;
        if config.cc_mode != 3 && config.has_win {
            let window = if config.global_t {
                format!("\"{}B\"", self.ways().largest().1)
            } else {
                "\"path\"".into()
            };
            self.key("window", window, "HAS_WIN, GLOBAL_T");
            self.key("window_by_rate", config.var_win.to_string(), "VAR_WIN");
        }
        if config.ack_interval > config.payload {
            self.leave_out(
                "L2_ACK_INTERVAL",
                "an ACK for each packet here; there the first bytes of a flow, up to this number, have none, and shorter flows never complete",
            );
        }
        if config.back_to_zero {
            self.leave_out(
                "L2_BACK_TO_ZERO",
                "here a loss goes back to the packet lost; it matters only where packets are lost",
            );
        }
    }

    /// Selective repeat, if IRN is on. Its timeouts are the defaults here.
    fn repair(&mut self) {
        if !of_forks::has_irn(self.config) {
            return;
        }
        self.key("loss_recovery", "\"selective-repeat\"", "ENABLE_IRN 1");
        self.leave_out(
            "ENABLE_IRN 1",
            "there all flows have the BDP of the longest path in flight; here each has that of base_rtt, see [scheme.selective-repeat]",
        );
    }

    fn scheme(&mut self) -> Result<(), FileError> {
        let (name, control) = match self.config.cc_mode {
            12 => {
                self.line("[[scheme]]");
                self.key(
                    "name",
                    "\"PFC\"",
                    "CC_MODE 12: no congestion control (astra-sim, saberfeng)",
                );
                self.repair();
                self.line("");
                return Ok(());
            }
            1 => ("DCQCN", "dcqcn"),
            3 => ("HPCC", "hpcc"),
            7 => ("TIMELY", "timely"),
            8 => ("DCTCP", "dctcp-rate"),
            10 => ("HPCC-PINT", "pint"),
            other => {
                let expected =
                    "1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8 (DCTCP), 10 (HPCC-PINT) or 12 (none)";
                let found = match forks::law(other) {
                    Some(law) => format!("CC_MODE {other} ({law})"),
                    None => format!("CC_MODE {other}"),
                };
                return Err(self.wrong("CC_MODE", found, expected));
            }
        };
        self.line("[[scheme]]");
        self.key("name", format!("{name:?}"), "CC_MODE");
        self.key(
            "congestion_control",
            format!("{control:?}"),
            &format!("CC_MODE {}", self.config.cc_mode),
        );
        self.repair();
        self.line("");
        self.line(format!("[scheme.{control}]"));
        match self.config.cc_mode {
            1 => self.dcqcn()?,
            3 => self.hpcc()?,
            7 => self.timely()?,
            10 => self.pint()?,
            _ => self.dctcp()?,
        }
        self.line("");
        Ok(())
    }
}
