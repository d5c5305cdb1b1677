//! A shard: some of the nodes, with what is in flight to them and what they have recorded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use crate::engine::arrivals::Arrivals;
use crate::engine::batch::{Batch, Outgoing};
use crate::engine::calendar::Calendar;
use crate::engine::inbox::Inboxes;
use crate::engine::log::Log;
use crate::engine::repeat::Repeat;
use crate::engine::window::Window;
use crate::fabric::NodeId;
use crate::fabric::telemetry::Telemetry;
use crate::host::Host;
use crate::host::prefetch::{ROUNDS, prefetch_host};
use crate::outcome::deadlock::Blocked;
use crate::outcome::results::LossPlace;
use crate::plan::Plan;
use crate::plan::schedule::{Half, NextEvents};
use crate::prefetch::FROM_PORTS;
use crate::run::node::Node;
use crate::wires::Wires;

mod driven;
mod failures;
mod flows;

/// Some of the nodes.
#[derive(Debug, Show)]
#[show(pub fn show(plan: &Plan<'_>))]
pub struct Shard {
    /// Which one it is.
    #[show(skip)]
    pub index: u16,
    /// The records so far.
    #[show(nested)]
    pub log: Log,
    /// For each shard, what it is to be sent; nothing for this one.
    #[show(skip)]
    pub outboxes: Vec<Batch>,
    /// Blocked queues of all shards that have sent them, this one's included.
    #[show(skip = "where a deadlock is looked for, which ends what is skipped")]
    pub blocked: Vec<Blocked>,
    /// How shards repeat themselves that have told so, not this one.
    #[show(skip)]
    pub repeats: Vec<Repeat>,
    /// Of the failures of jobs in the log, those that ranks elsewhere learn of.
    #[show(skip)]
    failures: usize,
    /// When the first of what they are sent is due there.
    #[show(skip)]
    first_sent: NextEvents,
    #[show(nested)]
    calendar: Calendar,
    /// By node id; `None` for nodes of other shards.
    #[show(by = for node in nodes.iter_mut().flatten() { node.show(plan, visitor) })]
    nodes: Vec<Option<Node>>,
    #[show(skip)]
    shard_of: Vec<u16>,
    /// Packets in flight to the nodes of this shard.
    #[show(nested)]
    inboxes: Inboxes,
    #[show(refuse_if = !telemetry.is_empty())]
    telemetry: Telemetry,
    #[show(nested)]
    wires: Wires,
    #[show(skip)]
    arrivals: Arrivals,
    #[show(skip)]
    prefetches: bool,
    /// How many changes of links and routes there have been, and the place of the routes in force.
    #[show(skip = "what was before a change is not compared with what is after it")]
    changes: usize,
    #[show(skip = "what was before a change is not compared with what is after it")]
    routes: usize,
}

/// The state of a shard at the end of a run.
#[derive(Debug, Serialize, Deserialize)]
pub struct ShardEnd {
    /// The records.
    pub log: Log,
    /// Data packets still in queues and on wires.
    pub held_data_packets: u64,
}

impl Shard {
    /// The nodes that `shard_of` gives to shard `index` of this many `shards`, at rest.
    pub fn new(plan: &Plan<'_>, shard_of: &[u16], index: u16, shards: usize) -> Self {
        let count = plan.config.fabric.nodes.len();
        let own = (0..count as NodeId).filter(|node| shard_of[*node as usize] == index);
        let links = |node| plan.ports.transmitters_of(node).iter();
        let is_boundary = |node| links(node).any(|link| shard_of[link.peer as usize] != index);
        let mut calendar = Calendar::new(own.collect(), count, &plan.schedule, is_boundary);
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
        Self {
            index,
            log: Log::default(),
            outboxes: (0..shards).map(|_| Batch::default()).collect(),
            blocked: Vec::new(),
            repeats: Vec::new(),
            failures: 0,
            first_sent: NextEvents::NEVER,
            calendar,
            nodes,
            shard_of: shard_of.to_vec(),
            inboxes: Inboxes::new(&plan.ports),
            telemetry: Telemetry::default(),
            wires: Wires::new(plan, |node| shard_of[node as usize] == index),
            prefetches: plan.ports.transmitters.len() >= FROM_PORTS,
            arrivals: Arrivals::default(),
            changes: 0,
            routes: 0,
        }
    }

