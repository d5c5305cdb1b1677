//! Why a program does not come to its end.

use std::collections::{BTreeMap, HashMap};

use super::draft::{Draft, ProgramError, Task, Wrong};

/// How far an operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Waits,
    Started,
    Ended,
}

/// An operation: its rank, and its number there.
type Place = (u32, u32);

/// The reason why the first operation that has not ended waits; `None` if all have ended.
pub(super) fn find(draft: &Draft, progress: &[&[Progress]]) -> Option<ProgramError> {
    let mut at = first(progress)?;
    let mut waiting = Waiting::of(draft, progress);
    let mut seen: HashMap<Place, usize> = HashMap::new();
    let mut way: Vec<Place> = Vec::new();
    loop {
        if let Some(start) = seen.insert(at, way.len()) {
            let cycle = way.split_off(start);
            return Some(error(at, Wrong::Cycle(cycle)));
        }
        way.push(at);
        let next = match progress[at.0 as usize][at.1 as usize] {
            Progress::Started => waiting.sender(at),
            _ => waiting.before(at),
        };
        match next {
            Some(next) => at = next,
            None => return Some(error(at, Wrong::NothingSent)),
        }
    }
}

fn error((rank, operation): Place, wrong: Wrong) -> ProgramError {
    ProgramError {
        rank,
        operation,
        wrong,
    }
}

fn first(progress: &[&[Progress]]) -> Option<Place> {
    let is_open = |it: &Progress| *it != Progress::Ended;
    let of_rank = |(rank, of): (usize, &&[Progress])| {
        let at = of.iter().position(is_open)?;
        Some((rank as u32, at as u32))
    };
    progress.iter().enumerate().find_map(of_rank)
}

/// The dependencies of operations.
struct Waiting<'a> {
    draft: &'a Draft,
    progress: &'a [&'a [Progress]],
    /// By rank: by operation, one that it waits for.
    before: HashMap<u32, HashMap<u32, u32>>,
    /// The first send of these that has not started: receiver, sender and tag.
    sends: BTreeMap<(u32, u32, u64), u32>,
}

impl<'a> Waiting<'a> {
    fn of(draft: &'a Draft, progress: &'a [&'a [Progress]]) -> Self {
        let mut sends = BTreeMap::new();
        for (rank, of_rank) in draft.ranks.iter().enumerate() {
            let operations = of_rank.operations.iter().zip(progress[rank]).enumerate();
            for (at, (it, progress)) in operations {
                if let (Task::Send { to, tag, .. }, Progress::Waits) = (it.task, progress) {
                    sends.entry((to, rank as u32, tag)).or_insert(at as u32);
                }
            }
        }
        Self {
            draft,
            progress,
            before: HashMap::new(),
            sends,
        }
    }

    /// The operation that an operation which has not started waits for.
    fn before(&mut self, (rank, at): Place) -> Option<Place> {
        let (draft, progress) = (self.draft, self.progress[rank as usize]);
        let of_rank = self.before.entry(rank).or_insert_with(|| {
            let edges = draft.ranks[rank as usize].edges.iter();
            let open = edges.filter(|it| match progress[it.before as usize] {
                Progress::Ended => false,
                Progress::Started => !it.at_start,
                Progress::Waits => true,
            });
            open.map(|it| (it.after, it.before)).collect()
        });
        Some((rank, *of_rank.get(&at)?))
    }

    /// The send that a receive waits for, which has not started.
    fn sender(&self, (rank, at): Place) -> Option<Place> {
        let task = self.draft.ranks[rank as usize].operations[at as usize].task;
        let Task::Receive { from, tag, .. } = task else {
            return None;
        };
        let mut sends = self.sends.range((rank, 0, 0)..=(rank, u32::MAX, u64::MAX));
        let fits = |of: u32, sent: u64| {
            from.is_none_or(|from| from == of) && tag.is_none_or(|tag| tag == sent)
        };
        let found = match (from, tag) {
            (Some(from), Some(tag)) => self.sends.get_key_value(&(rank, from, tag)),
            _ => sends.find(|((_, of, sent), _)| fits(*of, *sent)),
        };
        found.map(|((_, of, _), send)| (*of, *send))
    }
}
