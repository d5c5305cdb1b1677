//! Workloads of SimAI, as AICB writes them: layers that compute and exchange gradients.
//!
//! # Source
//!
//! Xizheng Wang et al.: "SimAI: Unifying Architecture Design and Performance Tuning for Large-Scale Large Language Model
//! Training with Scalability and Precision", NSDI 2025; the reader and the loop of its simulator.

use std::path::Path;

use unpause_protocols::units::Time;
use unpause_sim::jobs::program::{Draft, DraftRank, Task};
use unpause_sim::jobs::{self, Algorithm, Collective, Operation, Program};

use super::collectives::{Part, join};
use super::imported::{Imported, Used, explain};
use super::simai_header::Header;
use super::simai_rows::{Communication, Exchange, Group, Layer, Pass, rows};
use super::words::Lines;
use crate::{FileError, Place};
use unpause_text::limits;

/// For how many ranks a workload is read, and with how many channels for each collective operation.
#[derive(Clone, Copy, Debug)]
pub struct SimAi {
    /// Ranks.
    pub ranks: u32,
    /// Channels.
    pub channels: u32,
}

/// Reads the text of a workload.
///
/// # Errors
///
/// The first mistake, with its line.
pub fn parse_simai(text: &str, path: &Path, of: SimAi) -> Result<Imported, FileError> {
    let mut lines = Lines::plain(text, path);
    let header = Header::read(&mut lines, of.ranks)?;
    let layers = rows(&mut lines)?;
    header.check_layers(&layers, path)?;
    let mut training = Training::new(&header, of);
    training.run(&header, &layers);
    if let Some(line) = training.too_many {
        let expected = format!("at most {} sends and receives", limits::OPERATIONS);
        let found = "more sends and receives up to this layer";
        return Err(Place::of_line(path, line).error(found, expected));
    }
    let program = Program::new(&training.draft).map_err(|error| {
        let place = |rank: u32, at: u32| format!("operation {at} of rank {rank}");
        let (found, expected) = explain(&error, &training.draft, &place);
        Place::of_line(path, 1).error(found, expected)
    })?;
    let passes = ["forward", "input gradient", "weight gradient"];
    let label = |layer: &Layer| passes.map(|pass| format!("{} {pass}", layer.name));
    Ok(Imported {
        program,
        labels: layers.iter().flat_map(label).collect(),
        notes: header.notes(),
        used: Used::default(),
    })
}

/// Ranks that run through layers.
struct Training {
    draft: Draft,
    of: SimAi,
    tp: u32,
    ep: u32,
    /// By rank, what its last operation is.
    last: Vec<Option<u32>>,
    /// By group and rank, the end of the last collective operation without a successor.
    behind: [Vec<Option<u32>>; Group::ALL.len()],
    collectives: u64,
    operations: usize,
    /// That of the layer at hand.
    line: usize,
    /// The line with which there were too many operations.
    too_many: Option<usize>,
}

impl Training {
    fn new(header: &Header, of: SimAi) -> Self {
        let nothing = vec![None; of.ranks as usize];
        Self {
            draft: Draft {
                ranks: vec![DraftRank::default(); of.ranks as usize],
                by_number: false,
                shared: Vec::new(),
            },
            of,
            tp: header.tp,
            ep: header.ep,
            last: nothing.clone(),
            behind: Group::ALL.map(|_| nothing.clone()),
            collectives: 0,
            operations: 0,
            line: 0,
            too_many: None,
        }
    }

    /// Forward through all layers, then back.
    fn run(&mut self, header: &Header, layers: &[Layer]) {
        for (at, layer) in layers.iter().enumerate() {
            self.forward(layer, at);
        }
        if header.is_inference {
            return;
        }
        for (at, layer) in layers.iter().enumerate().rev() {
            if header.initiates.contains(&at) {
                self.again(header, layers, at);
            }
            self.line = layer.line;
            let label = (3 * at) as u16;
            self.blocking(layer, &layer.input_gradient, label + 1);
            self.compute(layer.weight_gradient.compute, (0, label + 2));
            self.behind(layer, label + 2);
        }
    }

    fn forward(&mut self, layer: &Layer, at: usize) {
        self.line = layer.line;
        self.blocking(layer, &layer.forward, (3 * at) as u16);
    }

    /// Before the gradients of a layer, forward again from the last checkpoint.
    fn again(&mut self, header: &Header, layers: &[Layer], initiates: usize) {
        let checkpoints = header.checkpoints.iter().copied();
        let Some(first) = checkpoints.filter(|it| *it <= initiates).max() else {
            return;
        };
        for (at, layer) in layers.iter().enumerate().take(initiates).skip(first) {
            self.forward(layer, at);
            if header.initiates.contains(&(at + 1)) {
                return;
            }
        }
    }

