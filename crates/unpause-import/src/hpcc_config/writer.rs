//! The scenario being written.

use std::fmt::Write;

use unpause_protocols::units::Rate;
use unpause_sim::config::Link;

use super::parse::HpccConfig;
use crate::FileError;
use crate::fabric::topology::Topology;
use crate::hpcc_ways::Ways;

/// The scenario being written.
pub(super) struct Writer<'a> {
    pub(super) config: &'a HpccConfig,
    pub(super) topology: &'a Topology,
    pub(super) text: String,
    pub(super) left_out: Vec<String>,
    /// Values that were read in another way than written, or in one of several ways.
    pub(super) notes: Vec<String>,
}

impl Writer<'_> {
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.text += line.as_ref();
        self.text.push('\n');
    }

    /// A key with the configuration's own words for it.
    pub(super) fn key(&mut self, key: &str, value: impl AsRef<str>, of: &str) {
        let assignment = format!("{key} = {}", value.as_ref());
        let _ = writeln!(self.text, "{assignment:<43} # {of}");
    }

    /// An error at the value of a key of the configuration.
    pub(super) fn wrong(&self, key: &str, found: impl Into<String>, expected: &str) -> FileError {
        self.config.place(key).error(found, expected)
    }

    pub(super) fn leave_out(&mut self, key: &str, why: &str) {
        self.left_out.push(format!("{key}: {why}"));
    }

    pub(super) fn ways(&self) -> Ways<'_> {
        Ways::new(&self.topology.fabric, self.config.payload)
    }

    /// Rates of the links of switches that mark, each once: of all but NVSwitches.
    pub(super) fn marked_rates(&self) -> Vec<Rate> {
        let fabric = &self.topology.fabric;
        let links = fabric.links.iter();
        let marked = links.filter(|it| ![it.a, it.b].iter().any(|end| fabric.is_nvswitch(*end)));
        Self::each_once(marked)
    }

    /// Rates of the links of switches, each once.
    pub(super) fn rates(&self) -> Vec<Rate> {
        Self::each_once(self.topology.fabric.links.iter())
    }

    fn each_once<'l>(links: impl Iterator<Item = &'l Link>) -> Vec<Rate> {
        let mut rates: Vec<Rate> = links.map(|it| it.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        rates
    }
}
