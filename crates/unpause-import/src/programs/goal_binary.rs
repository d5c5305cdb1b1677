//! Schedules of GOAL in binary, as LogGOPSim's converter writes them: little endian, without padding.

use std::path::Path;

use unpause_protocols::units::Time;
use unpause_sim::jobs::Program;
use unpause_sim::jobs::program::{Draft, DraftRank, Edge, Task};

use super::goal::notes;
use super::imported::{Imported, Used, explain};
use crate::FileError;
use unpause_text::limits;

/// With it such a file begins.
const COOKIE: u64 = 4223;
/// Offsets count from behind the cookie.
const ORIGIN: u64 = 8;
/// Bytes of a node.
const NODE: u64 = 39;
/// Any rank, any tag.
const ANY: u32 = u32::MAX;

/// True if a file begins as a schedule in binary.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(&COOKIE.to_le_bytes())
}

struct Reader<'b> {
    bytes: &'b [u8],
    path: &'b Path,
    draft: Draft,
    /// By rank, where its nodes begin.
    places: Vec<u64>,
    nics: usize,
    operations: usize,
}

pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Imported, FileError> {
    let mut reader = Reader {
        bytes,
        path,
        draft: Draft::default(),
        places: Vec::new(),
        nics: 0,
        operations: 0,
    };
    let ranks = reader.number(8, 4, "the number of ranks")? as u32;
    // Each has two offsets.
    if u64::from(ranks) * 16 > bytes.len() as u64 {
        return Err(reader.error(8, format!("{ranks} ranks"), "as many as the file has"));
    }
    for rank in 0..ranks {
        reader.rank(rank)?;
    }
    reader.finish()
}

impl Reader<'_> {
    fn error(&self, at: u64, found: impl Into<String>, expected: impl Into<String>) -> FileError {
        FileError::Byte {
            path: self.path.to_owned(),
            at,
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// So many bytes from `at` on.
    fn number(&self, at: u64, count: u64, what: &str) -> Result<u64, FileError> {
        let end = at.checked_add(count);
        let bytes = end.and_then(|end| self.bytes.get(at as usize..usize::try_from(end).ok()?));
        let Some(bytes) = bytes else {
            let length = self.bytes.len() as u64;
            return Err(self.error(length.min(at), "the end of the file", what));
        };
        let number = bytes.iter().rev();
        Ok(number.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn rank(&mut self, rank: u32) -> Result<(), FileError> {
        const OFFSETS: &str = "where a rank begins and ends";
        // Behind the cookie, the number of ranks, the largest cpu and the largest NIC.
        let place = ORIGIN + 6 + 16 * u64::from(rank);
        let start = self.number(place, 8, OFFSETS)?.saturating_add(ORIGIN);
        let end = self.number(place + 8, 8, OFFSETS)?.saturating_add(ORIGIN);
        if end > self.bytes.len() as u64 || start > end {
            let found = format!("rank {rank} from byte {start} to byte {end}");
            return Err(self.error(place, found, "bytes of the file"));
        }
        let nodes = self.number(start, 4, "the number of nodes")?;
        let roots = self.number(start + 4, 4, "the number of roots")?;
        let first = start + 8 + 4 * roots;
        let appendix = first + NODE * nodes;
        self.operations += nodes as usize;
        if appendix > end || self.operations > limits::OPERATIONS {
            let found = format!("rank {rank} with {nodes} nodes and {roots} roots");
            return Err(self.error(start, found, "as many as its bytes have room for"));
        }
        let mut draft = DraftRank::default();
        for number in 0..nodes {
            self.node((rank, number), first + NODE * number, &mut draft)?;
        }
        for number in 0..nodes {
            let at = first + NODE * number;
            self.edges((rank, number), (at, appendix, end), nodes, &mut draft)?;
        }
        self.draft.ranks.push(draft);
        self.places.push(first);
        Ok(())
    }

    fn node(
        &mut self,
        (rank, number): (u32, u64),
        at: u64,
        draft: &mut DraftRank,
    ) -> Result<(), FileError> {
        let field = |offset: u64, count: u64| self.number(at + offset, count, "a node");
        let kind = field(4, 1)?;
        let peer = field(5, 4)? as u32;
        let size = field(9, 8)?;
        let tag = field(17, 4)? as u32;
        let (cpu, nic) = (field(21, 1)? as u8, field(22, 1)? as u8);
        let task = match kind {
            1 => Task::Send {
                to: peer,
                bytes: size,
                tag: tag.into(),
            },
            2 => Task::Receive {
                from: (peer != ANY).then_some(peer),
                bytes: size.max(1),
                tag: (tag != ANY).then_some(tag.into()),
            },
            3 => {
                let ps = size.checked_mul(1000).filter(|ps| *ps < u64::MAX / 2);
                let Some(ps) = ps else {
                    let found = format!("{size} ns in node {number} of rank {rank}");
                    return Err(self.error(at + 9, found, "a time below 100 days"));
                };
                Task::Compute(Time::from_ps(ps))
            }
            _ => {
                let found = format!("type {kind} of node {number} of rank {rank}");
                return Err(self.error(at + 4, found, "1 (send), 2 (receive) or 3 (calc)"));
            }
        };
        self.nics += usize::from(nic > 0);
        draft.add(task, (cpu, cpu.into(), 0));
        Ok(())
    }

    /// The nodes that wait for a node, in the appendix.
    fn edges(
        &self,
        (rank, number): (u32, u64),
        (at, appendix, end): (u64, u64, u64),
        nodes: u64,
        draft: &mut DraftRank,
    ) -> Result<(), FileError> {
        for (offset, at_start) in [(23, false), (31, true)] {
            let count = self.number(at + offset, 4, "a node")?;
            let first = self.number(at + offset + 4, 4, "a node")?;
            for index in 0..count {
                let place = appendix + 4 * (first + index);
                let what = format!("what waits for node {number} of rank {rank}");
                if place + 4 > end || draft.edges.len() > limits::EDGES {
                    return Err(self.error(at + offset, what, "numbers before the rank's end"));
                }
                let after = self.number(place, 4, "a number")?;
                if after >= nodes {
                    let found =
                        format!("node {after}, which waits for node {number} of rank {rank}");
                    return Err(self.error(place, found, format!("one of {nodes} nodes")));
                }
                draft.edges.push(Edge {
                    before: number as u32,
                    after: after as u32,
                    at_start,
                });
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Imported, FileError> {
        let program = Program::new(&self.draft).map_err(|error| {
            let place = |rank: u32, at: u32| format!("node {at} of rank {rank}");
            let (found, expected) = explain(&error, &self.draft, &place);
            let node = place(error.rank, error.operation);
            let at = self.places[error.rank as usize] + NODE * u64::from(error.operation);
            self.error(at, format!("{found} ({node})"), expected)
        })?;
        Ok(Imported {
            program,
            labels: vec!["goal".into()],
            notes: notes(self.nics),
            used: Used::default(),
        })
    }
}
