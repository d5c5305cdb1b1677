//! Totals of a run over frames.

use std::collections::BTreeMap;
use std::time::Duration;

use unpause_sim::exchange::{GlobalPort, Kind};

use crate::refusal::Refusal;

/// Kinds of packets that are frames.
const KINDS: usize = Kind::Pfc as usize + 1;

/// The totals of a run over frames.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Frames sent.
    pub frames: u64,
    /// The same by what they are: [`Kind`] as a number.
    pub by_kind: [u64; KINDS],
    /// Their bytes, trailers included.
    pub bytes: u64,
    /// Frames sent that never came, or came damaged.
    pub lost: u64,
    /// Data packets among them.
    pub lost_data: u64,
    /// Time spent to encode, send, receive, check and decode; in real time, how long the run lasted.
    pub spent: Duration,
    /// Frames refused, by the port where they came and why; and the first of each.
    pub refused: BTreeMap<(GlobalPort, String), (u64, Refusal)>,
}

impl Tally {
    /// Counts a frame that is sent.
    pub fn sent(&mut self, kind: Kind, bytes: usize) {
        self.frames += 1;
        self.by_kind[kind as usize] += 1;
        self.bytes += bytes as u64;
    }

    /// Counts a frame that is not obeyed.
    pub fn refuse(&mut self, port: GlobalPort, refusal: Refusal) {
        let key = (port, refusal.kind());
        self.refused.entry(key).or_insert((0, refusal)).0 += 1;
    }

    /// Frames refused in all.
    pub fn refusals(&self) -> u64 {
        self.refused.values().map(|(count, _)| count).sum()
    }

    /// Adds what another run came to.
    pub fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        for (all, other) in self.by_kind.iter_mut().zip(other.by_kind) {
            *all += other;
        }
        self.bytes += other.bytes;
        self.lost += other.lost;
        self.lost_data += other.lost_data;
        self.spent += other.spent;
        for (key, (count, first)) in &other.refused {
            self.refused.entry(key.clone()).or_insert((0, *first)).0 += count;
        }
    }
}
