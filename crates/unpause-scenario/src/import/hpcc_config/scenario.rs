//! The scenario that does what a `config.txt` says.

use std::path::{Path, PathBuf};

use unpause_protocols::units::Rate;
use unpause_sim::config::NodeKind;
use unpause_sim::traffic::FlowSettings;

use super::parse::parse;
use super::rates::written;
use super::writer::Writer;
use crate::import::hpcc::{self, read_topology};
use crate::import::{FileError, Place};

/// A scenario made of a `config.txt`.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Its text.
    pub text: String,
    /// What of the configuration it does not do, and why; one line each.
    pub left_out: Vec<String>,
}

/// Reads the `config.txt` at `path` and the files that it names, and makes a scenario of it that is to lie
/// in the folder `to`.
///
/// # Errors
///
/// If a file cannot be read, or something in it cannot be simulated at all.
pub fn import(path: &Path, to: &Path) -> Result<Imported, FileError> {
    let text =
        std::fs::read_to_string(path).map_err(|reason| Place { path, line: 0 }.io(reason))?;
    let config = parse(&text, path)?;
    let place = Place { path, line: 1 };
    let topology_file = find(&config.topology, "TOPOLOGY_FILE", place)?;
    let flow_file = find(&config.flows, "FLOW_FILE", place)?;
    let topology = read_topology(&topology_file, 1)?;
    let flows = hpcc::read_flows(&flow_file, &topology, &FlowSettings::default())?;
    let mut priorities: Vec<u8> = flows.flows.iter().map(|flow| flow.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    let mut writer = Writer {
        config: &config,
        topology: &topology,
        place,
        text: String::new(),
        left_out: Vec::new(),
    };
    writer.head(&relative(to, &topology_file));
    writer.hosts(&priorities)?;
    writer.switches(&priorities)?;
    writer.scheme()?;
    writer.traffic(&relative(to, &flow_file));
    writer.rest();
    Ok(Imported {
        text: writer.text,
        left_out: writer.left_out,
    })
}

/// A file that the configuration names: from its folder, or from the one above, where HPCC's simulator is
/// started with `mix/config.txt`.
fn find(named: &Option<String>, key: &str, place: Place<'_>) -> Result<PathBuf, FileError> {
    let Some(named) = named else {
        return Err(place.error(
            format!("no {key}"),
            "one: there is nothing to simulate without",
        ));
    };
    let folder = place.path.parent().unwrap_or(Path::new(""));
    let here = folder.join(named);
    if here.exists() {
        return Ok(here);
    }
    let above = std::path::absolute(folder).unwrap_or_default();
    match above.parent().map(|above| above.join(named)) {
        Some(above) if above.exists() => Ok(above),
        _ => Ok(here),
    }
}

/// The path of `file` from the folder `to`.
fn relative(to: &Path, file: &Path) -> String {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    };
    let (to, file) = (whole(to), whole(file));
    let shared = to.components().zip(file.components());
    let shared = shared.take_while(|(a, b)| a == b).count();
    let up = to.components().skip(shared).map(|_| "..");
    let mut path: PathBuf = up.collect();
    path.extend(file.components().skip(shared));
    path.display().to_string()
}

/// Bytes of headers of data packets without telemetry: Ethernet 14, IPv4 20, UDP 8, number and priority 6.
const HEADERS: u32 = 48;

