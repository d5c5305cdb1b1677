//! Few flows in the place of a scenario's: what they do repeats itself, as what is random seldom does.

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, NodeId, NodeKind, SchemeConfig, SwitchModel};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::dice::Dice;

/// At most this many flows.
const FLOWS: u64 = 4;
/// Packets of one.
const PACKETS: (u64, u64) = (30, 500);

/// So many times as long a run may be sampled as the scenario's.
const LONGEST: u64 = 100;

/// At most this many polls of a switch's watchdog in a run.
const POLLS: u64 = 100_000;

/// The fabric of `config` with some flows between its hosts. One of them may be stopped or held back by its own limit;
/// none if there are not two hosts.
pub fn steady(config: &Config, dice: &mut Dice) -> Option<Config> {
    let nodes = (0..).zip(&config.fabric.nodes);
    let hosts = nodes.filter(|(_, kind)| **kind == NodeKind::Host);
    let hosts: Vec<NodeId> = hosts.map(|(node, _)| node).collect();
    if hosts.len() < 2 {
        return None;
    }
    let host = &config.host;
    let slowest = config.fabric.links.iter().map(|link| link.rate).min()?;
    let frame = slowest.time_for(u64::from(host.payload_bytes + host.header_bytes));
    let count = dice.between(1, FLOWS);
    let flows = (0..count).map(|_| {
        let pair = dice.some(&hosts, 2);
        let packets = dice.scale(PACKETS.0, PACKETS.1);
        let bytes = packets * u64::from(host.payload_bytes) - dice.below(host.payload_bytes.into());
        let start = frame * dice.below(100);
        let stops = dice.percent(20);
        let limited = dice.percent(20);
        FlowSpec {
            size_bytes: (!stops).then_some(bytes),
            start,
            stop: if stops {
                start + Time::from_ps(dice.between(1, (frame * packets).as_ps()))
            } else {
                Time::NEVER
            },
            priority: lossless(config).unwrap_or(0),
            rate_limit: limited.then(|| Rate::from_bps(slowest.as_bps() / 10 * dice.between(1, 9))),
            recorded: dice.percent(20),
            ..FlowSpec::between(pair[0], pair[1])
        }
    });
    let flows: Vec<FlowSpec> = flows.collect();
    let mut steady = Config {
        traffic: vec![TrafficSpec::Flows(flows)],
        // Their connections are entries of the traffic.
        jobs: Vec::new(),
        stop: frame * (PACKETS.1 * count + 200),
        ..config.clone()
    };
    // Laws that hear of each packet, and other switches, do not repeat themselves.
    if dice.percent(50) {
        steady.scheme = SchemeConfig::default();
    }
    if dice.percent(70) {
        steady.switch.model = SwitchModel::SharedBuffer;
    }
    // The sampling interval of a short run would fill the memory in a long one.
    if dice.percent(70) || steady.stop > config.stop * LONGEST {
        steady.probes = Default::default();
    }
    // So would the polls of a short run take long in a long one.
    let polls = |poll: Time| steady.stop.as_ps() / poll.as_ps();
    if steady
        .switch
        .watchdog
        .is_some_and(|watchdog| polls(watchdog.params.poll) > POLLS)
    {
        steady.switch.watchdog = None;
    }
    Some(steady)
}

fn lossless(config: &Config) -> Option<u8> {
    let lossless = config.switch.lossless;
    (lossless != 0).then(|| lossless.trailing_zeros() as u8)
}
