//! The ports that the scenario has, of which switch they are.

use std::collections::BTreeMap;

use super::links::End;
use crate::model::ConfigDb;

/// A port of a switch.
#[derive(Clone, Copy)]
pub(super) struct Use<'a> {
    /// Which of the switches.
    pub switch: usize,
    pub db: &'a ConfigDb,
    pub port: &'a str,
    /// Who is at its other end.
    pub peer: &'a str,
    /// That is a host.
    pub to_host: bool,
}

impl Use<'_> {
    /// The port as a scenario names it, by the neighbour: `leaf0->spine0`.
    pub(super) fn name(&self) -> String {
        format!("{}->{}", self.db.name(), self.peer)
    }

    /// `leaf0 Ethernet4`.
    pub(super) fn whose(&self) -> String {
        format!("{} {}", self.db.name(), self.port)
    }
}

/// All ports with a link.
pub(super) struct Ports<'a> {
    switches: &'a [ConfigDb],
    ports: &'a [BTreeMap<String, End>],
}

impl<'a> Ports<'a> {
    pub(super) fn new(switches: &'a [ConfigDb], ports: &'a [BTreeMap<String, End>]) -> Self {
        Self { switches, ports }
    }

    pub(super) fn switches(&self) -> impl Iterator<Item = &'a ConfigDb> {
        self.switches.iter()
    }

    pub(super) fn of(&self, switch: usize) -> impl Iterator<Item = Use<'a>> {
        let db = &self.switches[switch];
        self.ports[switch].iter().map(move |(port, end)| Use {
            switch,
            db,
            port,
            peer: &end.name,
            to_host: end.is_host,
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Use<'a>> {
        (0..self.switches.len()).flat_map(|switch| self.of(switch))
    }
}
