//! Ports of all nodes, numbered, and what transmits at each.

use std::collections::BTreeSet;

use unpause_protocols::units::{Fraction, LinkSpeed, Time};

use crate::fabric::clocks::Clocks;
use crate::fabric::packet::Packet;
use crate::fabric::{Fabric, NodeId, NodeKind, PortId};

/// Index of a port among all ports of the fabric: those of node 0, then of node 1, and so on.
pub type GlobalPort = u32;

/// The transmitting side of a port.
#[derive(Clone, Copy, Debug)]
pub struct Transmitter {
    /// Speed of the link.
    pub speed: LinkSpeed,
    /// Propagation delay.
    pub delay: Time,
    /// Port at the far end.
    pub peer_port: GlobalPort,
    /// Its number at its own node.
    pub peer_local: PortId,
    /// Node at the far end.
    pub peer: NodeId,
    /// Shard of that node, or [`SLOW_PATH`].
    pub shard: u16,
    /// Packets are recorded.
    pub traced: bool,
    /// That node is a switch that cuts through.
    pub cuts_through: bool,
    /// It also has ports that are faster.
    pub feeds_faster: bool,
    /// Packets are on the wire for many windows of that node.
    pub is_far: bool,
}

impl Transmitter {
    /// Node at the far end, and the number of the port there.
    #[inline(always)]
    pub fn far_end(&self) -> (NodeId, PortId) {
        (self.peer, self.peer_local)
    }
}

/// Stands for the shard behind a port at which more is to be done than to pass packets on: its packets take a slow path.
pub const SLOW_PATH: u16 = u16::MAX;

/// Stands where there is no link.
const ANY: LinkSpeed = match LinkSpeed::of(LinkSpeed::MAX) {
    Some(speed) => speed,
    None => panic!("that is a speed"),
};

/// Ports of all nodes.
#[derive(Clone, Debug)]
pub struct Ports {
    /// First port of each node, and the number of all ports at the end.
    pub first: Vec<GlobalPort>,
    /// Whose each port is.
    node: Vec<NodeId>,
    /// Transmitting side of each port.
    pub transmitters: Vec<Transmitter>,
    /// Bytes of a frame on a wire beyond its own.
    pub framing_bytes: u64,
    /// Their clocks.
    pub clocks: Clocks,
}

