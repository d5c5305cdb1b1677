//! The scenario being written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use unpause_protocols::units::Rate;

/// The scope of an override; in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Scope {
    /// A port by its name; else the switch as a whole.
    pub port: Option<String>,
    /// The switch; none for all.
    pub switch: Option<String>,
    /// Which priorities; empty for all.
    pub priorities: BTreeSet<u8>,
}

impl Scope {
    fn switch(name: &str) -> Self {
        Self {
            switch: Some(name.to_owned()),
            ..Self::default()
        }
    }
}

/// The scenario being written.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) text: String,
    pub(super) notes: Vec<String>,
    left_out: Vec<String>,
    said: BTreeSet<String>,
    /// The values of switches, ports and priorities that differ from the rest: key, value, where it is from.
    own: BTreeMap<Scope, Vec<(&'static str, String, String)>>,
}

impl Writer {
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.text += line.as_ref();
        self.text.push('\n');
    }

    /// A key with what it comes from.
    pub(super) fn key(&mut self, key: &str, value: impl AsRef<str>, of: &str) {
        let assignment = format!("{key} = {}", value.as_ref());
        let _ = writeln!(self.text, "{assignment:<43} # {of}");
    }

    /// A key that a switch has with another value than most.
    pub(super) fn own(
        &mut self,
        switch: &str,
        key: &'static str,
        value: impl Into<String>,
        of: &str,
    ) {
        self.of(&Scope::switch(switch), key, value, of);
    }

    /// A key that some ports or priorities have with another value than most.
    pub(super) fn of(
        &mut self,
        scope: &Scope,
        key: &'static str,
        value: impl Into<String>,
        of: &str,
    ) {
        let keys = self.own.entry(scope.clone()).or_default();
        keys.push((key, value.into(), of.to_owned()));
    }

    /// Writes `[[override]]` for what has something of its own: the more special, the later, for the last one counts.
    pub(super) fn overrides(&mut self) {
        for (scope, keys) in std::mem::take(&mut self.own) {
            self.line("[[override]]");
            match (&scope.port, &scope.switch) {
                (Some(port), _) => self.line(format!("ports = {}", quoted(port))),
                (None, Some(switch)) => self.line(format!("switches = {}", quoted(switch))),
                (None, None) => {}
            }
            if !scope.priorities.is_empty() {
                let all: Vec<String> = scope.priorities.iter().map(u8::to_string).collect();
                self.line(format!("priorities = [{}]", all.join(", ")));
            }
            for (key, value, of) in keys {
                self.key(key, value, &of);
            }
            self.line("");
        }
    }

    /// Notes a part that is not carried over, once.
    pub(super) fn leave_out(&mut self, line: String) {
        if self.said.insert(line.clone()) {
            self.left_out.push(line);
        }
    }

    pub(super) fn left_out(self) -> (String, Vec<String>, Vec<String>) {
        (self.text, self.notes, self.left_out)
    }
}

/// A speed in Mb/s as a scenario has it.
pub(super) fn rate(mbps: u64) -> String {
    Rate::from_mbps(mbps).to_string()
}

/// A name in quotes.
pub(super) fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}
