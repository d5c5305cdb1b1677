//! The ports that the scenario has, of which switch they are.

use std::collections::BTreeMap;

use crate::import::sonic::model::ConfigDb;

/// A port of a switch.
#[derive(Clone, Copy)]
pub(super) struct Use<'a> {
    /// Which of the switches.
    pub switch: usize,
    pub db: &'a ConfigDb,
    pub port: &'a str,
    /// A host is at its other end.
    pub to_host: bool,
}

impl Use<'_> {
    /// `leaf0 Ethernet4`.
    pub(super) fn whose(&self) -> String {
        format!("{} {}", self.db.name(), self.port)
    }
}

/// All ports with a link.
pub(super) struct Ports<'a> {
    switches: &'a [ConfigDb],
    ports: &'a [BTreeMap<String, bool>],
}

impl<'a> Ports<'a> {
    pub(super) fn new(switches: &'a [ConfigDb], ports: &'a [BTreeMap<String, bool>]) -> Self {
        Self { switches, ports }
    }

    pub(super) fn switches(&self) -> impl Iterator<Item = &'a ConfigDb> {
        self.switches.iter()
    }

    pub(super) fn of(&self, switch: usize) -> impl Iterator<Item = Use<'a>> {
        let db = &self.switches[switch];
        self.ports[switch].iter().map(move |(port, to_host)| Use {
            switch,
            db,
            port,
            to_host: *to_host,
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Use<'a>> {
        (0..self.switches.len()).flat_map(|switch| self.of(switch))
    }
}
