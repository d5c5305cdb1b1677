//! Facts about a configuration that checks use.

use unpause_protocols::units::{LinkSpeed, Rate};
use unpause_sim::config::{Config, NodeId, NodeKind, PortId, Shaper};
use unpause_sim::fabric::clocks;

/// A check's answer: what broke, if something did.
pub type Answer = Result<(), String>;

/// An egress port: its link, seen from one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub(super) node: NodeId,
    pub(super) number: PortId,
    pub(super) peer: NodeId,
    pub(super) speed: LinkSpeed,
    pub(super) delay_ps: u64,
}

/// Every port of the fabric, in the order of its links; both ends of a link in turn.
pub(super) fn ports(config: &Config) -> Vec<Port> {
    let clocks = Clocks::of(config);
    let mut next = vec![0; config.fabric.nodes.len()];
    let mut ports = Vec::new();
    for link in &config.fabric.links {
        for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
            let number = next[node as usize];
            next[node as usize] += 1;
            ports.push(Port {
                node,
                number,
                peer,
                speed: clocks
                    .speed((node, number), link.rate)
                    .expect("checked by the run"),
                delay_ps: link.delay.as_ps(),
            });
        }
    }
    ports
}

/// The clocks of a run.
pub(super) struct Clocks {
    clocks: clocks::Clocks,
    /// The first port of each node, where ports are counted from node to node.
    first: Vec<u32>,
}

impl Clocks {
    pub(super) fn of(config: &Config) -> Self {
        let mut number = vec![0; config.fabric.nodes.len()];
        for link in &config.fabric.links {
            number[link.a as usize] += 1;
            number[link.b as usize] += 1;
        }
        let mut ports = 0;
        let first = number.iter().map(|own: &u32| {
            ports += own;
            ports - own
        });
        let first = first.collect();
        let tolerance = config.host.clock_tolerance;
        Self {
            clocks: clocks::Clocks::drawn(tolerance, config.seed, ports as usize),
            first,
        }
    }

    /// A rate by the clock of a port.
    pub(super) fn rate(&self, (node, number): (NodeId, PortId), rate: Rate) -> Rate {
        let port = self.first[node as usize] + u32::from(number);
        self.clocks.rate(port, rate)
    }

    fn speed(&self, (node, number): (NodeId, PortId), rate: Rate) -> Option<LinkSpeed> {
        let port = self.first[node as usize] + u32::from(number);
        self.clocks.speed(port, rate)
    }
}

/// A rate by a clock that is fast by this many times what clocks may be.
pub(super) fn fast(config: &Config, rate: Rate, times: u64) -> Rate {
    let off = config.host.clock_tolerance.of_value(rate.as_bps());
    Rate::from_bps(rate.as_bps() + times * (off + u64::from(off > 0)))
}

pub(super) fn is_host(config: &Config, node: NodeId) -> bool {
    config.fabric.nodes[node as usize] == NodeKind::Host
}

/// True if every packet of the run is recorded.
pub(super) fn records_all(config: &Config) -> bool {
    let probes = &config.probes;
    let has = |port: &Port| probes.packets.contains(&(port.node, port.number));
    probes.packet_flows.is_empty() && ports(config).iter().all(has)
}

/// Bytes of the largest packet on the wire, with framing.
pub(super) fn largest(config: &Config) -> u64 {
    let frame = config
        .largest_frame_bytes()
        .max(config.host.tcp.header_bytes);
    u64::from(frame + config.fabric.framing_bytes)
}

/// True if a switch is set otherwise than the others.
pub(super) fn is_set_otherwise(config: &Config, node: NodeId) -> bool {
    let overrides = &config.switch.overrides;
    overrides.iter().any(|it| it.switches.contains(&node))
}

/// True if at some switch a priority, its queue and its group at the ingress are not one.
pub(super) fn maps_classes(config: &Config) -> bool {
    let mut overrides = config.switch.overrides.iter();
    overrides.any(|it| it.to_queue.is_some() || it.to_group.is_some())
}

/// The shaper of a priority's queue at a port, or with `None` that of the port.
pub(super) fn shaper(
    config: &Config,
    (node, port): (NodeId, PortId),
    priority: Option<u8>,
) -> Option<Shaper> {
    let overrides = config.switch.overrides.iter().rev();
    let own = overrides.filter(|it| it.priorities.is_some() == priority.is_some());
    let mut own = own.filter(|it| it.applies(node, port, priority.unwrap_or(0)));
    own.find_map(|it| it.shaper)
}

/// True if a priority has PFC at a node.
pub(super) fn is_lossless(config: &Config, node: NodeId, priority: u8) -> bool {
    let own = config.switch.overrides.iter().rev();
    let mut own = own.filter(|it| it.switches.contains(&node));
    let lossless = own.find_map(|it| it.lossless);
    lossless.unwrap_or(config.switch.lossless) >> priority & 1 == 1
}

/// The queue in which packets of a priority wait at a node.
pub(super) fn queue_of(config: &Config, node: NodeId, priority: u8) -> u8 {
    let own = config.switch.overrides.iter().rev();
    let mut own = own.filter(|it| it.switches.contains(&node));
    let map = own.find_map(|it| it.to_queue);
    map.map_or(priority, |map| map[usize::from(priority)])
}

/// Packets of one flow can go by several ways.
pub(super) fn sprays(config: &Config) -> bool {
    config.switch.balancing.sprays() || config.host.sprays()
}

/// True if a host may keep what has come to it in a receive buffer, or drop it there.
pub(super) fn is_slow(config: &Config, host: NodeId) -> bool {
    let slow = config.host.slow_receiver.as_ref();
    let storms = &config.events.storms;
    slow.is_some_and(|slow| slow.hosts.contains(&host))
        || storms.iter().any(|storm| storm.host == host)
}
