//! The scenario file as serde reads it, without topology, schemes, traffic and sweeps.

use serde_spanned::Spanned;
use unpause_protocols::units::Time;
use unpause_sim::config::SwitchConfig;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{Duration, Ratio};

use super::event::RoutingKeys;
use super::host::Host;
use super::hpcc::HpccKeys;
use super::link::Link;
use super::pfc::Pfc;
use super::pias::Pias;
use super::probes::ProbeKeys;
use super::slow_receiver::SlowReceiverKeys;
use super::switch::Switch;
use super::tcp::Tcp;
use crate::text::keys::{Keys, Unread, WithDefault, Written};

/// The file without topology, schemes, traffic and sweeps, which are taken out before.
#[derive(Keys)]
#[keys("")]
pub(crate) struct File {
    /// simulated time
    pub(crate) duration: Spanned<Duration>,
    /// flows that start earlier load the fabric and are in no statistic, and neither are iterations of jobs: [below](#warm-up)
    pub(crate) warmup: WithDefault<Duration>,
    /// the scenario that this file changes, in the same folder: [below](#a-scenario-with-a-base)
    #[key(unset = "none")]
    pub(crate) base: Written<String>,
    /// keys, tables and entries of the base that are left out, such as `"probes"`, `"traffic.F1.stop"`
    #[key(unset = "none")]
    pub(crate) without: Written<Names>,
    /// title of summary and report
    #[key(unset = "none")]
    pub(crate) title: Written<String>,
    /// what the scenario reproduces: paper, section, figure
    #[key(unset = "none")]
    pub(crate) source: Written<String>,
    /// seed of all random streams
    #[key(default = 1)]
    pub(crate) seed: WithDefault<u64>,
    /// multiplies the arrival rate of random traffic (`mean_interval`, `rate`, `load`); periodic traffic (`interval`) is unchanged
    #[key(default = Ratio::ONE)]
    pub(crate) load_scale: WithDefault<Ratio>,
    /// [its keys](#host)
    pub(crate) host: Written<Host>,
    /// [its keys](#tcp)
    pub(crate) tcp: Written<Tcp>,
    /// [its keys](#pias)
    pub(crate) pias: Written<Pias>,
    /// [its keys](#switch)
    pub(crate) switch: Written<Switch>,
    /// [its keys](#link)
    pub(crate) link: Written<Link>,
    /// [its keys](#pfc)
    pub(crate) pfc: Written<Pfc>,
    /// [its keys](#routing)
    pub(crate) routing: Written<RoutingKeys>,
    /// [its keys](#slow_receiver)
    pub(crate) slow_receiver: Written<SlowReceiverKeys>,
    /// [its keys](#probes)
    pub(crate) probes: Written<ProbeKeys>,
    /// [its keys](#hpcc)
    pub(crate) hpcc: Written<HpccKeys>,
    /// [its keys](#report)
    pub(crate) report: Written<Report>,
}

type Names = Vec<String>;

/// `[report]`; only its shape is checked here. Who renders the report reads it from the copy of the scenario.
#[derive(Keys)]
#[keys("report")]
pub(crate) struct Report {
    /// additional figures to draw, by name: `unpause.figures.FIGURES`
    #[key(unset = "none")]
    pub(crate) figures: Written<Names>,
    /// sets of claims to check, such as `"PCN-F2"`: [claims.md](claims.md)
    #[key(unset = "none")]
    pub(crate) claims: Written<Names>,
    /// the scenario is a second reading of its paper: its verdicts are counted separately
    pub(crate) other_reading: WithDefault<bool>,
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

    /// Keys that are written but were not read.
    pub fn unread(&self, switch: &SwitchConfig) -> Vec<Unread> {
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
        unread.extend(self.switch.unread());
        unread.extend(self.host.unread());
        unread.extend(self.slow_receiver.unread());
        unread.extend(self.tcp.unread());
        unread.extend(self.hpcc.unread());
        unread.extend(self.routing.unread());
        unread
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

/// The end of the warm-up of a run that ends at `end`.
pub(crate) fn warmup(file: &File, end: Time) -> Checked<Time> {
    let warmup = file.warmup.value().0;
    match file.warmup.get() {
        Some(written) if warmup >= end => Problem::new("`warmup` is not shorter than `duration`")
            .at(written.span(), "no flow would be left for the statistics")
            .at(file.duration.span(), "the end of the run")
            .help("set a shorter warmup, or a longer duration")
            .err(),
        _ => Ok(warmup),
    }
}

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
