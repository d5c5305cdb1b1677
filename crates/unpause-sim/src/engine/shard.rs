//! A share of the nodes, with the wires into them and what they have recorded.

use unpause_protocols::units::Time;

use crate::config::{NodeId, SwitchModel};
use crate::engine::deadlock::Blocked;
use crate::engine::wire::{GlobalPort, Ports, TRACED, Wires};
use crate::host::{FlowStart, Host};
use crate::packet::Packet;
use crate::plan::Plan;
use crate::results::{PacketRecord, PauseRecord, PortRecord, PortSample};
use crate::switch::cioq::Cioq;
use crate::switch::pipeline::Pipeline;
use crate::switch::shared_buffer::SharedBuffer;
use crate::traffic::Transport;

/// A node of the fabric. Another switch model is another variant.
#[derive(Debug)]
pub enum Node {
    /// A NIC with flows.
    Host(Box<Host>),
    /// An output-queued switch with a shared buffer.
    SharedBuffer(Box<SharedBuffer>),
    /// A switch with one packet processor.
    Pipeline(Box<Pipeline>),
    /// A combined-input-output-queued fabric.
    Cioq(Box<Cioq>),
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
    /// Adds the egress queues that have sent nothing since `since`, for a pause that is in force.
    fn blocked(&self, _since: Time, _plan: &Plan<'_>, _found: &mut Vec<Blocked>) {}
}

impl Node {
    /// Node `id` at rest, and when it first has something to do.
    fn new(id: NodeId, plan: &Plan<'_>) -> (Self, Time) {
        if plan.is_host(id) {
            let mut host = Host::new(id, plan);
            let first = host.first_sample();
            return (Self::Host(Box::new(host)), first);
        }
        match &plan.config.switch.model {
            SwitchModel::SharedBuffer => {
                let switch = SharedBuffer::new(id, plan);
                let first = switch.first_event();
                (Self::SharedBuffer(Box::new(switch)), first)
            }
            SwitchModel::Pipeline(config) => {
                let switch = Pipeline::new(id, config, plan);
                let first = switch.first_event();
                (Self::Pipeline(Box::new(switch)), first)
            }
            SwitchModel::Cioq(config) => {
                let switch = Cioq::new(id, *config, plan);
                let first = switch.first_event();
                (Self::Cioq(Box::new(switch)), first)
            }
        }
    }
    /// The model behind.
    pub fn model(&mut self) -> &mut dyn NodeModel {
        match self {
            Self::Host(host) => host.as_mut(),
            Self::SharedBuffer(switch) => switch.as_mut(),
            Self::Pipeline(switch) => switch.as_mut(),
            Self::Cioq(switch) => switch.as_mut(),
        }
    }
}

/// What nodes have recorded.
#[derive(Debug, Default)]
pub struct Log {
    /// Flows completed, or at the end still open.
    pub flows: Vec<FlowEnd>,
    /// What senders had to say at their end.
    pub senders: Vec<SenderEnd>,
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
    /// Packets at the ports traced.
    pub packets: Vec<PacketRecord>,
    /// Sums over nodes.
    pub counts: Counts,
}

impl Log {
    /// Adds what another shard has recorded.
    pub fn merge(&mut self, other: Self) {
        self.flows.extend(other.flows);
        self.senders.extend(other.senders);
        self.pauses.extend(other.pauses);
        self.ports.extend(other.ports);
        self.port_series.extend(other.port_series);
        self.sender_series.extend(other.sender_series);
        self.receiver_series.extend(other.receiver_series);
        self.packets.extend(other.packets);
        self.counts.merge(&other.counts);
    }
}

impl Counts {
    fn merge(&mut self, other: &Self) {
        self.events += other.events;
        self.packet_hops += other.packet_hops;
        self.data_packets += other.data_packets;
        self.delivered_packets += other.delivered_packets;
        self.dropped_packets += other.dropped_packets;
        self.notifications += other.notifications;
        self.sequence_errors += other.sequence_errors;
        self.flows_started += other.flows_started;
    }
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
    /// What carried it.
    pub transport: Transport,
    /// Delay at its receiving host.
    pub extra_delay: Time,
}

/// A flow as its sender knew it when it was done, or at the end of the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderEnd {
    /// Flow.
    pub flow: u32,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Times that a timeout made it start over.
    pub timeouts: u64,
    /// It has ended after too many timeouts in a row.
    pub gave_up: bool,
    /// CNPs and CNMs received.
    pub notifications: u64,
}

