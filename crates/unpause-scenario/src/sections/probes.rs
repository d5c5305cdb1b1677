//! `[probes]`.

use std::collections::HashSet;
use unpause_text::error::Checked;
use unpause_text::quantity::Duration;

use serde_spanned::Spanned;
use unpause_sim::config::{DeadlockProbe, Probes};

use crate::text::keys::{Keys, Param, WithDefault, Written};
use unpause_import::fabric::names::Names;

type Ports = Vec<Spanned<String>>;
type FlowIds = Vec<u32>;

/// `[probes]`
#[derive(Keys)]
#[keys("probes", sets = Probes)]
pub(crate) struct ProbeKeys {
    /// sampling interval of `port_series` and `flow_series`
    pub(crate) interval: Param<Duration>,
    /// another interval for `flow_series`, a multiple of `interval`
    #[key(unset = "`interval`")]
    pub(crate) flow_interval: Written<Duration>,
    /// no samples up to this time
    pub(crate) start: Param<Duration>,
    /// egress ports sampled: `["S0->S1", "*->R1"]`
    #[key(unset = "none")]
    pub(crate) ports: Written<Ports>,
    /// record each PAUSE as an interval, table `pauses`
    pub(crate) pauses: Param<bool>,
    /// record what held the bytes at each PAUSE, which flows it held up, and where the time of each flow went (tables `causes`, `victims` and `delays`); `unpause explain` needs this
    pub(crate) causes: Param<bool>,
    /// count the bytes that each job sends over each link, table `job_links`; runs take up to a third longer
    pub(crate) job_links: Param<bool>,
    /// egress ports whose packets are recorded, table `packets`: `["H0->S0"]`
    #[key(unset = "none")]
    pub(crate) packets: Written<Ports>,
    /// only packets of these flows, by `flow_id`
    #[key(unset = "all", idle = ("no packets are recorded", "add packets = [\"H0->S0\"]: record those that leave by this port"))]
    pub(crate) packet_flows: Written<FlowIds>,
    /// interval at which to look for a deadlock (`"1ms"`); the first one ends the run
    #[key(unset = "off", idle = ("one such switch is a whole fabric: nothing can wait in a cycle", "remove it, or choose model = \"shared-buffer\""))]
    pub(crate) deadlock: Written<Duration>,
    /// a queue that has been paused and has sent nothing for this long is blocked
    #[key(default = Duration(DeadlockProbe::default().hold), from = "our reading of PCN, B.5", idle = ("deadlock detection is off", "add deadlock = \"1ms\" to check every 1 ms"))]
    pub(crate) deadlock_hold: WithDefault<Duration>,
}

/// The recorded series; `can_deadlock` is true if queues can wait for one another.
pub(crate) fn probes(file: &ProbeKeys, names: &Names, can_deadlock: bool) -> Checked<Probes> {
    let mut probes = Probes::default();
    file.apply(&mut probes)?;
    probes.flow_interval = file.flow_interval.value().map(|interval| interval.0);
    if can_deadlock && let Some(interval) = file.deadlock.value() {
        probes.deadlock = Some(DeadlockProbe {
            interval: interval.0,
            hold: file.deadlock_hold.value().0,
        });
    }
    for (texts, found) in [
        (file.ports.value(), &mut probes.ports),
        (file.packets.value(), &mut probes.packets),
    ] {
        let mut known = HashSet::new();
        for text in texts.into_iter().flatten() {
            let new = names.ports(text.get_ref(), &text.span())?.into_iter();
            found.extend(new.filter(|port| known.insert(*port)));
        }
    }
    if !probes.packets.is_empty() {
        let flows = file.packet_flows.value();
        probes.packet_flows = flows.cloned().unwrap_or_default();
    }
    Ok(probes)
}
