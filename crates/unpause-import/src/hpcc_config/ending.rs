//! The end of the scenario: flows, files of results, and what is not carried over.

use unpause_protocols::units::Time;
use unpause_sim::config::Link;

use super::find::Finder;
use super::of_forks;
use super::writer::Writer;
use crate::FileError;

/// Keys of congestion controls.
const OF_LAWS: [&str; 16] = [
    "ALPHA_RESUME_INTERVAL",
    "RATE_DECREASE_INTERVAL",
    "CLAMP_TARGET_RATE",
    "RP_TIMER",
    "EWMA_GAIN",
    "FAST_RECOVERY_TIMES",
    "RATE_AI",
    "RATE_HAI",
    "MIN_RATE",
    "DCTCP_RATE_AI",
    "U_TARGET",
    "MI_THRESH",
    "INT_MULTI",
    "FAST_REACT",
    "MULTI_RATE",
    "SAMPLE_FEEDBACK",
];

impl Writer<'_> {
    /// Flows, and the files of results.
    pub(super) fn traffic(&mut self, flows: &str, files: &Finder<'_>) {
        self.line("[[traffic]]");
        self.line("name = \"flows\"");
        self.line("kind = \"file\"");
        self.key("file", format!("{flows:?}"), "FLOW_FILE");
        self.line("");
        self.line("[hpcc]");
        self.key("fct", "true", "FCT_OUTPUT_FILE: hpcc/fct.txt of the result");
        self.key("pfc", "true", "PFC_OUTPUT_FILE: hpcc/pfc.txt");
        let nodes: Vec<String> = self
            .traced(files)
            .iter()
            .map(|it| format!("{it:?}"))
            .collect();
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
    fn traced(&mut self, files: &Finder<'_>) -> Vec<String> {
        let file = match &self.config.trace {
            Some(named) if self.config.enable_trace => {
                files.find(self.config, "TRACE_FILE", &Some(named.clone()))
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

    /// Errors of all links; those that the topology file gives a link itself go before.
    pub(super) fn errors(&mut self) {
        const KEY: &str = "ERROR_RATE_PER_LINK";
        let share = self.config.error_rate;
        if share <= 0.0 {
            return;
        }
        self.line("[[event]]");
        self.key("kind", "\"error-rate\"", KEY);
        self.key("link", "\"all\"", KEY);
        self.key("loss", format!("{share:?}"), KEY);
        self.line("");
        let topology = self.topology;
        for &(link, own) in &topology.errors {
            if own == share {
                continue;
            }
            let link = topology.fabric.links[link];
            let names = [link.a, link.b].map(|node| &topology.names[node as usize]);
            self.line("[[event]]");
            self.key(
                "kind",
                "\"error-rate\"",
                "a link of its own in TOPOLOGY_FILE",
            );
            let link = format!("\"{}-{}\"", names[0], names[1]);
            self.key("link", link, "TOPOLOGY_FILE");
            self.key("loss", format!("{own:?}"), "TOPOLOGY_FILE");
            self.line("");
        }
    }

    /// The link that fails for good, and when, counted from 2 s. HPCC's simulator computes new routes in the same instant.
    pub(super) fn failure(&mut self, stop: Time) -> Result<(), FileError> {
        const KEY: &str = "LINK_DOWN";
        let [after, a, b] = self.config.link_down;
        if after == 0 {
            return Ok(());
        }
        let mut links = self.topology.fabric.links.iter();
        let joins = |link: &Link| {
            let ends = (u64::from(link.a), u64::from(link.b));
            ends == (a, b) || ends == (b, a)
        };
        let Some(link) = links.find(|link| joins(link)) else {
            let found = format!("LINK_DOWN {after} {a} {b}");
            return Err(self.wrong(KEY, found, "a time and two nodes with a link between them"));
        };
        let at = Time::from_ms(2000).saturating_add(Time::from_us(after.min(1 << 40)));
        if at >= stop {
            self.leave_out(
                KEY,
                &format!("the link would fail at {at}, after the end of the run"),
            );
            return Ok(());
        }
        let names = [link.a, link.b].map(|node| self.topology.names[node as usize].clone());
        self.line("[routing]");
        self.key("detection", "\"0s\"", "routes follow in the same instant");
        self.line("");
        self.line("[[event]]");
        self.key("at", format!("\"{at}\""), "LINK_DOWN, from 2 s on");
        self.key("link", format!("\"{}-{}\"", names[0], names[1]), KEY);
        self.key("kind", "\"down\"", "for good");
        self.line("");
        Ok(())
    }

    /// Keys of laws that `CC_MODE` does not select: no line of the scenario comes from them.
    fn of_other_laws(&mut self) {
        let words = |text: &str| -> Vec<String> {
            let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            parts.map(str::to_owned).collect()
        };
        let said = words(&self.text);
        let has_no_use = |key: &&&str| self.config.has(key) && !said.iter().any(|it| it == **key);
        let unused: Vec<&str> = OF_LAWS.iter().filter(has_no_use).copied().collect();
        if !unused.is_empty() {
            let them = if unused.len() == 1 { "it" } else { "them" };
            let why = format!("CC_MODE {} does not use {them}", self.config.cc_mode);
            self.leave_out(&unused.join(", "), &why);
        }
    }

    /// Notes all that is not carried over.
    pub(super) fn rest(&mut self) {
        let config = self.config;
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
                "PINT_LOG_BASE" | "PINT_PROB" => "for CC_MODE 10 only",
                _ => {
                    "not a key of HPCC's simulator, nor of the forks known here; it is not read: check that nothing depends on it"
                }
            };
            self.left_out.push(format!("{key}: {why}"));
        }
        self.left_out.extend(of_forks::notes(config));
        let read: &[&str] = match config.cc_mode {
            1 | 8 => &[],
            3 | 7 | 10 | 12 if config.enable_qcn => &["KMIN_MAP, KMAX_MAP, PMAX_MAP"],
            _ => &[],
        };
        for key in read {
            self.leave_out(key, "marks have no effect with this CC_MODE");
        }
        self.of_other_laws();
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
