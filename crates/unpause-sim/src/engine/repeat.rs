//! How often what a shard does happens again.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

/// How a shard, whose state has only moved on by a period, continues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// So many periods at most follow before a flow comes to its end.
    pub most: u64,
    /// When what is not known to repeat itself begins.
    pub until: Time,
    /// The latest of the times that move on and may not pass that.
    pub latest: Time,
    /// By how much the numbers of the packets of flows have grown.
    pub flows: Vec<(u32, u64)>,
}

impl Repeat {
    /// How shards go on together; none if packets of a flow do not move on alike in all of them.
    pub fn together(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut flows = HashMap::new();
        let mut together = Self {
            most: u64::MAX,
            until: Time::NEVER,
            latest: Time::ZERO,
            flows: Vec::new(),
        };
        for repeat in all {
            together.most = together.most.min(repeat.most);
            together.until = together.until.min(repeat.until);
            together.latest = together.latest.max(repeat.latest);
            for (flow, by) in repeat.flows {
                if *flows.entry(flow).or_insert(by) != by {
                    return None;
                }
            }
        }
        together.flows = flows.into_iter().collect();
        Some(together)
    }

    /// So many periods follow in a run that has reached a time and is not to be moved on `until` another.
    pub fn periods(&self, period: Time, reached: Time, until: Time) -> u64 {
        let end = self.until.min(until);
        let span = end.saturating_sub(reached.max(self.latest));
        self.most.min(span.as_ps() / period.as_ps())
    }
}