    /// When links or routes change next.
    pub fn next_change(&self, plan: &Plan<'_>) -> Time {
        let next = plan.epochs.changes.get(self.changes);
        next.map_or(Time::NEVER, |change| change.at)
    }

    /// True if `node` is in this shard.
    pub fn owns(&self, node: NodeId) -> bool {
        self.shard_of[node as usize] == self.index
    }

    /// When there is something to do here, what came last included.
    pub fn due(&self) -> NextEvents {
        self.calendar.due()
    }

    /// When there is something to do where batches go, of packets sent since this was last called.
    pub fn take_first_sent(&mut self) -> NextEvents {
        std::mem::replace(&mut self.first_sent, NextEvents::NEVER)
    }

    /// Takes what another shard has sent.
    pub fn deliver(&mut self, plan: &Plan<'_>, batch: &mut Batch) {
        let mut records = batch.records.drain(..);
        for (port, mut packet) in batch.packets.drain(..) {
            if packet.has_telemetry()
                && let Some(record) = records.next()
            {
                self.telemetry.put(&mut packet, record);
            }
            let place = plan.ports.place(port);
            if self.wires.credits.may_overtake(&packet) {
                self.inboxes.put_early(place, &packet)
            } else {
                self.inboxes.put(place, &packet)
            }
            self.calendar.wake(place.0, packet.time);
        }
        drop(records);
        for start in batch.starts.drain(..) {
            self.start_flow(plan, start);
        }
        for (job, at) in batch.failed.drain(..) {
            self.stop_ranks(plan, job, at);
        }
        self.blocked.append(&mut batch.blocked);
        self.repeats.append(&mut batch.repeats);
    }

    /// Tells every shard of queues that have been blocked since `since` or before.
    pub fn report_blocked(&mut self, since: Time, plan: &Plan<'_>) {
        let mut found = Vec::new();
        for node in self.nodes.iter_mut().flatten() {
            node.model().blocked(since, plan, &mut found);
        }
        for (to, outbox) in self.outboxes.iter_mut().enumerate() {
            if to != usize::from(self.index) {
                outbox.blocked.clone_from(&found);
            }
        }
        self.blocked = found;
    }

    /// Tells every other shard how this one repeats itself.
    pub fn tell_repeat(&mut self, repeat: &Repeat) {
        for (to, outbox) in self.outboxes.iter_mut().enumerate() {
            if to != usize::from(self.index) {
                outbox.repeats.push(repeat.clone());
            }
        }
    }

    /// Closes the run, which has come to `at`.
    pub fn finish(mut self, at: Time, plan: &Plan<'_>) -> ShardEnd {
        let on_wires = self
            .inboxes
            .iter()
            .filter(|packet| packet.kind.is_data())
            .count();
        let mut held_data_packets = on_wires as u64 + self.wires.retries.held_data_packets();
        // Most have something to say of data and of control packets at each of their ports.
        let ports = plan.ports.transmitters.len() / self.outboxes.len();
        self.log.ports.reserve(2 * ports);
        let own = self.nodes.into_iter().flatten();
        // Each is dropped while it is in the caches.
        for mut node in own {
            node.model().finish(at, plan, &mut self.log);
            held_data_packets += node.model().held_data_packets();
        }
        self.wires.retries.record(&mut self.log.ports, plan);
        ShardEnd {
            log: self.log,
            held_data_packets,
        }
    }

    /// Runs every node of `half` in this shard up to `end`; none has anything to do before `start`.
    pub fn run_window(&mut self, plan: &Plan<'_>, half: Half, start: Time, end: Time) {
        let all = self.calendar.groups[half].len();
        self.run_groups(plan, (half, all), start, end);
    }

    /// The same, but only nodes that have no links to other shards.
    pub fn run_interior(&mut self, plan: &Plan<'_>, half: Half, start: Time, end: Time) {
        let interior = self.calendar.interior[half];
        self.run_groups(plan, (half, interior), start, end);
    }