impl Ports {
    /// Numbers the ports. Link rates must have been checked.
    pub fn new(fabric: &Fabric) -> Self {
        let nodes = fabric.nodes.len();
        let mut first = vec![0; nodes + 1];
        for link in &fabric.links {
            first[link.a as usize + 1] += 1;
            first[link.b as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut take = |node: NodeId| {
            let port = next[node as usize];
            next[node as usize] += 1;
            port
        };
        let blank = Transmitter {
            speed: ANY,
            delay: Time::ZERO,
            peer_port: 0,
            peer_local: 0,
            peer: 0,
            shard: 0,
            traced: false,
            cuts_through: false,
            feeds_faster: false,
            is_far: false,
        };
        let mut transmitters = vec![blank; 2 * fabric.links.len()];
        for link in &fabric.links {
            let (a, b) = (take(link.a), take(link.b));
            let speed = LinkSpeed::of(link.rate).expect("link rates are checked");
            let delay = link.delay;
            transmitters[a as usize] = Transmitter {
                speed,
                delay,
                peer_port: b,
                peer_local: (b - first[link.b as usize]) as PortId,
                peer: link.b,
                ..blank
            };
            transmitters[b as usize] = Transmitter {
                speed,
                delay,
                peer_port: a,
                peer_local: (a - first[link.a as usize]) as PortId,
                peer: link.a,
                ..blank
            };
        }
        let ports_of = |node: usize| (first[node + 1] - first[node]) as usize;
        let node = (0..nodes).flat_map(|node| std::iter::repeat_n(node as NodeId, ports_of(node)));
        Self {
            node: node.collect(),
            first,
            transmitters,
            framing_bytes: u64::from(fabric.framing_bytes),
            clocks: Clocks::default(),
        }
    }
    /// The ports at both ends of each link, as they are numbered here.
    pub fn ends(&self, fabric: &Fabric) -> Vec<[GlobalPort; 2]> {
        let mut next = self.first.clone();
        let mut take = |node: NodeId| {
            next[node as usize] += 1;
            next[node as usize] - 1
        };
        let links = fabric.links.iter();
        links.map(|link| [take(link.a), take(link.b)]).collect()
    }
    /// Gives each port a clock of its own, within `tolerance` of its rate.
    pub fn draw_clocks(&mut self, tolerance: Fraction, seed: u64) {
        self.clocks = Clocks::drawn(tolerance, seed, self.transmitters.len());
        for (port, transmitter) in (0..).zip(&mut self.transmitters) {
            let speed = self.clocks.speed(port, transmitter.speed.rate());
            transmitter.speed = speed.expect("link rates are checked");
        }
    }
    /// All switches cut through.
    pub fn cut_through(&mut self, fabric: &Fabric) {
        let fastest: Vec<LinkSpeed> = (0..fabric.nodes.len() as NodeId)
            .map(|node| self.fastest(node))
            .collect();
        for transmitter in &mut self.transmitters {
            let peer = transmitter.peer as usize;
            transmitter.cuts_through = fabric.nodes[peer] == NodeKind::Switch;
            transmitter.feeds_faster = fastest[peer] > transmitter.speed;
        }
    }
    /// The wire behind a port may have a lower speed in the run than here: the switch behind may then have faster ports.
    pub fn may_slow_to(&mut self, port: GlobalPort, speed: LinkSpeed) {
        let fastest = self.fastest(self.transmitters[port as usize].peer);
        let transmitter = &mut self.transmitters[port as usize];
        transmitter.feeds_faster |= transmitter.cuts_through && fastest > speed;
    }
    /// Says which node is in which shard, the packets of which ports are recorded, and at which ports more is to be done
    /// with them than that.
    pub fn assign_shards(
        &mut self,
        shard_of: &[u16],
        traced: &[(NodeId, PortId)],
        watched: &BTreeSet<GlobalPort>,
    ) {
        for &(node, port) in traced {
            let at = self.first[node as usize] + u32::from(port);
            self.transmitters[at as usize].traced = true;
        }
        for (port, transmitter) in (0..).zip(&mut self.transmitters) {
            let Transmitter {
                speed,
                traced,
                cuts_through,
                is_far,
                ..
            } = *transmitter;
            transmitter.shard =
                if traced || cuts_through || is_far || !speed.is_whole() || watched.contains(&port)
                {
                    SLOW_PATH
                } else {
                    shard_of[transmitter.peer as usize]
                };
        }
    }
    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.first.len() - 1
    }
    /// The ports of `node`.
    #[inline]
    pub fn of(&self, node: NodeId) -> std::ops::Range<GlobalPort> {
        self.first[node as usize]..self.first[node as usize + 1]
    }
    /// The sum of the rates of all ports of `node`, as a weight.
    pub fn rate(&self, node: NodeId) -> u64 {
        let ports = self.transmitters_of(node).iter();
        // Bytes per microsecond and up: exact enough.
        ports.map(|it| it.speed.bytes_in(Time::from_us(1))).sum()
    }
    /// Speed of the fastest port of `node`.
    pub fn fastest(&self, node: NodeId) -> LinkSpeed {
        let ports = self.transmitters_of(node).iter();
        ports.map(|port| port.speed).max().unwrap_or(ANY)
    }
    /// The transmitting sides of `node`'s ports.
    pub fn transmitters_of(&self, node: NodeId) -> &[Transmitter] {
        let range = self.of(node);
        &self.transmitters[range.start as usize..range.end as usize]
    }
    /// The port's number at its own node.
    pub fn local(&self, node: NodeId, port: GlobalPort) -> PortId {
        (port - self.first[node as usize]) as PortId
    }
    /// The node of a port, and its number there.
    #[inline]
    pub fn place(&self, port: GlobalPort) -> (NodeId, PortId) {
        let node = self.node[port as usize];
        (node, self.local(node, port))
    }
    /// Bytes that a frame occupies on a wire.
    #[inline]
    pub fn wire_bytes(&self, packet: &Packet) -> u64 {
        u64::from(packet.bytes) + self.framing_bytes
    }
}
