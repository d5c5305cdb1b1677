//! Collective operations that a program has been made of.

use std::collections::BTreeMap;

use crate::jobs::collective::Collective;
use crate::jobs::group::Group;

/// A collective operation of some ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// The collective.
    pub collective: Collective,
    /// Ranks, in their order.
    pub group: Group,
    /// The first of its connections' channels.
    pub channel: u16,
    /// The label of its operations.
    pub label: u16,
    /// How many with that label precede it.
    pub number: u32,
}

/// The part of a rank in a collective operation, or in a channel of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Place of that in [`super::Draft::shared`].
    pub of: u32,
    /// The channel; `None`: all together.
    pub channel: Option<u32>,
    /// It begins when this operation starts.
    pub first: u32,
    /// And is over when this one has ended; `None`: at once.
    pub end: Option<u32>,
}

/// The collective operations of a program, and where they lie.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Spans {
    pub all: Vec<Shared>,
    /// By rank, in order of their first operations.
    pub starts: Vec<Vec<Span>>,
    /// By rank: operations with which spans end, and which these are.
    pub ends: Vec<Vec<(u32, u32)>>,
    /// By operation and channel, at how many ranks there is something to do.
    pub taking_part: BTreeMap<(u32, Option<u32>), u32>,
}

impl Spans {
    /// Of these operations, and the parts of each rank.
    pub fn of<'a>(shared: &[Shared], ranks: impl Iterator<Item = &'a [Span]>) -> Self {
        let mut labels: BTreeMap<u16, u32> = BTreeMap::new();
        let number = |of: &Shared| {
            let number = labels.entry(of.label).or_default();
            *number += 1;
            Shared {
                number: *number - 1,
                ..of.clone()
            }
        };
        let mut spans = Self {
            all: shared.iter().map(number).collect(),
            ..Self::default()
        };
        if spans.all.is_empty() {
            return spans;
        }
        for parts in ranks {
            let mut starts = parts.to_vec();
            starts.sort_by_key(|it| it.first);
            let ends = starts.iter().zip(0..);
            let mut ends: Vec<(u32, u32)> =
                ends.filter_map(|(it, at)| Some((it.end?, at))).collect();
            ends.sort_unstable();
            for it in &starts {
                *spans.taking_part.entry((it.of, it.channel)).or_default() += 1;
            }
            spans.starts.push(starts);
            spans.ends.push(ends);
        }
        spans
    }
}

impl Spans {
    /// Passes to `of` all numbers that a digest needs.
    pub fn tell(&self, of: &mut dyn FnMut(u64)) {
        for it in &self.all {
            of(it.collective.bytes);
            of(u64::from(it.channel) << 32 | u64::from(it.label));
            it.group.iter().for_each(|rank| of(u64::from(*rank)));
        }
        for it in self.starts.iter().flatten() {
            of(u64::from(it.of) << 32 | u64::from(it.first));
            of(it.end.map_or(u64::MAX, u64::from));
            of(it.channel.map_or(u64::MAX, u64::from));
        }
    }
}
