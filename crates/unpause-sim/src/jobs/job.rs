//! A job, and what its ranks do.

use std::sync::Arc;

use unpause_protocols::names::Names;
use unpause_protocols::units::{Fraction, Rate, Time};

use super::collective::Collective;
use super::group::Group;
use super::program::Program;
use super::records::CollectiveRecord;
use crate::fabric::rng::mix;
use crate::fabric::{Fabric, NodeId};
use crate::traffic::FlowSettings;

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Index of the entry of [`crate::config::Config::traffic`] that has its connections, and nothing else.
    pub entry: u16,
    /// The host of each rank, all different.
    pub hosts: Vec<NodeId>,
    /// When its ranks start.
    pub start: Time,
    /// How often its phases are run through.
    pub iterations: u32,
    /// The phases of an iteration, one after the other, the same for each rank.
    pub phases: Vec<Phase>,
    /// The operations of each rank, if ranks do not do the same things one after the other: then there are no phases.
    pub program: Option<Arc<Program>>,
    /// From the moment at which a rank may send a message until it does.
    pub launch: Time,
    /// The connections that carry messages.
    pub over: Over,
    /// When a rank has received a message.
    pub completion: Completion,
    /// The settings that its connections share.
    pub flow: FlowSettings,
    /// Each message is recorded, not only iterations.
    pub records_messages: bool,
}

/// The connections that carry the messages of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// A connection for each pair of ranks and channel, as queue pairs of NCCL: its rate, its window and its source port stay.
    #[default]
    Connections,
    /// A connection for each message, as in the front ends of ns-3 and htsim: each begins at line rate, has a source port of
    /// its own, and shares the NIC with messages between the same ranks.
    Messages,
}

/// When a rank has received a message, and continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Completion {
    /// When its last byte has come, all before being there.
    #[default]
    Delivered,
    /// When its sender could have the ACK of that, if nothing holds the ACK up: so do the front ends of ns-3 and htsim, of
    /// which the sender reports to the receiver instantly. Here a host knows what it sees itself, so the time of the ACK is that
    /// on the empty fabric with all its links.
    #[name = "ack"]
    Acknowledged,
}

/// A part of an iteration: every rank computes, then takes part in a collective operation with its group.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// How long each rank computes first.
    pub compute: Time,
    /// That varies uniformly by up to this share of itself, more or less, from rank to rank and from iteration to iteration.
    pub jitter: Fraction,
    /// The exchange of the phase, after its compute.
    pub collective: Option<Exchange>,
}

/// A collective operation of some groups of ranks at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The operation of each group.
    pub collective: Collective,
    /// The groups: ranks of each in order. Every rank is in one at most.
    pub groups: Vec<Group>,
    /// Bytes that a rank adds to its own in a second, where an operation reduces; `None`: that takes no time.
    pub reduce_rate: Option<Rate>,
}

/// A collective operation of a group of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OfGroup<'a> {
    /// The operation.
    pub collective: &'a Collective,
    /// Ranks of the group, in order.
    pub group: &'a Group,
    /// The first of its connections' channels.
    pub channel: u32,
    /// As in [`Exchange::reduce_rate`].
    pub reduce_rate: Option<Rate>,
}

impl Job {
    /// Moves its ranks to these hosts: groups know the servers there.
    pub fn sit_at(&mut self, hosts: Vec<NodeId>, fabric: &Fabric) {
        self.hosts = hosts;
        let seats = fabric.seats();
        let exchanges = self
            .phases
            .iter_mut()
            .filter_map(|it| it.collective.as_mut());
        for group in exchanges.flat_map(|it| &mut it.groups) {
            let hosts = &self.hosts;
            group.sit(|rank| seats.get(&hosts[rank as usize]).copied());
        }
    }

    /// The operation that a record is of.
    pub fn operation(&self, record: &CollectiveRecord) -> Option<OfGroup<'_>> {
        if let Some(program) = &self.program {
            let it = &program.shared()[record.number as usize];
            return Some(OfGroup {
                collective: &it.collective,
                group: &it.group,
                channel: it.channel.into(),
                reduce_rate: None,
            });
        }
        let it = self.phases[record.number as usize].collective.as_ref()?;
        Some(OfGroup {
            collective: &it.collective,
            group: &it.groups[record.group as usize],
            channel: 0,
            reduce_rate: it.reduce_rate,
        })
    }
}

impl Exchange {
    /// The group of `rank`, and its place there.
    pub fn place(&self, rank: u32) -> Option<(&Group, u32)> {
        let of = |group: &'_ Group| group.iter().position(|it| *it == rank);
        self.groups
            .iter()
            .find_map(|group| Some((group, of(group)? as u32)))
    }

    /// The last step of a lane of `channel`, in this `group`, up to which all steps from `step` on are alike.
    pub fn last_alike(&self, group: u32, channel: u32, step: u32) -> u32 {
        let n = self.groups[group as usize].count();
        let reduces = self.reduce_rate.is_some();
        self.collective.last_alike(n, channel, (step, reduces))
    }

    /// The place of the group of `rank` among all.
    pub fn group_of(&self, rank: u32) -> Option<u32> {
        let at = self.groups.iter().position(|group| group.contains(&rank));
        at.map(|at| at as u32)
    }
}

impl Job {
    /// True if its steps may be periodic, so that its ranks show their state. Programs have no known period. With a connection for
    /// each message, flows begin and end all the time, and each has a new number.
    pub fn may_repeat(&self) -> bool {
        self.program.is_none() && self.over == Over::Connections
    }
}

impl Phase {
    /// How long `rank` computes in `iteration`, in the phase at `place` of the job of entry `entry`.
    pub fn compute_of(
        &self,
        seed: u64,
        entry: u16,
        (iteration, place, rank): (u32, u32, u32),
    ) -> Time {
        if self.jitter == Fraction::ZERO {
            return self.compute;
        }
        let of_rank = mix(seed ^ mix(u64::from(entry) << 32 | u64::from(rank)));
        let drawn = mix(of_rank ^ mix(u64::from(iteration) << 32 | u64::from(place)));
        // From 0 to twice the jitter, of 2^64 parts.
        let compute = u128::from(self.compute.as_ps());
        let most = (compute * u128::from(self.jitter.as_q32())) >> 32;
        let more = (2 * most * u128::from(drawn)) >> 64;
        Time::from_ps((compute - most.min(compute) + more) as u64)
    }
}
