//! PFC watchdogs that poll so often that a run takes long.

use unpause_protocols::flow_control::watchdog::Params;
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeId, NodeKind};

use crate::run::Run;
use unpause_text::count::count;

/// For programs, as in [`crate::warnings::Warning`].
pub const KIND: &str = "fast-watchdog";

/// Seconds of one core: a poll of a switch, and in addition for each of its (port, class). Switches of 3 and of 33 ports take
/// 15 and 125 ns for a poll.
const POLL_S: f64 = 5e-9;
const LOOK_S: f64 = 2e-9;
/// Polls that take less than this are not worth a warning.
const LONG_S: f64 = 10.0;
/// The suggested interval takes less than this.
const SHORT_S: f64 = 1.0;

/// The time that one core needs for all polls of a run, in seconds.
pub fn cost_s(config: &Config) -> f64 {
    fastest(config).map_or(0.0, |params| each_s(config) * polls(config, params.poll))
}

/// Those of the watchdog that polls most often.
fn fastest(config: &Config) -> Option<Params> {
    let all = config.switch.watchdogs().map(|it| it.params);
    all.min_by_key(|it| it.poll)
}

/// Polls of one switch.
fn polls(config: &Config, poll: Time) -> f64 {
    config.stop.as_secs_f64() / poll.as_secs_f64()
}

/// The time for one poll of every switch.
fn each_s(config: &Config) -> f64 {
    let fabric = &config.fabric;
    let polls =
        |node: NodeId| fabric.nodes[node as usize] == NodeKind::Switch && !fabric.is_nvswitch(node);
    let switches = (0..).take(fabric.nodes.len()).filter(|node| polls(*node));
    let ends = fabric.links.iter().flat_map(|link| [link.a, link.b]);
    let ports = ends.filter(|node| polls(*node)).count() as f64;
    let classes = (config.data_priorities() | 1 << config.host.control_priority).count_ones();
    switches.count() as f64 * POLL_S + ports * f64::from(classes) * LOOK_S
}

/// How long the polls of `run` take, and what to do about it.
pub fn why(run: &Run) -> Option<(String, String)> {
    let config = &run.config;
    let params = fastest(config)?;
    let cost = cost_s(config);
    if cost < LONG_S {
        return None;
    }
    let message = format!(
        "the PFC watchdog of each switch polls every {}, {} times in {}: this alone takes a core about {}",
        params.poll,
        count(polls(config, params.poll) as u64),
        config.stop,
        words(cost)
    );
    let enough = params.poll.as_secs_f64() * cost / SHORT_S;
    let ps = 10_u64.saturating_pow((enough * 1e12).log10().ceil() as u32);
    let poll = Time::from_ps(ps);
    let others = match poll > params.detection.min(params.restoration) {
        true => ", and detection_time and restoration_time to no less",
        false => "",
    };
    let help = format!(
        "set poll_interval to \"{poll}\" or more{others}; SONiC's switches poll every 100ms to 1s"
    );
    Some((message, help))
}

/// Two digits are enough.
fn words(seconds: f64) -> String {
    match seconds {
        _ if seconds < 120.0 => format!("{seconds:.0} s"),
        _ if seconds < 7200.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{} hours", count((seconds / 3600.0) as u64)),
    }
}
