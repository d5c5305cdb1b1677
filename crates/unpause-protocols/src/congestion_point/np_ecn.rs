//! NP-ECN ("Non-PAUSE ECN"): the congestion point of PCN.
//!
//! # What it does
//!
//! Marks every packet that leaves a backlog behind, except those that a PAUSE held: at each resume the
//! packets then waiting are counted, and so many departures go unmarked.
//!
//! # Source
//!
//! W. Cheng et al., "Re-architecting Congestion Management in Lossless Ethernet", NSDI 2020, the
//! congestion point (PN counter, ECN threshold zero).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `mark_basis` | - | `DequeueAfter` | the paper is silent; ns3-rdma evaluates ECN after removal |
//!
//! The ECN threshold, zero, is the paper's and fixed.
//!
//! # Departures
//!
//! - The counter is per (port, priority), as PFC is; the paper speaks of one per port.
//! - An XON, or a PAUSE, that changes nothing leaves the counter alone; a PAUSE that runs out counts as
//!   a resume.
//! - A packet removed otherwise than by transmission caps the counter at the queue length.

use rand_core::Rng;

use super::{Mechanism, Packet, Queue, Verdict};
use crate::units::Time;

/// Which queue length is compared with zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MarkBasis {
    /// What the packet leaves behind: the one that empties the queue is not marked.
    #[default]
    DequeueAfter,
    /// What the packet found: the one that opens a busy period is not marked.
    EnqueueBefore,
}

/// Parameters of NP-ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {
    /// Which queue length decides.
    pub mark_basis: MarkBasis,
}

/// State of NP-ECN.
#[derive(Clone, Debug)]
pub struct NpEcn {
    mark_basis: MarkBasis,
    paused: bool,
    /// The packet at the head is the only one that found the queue empty.
    head_found_empty: bool,
    /// The paper's PN: packets still in the queue that a PAUSE held.
    held: u32,
}

impl NpEcn {
    /// The queue is empty and not paused.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        Self {
            mark_basis: params.mark_basis,
            paused: false,
            head_found_empty: false,
            held: 0,
        }
    }
    /// The paper's PN: how many of the next departures will go unmarked.
    pub fn held(&self) -> u32 {
        self.held
    }
    /// True between a PAUSE and the resume after it.
    pub fn is_paused(&self) -> bool {
        self.paused
    }
}

impl Mechanism for NpEcn {
    #[inline]
    fn on_enqueue<R: Rng>(
        &mut self,
        _now: Time,
        _packet: &Packet,
        queue: Queue,
        _rng: &mut R,
    ) -> Verdict {
        let before = queue.packets.saturating_sub(1);
        self.head_found_empty |= before == 0;
        self.held = self.held.min(before);
        Verdict::Pass
    }

    #[inline]
    fn on_dequeue<R: Rng>(
        &mut self,
        _now: Time,
        packet: &Packet,
        queue: Queue,
        _rng: &mut R,
    ) -> Verdict {
        let found_empty = core::mem::take(&mut self.head_found_empty);
        if self.held > 0 {
            self.held = (self.held - 1).min(queue.packets);
            return Verdict::Pass;
        }
        let backlog = match self.mark_basis {
            MarkBasis::DequeueAfter => queue.bytes > 0,
            MarkBasis::EnqueueBefore => !found_empty,
        };
        if packet.ect && backlog {
            Verdict::MarkCe
        } else {
            Verdict::Pass
        }
    }

    fn on_pause(&mut self, _now: Time) {
        self.paused = true;
    }

    fn on_resume(&mut self, _now: Time, queue: Queue) {
        if self.paused {
            self.paused = false;
            self.held = queue.packets;
        }
    }
}
