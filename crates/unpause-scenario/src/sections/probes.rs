//! `[probes]`.

use std::collections::HashSet;

use serde_spanned::Spanned;
use unpause_sim::config::{DeadlockProbe, Probes};

use crate::text::keys::{Keys, keys};
use unpause_import::fabric::names::Names;
use unpause_text::error::Checked;
use unpause_text::quantity::Duration;

type Ports = Vec<Spanned<String>>;
type FlowIds = Vec<u32>;

keys! {
    /// `[probes]`
    #[derive(Default)]
    pub(crate) ProbeKeys at "probes" for Probes {
        interval: Duration "sampling interval of `port_series` and `flow_series`" => interval;
        flow_interval: Duration = ["`interval`"] "another interval for `flow_series`, a multiple of `interval`";
        start: Duration "no samples up to this time" => start;
        ports: Ports = ["none"] "egress ports sampled: `[\"S0->S1\", \"*->R1\"]`";
        pauses: bool "record each PAUSE as an interval, table `pauses`" => pauses;
        causes: bool "record what held the bytes at each PAUSE and which flows it held up (tables `causes` and `victims`); `unpause explain` needs this" => causes;
        job_links: bool "count the bytes that each job sends over each link, table `job_links`; runs take up to a third longer" => job_links;
        packets: Ports = ["none"] "egress ports whose packets are recorded, table `packets`: `[\"H0->S0\"]`";
        packet_flows: FlowIds = ["all"] "only packets of these flows, by `flow_id`"
            idle ("no packets are recorded", "add packets = [\"H0->S0\"]: record those that leave by this port");
        deadlock: Duration = ["off"] "interval at which to look for a deadlock (`\"1ms\"`); the first one ends the run"
            idle ("one such switch is a whole fabric: nothing can wait in a cycle",
                "remove it, or choose model = \"shared-buffer\"");
        deadlock_hold: Duration = [DeadlockProbe::default().hold]
            "a queue that has been paused and has sent nothing for this long is blocked" from "our reading of PCN, B.5"
            idle ("deadlock detection is off", "add deadlock = \"1ms\" to check every 1 ms");
    }
}

/// What is recorded; `can_deadlock` says whether queues can wait for one another.
pub(crate) fn probes(file: &ProbeKeys, names: &Names, can_deadlock: bool) -> Checked<Probes> {
    let mut probes = Probes::default();
    file.apply(&mut probes)?;
    probes.flow_interval = file.flow_interval.value().map(|interval| interval.0);
    if can_deadlock && let Some(interval) = file.deadlock.value() {
        let hold = file.deadlock_hold.value().map(|hold| hold.0);
        probes.deadlock = Some(DeadlockProbe {
            interval: interval.0,
            hold: hold.unwrap_or(DeadlockProbe::default().hold),
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
