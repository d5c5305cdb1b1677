//! The state of a host.

use slab::Slab;
use unpause_protocols::state_visitor::{Show, StateVisitor};
use unpause_protocols::units::Time;

#[cfg(doc)]
use super::flow::sender::Sender;
use super::machine::Machine;
#[cfg(doc)]
use super::nic::Nic;
use super::ranks::Ranks;
use super::receivers::Receivers;
use super::senders::Senders;
use super::tcp::Tcp;
#[cfg(doc)]
use super::timer::Timer;
use crate::engine::batch::FlowStart;
use crate::fabric::NodeId;
use crate::fabric::packet::Packet;
use crate::plan::Plan;
use crate::traffic::{Connections, Ending, FlowSpec, Transport};

/// A host: its flows, at senders and receivers, and the [`Machine`] that they share. Its shard calls:
///
/// 1. [`Host::new`], then [`Host::find_ranks`] for jobs;
/// 2. between windows, as flows are read from the traffic: [`Host::expect`] at the receiver, before a packet of the flow can
///    arrive, and [`Host::schedule`] at the sender, before the flow starts, or [`Host::wait_for`] if it follows others;
/// 3. [`run`](crate::engine::window::NodeModel::run) for each window in which it has something to do;
/// 4. [`finish`](crate::engine::window::NodeModel::finish) at the end.
///
/// `run` looks at four times: that of the first timer, of the first packet in its inbox, of the NIC ([`Nic::at`]) and of the first rare
/// event ([`Machine::rare_at`]). It handles the earliest one, until all of them are at the end of the window or later. Events of one
/// instant come in this order:
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
/// When its port is free, the NIC sends one packet (`Host::on_nic`):
///
/// 1. Flows whose rate limiters have come to allow a packet go from `pacing` to the `ready` of their class.
/// 2. Control packets are sent first. Otherwise the most urgent class is served that has something to send and may (or by
///    [`Nic::shares`]), and of it the first flow in `ready`.
/// 3. Of that flow's [`Sender`] it asks [`has_packet`](Sender::has_packet), whether there is one and the window has room, and
///    [`next_start`](Sender::next_start), when the rate limiter allows it. A flow that may not send leaves the line.
/// 4. [`Sender::send`] makes the packet, tells the law, and computes `next_start` anew.
/// 5. A flow with another packet goes to the end of `ready`, or to `pacing` if that may start only after the port is free again.
///    Any other flow is out of both until feedback or a timer lets it send ([`Senders::after_change`]).
///
/// That is the NIC of RoCE flows. TCP flows stand in the same lines, and [`Tcp`] answers for them. HPCC's NIC has a list of flows
/// instead of `ready` and `pacing`.
#[derive(Debug, Show)]
#[repr(C, align(64))]
#[show(pub(super) fn show_own(ack_every: u32))]
pub struct Host {
    #[show(nested)]
    pub(super) receivers: Receivers,
    #[show(by = senders.show(ack_every, visitor))]
    pub(super) senders: Senders,
    #[show(nested)]
    pub(super) machine: Machine,
    // Fields that few packets touch.
    /// Packets that are delayed, by the payload of their timer.
    #[show(refuse_if = !delayed.is_empty())]
    pub(super) delayed: Slab<Packet>,
    #[show(refuse_if = !tcp.is_idle())]
    pub(super) tcp: Box<Tcp>,
    /// Ranks of jobs here, if there are any.
    #[show(skip = "shown by Host::show")]
    pub(super) ranks: Option<Box<Ranks>>,
}

