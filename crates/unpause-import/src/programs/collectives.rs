//! Collective operations as sends and receives, for programs that mix them with other operations.

use unpause_sim::jobs::program::{Draft, DraftRank, Shared, Span, Task};
use unpause_sim::jobs::{Collective, Group, step::Step};

/// Tags of messages of collective operations: no file has such.
const OF_COLLECTIVES: u64 = 1 << 63;

/// A collective operation of a group, as a part of a program.
pub(super) struct Part<'a> {
    pub collective: &'a Collective,
    /// Ranks.
    pub group: &'a Group,
    /// A number of its own, below 2^22.
    pub number: u64,
    /// The first of its connections' channels.
    pub channel: u16,
    pub label: u16,
}

impl Part<'_> {
    /// Adds it to the collective operations of the draft; returns its index.
    fn share(&self, draft: &mut Draft) -> u32 {
        draft.shared.push(Shared {
            collective: self.collective.clone(),
            group: self.group.clone(),
            channel: self.channel,
            label: self.label,
            number: 0,
        });
        draft.shared.len() as u32 - 1
    }

    /// Adds it to a draft. The member at each place begins when the operation has ended that `after` has there, and has
    /// ended with the one that is left there.
    pub fn add(&self, draft: &mut Draft, after: &mut [Option<u32>]) {
        let mut room = Step::default();
        let number = self.share(draft);
        for (me, after) in after.iter_mut().enumerate() {
            let rank = self.group[me] as usize;
            let first = draft.ranks[rank].operations.len();
            let of = |channel| Lane {
                part: self,
                me: me as u32,
                channel,
            };
            let lanes = self.collective.lanes_of_channels();
            let mut ends = Vec::new();
            for channel in 0..lanes {
                let first = draft.ranks[rank].operations.len();
                let end = of(channel).add(draft, *after, &mut room);
                if lanes > 1 {
                    note_span(&mut draft.ranks[rank], first, (number, Some(channel), end));
                }
                ends.extend(end);
            }
            let end = join(draft, rank as u32, &ends, self.label);
            note_span(&mut draft.ranks[rank], first, (number, None, end));
            *after = end.or(*after);
        }
    }
}

/// The operations that a rank has got from `first` on are its part in a collective operation, or in a channel of it, that is over
/// with `end`.
fn note_span(
    rank: &mut DraftRank,
    first: usize,
    (of, channel, end): (u32, Option<u32>, Option<u32>),
) {
    if rank.operations.len() > first {
        rank.spans.push(Span {
            of,
            channel,
            first: first as u32,
            end,
        });
    }
}

/// The operation that ends when all of these have ended.
pub(super) fn join(draft: &mut Draft, rank: u32, all: &[u32], label: u16) -> Option<u32> {
    match all {
        [] => None,
        [one] => Some(*one),
        _ => {
            let rank = &mut draft.ranks[rank as usize];
            let join = rank.add(Task::Nothing, (0, 0, label));
            all.iter().for_each(|it| rank.wait(join, *it));
            Some(join)
        }
    }
}

/// A channel at a member.
struct Lane<'a> {
    part: &'a Part<'a>,
    me: u32,
    channel: u32,
}

impl Lane<'_> {
    /// Step after step; answers what the last one ends with.
    fn add(&self, draft: &mut Draft, after: Option<u32>, room: &mut Step) -> Option<u32> {
        let Part {
            collective,
            group,
            label,
            ..
        } = *self.part;
        let (n, rank) = (group.len() as u32, group[self.me as usize]);
        let mut before = after;
        for step in 0..collective.steps(n) {
            collective.step((self.me, group), self.channel, step, room);
            let mut ends = Vec::new();
            for part in &room.receives {
                let way = (part.peer, self.me, n);
                let bytes = collective.bytes(way, (self.channel, 0), part);
                let task = Task::Receive {
                    from: Some(group[part.peer as usize]),
                    bytes,
                    tag: Some(self.tag()),
                };
                ends.extend(self.task(draft, task, bytes, before));
            }
            for part in &room.sends {
                let way = (self.me, part.peer, n);
                let bytes = collective.bytes(way, (self.channel, 0), part);
                let task = Task::Send {
                    to: group[part.peer as usize],
                    bytes,
                    tag: self.tag(),
                };
                let send = self.task(draft, task, bytes, before);
                ends.extend(send.filter(|_| room.acknowledged));
            }
            before = join(draft, rank, &ends, label).or(before);
        }
        before.filter(|_| before != after)
    }

    /// Messages between two ranks are matched in their order.
    fn tag(&self) -> u64 {
        OF_COLLECTIVES | self.part.number << 32 | u64::from(self.channel)
    }

    /// One operation, if it moves anything.
    fn task(&self, draft: &mut Draft, task: Task, bytes: u64, before: Option<u32>) -> Option<u32> {
        if bytes == 0 {
            return None;
        }
        let rank = self.part.group[self.me as usize];
        let rank = &mut draft.ranks[rank as usize];
        let channel = self.part.channel + self.channel as u16;
        let number = rank.add(task, (0, channel, self.part.label));
        if let Some(before) = before {
            rank.wait(number, before);
        }
        Some(number)
    }
}
