//! PFC watchdogs that cannot see a storm.

use std::collections::BTreeMap;

use unpause_protocols::flow_control::pfc::PauseMode;
use unpause_protocols::flow_control::watchdog::Rule;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{NodeId, NodeKind, WatchdogConfig};

use crate::run::Run;

/// Why the watchdog of `run` finds no storm, and what to do about it.
pub fn why(run: &Run) -> Option<(String, String)> {
    let config = &run.config;
    let earliest = |it: &WatchdogConfig| it.params.detection.max(it.params.poll);
    let watchdog = config.switch.watchdogs().min_by_key(earliest)?;
    let params = watchdog.params;
    let earliest = earliest(&watchdog);
    if earliest >= config.stop {
        let message = format!(
            "the PFC watchdog cannot find a storm: it needs at least {earliest}, and the run lasts {}",
            config.stop
        );
        // The last poll before may have seen nothing, and restoration takes one more.
        let enough = params.detection + params.poll + params.poll + params.poll;
        let help = format!(
            "set duration to \"{enough}\" or more, if the storm lasts as long; or shorten all times of the watchdog in proportion to the run"
        );
        return Some((message, help));
    }
    if params.rule != Rule::Frames {
        return None;
    }
    let pfc = &config.switch.pfc.params;
    let mut intervals: BTreeMap<Time, Rate> = BTreeMap::new();
    // Who watches a port sees the PAUSE of its peer.
    let fabric = &config.fabric;
    let is_host = |node: NodeId| fabric.nodes[node as usize] == NodeKind::Host;
    let watches = |node, peer| {
        let has_one = !is_host(node) && !fabric.is_nvswitch(node);
        has_one && (is_host(peer) || !watchdog.hosts_only)
    };
    let watched = fabric.links.iter();
    let watched = watched.filter(|link| watches(link.a, link.b) || watches(link.b, link.a));
    for link in watched {
        let interval = pfc.refresh_interval(pfc.pause_duration(link.rate));
        intervals.insert(interval, link.rate);
    }
    let (longest, rate) = intervals.pop_last()?;
    if longest <= params.poll {
        return None;
    }
    let every = match longest.is_never() {
        true => "is not repeated".to_owned(),
        false => format!("is repeated every {longest} at {rate}"),
    };
    let message = format!(
        "the PFC watchdog may miss a storm: with rule = \"broadcom\" each poll must see a PFC frame, it polls every {}, and a PAUSE {every}",
        params.poll
    );
    let rule = "rule = \"mellanox\" in [switch.watchdog]";
    if longest.is_never() {
        let repeats = match pfc.mode {
            // A PAUSE that nobody repeats ends by itself.
            PauseMode::Once => "pfc.mode to \"standard\", which repeats PAUSE, and ",
            _ => "",
        };
        let help = format!("set {repeats}{rule}, which looks at whether PAUSE is in force");
        return Some((message, help));
    }
    let shortest = params.detection.min(params.restoration);
    let others = match longest > shortest {
        true => ", and detection_time and restoration_time to no less",
        false => "",
    };
    // PAUSE is repeated after half of its time.
    let help = format!(
        "set switch.watchdog.poll_interval to \"{longest}\" or more{others}; or pfc.pause_time to \"{}\" or less; or {rule}",
        params.poll + params.poll
    );
    Some((message, help))
}
