//! Pipelines: micro-batches go forward from stage to stage, and their gradients back.
//!
//! A rank of the group is a stage. In each step it first sends what the computation of the step before has made, then waits
//! for what the next one needs, and computes. So it sends without waiting, and computes in a fixed order.
//!
//! With virtual stages a rank has several chunks of the model: chunk `c` of rank `p` of `n` is stage `c n + p`, so a
//! micro-batch goes around all ranks once for each chunk, and computing is as much shorter.
//!
//! # Sources
//!
//! Y. Huang et al.: "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism", NeurIPS 2019;
//! D. Narayanan et al.: "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021, section
//! 2.2 (1F1B, the interleaved schedule, and the share of a pipeline's bubble).

use unpause_protocols::units::Time;

use super::step::{Part, Step};

/// The pipeline of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pipeline {
    /// Micro-batches.
    pub micro_batches: u32,
    /// Chunks of the model at each rank.
    pub chunks: u32,
    /// How long a rank computes for one micro-batch on its way forward, in all its chunks.
    pub forward: Time,
    /// The same on its way back.
    pub backward: Time,
}

/// In which order ranks compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All forward first, then all back.
    AllFirst,
    /// As many forward as there are stages behind, then one forward and one back in turn.
    InTurn,
    /// The same with several chunks: micro-batches go through a chunk in groups of as many as there are ranks.
    Interleaved,
}

/// A computation: on which way, in which chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Forward(u32),
    Backward(u32),
}

impl Pipeline {
    /// Steps of a rank: a computation each, and one to send what the last has made.
    pub fn steps(&self) -> u32 {
        2 * self.computations() + 1
    }

    /// On their way forward.
    fn computations(&self) -> u32 {
        self.micro_batches * self.chunks
    }

    /// The direction in which rank `me` of `n` computes in a step.
    fn way(&self, (me, n): (u32, u32), order: Order, step: u32) -> Way {
        let all = self.computations();
        let behind = n - me - 1;
        let ahead = match order {
            Order::AllFirst => all,
            Order::InTurn => all.min(behind),
            Order::Interleaved => all.min(2 * behind + (self.chunks - 1) * n),
        };
        let chunk = |number: u32| number % (n * self.chunks) / n;
        let forward = |number| Way::Forward(chunk(number));
        let backward = |number| Way::Backward(self.chunks - 1 - chunk(number));
        let in_turn = 2 * (all - ahead);
        match step.checked_sub(ahead) {
            None => forward(step),
            Some(turn) if turn < in_turn && turn.is_multiple_of(2) => forward(ahead + turn / 2),
            Some(turn) if turn < in_turn => backward(turn / 2),
            Some(_) => backward(step - all),
        }
    }

    /// Writes a step of rank `me` of `n` into `to`.
    pub fn step(&self, (me, n): (u32, u32), order: Order, step: u32, to: &mut Step) {
        let part = |peer: u32| Part {
            peer,
            first: 0,
            count: 1,
            reduces: false,
            bytes: None,
        };
        // The rank of the stage before and after, if there is one.
        let before = |chunk: u32| match me {
            0 => Some(n - 1).filter(|_| chunk > 0),
            _ => Some(me - 1),
        };
        let after = |chunk: u32| {
            if me + 1 == n {
                Some(0).filter(|_| chunk + 1 < self.chunks)
            } else {
                Some(me + 1)
            }
        };
        let way = |step| self.way((me, n), order, step);
        if let Some(done) = step.checked_sub(1) {
            let next = match way(done) {
                Way::Forward(chunk) => after(chunk),
                Way::Backward(chunk) => before(chunk),
            };
            to.sends.extend(next.map(part));
        }
        if step + 1 < self.steps() {
            let (from, compute) = match way(step) {
                Way::Forward(chunk) => (before(chunk), self.forward),
                Way::Backward(chunk) => (after(chunk), self.backward),
            };
            to.receives.extend(from.map(part));
            to.compute = Time::from_ps(compute.as_ps() / u64::from(self.chunks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPELINE: Pipeline = Pipeline {
        micro_batches: 4,
        chunks: 1,
        forward: Time::from_us(1),
        backward: Time::from_us(2),
    };

    fn order(of: Pipeline, (stage, n): (u32, u32), order: Order) -> String {
        let way = |step| match of.way((stage, n), order, step) {
            Way::Forward(chunk) => char::from(b'A' + chunk as u8),
            Way::Backward(chunk) => char::from(b'a' + chunk as u8),
        };
        (0..of.steps() - 1).map(way).collect()
    }

    #[test]
    fn stages_compute_in_the_order_of_their_schedule() {
        let of = |by| [0, 1, 2].map(|stage| order(PIPELINE, (stage, 3), by));
        assert_eq!(of(Order::AllFirst), ["AAAAaaaa"; 3]);
        let expected = ["AAAaAaaa", "AAaAaAaa", "AaAaAaAa"];
        assert_eq!(of(Order::InTurn), expected);
    }

    #[test]
    fn few_micro_batches_all_go_forward_first() {
        let few = Pipeline {
            micro_batches: 2,
            ..PIPELINE
        };
        assert_eq!(order(few, (0, 8), Order::InTurn), "AAaa");
    }

    /// As figure 4 of the paper on Megatron-LM draws it: four ranks of two chunks, eight micro-batches.
    #[test]
    fn chunks_are_interleaved() {
        let of = Pipeline {
            micro_batches: 8,
            chunks: 2,
            ..PIPELINE
        };
        let last = order(of, (3, 4), Order::Interleaved);
        assert_eq!(last, "AAAABbBbBbBbAaAaAaAaBbBbBbBbaaaa");
        let first = order(of, (0, 4), Order::Interleaved);
        assert_eq!(first, "AAAABBBBAAAbAbBbBbBaBaaabbbbaaaa");
    }
}