/// One sample of a recorded flow at its sender.
#[derive(Clone, Copy, Debug)]
pub struct SenderSample {
    /// When.
    pub time: Time,
    /// Flow.
    pub flow: u32,
    /// Rate allowed, bit/s; of no meaning with a window.
    pub rate_bps: u64,
    /// Congestion window, if it has one.
    pub cwnd_bytes: Option<u64>,
    /// Wire bytes sent.
    pub sent_bytes: u64,
    /// CNPs and CNMs received.
    pub notifications: u64,
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

/// What one thread sends another between windows.
#[derive(Debug, Default)]
pub struct Mail {
    packets: Vec<(GlobalPort, Packet)>,
    starts: Vec<FlowStart>,
}

impl Mail {
    /// True if there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.starts.is_empty()
    }
    /// When the first thing in it happens.
    pub fn earliest(&self) -> Time {
        let packets = self.packets.iter().map(|(_, packet)| packet.time);
        let starts = self.starts.iter().map(|start| start.spec.start);
        packets.chain(starts).min().unwrap_or(Time::NEVER)
    }
}

/// A share of the nodes.
#[derive(Debug)]
pub struct Shard {
    /// Which one it is.
    pub index: u16,
    /// What to do next.
    pub calendar: Calendar,
    /// What has been recorded.
    pub log: Log,
    /// For each shard, what it is to be sent; nothing for this one.
    pub outboxes: Vec<Mail>,
    /// By node id; `None` for nodes of other shards.
    nodes: Vec<Option<Node>>,
    shard_of: Vec<u16>,
    /// Wires into the nodes of this shard.
    wires: Wires,
}

/// What a shard leaves at the end of a run.
#[derive(Debug)]
pub struct ShardEnd {
    /// What has been recorded.
    pub log: Log,
    /// Data packets still in queues and on wires.
    pub held_data_packets: u64,
}

impl Shard {
    /// The nodes that `shard_of` gives to shard `index`, at rest.
    pub fn new(plan: &Plan<'_>, shard_of: &[u16], index: u16) -> Self {
        let count = plan.config.fabric.nodes.len();
        let mut calendar = Calendar::new(count);
        let nodes = (0..count as NodeId)
            .map(|id| {
                if shard_of[id as usize] != index {
                    return None;
                }
                let (node, first) = Node::new(id, plan);
                calendar.wake(id, first);
                Some(node)
            })
            .collect();
        let shards = 1 + shard_of.iter().copied().max().unwrap_or(0) as usize;
        Self {
            index,
            calendar,
            log: Log::default(),
            outboxes: (0..shards).map(|_| Mail::default()).collect(),
            nodes,
            shard_of: shard_of.to_vec(),
            wires: Wires::new(plan.ports.transmitters.len()),
        }
    }

    /// True if `node` is in this shard.
    pub fn owns(&self, node: NodeId) -> bool {
        self.shard_of[node as usize] == self.index
    }

    /// Hands a flow to its sender, in this shard or another.
    pub fn start_flow(&mut self, start: FlowStart) {
        let to = self.shard_of[start.spec.src as usize];
        if to == self.index {
            self.host(start.spec.src).schedule(start);
            self.calendar.wake(start.spec.src, start.spec.start);
        } else {
            self.outboxes[to as usize].starts.push(start);
        }
    }

