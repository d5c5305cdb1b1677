//! `mix.tr` of HPCC's simulator (`trace-format.h`, `sim-setting.h`): packets that nodes receive, queue and send.

use std::collections::{HashMap, HashSet, VecDeque};

use unpause_protocols::congestion_control;
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeId, NodeKind, PortId};
use unpause_sim::fabric::hpcc_address as address;
use unpause_sim::results::{self, FlowRecord, PacketKind, PacketRecord};

use unpause_import::hpcc_ways::Ways;

/// Writes the file of a run's packets.
pub struct Trace<'a> {
    config: &'a Config,
    flows: &'a [FlowRecord],
    /// By node.
    is_traced: Vec<bool>,
    /// By node, then port: the node and the port at the other end, and the link.
    far_ends: Vec<Vec<(NodeId, PortId, usize)>>,
}

/// An event of a packet, as the file numbers it; at one instant, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Received = 0,
    Queued = 1,
    Sent = 2,
}

/// When and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    time: Time,
    node: NodeId,
    event: Event,
    port: PortId,
    /// Which packet.
    packet: usize,
    /// It is marked.
    ce: bool,
}

/// Microseconds that its PFC frames say (`QbbNetDevice::PauseTime`, which no key sets).
const PAUSE_US: u32 = 5;

impl<'a> Trace<'a> {
    pub fn new(config: &'a Config, flows: &'a [FlowRecord], nodes: &[NodeId]) -> Self {
        let count = config.fabric.nodes.len();
        let mut is_traced = vec![false; count];
        for node in nodes {
            is_traced[*node as usize] = true;
        }
        let mut far_ends = vec![Vec::new(); count];
        for (index, link) in config.fabric.links.iter().enumerate() {
            let (a, b) = (link.a as usize, link.b as usize);
            let ports = (far_ends[a].len() as PortId, far_ends[b].len() as PortId);
            far_ends[a].push((link.b, ports.1, index));
            far_ends[b].push((link.a, ports.0, index));
        }
        Self {
            config,
            flows,
            is_traced,
            far_ends,
        }
    }

    /// The file, of packets in order of time.
    pub fn of(&self, packets: &[PacketRecord]) -> Vec<u8> {
        let mut bytes = self.head();
        let mut waiting: HashMap<(NodeId, PortId, u8), u64> = HashMap::new();
        for step in self.steps(packets) {
            let packet = &packets[step.packet];
            let is_switch = self.config.fabric.nodes[step.node as usize] == NodeKind::Switch;
            let is_pfc = packet.kind == PacketKind::Pfc;
            // At hosts only flows have queues of their own, which are not counted.
            let (queue, mut bytes_queued) = match (step.event, is_switch) {
                (Event::Received, _) => (0, 0),
                (Event::Sent, false) if packet.kind == PacketKind::Data => (packet.priority, 0),
                (_, false) => (0, 0),
                (_, true) if is_pfc => (0, 0),
                (Event::Queued, true) => (packet.priority, 0),
                (Event::Sent, true) => (packet.priority, packet.queued.queue_bytes),
            };
            if is_switch && step.event != Event::Received && !is_pfc {
                let place = (step.node, step.port, packet.priority);
                let now = waiting.entry(place).or_default();
                if step.event == Event::Queued {
                    bytes_queued = *now;
                    *now += u64::from(packet.bytes);
                } else {
                    *now = bytes_queued;
                }
            }
            let held = |priority| {
                *waiting
                    .get(&(packet.node, packet.port, priority))
                    .unwrap_or(&0)
            };
            self.write(&mut bytes, step, packet, (queue, bytes_queued as u32), held);
        }
        bytes
    }

    /// Rates of all ports, and the largest bandwidth-delay product.
    fn head(&self) -> Vec<u8> {
        let links = &self.config.fabric.links;
        let mut bytes = (2 * links.len() as u32).to_le_bytes().to_vec();
        for (node, ends) in self.far_ends.iter().enumerate() {
            for (port, (_, _, link)) in ends.iter().enumerate() {
                bytes.extend((node as u16).to_le_bytes());
                bytes.push(port as u8 + 1);
                bytes.extend(links[*link].rate.as_bps().to_le_bytes());
            }
        }
        let mut ways = Ways::new(&self.config.fabric, self.config.host.payload_bytes);
        bytes.extend((ways.largest().1 as u32).to_le_bytes());
        bytes
    }

    /// The events, in order.
    fn steps(&self, packets: &[PacketRecord]) -> Vec<Step> {
        let mut steps = Vec::new();
        // By flow: data packets that have come to a traced host, and when.
        let mut came: HashMap<u32, VecDeque<(u32, Time)>> = HashMap::new();
        // Packets that have come to a traced node with a mark.
        let mut marked: HashSet<(NodeId, u32, u32)> = HashSet::new();
        let end = self.config.stop;
        for (index, packet) in packets.iter().enumerate() {
            let mut add = |time, node, event, port, ce| {
                steps.push(Step {
                    time,
                    node,
                    event,
                    port,
                    packet: index,
                    ce,
                });
            };
            let (node, port) = (packet.node, packet.port);
            if self.is_traced[node as usize] {
                let is_host = self.config.fabric.nodes[node as usize] == NodeKind::Host;
                let queued = match (packet.queued.sojourn, is_host) {
                    (Some(sojourn), _) => Some(packet.time - sojourn),
                    (None, false) => Some(packet.time),
                    (None, true) if packet.kind == PacketKind::Data => None,
                    (None, true) => Some(answered(&mut came, packet)),
                };
                if let Some(time) = queued {
                    let ce = packet.ce && marked.remove(&(node, packet.flow, packet.seq));
                    add(time, node, Event::Queued, port, ce);
                }
                add(packet.time, node, Event::Sent, port, packet.ce);
            }
            let (far, far_port, _) = self.far_ends[node as usize][usize::from(port)];
            if self.is_traced[far as usize] && packet.arrival < end {
                add(packet.arrival, far, Event::Received, far_port, packet.ce);
                if packet.ce && far != packet.dst {
                    marked.insert((far, packet.flow, packet.seq));
                }
                if packet.kind == PacketKind::Data && far == packet.dst {
                    let came = came.entry(packet.flow).or_default();
                    came.push_back((packet.seq, packet.arrival));
                }
            }
        }
        steps.sort_unstable();
        steps
    }

