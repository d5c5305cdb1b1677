//! Schedules of GOAL as text.
//!
//! # Source
//!
//! T. Hoefler, C. Siebert, A. Lumsdaine: "Group Operation Assembly Language - A Flexible Way to Express Collective
//! Communication", ICPP 2009; the grammar of LogGOPSim, which ATLAHS and the htsim of SPCL share.

use std::collections::HashMap;
use std::path::Path;

use unpause_protocols::units::Time;
use unpause_sim::jobs::Program;
use unpause_sim::jobs::program::{Draft, DraftRank, Edge, Task};

use super::imported::{Imported, Used, explain};
use super::words::Lines;
use crate::{FileError, Place};
use unpause_text::error::nearest;
use unpause_text::limits;

const HEAD: &str = "`num_ranks N`, with which a GOAL schedule begins";
const RANK: &str = "`rank R {`";
const OPERATION: &str = "`send`, `recv`, `calc`, `LABEL requires LABEL`, or `}`";
const TIME: &str = "a time in ns, a whole number";
const PEER: &str = "a rank";

/// Words that are not labels.
const WORDS: [&str; 12] = [
    "num_ranks",
    "rank",
    "send",
    "recv",
    "calc",
    "to",
    "from",
    "tag",
    "cpu",
    "nic",
    "requires",
    "irequires",
];

/// Operations by line, and what has no effect.
struct Reader<'t> {
    lines: Lines<'t>,
    draft: Draft,
    /// By rank, the line of each operation.
    places: Vec<Vec<u32>>,
    seen: Vec<bool>,
    operations: usize,
    /// Operations that name a NIC.
    nics: usize,
}

pub(super) fn parse(text: &str, path: &Path) -> Result<Imported, FileError> {
    let mut reader = Reader::of(text, path)?;
    while reader.lines.next() {
        reader.rank()?;
    }
    reader.finish()
}

impl<'t> Reader<'t> {
    fn of(text: &'t str, path: &'t Path) -> Result<Self, FileError> {
        let mut lines = Lines::of_goal(text, path);
        if !lines.next() {
            return Err(Place::of_line(path, 1).error("nothing", HEAD));
        }
        if lines.word(0) != Some("num_ranks") {
            return Err(lines.error(0, HEAD));
        }
        let ranks: usize = lines.number(1, "a number of ranks")?;
        // Each has a line of its own.
        if ranks as u64 > limits::NODES || ranks > text.len() {
            let expected = "a number of ranks that the file has room for";
            return Err(lines.error(1, expected));
        }
        lines.end_at(2, "the end of the line")?;
        Ok(Self {
            lines,
            draft: Draft {
                ranks: vec![DraftRank::default(); ranks],
                by_number: false,
                shared: Vec::new(),
            },
            places: vec![Vec::new(); ranks],
            seen: vec![false; ranks],
            operations: 0,
            nics: 0,
        })
    }

    /// Reads all of a rank, at whose first line it stands.
    fn rank(&mut self) -> Result<(), FileError> {
        let lines = &self.lines;
        if lines.word(0) != Some("rank") {
            return Err(lines.error(0, RANK));
        }
        let rank: usize = lines.number(1, PEER)?;
        match self.seen.get_mut(rank) {
            None => {
                let expected = format!("a rank below the {} of `num_ranks`", self.seen.len());
                return Err(lines.error(1, &expected));
            }
            Some(true) => {
                return Err(lines.found(1, format!("rank {rank} a second time"), "each rank once"));
            }
            Some(seen) => *seen = true,
        }
        if lines.word(2) != Some("{") {
            return Err(lines.error(2, "`{`"));
        }
        lines.end_at(3, "the end of the line")?;
        let first = lines.line;
        let mut labels: HashMap<&'t str, u32> = HashMap::new();
        loop {
            if !self.lines.next() {
                let place = Place::of_line(self.lines.path, first);
                let found = format!("the end of the file in rank {rank}, which begins here");
                return Err(place.error(found, "`}` after its last operation"));
            }
            match (self.lines.word(0), self.lines.word(1)) {
                (Some("}"), _) => return self.lines.end_at(1, "the end of the line"),
                (Some("rank"), Some(word)) if word != ":" => {
                    let expected = "`}` after the last operation of the previous rank";
                    return Err(self.lines.error(0, expected));
                }
                (_, Some("requires" | "irequires")) => self.edge(rank, &labels)?,
                _ => self.operation(rank, &mut labels)?,
            }
        }
    }

    /// `a requires b`.
    fn edge(&mut self, rank: usize, labels: &HashMap<&'t str, u32>) -> Result<(), FileError> {
        let lines = &self.lines;
        let label = |at: usize| {
            let Some(text) = lines.word(at) else {
                return Err(lines.error(at, "a label"));
            };
            labels.get(text).copied().ok_or_else(|| {
                let known: Vec<&str> = labels.keys().copied().collect();
                let near = nearest(text, &known).filter(|it| it.starts_with("did"));
                let near = near.map_or(String::new(), |it| format!("; {it}"));
                let expected = format!("a label defined earlier in rank {rank}{near}");
                lines.error(at, &expected)
            })
        };
        let (after, before) = (label(0)?, label(2)?);
        lines.end_at(3, "the end of the line")?;
        self.draft.ranks[rank].edges.push(Edge {
            before,
            after,
            at_start: lines.word(1) == Some("irequires"),
        });
        Ok(())
    }

