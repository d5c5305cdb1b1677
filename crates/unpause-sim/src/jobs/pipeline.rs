//! Pipelines: micro-batches go forward from stage to stage, and their gradients back.
//!
//! A rank of the group is a stage. In each step it first sends what the computation of the step before has made, then waits
//! for what the next one needs, and computes. So it sends without waiting, and computes in a fixed order.
//!
//! # Sources
//!
//! Y. Huang et al.: "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", NeurIPS 2019;
//! D. Narayanan et al.: "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021, section
//! 2.2 (1F1B, and the share of a pipeline's bubble).

use unpause_protocols::units::Time;

use super::step::{Part, Step};

/// What goes through a pipeline in an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Micro-batches.
    pub micro_batches: u32,
    /// How long a stage computes for one on its way forward.
    pub forward: Time,
    /// The same on its way back.
    pub backward: Time,
}

/// Which way a micro-batch goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Forward,
    Backward,
}

impl Pipeline {
    /// Steps of a stage: a computation each, and one to send what the last has made.
    pub fn steps(&self) -> u32 {
        2 * self.micro_batches + 1
    }

    /// What stage `me` of `n` computes in a step; with `all_first` all go forward before any goes back.
    fn way(&self, (me, n): (u32, u32), all_first: bool, step: u32) -> Way {
        let all = self.micro_batches;
        let ahead = match all_first {
            true => all,
            // Forward for each stage behind it, then in turn.
            false => all.min(n - me - 1),
        };
        let in_turn = 2 * (all - ahead);
        match step.checked_sub(ahead) {
            None => Way::Forward,
            Some(turn) if turn < in_turn && turn.is_multiple_of(2) => Way::Forward,
            Some(_) => Way::Backward,
        }
    }

    /// What it does in a step.
    pub fn step(&self, (me, n): (u32, u32), all_first: bool, step: u32, to: &mut Step) {
        let (before, after) = (me.checked_sub(1), Some(me + 1).filter(|it| *it < n));
        let part = |peer: u32| Part {
            peer,
            first: 0,
            count: 1,
            reduces: false,
        };
        let way = |step| self.way((me, n), all_first, step);
        if let Some(done) = step.checked_sub(1) {
            let next = match way(done) {
                Way::Forward => after,
                Way::Backward => before,
            };
            to.sends.extend(next.map(part));
        }
        if step + 1 < self.steps() {
            let (from, compute) = match way(step) {
                Way::Forward => (before, self.forward),
                Way::Backward => (after, self.backward),
            };
            to.receives.extend(from.map(part));
            to.compute = compute;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPELINE: Pipeline = Pipeline {
        micro_batches: 4,
        forward: Time::from_us(1),
        backward: Time::from_us(2),
    };

    fn order(stage: u32, all_first: bool) -> String {
        let way = |step| match PIPELINE.way((stage, 3), all_first, step) {
            Way::Forward => 'F',
            Way::Backward => 'B',
        };
        (0..8).map(way).collect()
    }

    #[test]
    fn stages_compute_in_the_order_of_their_schedule() {
        let of = |all_first| [0, 1, 2].map(|stage| order(stage, all_first));
        assert_eq!(of(true), ["FFFFBBBB"; 3]);
        let expected = ["FFFBFBBB", "FFBFBFBB", "FBFBFBFB"];
        assert_eq!(of(false), expected);
    }

    #[test]
    fn few_micro_batches_all_go_forward_first() {
        let few = Pipeline {
            micro_batches: 2,
            ..PIPELINE
        };
        let way = |step| few.way((0, 8), false, step);
        assert_eq!(
            [0, 1, 2, 3].map(way),
            [Way::Forward, Way::Forward, Way::Backward, Way::Backward]
        );
    }
}