    /// The same, but only this many groups of the half.
    fn run_groups(
        &mut self,
        plan: &Plan<'_>,
        (half, groups): (Half, usize),
        start: Time,
        end: Time,
    ) {
        let mut first_sent = Time::NEVER;
        let (all, mut window) = self.open(plan, (start, end), &mut first_sent);
        for at in 0..groups {
            let group = &mut window.calendar.groups[half][at];
            if group.next >= end {
                continue;
            }
            let nodes = std::mem::take(&mut group.nodes);
            if window.prefetches {
                prefetch_hosts(&nodes, all, &window);
            }
            let place = (half, at);
            let next = match window.calendar.groups[half][at].first_half {
                None => run_nodes(&nodes, all, place, &mut window).earliest(),
                Some(first) => run_cluster(nodes.split_at(first), all, place, &mut window),
            };
            let group = &mut window.calendar.groups[half][at];
            group.next = next;
            group.nodes = nodes;
        }
        self.first_sent
            .add(plan.schedule.outer.beyond(half), first_sent);
        if self.log.job_failures.len() > self.failures {
            self.report_failures(plan);
        }
    }

    /// Changes links and routes as is due next; every node has come to that time, and no further.
    pub fn change(&mut self, plan: &Plan<'_>) {
        let change = &plan.epochs.changes[self.changes];
        self.changes += 1;
        self.routes = change.routes.unwrap_or(self.routes);
        for &(port, errors) in &change.errors {
            let receiver = plan.ports.transmitters[port as usize].peer_port;
            self.wires.errors.set(plan.config.seed, receiver, errors);
        }
        for &(port, speed) in &change.speeds {
            let (node, local) = plan.ports.place(port);
            if let Some(node) = &mut self.nodes[node as usize] {
                node.set_speed(local, speed);
            }
        }
        // All that is under way, and who sends no more, before anybody sends anything.
        let mut ends = BTreeMap::new();
        for &(port, up) in &change.wires {
            let (node, local) = plan.ports.place(port);
            let transmitter = &plan.ports.transmitters[port as usize];
            ends.insert(port, Some(up));
            ends.entry(transmitter.peer_port).or_insert(None);
            if !up && self.owns(transmitter.peer) {
                let lost = self.inboxes.lose(transmitter.far_end());
                let mut first_sent = Time::NEVER;
                let (_, mut window) = self.open(plan, (change.at, change.at), &mut first_sent);
                for packet in lost {
                    window.lose((node, local), LossPlace::Wire, &packet);
                }
            }
            if let Some(node) = &mut self.nodes[node as usize] {
                node.set_link(change.at, local, up);
            }
        }
        let now = change.at;
        for (port, wire) in ends {
            let (node, local) = plan.ports.place(port);
            self.tell(plan, node, now, |node, window| {
                node.on_link(now, local, wire, window);
            });
        }
        if let Some(routes) = change.routes {
            for node in plan.hosts_with_several_links() {
                self.tell(plan, node, now, |node, window| {
                    node.follow_routes(now, routes, window);
                });
            }
        }
    }

    /// Tells a node, if it is in this shard, what has changed, and has it do what follows.
    fn tell(
        &mut self,
        plan: &Plan<'_>,
        node: NodeId,
        now: Time,
        change: impl FnOnce(&mut Node, &mut Window<'_, '_>),
    ) {
        let mut first_sent = Time::NEVER;
        let (nodes, mut window) = self.open(plan, (now, now), &mut first_sent);
        let Some(told) = &mut nodes[node as usize] else {
            return;
        };
        change(told, &mut window);
        let next = told.run(&mut window);
        window.calendar.wake(node, next);
        let half = plan.schedule.outer.of(node);
        self.first_sent
            .add(plan.schedule.outer.beyond(half), first_sent);
    }