    fn compute(&mut self, time: Time, (stream, label): (u8, u16)) {
        if time == Time::ZERO || !self.has_room(u64::from(self.of.ranks)) {
            return;
        }
        for (rank, last) in self.draft.ranks.iter_mut().zip(&mut self.last) {
            *last = Some(then_compute(rank, *last, time, (stream, label)));
        }
    }

    /// Counts this many operations more; false if that is too many.
    fn has_room(&mut self, more: u64) -> bool {
        self.operations = self.operations.saturating_add(more as usize);
        if self.operations > limits::OPERATIONS {
            self.too_many.get_or_insert(self.line);
        }
        self.too_many.is_none()
    }

    /// Every rank computes, then waits for the collective operation.
    fn blocking(&mut self, layer: &Layer, pass: &Pass, label: u16) {
        self.compute(pass.compute, (0, label));
        let Some(exchange) = &pass.exchange else {
            return;
        };
        let mut last = std::mem::take(&mut self.last);
        let least = Communication {
            bytes: exchange.bytes.max(4096),
            ..*exchange
        };
        let took_part = self.exchange(&least, (0, label), &mut last);
        self.last = last;
        if took_part {
            self.compute(layer.update, (1, label));
        }
    }

    /// Every rank begins the collective operation, when the one before of the same group is over, and continues.
    fn behind(&mut self, layer: &Layer, label: u16) {
        let Some(exchange) = &layer.weight_gradient.exchange else {
            return;
        };
        let of_group = exchange.group as usize;
        let mut after = std::mem::take(&mut self.behind[of_group]);
        for (rank, after) in after.iter_mut().enumerate() {
            let both: Vec<u32> = after.iter().chain(&self.last[rank]).copied().collect();
            *after = join(&mut self.draft, rank as u32, &both, label);
        }
        let channel = self.of.channels as u16;
        let took_part = self.exchange(exchange, (channel, label), &mut after);
        if took_part && layer.update > Time::ZERO {
            for (rank, after) in self.draft.ranks.iter_mut().zip(&mut after) {
                *after = Some(then_compute(rank, *after, layer.update, (1, label)));
            }
        }
        self.behind[of_group] = after;
    }

    /// A collective operation of all groups of a kind; false if these have one rank.
    fn exchange(
        &mut self,
        of: &Communication,
        (channel, label): (u16, u16),
        after: &mut [Option<u32>],
    ) -> bool {
        let (stride, size) = self.shape(of.group);
        if size < 2 {
            return false;
        }
        let collective = Collective {
            operation: match of.exchange {
                Exchange::AllReduce => Operation::AllReduce,
                Exchange::AllGather => Operation::AllGather,
                Exchange::ReduceScatter => Operation::ReduceScatter,
                Exchange::AllToAll => Operation::AllToAll,
            },
            algorithm: match of.exchange {
                Exchange::AllToAll => Algorithm::Direct,
                _ => Algorithm::Ring,
            },
            bytes: of.bytes,
            channels: self.of.channels,
            slices: 1,
            pxn: false,
        };
        let partners = match of.exchange {
            Exchange::AllToAll => size - 1,
            _ => 1,
        };
        let steps = u64::from(collective.steps(size)) * u64::from(2 * partners + 1);
        let added = steps * u64::from(self.of.ranks) * u64::from(self.of.channels);
        if !self.has_room(added) {
            return false;
        }
        for first in (0..self.of.ranks).filter(|it| (it / stride).is_multiple_of(size)) {
            let group = jobs::Group::from_iter((0..size).map(|at| first + at * stride));
            let mut of_group: Vec<Option<u32>> =
                group.iter().map(|it| after[*it as usize]).collect();
            let part = Part {
                collective: &collective,
                group: &group,
                number: self.collectives,
                channel,
                label,
            };
            part.add(&mut self.draft, &mut of_group);
            for (rank, end) in group.iter().zip(of_group) {
                after[*rank as usize] = end;
            }
        }
        self.collectives += 1;
        true
    }

    /// How far members of a group are apart, and how many there are.
    fn shape(&self, group: Group) -> (u32, u32) {
        let dp = self.of.ranks / self.tp;
        match group {
            Group::Tp => (1, self.tp),
            Group::Dp => (self.tp, dp),
            Group::Ep => (self.tp, self.ep),
            Group::DpEp => (self.tp * self.ep, dp / self.ep),
        }
    }
}

fn then_compute(
    rank: &mut DraftRank,
    after: Option<u32>,
    time: Time,
    (stream, label): (u8, u16),
) -> u32 {
    let number = rank.add(Task::Compute(time), (stream, 0, label));
    if let Some(after) = after {
        rank.wait(number, after);
    }
    number
}
