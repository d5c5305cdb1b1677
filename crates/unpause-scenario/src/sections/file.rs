//! The scenario file as serde sees it, when topology, schemes, traffic and sweeps are taken out.

use unpause_protocols::units::Time;
use unpause_sim::config::SwitchConfig;

use super::event::RoutingKeys;
use super::host::Host;
use super::hpcc::HpccKeys;
use super::link::Link;
use super::pfc::Pfc;
use super::pias::Pias;
use super::probes::ProbeKeys;
use super::slow_receiver::{self, SlowReceiverKeys};
use super::switch::{self, Switch};
use super::tcp::Tcp;
use crate::text::keys::{Keys, TABLE, keys, kinds, refuse};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Ratio};

keys! {
    /// What is left of the file when topology, schemes, traffic and sweeps are taken out.
    pub(crate) File at "" for () {
        ! duration: Duration "simulated time";
        base: String = ["none"]
            "the scenario that this file changes, in the same folder: [below](#a-scenario-with-a-base)";
        without: Names = ["none"]
            "keys, tables and entries of the base that are left out, such as `\"probes\"`, `\"traffic.F1.stop\"`";
        title: String = ["none"] "title of summary and report";
        source: String = ["none"] "what the scenario reproduces: paper, section, figure";
        seed: u64 = ["`1`"] "seed of all random streams";
        load_scale: Ratio = ["`1`"]
            "multiplies the arrival rate of random traffic (`mean_interval`, `rate`, `load`); periodic traffic (`interval`) is unchanged";
        host: Host = ["-"] "[its keys](#host)";
        tcp: Tcp = ["-"] "[its keys](#tcp)";
        pias: Pias = ["-"] "[its keys](#pias)";
        switch: Switch = ["-"] "[its keys](#switch)";
        link: Link = ["-"] "[its keys](#link)";
        pfc: Pfc = ["-"] "[its keys](#pfc)";
        routing: RoutingKeys = ["-"] "[its keys](#routing)";
        slow_receiver: SlowReceiverKeys = ["-"] "[its keys](#slow_receiver)";
        probes: ProbeKeys = ["-"] "[its keys](#probes)";
        hpcc: HpccKeys = ["-"] "[its keys](#hpcc)";
        report: Report = ["-"] "[its keys](#report)";
    }
}

kinds! {
    Host = TABLE, Tcp = TABLE, Pias = TABLE, Switch = TABLE, Pfc = TABLE, Link = TABLE, ProbeKeys = TABLE, HpccKeys = TABLE,
    RoutingKeys = TABLE, SlowReceiverKeys = TABLE, Report = TABLE,
}

type Names = Vec<String>;

keys! {
    /// `[report]`; only its shape is checked here. Who renders the report reads it from the copy of the scenario.
    #[derive(Default)]
    pub(crate) Report at "report" for () {
        figures: Names = ["none"] "additional figures to draw, by name: `unpause.figures.FIGURES`";
        claims: Names = ["none"] "sets of claims to check, such as `\"PCN-F2\"`: [claims.md](claims.md)";
        other_reading: bool = ["`false`"]
            "the scenario is a second reading of its paper: its verdicts are counted separately";
    }
}

/// Keys of [`File`] that are read elsewhere.
pub(crate) const FILE_KEYS: [&str; 7] = [
    "topology", "scheme", "traffic", "job", "sweep", "event", "override",
];

/// The tables of a file.
pub(crate) struct Sections {
    pub host: Host,
    pub tcp: Tcp,
    pub switch: Switch,
    pub link: Link,
    pub pfc: Pfc,
    pub routing: RoutingKeys,
    pub slow_receiver: SlowReceiverKeys,
    pub probes: ProbeKeys,
    pub hpcc: HpccKeys,
}

impl Sections {
    /// Takes them out of the file.
    pub fn of(file: &mut File) -> Self {
        Self {
            host: file.host.take(),
            tcp: file.tcp.take(),
            switch: file.switch.take(),
            link: file.link.take(),
            pfc: file.pfc.take(),
            routing: file.routing.take(),
            slow_receiver: file.slow_receiver.take(),
            probes: file.probes.take(),
            hpcc: file.hpcc.take(),
        }
    }

    /// Refuses keys that are written but were not read, or act only after the `end` of the run.
    pub fn check_read(&self, switch: &SwitchConfig, end: Time) -> Checked<()> {
        let mut unread = self.pfc.unread();
        if switch.cbfc.is_some() {
            for it in &mut unread {
                it.why = CREDITS;
            }
        }
        unread.extend(self.probes.unread());
        let slow = self.slow_receiver.hosts.peek().is_some();
        if slow {
            unread.extend(self.slow_receiver.unread());
        }
        if switch.lossless == 0 {
            for it in &mut unread {
                it.why = NEVER_PAUSED;
            }
        }
        unread.extend(self.link.unread());
        unread.extend(switch::unread(&self.switch));
        unread.extend(self.host.unread());
        unread.extend(self.slow_receiver.unread());
        unread.extend(self.tcp.unread());
        unread.extend(self.hpcc.unread());
        unread.extend(self.routing.unread());
        refuse(unread)?;
        slow_receiver::check_start(&self.slow_receiver, end)
    }
}

/// Why PAUSE has no settings where no priority has any.
const NEVER_PAUSED: (&str, &str) = (
    "no queue can be paused",
    "switch.lossless is empty: remove it, or list a priority such as 3 there",
);

/// Why PAUSE has no settings where links have credits.
const CREDITS: (&str, &str) = (
    "no PAUSE is sent: links have credits",
    "remove it, or set link.flow_control = \"pfc\"",
);

/// How many times as much random traffic there is as the entries say.
pub(crate) fn load_scale(file: &File) -> Checked<Option<f64>> {
    let Some(value) = file.load_scale.get() else {
        return Ok(None);
    };
    if value.get_ref().num == 0 {
        return Problem::new("`load_scale` is zero")
            .at(value.span(), "nothing would be sent")
            .err();
    }
    Ok(Some(value.get_ref().as_f64()))
}
