//! Adaptive load balancing: the way out that has least before a packet.

use rand_core::Rng;

use crate::config::AdaptiveBalancing;
use crate::fabric::PortId;
use crate::plan::Plan;
use crate::port::{Queue, urgency};

/// Chooses among equal next hops.
#[derive(Clone, Debug)]
pub struct Balancer {
    thresholds: AdaptiveBalancing,
    classes: usize,
    /// For each class, bit c set: class c is as urgent or more.
    ahead: Vec<u8>,
}

impl Balancer {
    /// For switches of `plan`.
    pub fn new(thresholds: AdaptiveBalancing, plan: &Plan<'_>) -> Self {
        let classes = plan.classes.count();
        let urgency = |class: usize| urgency(class as u8, plan);
        let ahead = |class: usize| {
            (0..classes)
                .filter(|&other| urgency(other) >= urgency(class))
                .fold(0, |mask, other| mask | 1 << other)
        };
        Self {
            thresholds,
            classes,
            ahead: (0..classes).map(ahead).collect(),
        }
    }

    /// One of `choices` for a packet of `class`. Each port has `queues` by class.
    pub fn choose<R: Rng>(
        &self,
        choices: &[PortId],
        class: u8,
        queues: &[Queue],
        rng: &mut R,
    ) -> Option<PortId> {
        if let [only] = choices {
            return Some(*only);
        }
        let grade = |port: PortId| {
            let first = port as usize * self.classes;
            let ahead = self.ahead[class as usize];
            let bytes: u64 = (0..self.classes)
                .filter(|class| ahead >> class & 1 == 1)
                .map(|class| queues[first + class].bytes)
                .sum();
            u8::from(bytes >= self.thresholds.min_bytes)
                + u8::from(bytes >= self.thresholds.max_bytes)
        };
        let best = choices.iter().map(|&port| grade(port)).min()?;
        let candidates = choices.iter().filter(|&&port| grade(port) == best);
        let random = u64::from(rng.next_u32());
        let nth = (random * candidates.clone().count() as u64) >> 32;
        candidates.copied().nth(nth as usize)
    }
}
