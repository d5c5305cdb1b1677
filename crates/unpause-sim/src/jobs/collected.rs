//! When groups of ranks took part in their collective operations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use super::job::Job;
use super::records::CollectiveRecord;

/// Which operation: entry of its job, iteration, phase, and the place of the group among those of its phase; of a program, the
/// place of the operation and nothing. Then the channel, or `None` for all together.
pub type Key = (u16, u32, u32, u32, Option<u32>);

/// The records that the ranks of a group share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// When the first rank began it.
    pub start: Time,
    /// When the last one did.
    pub all_began: Time,
    /// When the last one had ended it.
    pub end: Time,
    /// Ranks that have; of a channel, the slices at all of them.
    pub ranks: u32,
}

impl Taken {
    /// The record of one rank's start and end.
    pub fn of_one(start: Time, end: Time) -> Self {
        Self {
            start,
            all_began: start,
            end,
            ranks: 1,
        }
    }
}

/// All operations that ranks of a shard have ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Collected(BTreeMap<Key, Taken>);

impl Collected {
    /// A rank has ended its part, or ranks of another shard have.
    pub fn add(&mut self, key: Key, more: Taken) {
        let taken = self.0.entry(key).or_insert(Taken { ranks: 0, ..more });
        taken.start = taken.start.min(more.start);
        taken.all_began = taken.all_began.max(more.all_began);
        taken.end = taken.end.max(more.end);
        taken.ranks += more.ranks;
    }

    /// Adds those of another shard.
    pub fn merge(&mut self, other: Self) {
        for (key, more) in other.0 {
            self.add(key, more);
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Those that all ranks of their group have ended.
    pub fn complete(&self, jobs: &[Job]) -> Vec<CollectiveRecord> {
        let record = |(key, taken): (&Key, &Taken)| {
            let (entry, iteration, number, group, channel) = *key;
            let job = jobs.iter().find(|it| it.entry == entry)?;
            let (ranks, parts, phase, group) = match &job.program {
                Some(program) => {
                    let it = &program.shared()[number as usize];
                    let parts = program.taking_part(number, channel);
                    (it.group.len() as u32, parts, it.label.into(), it.number)
                }
                None => {
                    let exchange = job.phases[number as usize].collective.as_ref()?;
                    let ranks = exchange.groups[group as usize].len() as u32;
                    let slices = channel.map_or(1, |_| exchange.collective.slices);
                    (ranks, ranks * slices, number, group)
                }
            };
            (taken.ranks == parts).then_some(CollectiveRecord {
                entry,
                iteration,
                phase,
                group,
                number,
                channel,
                ranks,
                start: taken.start,
                all_began: taken.all_began,
                end: taken.end,
                ideal: None,
            })
        };
        self.0.iter().filter_map(record).collect()
    }
}