impl Host {
    /// A host at rest.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> Self {
        Self {
            receivers: Receivers::new(plan.ports.of(id).start, plan),
            senders: Senders::new(plan),
            machine: Machine::new(id, plan),
            delayed: Slab::new(),
            tcp: Box::new(Tcp::new(plan)),
            ranks: None,
        }
    }

    /// Makes place for a flow that this host will receive, number `number` of its entry; answers the slot of its receiver.
    pub fn expect(&mut self, flow: u32, number: u32, spec: &FlowSpec, plan: &Plan<'_>) -> u32 {
        let machine = &mut self.machine;
        machine.sample_from(spec);
        machine
            .agenda
            .watch((flow, number), spec, Ending::Delivered, plan);
        machine.delays |= spec.extra_delay.time() > Time::ZERO;
        machine.delays |=
            matches!(spec.connections, Connections::Pool(pool) if pool.delays.is_some());
        if spec.transport == Transport::Tcp {
            return self.tcp.expect(flow, spec, plan);
        }
        let slot = self.receivers.expect(flow, spec, machine, plan);
        if spec.transport == Transport::Roce
            && let Some(ranks) = &mut self.ranks
        {
            let receiver = &mut self.receivers.flows[slot as usize];
            ranks.expect_messages((flow, number, spec.group), receiver, plan);
        }
        slot
    }

    /// Adds a flow that this host will start. Flows come in order of start, except those that another thread has sent.
    pub fn schedule(&mut self, start: FlowStart) {
        self.machine.schedule(start);
    }

    /// Keeps a flow of an entry that follows others until those have ended.
    pub fn wait_for(&mut self, start: FlowStart, plan: &Plan<'_>) {
        self.machine.agenda.wait_for(start, plan);
    }

    /// Finds the ranks of jobs that are here; answers when the first of them starts.
    pub fn find_ranks(&mut self, plan: &Plan<'_>) -> Time {
        self.ranks = Ranks::of(self.machine.id, plan);
        self.set_rank();
        self.machine.agenda.start_at
    }

    fn set_rank(&mut self) {
        let ranks = self.ranks.as_ref();
        let at = ranks.map_or(Time::NEVER, |ranks| ranks.next_timer());
        self.machine.set_rank(at);
    }

    /// The rank of job number `job` at this host, if there is one, stops at this time.
    pub fn stop_rank(&mut self, at: Time, job: usize) {
        if let Some(ranks) = &mut self.ranks {
            ranks.stop_at(at, job);
            self.set_rank();
        }
    }

    /// When the rank of job number `job` at this host last began a step; `None` if it has no steps left.
    pub fn last_step(&self, job: usize) -> Option<Time> {
        self.ranks.as_ref()?.last_step(job)
    }

    /// When flows or ports are sampled next.
    pub fn next_sample(&self) -> Time {
        self.machine.agenda.sampling.at
    }

    /// Begins to sample ports with the probes; answers when.
    pub fn first_sample(&mut self) -> Time {
        let sampling = &mut self.machine.agenda.sampling;
        if sampling.port {
            sampling.at = sampling.first;
        }
        let at = sampling.at;
        self.machine.set_rare();
        at
    }

    /// Sets timers for the PAUSE storms of the NICs; answers when the first one begins.
    pub fn first_storm(&mut self, plan: &Plan<'_>) -> Time {
        let (host, machine) = (self.machine.id, &mut self.machine);
        for storm in &plan.config.events.storms {
            let nics = 0..machine.nics.count();
            for nic in nics.filter(|nic| storm.is_at(host, *nic)) {
                machine.at(nic, |machine| {
                    let nic = machine.nics.nic_mut();
                    if let Some((buffer, mut line)) = nic.buffer(&mut machine.timers) {
                        buffer.expect_storm(storm.start, storm.stop, &mut line, plan);
                    }
                });
            }
        }
        machine.timers.next_time()
    }

    /// True if it has several NICs.
    pub fn has_several_nics(&self) -> bool {
        self.machine.nics.are_several()
    }

    /// Shows its state.
    pub fn show<L: StateVisitor>(&mut self, plan: &Plan<'_>, visitor: &mut L) {
        self.show_own(plan.config.host.ack_every, visitor);
        if let Some(ranks) = &mut self.ranks {
            ranks.show(plan, visitor);
        }
        // Times may have moved on.
        self.set_rank();
    }
}
