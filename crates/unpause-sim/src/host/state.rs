//! What a host holds: its NIC, the flows that it sends and those that it receives.

use std::collections::VecDeque;

use rand_xoshiro::Xoshiro256PlusPlus;
use slab::Slab;
use unpause_protocols::state_visitor::{Show, StateVisitor};
use unpause_protocols::units::Time;

use super::flow::gates::Waiting;
use super::flow::grants::Credits;
use super::flow::receiver::Receiver;
use super::flow::retries::Retries;
use super::flow::selective::Selective;
use super::flow::sender::Sender;
use super::nic::Nic;
use super::ranks::Ranks;
use super::tcp::Tcp;
use super::timer::Timer;
use crate::config::NicModel;
use crate::engine::batch::FlowStart;
use crate::engine::heap::Heap;
use crate::fabric::packet::Packet;
use crate::fabric::rng;
use crate::fabric::{NodeId, PortId};
use crate::link::pause::PendingPauses;
use crate::outcome::causes::Expiry;
use crate::plan::Plan;
use crate::plan::sampling::{Sampling, grid_after};
use crate::traffic::{Connections, Ending, FlowSpec, Transport};

/// A host: its NICs, the flows that it sends and those that it receives. Its shard calls:
///
/// 1. [`Host::new`], then [`Host::find_ranks`] for jobs;
/// 2. between windows, as flows are read from the traffic: [`Host::expect`] at the receiver, before a packet of the flow can
///    arrive, and [`Host::schedule`] at the sender, before the flow starts, or `Host::wait_for` if it follows others;
/// 3. [`run`](crate::engine::window::NodeModel::run) for each window in which it has something to do;
/// 4. [`finish`](crate::engine::window::NodeModel::finish) at the end.
///
/// `run` looks at four times, `timers`, the first packet of its inbox, [`Nic::at`] and `rare_at`, and handles what is due first,
/// until all of them are at the end of the window or later. What is due at one instant, it handles in this order:
///
/// 1. timers, in the order of [`Entry`](crate::engine::heap::Entry): of flows by number, of a flow by kind ([`Timer`]). So a mechanism
///    has its timer before anything arrives for its flow;
/// 2. packets that arrive; with several NICs, by port;
/// 3. PAUSEs that take effect;
/// 4. flows that start, in the order of their numbers;
/// 5. timers of ranks;
/// 6. the NIC, or several by number;
/// 7. samples.
///
/// When its port is free, the NIC (`Host::on_nic`) sends one packet:
///
/// 1. Flows whose rate limiters have come to allow a packet go from `pacing` to the `ready` of their class.
/// 2. Control packets are sent first. Otherwise the most urgent class is served that has something to send and may (or by
///    [`Nic::shares`]), and of it the first flow in `ready`.
/// 3. Of that flow's [`Sender`] it asks [`has_packet`](Sender::has_packet), whether there is one and the window has room, and
///    [`next_start`](Sender::next_start), when the rate limiter allows it. A flow that may not send leaves the line.
/// 4. [`Sender::send`](Sender::send) makes the packet, tells the law, and computes `next_start` anew.
/// 5. A flow with another packet goes to the end of `ready`, or to `pacing` if that may start only after the port is free again.
///    Any other flow is out of both until feedback or a timer lets it send (`Host::after_change`).
///
/// That is the NIC of RoCE flows. TCP flows stand in the same lines, and are asked by `host/tcp_send.rs`; HPCC's NIC has a list of
/// flows instead of `ready` and `pacing`.
#[derive(Debug, Show)]
#[repr(C, align(64))]
#[show(pub(super) fn show_own(ack_every: u32))]
pub struct Host {
    #[show(skip)]
    pub(super) id: NodeId,
    /// The first of what is due seldom: [`Host::set_rare`].
    #[show(skip = "Host::show sets it again")]
    pub(super) rare_at: Time,
    /// Links have credits: the NIC checks them before it chooses.
    #[show(skip)]
    pub(super) has_link_credits: bool,
    /// Flows get their turn by [`Nic::list`], as at the NIC of HPCC's simulator ([`NicModel::Hpcc`]).
    #[show(refuse_if = *in_list)]
    pub(super) in_list: bool,
    /// Some flow has an extra delay, the host is slow for some time, or data bring pull targets.
    #[show(skip)]
    pub(super) delays: bool,
    /// Classes of the NIC share its port: [`Nic::shares`].
    #[show(refuse_if = *has_shares)]
    pub(super) has_shares: bool,
    #[show(nested)]
    pub(super) timers: Heap,
    #[show(by = show_all(senders, visitor, |it, visitor| it.show(ack_every, visitor)))]
    pub(super) senders: Slab<Sender>,
    #[show(by = show_all(receivers, visitor, Receiver::show))]
    pub(super) receivers: Slab<Receiver>,
    /// The NIC at hand.
    #[show(nested)]
    pub(super) nic: Nic,
    // What few packets touch.
    #[show(nested)]
    pub(super) pending_pauses: PendingPauses,
    #[show(deadline = sampling.at)]
    pub(super) sampling: Sampling,
    #[show(same = starts.len())]
    #[show(deadline = first_start(starts))]
    pub(super) starts: VecDeque<FlowStart>,
    /// What selective repeat keeps of flows, if that is used.
    #[show(refuse_if = selective.is_some())]
    pub(super) selective: Option<Box<Selective>>,
    /// What it grants to flows that come to it, if receivers grant credits.
    #[show(skip)]
    pub(super) credits: Option<Box<Credits>>,
    /// When the first of them is due, or a timer of [`Host::ranks`].
    #[show(skip = "that of `starts` or `ranks`")]
    pub(super) start_at: Time,
    /// CNPs and CNMs that have not taken effect yet, in order.
    #[show(same = notified.len())]
    #[show(by = notified.iter_mut().for_each(|it| it.show(visitor)))]
    pub(super) notified: VecDeque<Packet>,
    #[show(by = rng::show(rng, visitor))]
    pub(super) rng: Xoshiro256PlusPlus,
    /// Flows are sampled at multiples of it only.
    #[show(skip)]
    pub(super) flow_interval: Time,
    /// Packets held back, by the payload of their timer.
    #[show(refuse_if = !delayed.is_empty())]
    pub(super) delayed: Slab<Packet>,
    #[show(refuse_if = !tcp.is_idle())]
    pub(super) tcp: Box<Tcp>,
    /// PAUSEs that ran out, if causes are asked for.
    #[show(skip = "grows only where causes are asked for")]
    pub(super) expiries: Vec<Expiry>,
    /// Flows that start when others have ended here, if there are such.
    #[show(same = waiting.as_ref().map_or(0, |it| it.left()))]
    pub(super) waiting: Option<Box<Waiting>>,
    /// Timeouts in a row, where they are limited.
    #[show(refuse_if = retries.is_some())]
    pub(super) retries: Option<Box<Retries>>,
    /// Ranks of jobs here, if there are such.
    #[show(skip = "shown by Host::show")]
    pub(super) ranks: Option<Box<Ranks>>,
    /// The number of the NIC at hand.
    #[show(skip = "shown by Host::show")]
    pub(super) number: PortId,
    /// All NICs, if there are several; at the place of the one at hand stands nothing of use.
    #[show(skip = "shown by Host::show")]
    pub(super) others: Vec<Nic>,
    /// Which routes choose among them: their place in the plan.
    #[show(skip = "changes only where links do")]
    pub(super) routes: usize,
}