    fn operation(
        &mut self,
        rank: usize,
        labels: &mut HashMap<&'t str, u32>,
    ) -> Result<(), FileError> {
        let lines = &self.lines;
        let number = self.draft.ranks[rank].operations.len() as u32;
        let at = match lines.word(1) {
            Some(":") => {
                self.label(number, labels)?;
                2
            }
            _ => 0,
        };
        let (task, options) = self.task(at)?;
        let (cpu, nic) = options;
        self.nics += usize::from(nic > 0);
        self.operations += 1;
        if self.operations > limits::OPERATIONS {
            let expected = format!("at most {} operations", limits::OPERATIONS);
            return Err(self.lines.found(0, "one operation more", &expected));
        }
        self.draft.ranks[rank].add(task, (cpu, cpu.into(), 0));
        self.places[rank].push(self.lines.line as u32);
        Ok(())
    }

    fn label(&self, number: u32, labels: &mut HashMap<&'t str, u32>) -> Result<(), FileError> {
        let lines = &self.lines;
        let text = lines.word(0).unwrap_or_default();
        let is_label = text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !WORDS.contains(&text);
        if !is_label {
            let expected = "a label: a letter, then letters, digits and `_`, and no keyword";
            return Err(lines.error(0, expected));
        }
        match labels.insert(text, number) {
            None => Ok(()),
            Some(_) => {
                let found = format!("label `{text}` a second time");
                Err(lines.found(0, found, "each label once in a rank"))
            }
        }
    }

    /// Reads from word `at` on: the task, its cpu and its NIC.
    fn task(&self, at: usize) -> Result<(Task, (u8, u8)), FileError> {
        let lines = &self.lines;
        match lines.word(at) {
            Some("calc") => {
                let ns: u64 = lines.number(at + 1, TIME)?;
                let Some(ps) = ns.checked_mul(1000).filter(|ps| *ps < u64::MAX / 2) else {
                    return Err(lines.error(at + 1, "a time below 100 days"));
                };
                let (_, options) = self.options(at + 2, false)?;
                Ok((Task::Compute(Time::from_ps(ps)), options))
            }
            Some(word @ ("send" | "recv")) => {
                let bytes = self.bytes(at + 1)?;
                let is_send = word == "send";
                let towards = if is_send { "to" } else { "from" };
                if lines.word(at + 2) != Some(towards) {
                    return Err(lines.error(at + 2, &format!("`{towards}`")));
                }
                let is_any = |at: usize| !is_send && lines.word(at) == Some("-1");
                let peer = if is_any(at + 3) {
                    None
                } else {
                    Some(lines.number(at + 3, PEER)?)
                };
                let (tag, options) = self.options(at + 4, true)?;
                let task = match (is_send, peer) {
                    (true, Some(to)) => Task::Send {
                        to,
                        bytes,
                        tag: tag.unwrap_or(0),
                    },
                    _ => Task::Receive {
                        from: peer,
                        bytes: bytes.max(1),
                        tag: if lines.word(at + 4) == Some("tag") && is_any(at + 5) {
                            None
                        } else {
                            Some(tag.unwrap_or(0))
                        },
                    },
                };
                Ok((task, options))
            }
            _ => Err(lines.error(at, OPERATION)),
        }
    }

    fn bytes(&self, at: usize) -> Result<u64, FileError> {
        let text = self.lines.word(at).unwrap_or_default();
        let digits = text.strip_suffix('b').filter(|it| is_digits(it));
        let bytes = digits.and_then(|it| it.parse().ok());
        bytes.ok_or_else(|| self.lines.error(at, "a number of bytes such as `4096b`"))
    }

    /// `tag T cpu C nic N`, each of which may not be there: the tag, then cpu and NIC.
    fn options(&self, mut at: usize, tagged: bool) -> Result<(Option<u64>, (u8, u8)), FileError> {
        let lines = &self.lines;
        let mut tag = None;
        if tagged && lines.word(at) == Some("tag") {
            if lines.word(at + 1) != Some("-1") {
                tag = Some(u64::from(
                    lines.number::<u32>(at + 1, "a tag, a whole number")?,
                ));
            }
            at += 2;
        }
        let mut values = [0; 2];
        for (name, value) in ["cpu", "nic"].into_iter().zip(&mut values) {
            if lines.word(at) == Some(name) {
                *value = lines.number(at + 1, "a number from 0 to 255")?;
                at += 2;
            }
        }
        let expected = if tagged {
            "`tag T`, `cpu C`, `nic N` in this order, or the end of the line"
        } else {
            "`cpu C`, or the end of the line"
        };
        lines.end_at(at, expected)?;
        Ok((tag, (values[0], values[1])))
    }

    fn finish(self) -> Result<Imported, FileError> {
        let path = self.lines.path;
        if let Some(rank) = self.seen.iter().position(|seen| !seen) {
            let found = format!("no rank {rank}");
            let expected = format!("each of {} ranks: `rank {rank} {{`, `}}`", self.seen.len());
            return Err(Place::of_line(path, self.lines.line).error(found, expected));
        }
        let program = Program::new(&self.draft).map_err(|error| {
            let line = |rank: u32, at: u32| self.places[rank as usize][at as usize];
            let place = |rank: u32, at: u32| format!("line {} of rank {rank}", line(rank, at));
            let (found, expected) = explain(&error, &self.draft, &place);
            let line = line(error.rank, error.operation);
            Place::of_line(path, line as usize).error(found, expected)
        })?;
        Ok(Imported {
            program,
            labels: vec!["goal".into()],
            notes: notes(self.nics),
            used: Used::default(),
        })
    }
}

/// Parts of a schedule without effect.
pub(super) fn notes(nics: usize) -> Vec<String> {
    match nics {
        0 => Vec::new(),
        1 => vec![
            "1 operation names a nic: the host sends by the NIC nearest to the receiver".into(),
        ],
        _ => vec![format!(
            "{nics} operations name a nic: the host sends by the NIC nearest to the receiver"
        )],
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}
