//! Which operations of a rank wait for which.

use super::compact::AT_START;
use super::draft::{DraftRank, Edge};

/// The edges of a rank, by the operation that is waited for.
pub(super) struct Edges {
    /// How many each operation waits for.
    pub requires: Vec<u32>,
    first: Vec<u32>,
    pub next: Vec<u32>,
}

impl Edges {
    pub fn of(rank: &DraftRank) -> Self {
        let mut sorted: Vec<Edge> = rank.edges.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let count = rank.operations.len();
        let mut requires = vec![0; count];
        let mut first = vec![0; count + 1];
        for edge in &sorted {
            requires[edge.after as usize] += 1;
            first[edge.before as usize + 1] += 1;
        }
        for at in 0..count {
            first[at + 1] += first[at];
        }
        let next = |edge: &Edge| edge.after | if edge.at_start { AT_START } else { 0 };
        Self {
            requires,
            first,
            next: sorted.iter().map(next).collect(),
        }
    }

    pub fn next_of(&self, at: usize) -> &[u32] {
        &self.next[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// The operations that wait for operation `at`, and whether for its start alone.
    pub fn waiting(&self, at: u32) -> impl Iterator<Item = (u32, bool)> + use<'_> {
        let next = self.next_of(at as usize).iter();
        next.map(|it| (it & !AT_START, it & AT_START != 0))
    }
}