    /// A record: `struct TraceFormat` as compilers lay it out for 64 bits.
    fn write(
        &self,
        bytes: &mut Vec<u8>,
        step: Step,
        packet: &PacketRecord,
        (queue, queue_bytes): (u8, u32),
        held: impl Fn(u8) -> u64,
    ) {
        let start = bytes.len();
        let (from, to, protocol) = match packet.kind {
            PacketKind::Data => (address(packet.src), address(packet.dst), 0x11),
            PacketKind::Ack => (address(packet.src), address(packet.dst), 0xfc),
            PacketKind::Pfc => (self.link_address(packet), u32::MAX, 0xfe),
            _ => (address(packet.src), address(packet.dst), 0xfd),
        };
        let is_switch = self.config.fabric.nodes[step.node as usize] == NodeKind::Switch;
        bytes.extend((step.time.as_ps() / 1000).to_le_bytes());
        bytes.extend((step.node as u16).to_le_bytes());
        bytes.extend([step.port as u8 + 1, queue]);
        bytes.extend(queue_bytes.to_le_bytes());
        bytes.extend(from.to_le_bytes());
        bytes.extend(to.to_le_bytes());
        bytes.extend(packet.bytes.to_le_bytes());
        bytes.extend([protocol, step.event as u8]);
        bytes.extend([if step.ce { 3 } else { 0 }, u8::from(is_switch)]);
        bytes.extend([0; 2]);
        match (packet.pfc, results::flow(self.flows, packet.flow)) {
            (Some(pfc), _) => {
                let priority = pfc.priorities.trailing_zeros().min(7) as u8;
                let pause = if pfc.pause == Time::ZERO { 0 } else { PAUSE_US };
                bytes.extend(pause.to_le_bytes());
                bytes.extend((held(priority) as u32).to_le_bytes());
                bytes.push(priority);
            }
            (None, Some(flow)) => self.write_transport(bytes, packet, flow),
            (None, None) => {}
        }
        bytes.resize(start + RECORD_BYTES, 0);
    }

    /// The fields of a packet of a flow.
    fn write_transport(&self, bytes: &mut Vec<u8>, packet: &PacketRecord, flow: &FlowRecord) {
        let payload = self.config.host.payload_bytes;
        let law = &self.config.scheme.roce;
        let sent = packet
            .sent
            .filter(|_| matches!(law, congestion_control::Config::Timely(_)));
        let sent = sent.map_or(0, |time| time.as_ps() / 1000);
        let size = flow.size_bytes.unwrap_or(u64::MAX);
        let number = (u64::from(packet.seq) * u64::from(payload)).min(size) as u32;
        let priority = u16::from(packet.priority);
        let (source, destination) = (flow.source_port, flow.destination_port);
        if packet.kind == PacketKind::Data {
            let carried = u32::from(packet.bytes).saturating_sub(self.config.host.header_bytes);
            bytes.extend(source.to_le_bytes());
            bytes.extend(destination.to_le_bytes());
            bytes.extend(number.to_le_bytes());
            bytes.extend(sent.to_le_bytes());
            bytes.extend(priority.to_le_bytes());
            bytes.extend((carried as u16).to_le_bytes());
        } else {
            bytes.extend(destination.to_le_bytes());
            bytes.extend(source.to_le_bytes());
            bytes.extend(u16::from(packet.ece).to_le_bytes());
            bytes.extend(priority.to_le_bytes());
            bytes.extend(number.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(sent.to_le_bytes());
        }
    }

    /// The address of the port from which a PFC frame comes: the network of its link, its first or second host.
    fn link_address(&self, packet: &PacketRecord) -> u32 {
        let (far, _, link) = self.far_ends[packet.node as usize][usize::from(packet.port)];
        let is_first = self.config.fabric.links[link].b == far;
        let network = (link as u32 / 254 + 1) << 16 | (link as u32 % 254 + 1) << 8;
        10 << 24 | network | if is_first { 1 } else { 2 }
    }
}

/// Bytes of a record.
const RECORD_BYTES: usize = 56;

/// When an answer joined the queue of its host: as the data packet came that it answers.
fn answered(came: &mut HashMap<u32, VecDeque<(u32, Time)>>, answer: &PacketRecord) -> Time {
    let Some(came) = came.get_mut(&answer.flow) else {
        return answer.time;
    };
    while let Some(&(seq, time)) = came.front() {
        if time > answer.time {
            break;
        }
        came.pop_front();
        if seq.wrapping_add(1) == answer.seq {
            return time;
        }
    }
    answer.time
}