/// Has the timer of the flow in `slot` run out when it is due, if it would run out later.
#[inline(always)]
pub(super) fn arm_sender(timers: &mut Heap, sender: &mut Sender, slot: u32) {
    let due = sender.next_timer();
    if due < sender.timer_at {
        sender.timer_at = due;
        timers.push(Timer::Sender(slot).entry(due, sender.flow));
    }
}

/// The same at the flow's receiver.
#[inline(always)]
pub(super) fn arm_receiver(timers: &mut Heap, receiver: &mut Receiver, slot: u32) {
    let due = receiver.notification_point.next_timer();
    if due < receiver.timer_at {
        receiver.timer_at = due;
        timers.push(Timer::Receiver(slot).entry(due, receiver.flow));
    }
}

/// Makes place for one, where a slab would for four: most hosts of a large fabric have a flow or none.
pub(super) fn reserve_first<T>(slab: &mut Slab<T>) {
    if slab.capacity() == 0 {
        slab.reserve_exact(1);
    }
}

/// Shows what is in a slab, and where.
fn show_all<T, L: StateVisitor>(
    slab: &mut Slab<T>,
    visitor: &mut L,
    show: impl Fn(&mut T, &mut L),
) {
    visitor.same(slab.len() as u64);
    for (slot, it) in slab {
        visitor.same(slot as u64);
        show(it, visitor);
    }
}

/// When the first of these flows starts.
pub(super) fn first_start(starts: &VecDeque<FlowStart>) -> Time {
    starts.front().map_or(Time::NEVER, |start| start.spec.start)
}