impl Writer<'_> {
    fn head(&mut self, topology: &str) {
        let name = self.config.path.display().to_string();
        self.line(format!(
            "# Made by `unpause import hpcc` of {name}; docs/hpcc.md says what each key is there."
        ));
        let file = self.config.path.file_name().unwrap_or_default();
        self.line(format!(
            "title = {:?}",
            format!("HPCC's simulator, {}", file.to_string_lossy())
        ));
        let stop = self.config.stop.clone();
        self.key("duration", format!("\"{stop}s\""), "SIMULATOR_STOP_TIME");
        self.line("");
        self.line("[topology]");
        self.key("file", format!("{topology:?}"), "TOPOLOGY_FILE");
        self.key("ecmp", "\"hpcc\"", "its hash, its order of next hops");
        self.line("");
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
            return Err(self
                .place
                .error(found, "1: without ACKs no flow is ever over"));
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
            "its switches know no other, whatever ACK_HIGH_PRIO is",
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
        self.key("nic", "\"hpcc\"", "its order of flows, its one timer");
        self.key("nak_interval", "\"500us\"", "its NACK interval");
        self.key("retransmit_timeout", "\"1000s\"", "it has no timeout");
        self.windows();
        self.line("");
        Ok(())
    }

    fn switches(&mut self, priorities: &[u8]) -> Result<(), FileError> {
        let config = self.config;
        self.line("[switch]");
        self.key(
            "lossless",
            format!("{priorities:?}"),
            "the priorities of FLOW_FILE",
        );
        self.key(
            "buffer",
            format!("\"{}MiB\"", config.buffer),
            "BUFFER_SIZE, headroom and reserves included",
        );
        self.line("");
        self.line("[pfc]");
        self.key(
            "mode",
            "\"until-xon\"",
            "PAUSE lasts until RESUME, PAUSE_TIME is not read",
        );
        let shifts = self.shifts();
        self.key(
            "dynamic_shift",
            shifts,
            "an eighth of the free buffer, twice that for every doubling of the host's rate",
        );
        self.key("reserve", "\"4KiB\"", "of each port");
        self.key("xon_gap", "\"3KiB\"", "resumes so far below the threshold");
        self.key("headroom_delays", "3", "rate x delay x 3 of each port");
        self.line("");
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
            let window = match config.global_t {
                true => format!("\"{}B\"", self.ways().largest().1),
                false => "\"path\"".into(),
            };
            self.key("window", window, "HAS_WIN, GLOBAL_T");
            self.key("window_by_rate", config.var_win.to_string(), "VAR_WIN");
        }
        if config.ack_interval > config.payload {
            self.leave_out(
                "L2_ACK_INTERVAL",
                "an ACK for each packet here; there the first so many bytes of a flow have none, and shorter flows are never over",
            );
        }
        if config.back_to_zero {
            self.leave_out(
                "L2_BACK_TO_ZERO",
                "here a loss goes back to the packet lost; it matters only where packets are lost",
            );
        }
        if !config.rate_bound {
            self.leave_out("RATE_BOUND", "0 is not possible here: rates pace flows");
        }
    }

    /// `dynamic_shift` by link rate.
    fn shifts(&self) -> String {
        let fabric = &self.topology.fabric;
        let is_host = |node: u32| fabric.nodes[node as usize] == NodeKind::Host;
        // That of the host with the smallest number.
        let of_host = fabric
            .links
            .iter()
            .flat_map(|it| [(it.a, it.rate), (it.b, it.rate)]);
        let first = of_host
            .filter(|(node, _)| is_host(*node))
            .min_by_key(|(node, _)| *node);
        let nic = first.map_or(0, |(_, rate)| rate.as_bps());
        let shift = |rate: Rate| {
            let (mut shift, mut rate) = (3, rate.as_bps());
            while rate > nic && shift > 0 {
                shift -= 1;
                rate /= 2;
            }
            shift
        };
        let each = self
            .rates()
            .into_iter()
            .map(|rate| format!("\"{}\" = {}", written(rate), shift(rate)));
        format!("{{ {} }}", each.collect::<Vec<_>>().join(", "))
    }

    fn scheme(&mut self) -> Result<(), FileError> {
        let (name, control) = match self.config.cc_mode {
            1 => ("DCQCN", "dcqcn"),
            3 => ("HPCC", "hpcc"),
            7 => ("TIMELY", "timely"),
            8 => ("DCTCP", "dctcp-rate"),
            10 => ("HPCC-PINT", "pint"),
            other => {
                let expected = "1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8 (DCTCP) or 10 (HPCC-PINT)";
                return Err(self.place.error(format!("CC_MODE {other}"), expected));
            }
        };
        self.line("[[scheme]]");
        self.key("name", format!("{name:?}"), "CC_MODE");
        self.key(
            "congestion_control",
            format!("{control:?}"),
            &format!("CC_MODE {}", self.config.cc_mode),
        );
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

    fn traffic(&mut self, flows: &str) {
        self.line("[[traffic]]");
        self.line("name = \"flows\"");
        self.line("kind = \"file\"");
        self.key("file", format!("{flows:?}"), "FLOW_FILE");
        self.line("");
        self.line("[hpcc]");
        self.key("fct", "true", "FCT_OUTPUT_FILE: hpcc/fct.txt of the result");
        self.key("pfc", "true", "PFC_OUTPUT_FILE: hpcc/pfc.txt");
        let nodes: Vec<String> = self.traced().iter().map(|it| format!("{it:?}")).collect();
        if !nodes.is_empty() {
            let list = format!("[{}]", nodes.join(", "));
            self.key("trace", list, "TRACE_FILE, TRACE_OUTPUT_FILE: hpcc/mix.tr");
        }
        if self.config.qlen {
            self.key("qlen", "true", "QLEN_MON_FILE: hpcc/qlen.txt");
            let [start, end] = self.config.qlen_mon.map(|ns| format!("\"{ns}ns\""));
            self.key("qlen_start", start, "QLEN_MON_START");
            self.key("qlen_end", end, "QLEN_MON_END");
        }
    }

    /// Names of the nodes whose packets are traced.
    fn traced(&mut self) -> Vec<String> {
        let file = match &self.config.trace {
            Some(named) if self.config.enable_trace => {
                find(&Some(named.clone()), "TRACE_FILE", self.place)
            }
            _ => return Vec::new(),
        };
        let text = file
            .ok()
            .and_then(|file| std::fs::read_to_string(file).ok());
        let Some(text) = text else {
            self.leave_out("TRACE_FILE", "it cannot be read; nothing is traced");
            return Vec::new();
        };
        let mut numbers = text
            .split_whitespace()
            .map_while(|word| word.parse::<usize>().ok());
        let count = numbers.next().unwrap_or(0);
        let names = &self.topology.names;
        numbers
            .take(count)
            .filter_map(|node| names.get(node).cloned())
            .collect()
    }

    fn rest(&mut self) {
        let config = self.config;
        let [at, a, b] = config.link_down;
        if at > 0 {
            self.leave_out(
                "LINK_DOWN",
                &format!("the link between {a} and {b} stays up: links do not fail here"),
            );
        }
        if config.error_rate > 0.0 {
            self.leave_out("ERROR_RATE_PER_LINK", "links lose nothing here");
        }
        for key in &config.others {
            let why = match key.as_str() {
                "FCT_OUTPUT_FILE" | "PFC_OUTPUT_FILE" | "TRACE_OUTPUT_FILE" => continue,
                "USE_DYNAMIC_PFC_THRESHOLD" => {
                    "thresholds are dynamic there whatever it says, and here"
                }
                "L2_CHUNK_SIZE" => {
                    "it matters only with L2_BACK_TO_ZERO 1 or L2_ACK_INTERVAL above a packet"
                }
                "DATA_RATE" | "LINK_DELAY" => {
                    "read and not used there; the topology has rates and delays"
                }
                "PINT_LOG_BASE" | "PINT_PROB" if config.cc_mode == 10 => continue,
                "PINT_LOG_BASE" | "PINT_PROB" => "of CC_MODE 10 only",
                _ => "HPCC's simulator does not know it either",
            };
            self.left_out.push(format!("{key}: {why}"));
        }
        let read: &[&str] = match config.cc_mode {
            1 | 8 => &[],
            3 | 7 | 10 if config.enable_qcn => &["KMIN_MAP, KMAX_MAP, PMAX_MAP"],
            _ => &[],
        };
        for key in read {
            self.leave_out(key, "nobody reads marks with this CC_MODE");
        }
        if self.left_out.is_empty() {
            return;
        }
        self.line("");
        self.line("# Not carried over:");
        for line in self.left_out.clone() {
            self.line(format!("# {line}"));
        }
    }
}
