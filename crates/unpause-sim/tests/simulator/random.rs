//! Random small fabrics with random flows, made so that they shrink to few, plain ones.

use proptest::prelude::*;
use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, HostConfig, NodeId, PfcThreshold, SchemeConfig};
use unpause_sim::traffic::FlowSpec;

use crate::common::*;

/// A second lossless priority, more urgent than [`LOSSLESS`].
pub const URGENT: u8 = 4;

#[derive(Clone, Debug)]
struct Wire {
    rate: usize,
    delay_ns: u64,
}

impl Wire {
    fn rate(&self) -> Rate {
        gbps([40, 10, 100, 25][self.rate])
    }
    fn delay(&self) -> Time {
        Time::from_ns(self.delay_ns)
    }
}

fn wire() -> impl Strategy<Value = Wire> {
    (0usize..4, 1u64..6_000).prop_map(|(rate, delay_ns)| Wire { rate, delay_ns })
}

/// A switch hangs on an earlier one by one to three links like `wire`.
#[derive(Clone, Debug)]
struct Branch {
    parent: usize,
    wire: Wire,
    links: u32,
}

#[derive(Clone, Debug)]
struct Leaf {
    switch: usize,
    wire: Wire,
}

#[derive(Clone, Debug)]
struct Sent {
    src: usize,
    hop: usize,
    bytes: u64,
    start_ns: u64,
    urgent: bool,
    controlled: bool,
    limit_mbps: Option<u64>,
    source_port: u16,
}

/// Fabric, flows and settings; which scheme and switch is the test's to say.
#[derive(Clone, Debug)]
pub struct Case {
    branches: Vec<Branch>,
    leaves: Vec<Leaf>,
    sent: Vec<Sent>,
    /// All flows go to the first host.
    incast: bool,
    framing: bool,
    payload: u32,
    ack_every: u32,
    xoff_bytes: u64,
    xon_gap: u64,
    reaction_ns: u64,
    seed: u64,
}

fn sent() -> impl Strategy<Value = Sent> {
    (
        0usize..8,
        0usize..7,
        prop_oneof![3 => 1u64..3_000, 4 => 1u64..150_000, 1 => 1u64..1_500_000],
        0u64..60_000,
        any::<bool>(),
        prop::bool::weighted(0.8),
        prop::option::weighted(0.2, 200u64..20_000),
        0u16..4,
    )
        .prop_map(
            |(src, hop, bytes, start_ns, urgent, controlled, limit_mbps, source_port)| Sent {
                src,
                hop,
                bytes,
                start_ns,
                urgent,
                controlled,
                limit_mbps,
                source_port,
            },
        )
}

/// Trees of 1 to 4 switches with 2 to 8 hosts and 1 to 12 flows.
pub fn case() -> impl Strategy<Value = Case> {
    let branch = (0usize..3, wire(), 1u32..4).prop_map(|(parent, wire, links)| Branch {
        parent,
        wire,
        links,
    });
    let leaf = (0usize..4, wire()).prop_map(|(switch, wire)| Leaf { switch, wire });
    (
        prop::collection::vec(branch, 0..4),
        prop::collection::vec(leaf, 2..9),
        (prop::collection::vec(sent(), 1..13), any::<bool>()),
        any::<bool>(),
        prop::sample::select(vec![1000u32, 256, 4096]),
        prop_oneof![Just(1u32), 1u32..20],
        5_000u64..100_000,
        0u64..20_000,
        prop_oneof![Just(0u64), 0u64..2_000],
        0u64..1000,
    )
        .prop_map(
            |(
                branches,
                leaves,
                (sent, incast),
                framing,
                payload,
                ack_every,
                xoff_bytes,
                xon_gap,
                reaction_ns,
                seed,
            )| Case {
                branches,
                leaves,
                sent,
                incast,
                framing,
                payload,
                ack_every,
                xoff_bytes,
                xon_gap,
                reaction_ns,
                seed,
            },
        )
}

impl Case {
    /// A run of this case until `stop`.
    pub fn config(&self, scheme: SchemeConfig, stop: Time) -> Config {
        let mut net = Net::default();
        let mut switches = vec![net.switch()];
        for branch in &self.branches {
            let parent = switches[branch.parent % switches.len()];
            let switch = net.switch();
            for _ in 0..branch.links {
                net.link(parent, switch, branch.wire.rate(), branch.wire.delay());
            }
            switches.push(switch);
        }
        let hosts: Vec<NodeId> = self
            .leaves
            .iter()
            .map(|leaf| {
                let switch = switches[leaf.switch % switches.len()];
                net.host(switch, leaf.wire.rate(), leaf.wire.delay())
            })
            .collect();
        net.0.framing_bytes = if self.framing { 20 } else { 0 };
        let flows = self.sent.iter().map(|sent| {
            let others = hosts.len() - 1;
            let (src, dst) = if self.incast {
                (1 + sent.src % others, 0)
            } else {
                let src = sent.src % hosts.len();
                (src, (src + 1 + sent.hop % others) % hosts.len())
            };
            FlowSpec {
                start: Time::from_ns(sent.start_ns),
                priority: if sent.urgent { URGENT } else { LOSSLESS },
                rate_limit: sent.limit_mbps.map(Rate::from_mbps),
                controlled: sent.controlled,
                source_port: sent.source_port,
                ..sized(hosts[src], hosts[dst], sent.bytes)
            }
        });
        let mut config = config(net.0, flows.collect(), stop);
        config.host = HostConfig {
            payload_bytes: self.payload,
            ack_every: self.ack_every,
            ..config.host
        };
        config.switch.lossless = 1 << LOSSLESS | 1 << URGENT;
        config.switch.pfc.threshold = PfcThreshold::Static {
            xoff_bytes: self.xoff_bytes,
            xon_bytes: self.xoff_bytes.saturating_sub(self.xon_gap),
        };
        config.switch.pfc.reaction = Time::from_ns(self.reaction_ns);
        config.scheme = scheme;
        config.seed = self.seed;
        config
    }

    /// The same with smaller flows.
    pub fn with_sizes_up_to(mut self, bytes: u64) -> Self {
        for sent in &mut self.sent {
            sent.bytes = 1 + sent.bytes % bytes;
        }
        self
    }

    /// Thresholds that are a share of the free buffer, of which the switch that needs most headroom
    /// has `shared_bytes`.
    pub fn with_dynamic_threshold(
        &self,
        mut config: Config,
        shift: i32,
        shared_bytes: u64,
    ) -> Config {
        let host = &config.host;
        let framing = u64::from(config.fabric.framing_bytes);
        let mtu = u64::from(host.payload_bytes + host.header_bytes) + framing;
        let mut headroom = vec![0; config.fabric.nodes.len()];
        for link in &config.fabric.links {
            let reaction = config.switch.pfc.reaction;
            let bytes = pfc::headroom(link.rate, link.delay, mtu, 64 + framing, reaction) + mtu;
            headroom[link.a as usize] += 2 * bytes;
            headroom[link.b as usize] += 2 * bytes;
        }
        let most = headroom.iter().max().expect("there are nodes");
        config.switch.buffer_bytes = Some(most + shared_bytes);
        config.switch.pfc.threshold = PfcThreshold::Dynamic {
            shift,
            xon_gap_bytes: self.xon_gap,
        };
        config
    }
}