impl Host {
    /// A host at rest.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> Self {
        let port = plan.ports.of(id).start;
        let probes = &plan.config.probes;
        let flow_interval = probes.flow_interval.unwrap_or(probes.interval);
        let samples_port = probes.ports.iter().any(|&(node, _)| node == id);
        let interval = if samples_port {
            probes.interval
        } else {
            flow_interval
        };
        let nic = Nic::at_rest(port, plan);
        let others = Nic::several(id, plan);
        let has_buffer = others.iter().chain([&nic]).any(|it| it.buffer.is_some());
        Self {
            id,
            nic,
            rare_at: Time::NEVER,
            has_link_credits: plan.config.switch.cbfc.is_some(),
            in_list: plan.config.host.nic == NicModel::Hpcc,
            has_shares: plan.config.host.shares.is_some(),
            timers: Heap::default(),
            starts: VecDeque::new(),
            start_at: Time::NEVER,
            selective: Selective::of(plan),
            retries: Retries::of(plan),
            credits: Credits::of(plan.ports.transmitters[port as usize].speed.rate(), plan),
            senders: Slab::new(),
            receivers: Slab::new(),
            pending_pauses: PendingPauses::default(),
            notified: VecDeque::new(),
            rng: rng::of_node(plan.config.seed, id),
            sampling: Sampling {
                at: Time::NEVER,
                interval,
                first: grid_after(probes.start, interval),
                port: samples_port,
            },
            flow_interval,
            delays: has_buffer
                || plan.config.scheme.credits.is_some()
                || plan.config.switch.cbfc.is_some(),
            delayed: Slab::new(),
            tcp: Box::new(Tcp::new(plan.config.host.tcp.qdisc)),
            expiries: Vec::new(),
            waiting: None,
            ranks: None,
            number: 0,
            others,
            routes: 0,
        }
    }

    /// Makes place for a flow that this host will receive, the one at place `number` of its entry.
    pub fn expect(&mut self, flow: u32, number: u32, spec: &FlowSpec, plan: &Plan<'_>) -> u32 {
        self.sample_from(spec);
        self.watch((flow, number), spec, Ending::Delivered, plan);
        self.delays |= spec.extra_delay.time() > Time::ZERO;
        self.delays |= matches!(spec.connections, Connections::Pool(pool) if pool.delays.is_some());
        match spec.transport {
            Transport::Roce => {
                reserve_first(&mut self.receivers);
                let slot = self.receivers.insert(Receiver::new(flow, spec, plan));
                if let Some(selective) = &mut self.selective {
                    selective.receive_at(slot, spec.src, plan);
                }
                if let Some(credits) = &mut self.credits {
                    credits.receive_at(slot as u32, spec, plan, &mut self.rng);
                }
                if self.ranks.is_some() {
                    self.expect_messages((flow, number, spec.group), slot, plan);
                }
                slot as u32
            }
            Transport::Udp => {
                reserve_first(&mut self.receivers);
                self.receivers.insert(Receiver::new(flow, spec, plan)) as u32
            }
            Transport::Tcp => self.tcp.expect(flow, spec, plan),
        }
    }

    /// Adds a flow that this host will start. Flows come in order of start, but for those that
    /// another thread has sent.
    pub fn schedule(&mut self, start: FlowStart) {
        self.sample_from(&start.spec);
        let key = |start: &FlowStart| (start.spec.start, start.id);
        let at = self
            .starts
            .partition_point(|earlier| key(earlier) < key(&start));
        if self.starts.capacity() == 0 {
            self.starts.reserve_exact(1);
        }
        self.starts.insert(at, start);
        self.set_start();
        self.set_rare();
    }

    /// Flows start, or ranks have set a timer: the first of these may be another.
    #[inline(always)]
    pub(super) fn set_start(&mut self) {
        let of_ranks = self
            .ranks
            .as_ref()
            .map_or(Time::NEVER, |it| it.next_timer());
        self.start_at = first_start(&self.starts).min(of_ranks);
    }

    /// Looks for the ranks of jobs that are here; answers when the first of them starts.
    pub fn find_ranks(&mut self, plan: &Plan<'_>) -> Time {
        self.ranks = Ranks::of(self.id, plan);
        self.set_start();
        self.set_rare();
        self.start_at
    }

    /// A PAUSE waits to be obeyed, a flow starts, or it is time to sample: the first of these may be another.
    pub(super) fn set_rare(&mut self) {
        let pause = self.pending_pauses.next_time();
        self.rare_at = pause.min(self.start_at).min(self.sampling.at);
    }

    /// Sampling begins with the first recorded flow, on the grid of the interval.
    fn sample_from(&mut self, spec: &FlowSpec) {
        if spec.recorded {
            let after = grid_after(spec.start, self.sampling.interval);
            self.sampling.at = self.sampling.at.min(after.max(self.sampling.first));
            self.set_rare();
        }
    }

    /// When flows or ports are sampled next.
    pub fn next_sample(&self) -> Time {
        self.sampling.at
    }

    /// Sampling of the port begins with the probes.
    pub fn first_sample(&mut self) -> Time {
        if self.sampling.port {
            self.sampling.at = self.sampling.first;
            self.set_rare();
        }
        self.sampling.at
    }

    /// Shows its state.
    pub fn show<L: StateVisitor>(&mut self, plan: &Plan<'_>, visitor: &mut L) {
        self.show_own(plan.config.host.ack_every, visitor);
        if let Some(ranks) = &mut self.ranks {
            ranks.show(plan, visitor);
        }
        if !self.others.is_empty() {
            let number = self.number;
            visitor.same(u64::from(number));
            let resting = (0..).zip(&mut self.others);
            let resting = resting.filter(|(nic, _)| *nic != number);
            resting.for_each(|(_, nic)| nic.show(visitor));
        }
        self.set_start();
        self.set_rare();
    }
}