    /// A window of time, as nodes see it, and the nodes.
    #[inline(always)]
    fn open<'w, 'p>(
        &'w mut self,
        plan: &'w Plan<'p>,
        (start, end): (Time, Time),
        first_sent: &'w mut Time,
    ) -> (&'w mut [Option<Node>], Window<'w, 'p>) {
        let window = Window {
            start,
            end,
            plan,
            ports: &plan.ports,
            routing: plan.routes(self.routes),
            changes: self.changes as u32,
            inboxes: &mut self.inboxes,
            arrivals: &mut self.arrivals,
            prefetches: self.prefetches,
            calendar: &mut self.calendar,
            outgoing: Outgoing {
                own: self.index,
                shard_of: &self.shard_of,
                outboxes: &mut self.outboxes,
                first_sent,
            },
            log: &mut self.log,
            telemetry: &mut self.telemetry,
            wires: &mut self.wires,
        };
        (&mut self.nodes, window)
    }

    /// When its nodes have something to do, counted from `since`: a number that is another one if that is otherwise.
    pub fn pattern(&self, since: Time) -> u64 {
        self.calendar.pattern(since)
    }

    /// When the rank of job number `job` at host `id` last began a step; `None` if it has no steps left, or if the host is in
    /// another shard.
    pub fn last_step(&self, id: NodeId, job: usize) -> Option<Time> {
        match &self.nodes[id as usize] {
            Some(Node::Host(host)) => host.last_step(job),
            _ => None,
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

impl Shard {
    /// Prefetches host `id`, if it is in this shard.
    #[inline]
    pub fn prefetch_host(&self, id: NodeId) {
        if let Some(Node::Host(host)) = &self.nodes[id as usize] {
            prefetch_host(host);
        }
    }
}

/// Prefetches what those hosts need that run in the window.
#[inline(never)]
fn prefetch_hosts(group: &[NodeId], nodes: &[Option<Node>], window: &Window<'_, '_>) {
    for round in ROUNDS {
        for &id in group {
            if window.calendar.next[id as usize] < window.end
                && let Some(Node::Host(host)) = &nodes[id as usize]
            {
                round(host, window);
            }
        }
    }
}

/// When nodes that have run next have something to do.
struct After {
    /// As they say.
    own: Time,
    /// As those say that have woken some of their group meanwhile.
    woken: Time,
}

impl After {
    fn earliest(&self) -> Time {
        self.own.min(self.woken)
    }
}

/// Runs `nodes`, all those or a part of the group at `place` of the calendar.
fn run_nodes(
    nodes: &[NodeId],
    all: &mut [Option<Node>],
    (half, group): (Half, usize),
    window: &mut Window<'_, '_>,
) -> After {
    window.calendar.groups[half][group].next = Time::NEVER;
    let mut own = Time::NEVER;
    for &id in nodes {
        let mut next = window.calendar.next[id as usize];
        if next < window.end {
            let node = all[id as usize].as_mut();
            next = node.expect("it is an own node").run(window);
            debug_assert!(next >= window.end, "node {id} left an event behind");
            window.calendar.next[id as usize] = next;
        }
        own = own.min(next);
    }
    let woken = window.calendar.groups[half][group].next;
    After { own, woken }
}

/// Runs the windows of a cluster, which is the group at `place` of the calendar; returns when it next has something to do.
fn run_cluster(
    (first, second): (&[NodeId], &[NodeId]),
    all: &mut [Option<Node>],
    place: (Half, usize),
    window: &mut Window<'_, '_>,
) -> Time {
    let plan = window.plan;
    let clusters = plan.schedule.clusters.as_ref().expect("there is a cluster");
    let (start, end) = (window.start, window.end);
    let mut due = NextEvents::NEVER;
    for (half, nodes) in [first, second].into_iter().enumerate() {
        for &id in nodes {
            due.add(half, window.calendar.next[id as usize]);
        }
    }
    while due.earliest() < end {
        let (half, until) = clusters.inner.next_window(&due);
        (window.start, window.end) = (due.of(half), until.min(end));
        let after = run_nodes([first, second][half], all, place, window);
        due.set(half, after.own);
        due.add(clusters.inner.beyond(half), after.woken);
    }
    (window.start, window.end) = (start, end);
    due.earliest()
}
