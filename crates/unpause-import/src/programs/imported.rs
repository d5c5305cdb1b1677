//! Programs read from files, and messages about those that cannot be run.

use std::fmt::Write as _;

use unpause_sim::jobs::Program;
use unpause_sim::jobs::program::{Draft, ProgramError, Task, Wrong};

/// The content of a file.
#[derive(Debug, PartialEq)]
pub struct Imported {
    /// The program of its ranks.
    pub program: Program,
    /// The names behind the labels of its operations.
    pub labels: Vec<String>,
    /// Parts of the file that have no effect, a sentence each.
    pub notes: Vec<String>,
    /// Which collective operations it has.
    pub used: Used,
}

/// Which collective operations a file has, whose algorithm can be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// All-reduce.
    pub all_reduce: bool,
    /// All-gather or reduce-scatter.
    pub all_gather: bool,
    /// All-to-all.
    pub all_to_all: bool,
    /// Broadcast.
    pub broadcast: bool,
}

impl Used {
    /// Those of both.
    pub(super) fn join(&mut self, of: Self) {
        self.all_reduce |= of.all_reduce;
        self.all_gather |= of.all_gather;
        self.all_to_all |= of.all_to_all;
        self.broadcast |= of.broadcast;
    }

    /// True if there is one, a barrier aside.
    pub fn any(self) -> bool {
        self.all_reduce || self.all_gather || self.all_to_all || self.broadcast
    }
}

/// The text found and the text expected, where a program cannot be run. `place` says where an operation stands.
pub(super) fn explain(
    error: &ProgramError,
    draft: &Draft,
    place: &dyn Fn(u32, u32) -> String,
) -> (String, String) {
    let task = |rank: u32, at: u32| draft.ranks[rank as usize].operations.get(at as usize);
    let rank = error.rank;
    let of = task(rank, error.operation).map_or(Task::Nothing, |it| it.task);
    match &error.wrong {
        Wrong::NoRank(other) => (
            format!("rank {other}"),
            format!("a rank from 0 to {}", draft.ranks.len() - 1),
        ),
        Wrong::ToItself => (
            format!("a message of rank {rank} to itself"),
            "another rank".into(),
        ),
        Wrong::NothingSent => (
            "a receive for which nothing is sent".into(),
            match of {
                Task::Receive { from, tag, .. } => format!(
                    "a send{} to rank {rank}{} that no other receive takes",
                    from.map_or(String::new(), |it| format!(" from rank {it}")),
                    tag.map_or(String::new(), |it| format!(" with tag {it}")),
                ),
                _ => "a send".into(),
            },
        ),
        Wrong::NobodyReceives => (
            "a send that nobody receives".into(),
            match of {
                Task::Send { to, tag, .. } => {
                    format!("a receive at rank {to} from rank {rank} with tag {tag}")
                }
                _ => "a receive".into(),
            },
        ),
        Wrong::Larger(bytes) => (
            match of {
                Task::Receive { bytes: room, .. } => {
                    format!("a receive of {room} B for a message of {bytes} B")
                }
                _ => format!("a message of {bytes} B"),
            },
            "a receive of as many bytes as are sent".into(),
        ),
        Wrong::Cycle(way) => (
            cycle(way, place),
            "no cycle: an operation cannot wait for itself, directly or through others".into(),
        ),
        Wrong::TooMany => ("too many operations".into(), "at most 2^31".into()),
    }
}

/// Steps of a cycle that a message shows.
const SHOWN: usize = 6;

fn cycle(way: &[(u32, u32)], place: &dyn Fn(u32, u32) -> String) -> String {
    if let [(rank, at)] = way {
        return format!("an operation that waits for itself ({})", place(*rank, *at));
    }
    let mut text = format!("{} operations that wait for one another: ", way.len());
    for (rank, at) in way.iter().take(SHOWN) {
        write!(text, "{}, then ", place(*rank, *at)).expect("text can be written");
    }
    if way.len() > SHOWN {
        text += "…"
    } else {
        text += "the first"
    }
    text
}