    /// Takes what another shard has sent.
    pub fn deliver(&mut self, plan: &Plan<'_>, mail: &mut Mail) {
        for (port, packet) in mail.packets.drain(..) {
            if self.wires.push(port, &packet, packet.time, 0) {
                let far_end = plan.ports.transmitters[port as usize].peer_port;
                let node = plan.ports.transmitters[far_end as usize].peer;
                self.calendar.wake(node, packet.time);
            }
        }
        for start in mail.starts.drain(..) {
            self.start_flow(start);
        }
    }

    /// Queues that have been blocked since `since` or before.
    pub fn blocked(&mut self, since: Time, plan: &Plan<'_>) -> Vec<Blocked> {
        let mut found = Vec::new();
        for node in self.nodes.iter_mut().flatten() {
            node.model().blocked(since, plan, &mut found);
        }
        found
    }

    /// Closes the run, which has come to `at`.
    pub fn finish(mut self, at: Time, plan: &Plan<'_>) -> ShardEnd {
        let on_wires = self
            .wires
            .iter()
            .filter(|packet| packet.kind.is_data())
            .count();
        let mut held_data_packets = on_wires as u64;
        for node in self.nodes.iter_mut().flatten() {
            node.model().finish(at, plan, &mut self.log);
            held_data_packets += node.model().held_data_packets();
        }
        ShardEnd {
            log: self.log,
            held_data_packets,
        }
    }

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
                    shard: self.index,
                    shard_of: &self.shard_of,
                    outboxes: &mut self.outboxes,
                    log: &mut self.log,
                };
                let own = match node {
                    Node::Host(host) => host.run(&mut window),
                    Node::SharedBuffer(switch) => switch.run(&mut window),
                    Node::Pipeline(switch) => switch.run(&mut window),
                    Node::Cioq(switch) => switch.run(&mut window),
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
    shard: u16,
    shard_of: &'w [u16],
    outboxes: &'w mut [Mail],
    /// What is recorded.
    pub log: &'w mut Log,
}

impl Window<'_, '_> {
    /// Starts to send `packet`, with `flags` set besides its own, out of `port` at `now`; answers
    /// when the port is free again.
    #[inline(always)]
    pub fn transmit(&mut self, port: GlobalPort, now: Time, packet: &Packet, flags: u8) -> Time {
        let transmitter = &self.ports.transmitters[port as usize];
        let bytes = self.ports.wire_bytes(packet);
        let free = now + Time::from_ps(bytes * transmitter.ps_per_byte);
        let arrival = free + transmitter.delay;
        self.log.counts.packet_hops += 1;
        if transmitter.shard != self.shard {
            let packet = Packet {
                time: arrival,
                bits: packet.bits | flags,
                ..*packet
            };
            self.send_out(port, now, &packet);
        } else if self
            .wires
            .push(transmitter.peer_port, packet, arrival, flags)
        {
            self.calendar.wake(transmitter.peer, arrival);
        }
        free
    }

    /// Puts a packet onto a wire to another shard, or onto one that is traced.
    #[inline(never)]
    fn send_out(&mut self, port: GlobalPort, now: Time, packet: &Packet) {
        let transmitter = &self.ports.transmitters[port as usize];
        let mut to = transmitter.shard;
        if to == TRACED {
            self.trace(port, now, packet);
            to = self.shard_of[transmitter.peer as usize];
        }
        if to != self.shard {
            let mail = &mut self.outboxes[to as usize];
            mail.packets.push((transmitter.peer_port, *packet));
        } else if self
            .wires
            .push(transmitter.peer_port, packet, packet.time, 0)
        {
            self.calendar.wake(transmitter.peer, packet.time);
        }
    }

    fn trace(&mut self, port: GlobalPort, now: Time, packet: &Packet) {
        let flows = &self.plan.config.probes.packet_flows;
        if !flows.is_empty() && !flows.contains(&packet.flow) {
            return;
        }
        let node = self.ports.transmitters[port as usize].peer_port;
        let node = self.ports.transmitters[node as usize].peer;
        let port = self.ports.local(node, port);
        self.log
            .packets
            .push(PacketRecord::new(now, node, port, packet));
    }
}
