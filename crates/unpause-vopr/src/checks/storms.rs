//! Storms that PFC watchdogs find.

use unpause_protocols::flow_control::watchdog::Rule;
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, WatchdogAction};
use unpause_sim::results::{Results, StormRecord};

use super::facts::{Answer, is_host, ports};

/// A storm is found at a look, after the detection time, where a watchdog is; it is over after the restoration time.
pub fn storms(config: &Config, results: &Results) -> Answer {
    for storm in &results.storms {
        is_possible(config, results, storm).map_err(|why| format!("{why}: {storm:?}"))?;
    }
    Ok(())
}

fn is_possible(config: &Config, results: &Results, storm: &StormRecord) -> Answer {
    let watchdog = config.switch.watchdog.ok_or("there is no watchdog")?;
    let params = watchdog.params;
    let all = ports(config);
    let own = all
        .iter()
        .find(|it| (it.node, it.number) == (storm.node, storm.port));
    let own = own.ok_or("no such port")?;
    let is_lossless = config.switch.lossless >> storm.priority & 1 == 1;
    if is_host(config, storm.node) || !is_lossless {
        return Err("no watchdog looks there".into());
    }
    if watchdog.hosts_only && !is_host(config, own.peer) {
        return Err("the port leads to no host".into());
    }
    let at_look = |time: Time| time.as_ps().is_multiple_of(params.poll.as_ps());
    if !at_look(storm.detected) || storm.detected >= results.totals.simulated {
        return Err("found at no look".into());
    }
    // Mellanox's rule does not ask for one pause.
    if params.rule == Rule::Frames && storm.detected < storm.began.saturating_add(params.detection)
    {
        return Err("found too early".into());
    }
    if let Some(over) = storm.restored
        && (!at_look(over) || over < storm.detected.saturating_add(params.restoration))
    {
        return Err("over too early".into());
    }
    let dropped = storm.dropped_packets;
    if storm.dropped_data_packets > dropped || storm.input_dropped_packets > dropped {
        return Err("a part is more than all".into());
    }
    if watchdog.action != WatchdogAction::Drop && dropped > 0 {
        return Err("it does not drop".into());
    }
    Ok(())
}
