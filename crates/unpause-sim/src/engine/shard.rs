//! A share of the nodes, with the wires into them and what they have recorded.

use unpause_protocols::units::Time;

use crate::config::NodeId;
use crate::engine::wire::{GlobalPort, Ports, Wires};
use crate::host::Host;
use crate::packet::Packet;
use crate::plan::Plan;
use crate::results::{PauseRecord, PortRecord, PortSample};
use crate::switch::shared_buffer::SharedBuffer;

/// A node of the fabric. Another switch model is another variant.
#[derive(Debug)]
pub enum Node {
    /// A NIC with flows.
    Host(Box<Host>),
    /// An output-queued switch with a shared buffer.
    SharedBuffer(Box<SharedBuffer>),
}

/// What a node must be able to do.
pub trait NodeModel {
    /// Executes every event before `window.end`; answers when the next one of its own is due, not
    /// counting what is on the wires into it.
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time;
    /// The run is over at `now`: close and report what is open.
    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log);
    /// Data packets held.
    fn held_data_packets(&self) -> u64;
}

impl Node {
    /// The model behind.
    pub fn model(&mut self) -> &mut dyn NodeModel {
        match self {
            Self::Host(host) => host.as_mut(),
            Self::SharedBuffer(switch) => switch.as_mut(),
        }
    }
}

/// What nodes have recorded.
#[derive(Debug, Default)]
pub struct Log {
    /// Flows completed, or at the end still open.
    pub flows: Vec<FlowEnd>,
    /// Flows that sent packets again: (flow, packets).
    pub retransmissions: Vec<(u32, u64)>,
    /// PAUSEs.
    pub pauses: Vec<PauseRecord>,
    /// Totals of ports, reported by [`NodeModel::finish`].
    pub ports: Vec<PortRecord>,
    /// Samples of ports.
    pub port_series: Vec<PortSample>,
    /// Samples of senders.
    pub sender_series: Vec<SenderSample>,
    /// Samples of receivers: (time, flow, payload bytes delivered).
    pub receiver_series: Vec<(Time, u32, u64)>,
    /// Sums over nodes.
    pub counts: Counts,
}

/// Sums over nodes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Events executed.
    pub events: u64,
    /// Packets that went over a link.
    pub packet_hops: u64,
    /// Data packets sent by hosts.
    pub data_packets: u64,
    /// Data packets that reached their host.
    pub delivered_packets: u64,
    /// Data packets dropped.
    pub dropped_packets: u64,
    /// CNPs and CNMs sent.
    pub notifications: u64,
    /// Sequence errors that receivers saw.
    pub sequence_errors: u64,
    /// Flows started by their senders.
    pub flows_started: u64,
}

/// A flow as its receiver knew it at completion, or at the end of the run.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnd {
    /// Flow.
    pub id: u32,
    /// Traffic entry.
    pub group: u16,
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Entropy of ECMP.
    pub source_port: u16,
    /// Priority.
    pub priority: u8,
    /// Payload bytes to send.
    pub size_bytes: Option<u64>,
    /// Start.
    pub start: Time,
    /// Completion.
    pub fct: Option<Time>,
    /// Payload bytes delivered in order.
    pub delivered_bytes: u64,
}

/// One sample of a recorded flow at its sender.
#[derive(Clone, Copy, Debug)]
pub struct SenderSample {
    /// When.
    pub time: Time,
    /// Flow.
    pub flow: u32,
    /// Rate allowed, bit/s.
    pub rate_bps: u64,
    /// Wire bytes sent.
    pub sent_bytes: u64,
}

const GROUP: usize = 64;

/// When each node next has something to do. Windows skip groups of idle nodes at once.
#[derive(Debug)]
pub struct Calendar {
    next: Vec<Time>,
    group: Vec<Time>,
}

impl Calendar {
    /// All `nodes` idle.
    pub fn new(nodes: usize) -> Self {
        Self {
            next: vec![Time::NEVER; nodes],
            group: vec![Time::NEVER; nodes.div_ceil(GROUP)],
        }
    }
    /// `node` has something to do at `time`.
    #[inline]
    pub fn wake(&mut self, node: NodeId, time: Time) {
        let next = &mut self.next[node as usize];
        if time < *next {
            *next = time;
            let group = &mut self.group[node as usize / GROUP];
            *group = (*group).min(time);
        }
    }
    /// When the earliest node has something to do.
    pub fn earliest(&self) -> Time {
        self.group.iter().copied().min().unwrap_or(Time::NEVER)
    }
}

/// A share of the nodes.
#[derive(Debug)]
pub struct Shard {
    /// By node id; `None` for nodes of other shards.
    pub nodes: Vec<Option<Node>>,
    /// Wires into the nodes of this shard.
    pub wires: Wires,
    /// What to do next.
    pub calendar: Calendar,
    /// What has been recorded.
    pub log: Log,
}

impl Shard {
    /// Runs every node of this shard up to `end`.
    pub fn run_window(&mut self, plan: &Plan<'_>, end: Time) {
        for group in 0..self.calendar.group.len() {
            if self.calendar.group[group] >= end {
                continue;
            }
            let range = group * GROUP..((group + 1) * GROUP).min(self.nodes.len());
            for id in range.clone() {
                if self.calendar.next[id] >= end {
                    continue;
                }
                let node = self.nodes[id].as_mut().expect("only own nodes are woken");
                let mut window = Window {
                    end,
                    plan,
                    ports: &plan.ports,
                    wires: &mut self.wires,
                    calendar: &mut self.calendar,
                    log: &mut self.log,
                };
                let own = match node {
                    Node::Host(host) => host.run(&mut window),
                    Node::SharedBuffer(switch) => switch.run(&mut window),
                };
                debug_assert!(own >= end, "node {id} left an event behind");
                let heads = self.wires.heads(plan.ports.of(id as NodeId));
                self.calendar.next[id] = heads.iter().copied().fold(own, Time::min);
            }
            let earliest = self.calendar.next[range].iter().copied().min();
            self.calendar.group[group] = earliest.unwrap_or(Time::NEVER);
        }
    }

    /// The host `id`.
    pub fn host(&mut self, id: NodeId) -> &mut Host {
        match &mut self.nodes[id as usize] {
            Some(Node::Host(host)) => host,
            _ => unreachable!("traffic is checked to run between hosts"),
        }
    }
}

/// What a node sees of the world while it runs its window.
pub struct Window<'w, 'p> {
    /// Events before this are to be executed.
    pub end: Time,
    /// What every node reads.
    pub plan: &'w Plan<'p>,
    /// Ports of all nodes.
    pub ports: &'w Ports,
    /// Wires; a node reads only its own.
    pub wires: &'w mut Wires,
    calendar: &'w mut Calendar,
    /// What is recorded.
    pub log: &'w mut Log,
}

impl Window<'_, '_> {
    /// Starts to send `packet` out of `port` at `now`; answers when the port is free again.
    #[inline]
    pub fn transmit(&mut self, port: GlobalPort, now: Time, mut packet: Packet) -> Time {
        let transmitter = &self.ports.transmitters[port as usize];
        let bytes = self.ports.wire_bytes(&packet);
        let free = now + Time::from_ps(bytes * transmitter.ps_per_byte);
        packet.time = free + transmitter.delay;
        self.log.counts.packet_hops += 1;
        if self.wires.push(transmitter.peer_port, packet) {
            self.calendar.wake(transmitter.peer, packet.time);
        }
        free
    }
}
