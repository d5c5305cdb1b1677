//! Collective operations as results tell of them, each with how long it takes alone in the fabric.

use std::collections::HashMap;
use std::rc::Rc;

use unpause_protocols::units::Time;

use crate::engine::log::FlowEnd;
use crate::jobs::collected::Collected;
use crate::jobs::connections::Connection;
use crate::jobs::ideal::{Ideal, MOST_MESSAGES};
use crate::jobs::{CollectiveRecord, Completion, Job, OfGroup};
use crate::plan::Plan;
use crate::run::ideal_fct::{IdealFct, alone};

/// Those that all ranks of their group have ended, over these flows. Of a job with too many messages it is not known what
/// operations take alone.
pub fn operations(
    plan: &Plan<'_>,
    collected: Collected,
    flows: &[FlowEnd],
) -> Vec<CollectiveRecord> {
    let jobs = &plan.config.jobs;
    let mut records = collected.complete(jobs);
    for of_job in records.chunk_by_mut(|a, b| a.entry == b.entry) {
        let place = jobs.iter().position(|it| it.entry == of_job[0].entry);
        let Some(place) = place else {
            continue;
        };
        let mut ideals = Ideals {
            plan,
            job: &jobs[place],
            connections: connections(plan, place, flows),
            known: HashMap::new(),
            places: HashMap::new(),
            left: MOST_MESSAGES,
        };
        let all: Option<Vec<Time>> = of_job.iter().map(|it| ideals.of(it)).collect();
        for (record, ideal) in of_job.iter_mut().zip(all.unwrap_or_default()) {
            record.ideal = Some(ideal);
        }
    }
    records
}

/// The flow of each connection of a job; where each message has its own, that of the first.
fn connections<'a>(
    plan: &Plan<'_>,
    place: usize,
    flows: &'a [FlowEnd],
) -> HashMap<Connection, &'a FlowEnd> {
    let entry = plan.config.jobs[place].entry;
    let mut own: Vec<&FlowEnd> = flows.iter().filter(|it| it.group == entry).collect();
    own.sort_unstable_by_key(|it| it.id);
    let mut found = HashMap::new();
    for (flow, number) in own.into_iter().zip(0..) {
        let (connection, _) = plan.jobs.connection(place, number);
        found.entry(connection).or_insert(flow);
    }
    found
}

/// The times of the operations of a job alone.
struct Ideals<'a> {
    plan: &'a Plan<'a>,
    job: &'a Job,
    connections: HashMap<Connection, &'a FlowEnd>,
    /// By operation, when its channels are over. Steps that repeat are the same operation.
    known: HashMap<OfGroup<'a>, Rc<Vec<Time>>>,
    /// The same by place of the operation and of the group.
    places: HashMap<(u32, u32), Rc<Vec<Time>>>,
    /// Messages that may still be gone through.
    left: u64,
}

impl<'a> Ideals<'a> {
    fn of(&mut self, record: &CollectiveRecord) -> Option<Time> {
        let job: &'a Job = self.job;
        let of = job.operation(record)?;
        let place = (record.number, record.group);
        let channels = match self.places.get(&place).or_else(|| self.known.get(&of)) {
            Some(known) => known.clone(),
            None => Rc::new(self.channels(of)?),
        };
        self.places.entry(place).or_insert_with(|| channels.clone());
        self.known.entry(of).or_insert_with(|| channels.clone());
        match record.channel {
            Some(channel) => channels.get(channel as usize).copied(),
            None => channels.iter().max().copied(),
        }
    }

    fn channels(&mut self, of: OfGroup<'_>) -> Option<Vec<Time>> {
        let it = Ideal {
            collective: of.collective,
            group: of.group,
            launch: self.job.launch,
            reduce_rate: of.reduce_rate,
        };
        let mut ideal = IdealFct::default();
        let (plan, job, connections) = (self.plan, self.job, &self.connections);
        it.channels(&mut self.left, &mut |(from, to, channel), bytes| {
            let connection = Connection {
                from: of.group[from as usize],
                to: of.group[to as usize],
                channel: of.channel + channel,
            };
            let flow = connections.get(&connection)?;
            let mut message = alone(&mut ideal, flow, bytes, plan)?;
            if job.completion == Completion::Acknowledged {
                message.told = message.ack;
            }
            Some(message)
        })
    }
}
