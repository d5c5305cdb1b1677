//! Records of a log that are repeated in each period of a periodic run.

use std::collections::HashMap;

use unpause_protocols::units::Time;

use super::log::{Log, MessageEnd, MessageStart};
use crate::outcome::results::PauseRecord;

/// The numbers of records in a log, of the kinds that may be repeated.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    pauses: usize,
    message_starts: usize,
    message_ends: usize,
}

impl Recorded {
    /// The present numbers.
    pub fn of(log: &Log) -> Self {
        Self {
            pauses: log.pauses.len(),
            message_starts: log.message_starts.len(),
            message_ends: log.message_ends.len(),
        }
    }

    /// Repeats the records added since, this many `times`, each time a `period` later.
    pub fn repeat(&self, log: &mut Log, period: Time, times: u64) {
        let all = (period, times);
        repeat(&mut log.pauses, self.pauses, all, |pause, by, _| {
            PauseRecord {
                obeyed: pause.obeyed + by,
                start: pause.start + by,
                end: pause.end + by,
                ..*pause
            }
        });
        let starts = &log.message_starts[self.message_starts..];
        let posted = counted(starts, |it| it.flow);
        let from = self.message_starts;
        repeat(&mut log.message_starts, from, all, |it, by, later| {
            MessageStart {
                number: it.number + posted[&it.flow] * later,
                start: it.start + by,
                ..*it
            }
        });
        // Each step has a message of each slice.
        let ends = &log.message_ends[self.message_ends..];
        let come = counted(ends, |it| it.flow);
        let steps = counted(ends, |it| (it.flow, it.slice));
        let from = self.message_ends;
        repeat(&mut log.message_ends, from, all, |it, by, later| {
            MessageEnd {
                number: it.number + come[&it.flow] * later,
                step: it.step + steps[&(it.flow, it.slice)] * later,
                end: it.end + by,
                received: it.received + by,
                ..*it
            }
        });
    }
}

/// The number of records of each key.
fn counted<T, K: Eq + std::hash::Hash>(records: &[T], key: impl Fn(&T) -> K) -> HashMap<K, u32> {
    let mut counts = HashMap::new();
    for record in records {
        *counts.entry(key(record)).or_insert(0) += 1;
    }
    counts
}

/// Adds copies of the records from place `from` on. `moved` makes a copy from a record, the time to add, and the number of
/// periods in that time.
fn repeat<T>(
    records: &mut Vec<T>,
    from: usize,
    (period, times): (Time, u64),
    moved: impl Fn(&T, Time, u32) -> T,
) {
    let end = records.len();
    records.reserve((end - from) * times as usize);
    for later in 1..=times {
        for at in from..end {
            let record = moved(&records[at], period * later, later as u32);
            records.push(record);
        }
    }
}
