//! Flows that wait for others, behind gates that count what has to end.

use std::collections::BTreeMap;

use crate::engine::batch::FlowStart;
use crate::plan::Plan;
use crate::traffic::{Ending, Following, Matching};

/// Flows of a host that wait, and those that they wait for.
///
/// The host's agenda adds flows before the run begins. It [watches](Self::watched) for the end of a flow that others wait for: at its
/// receiver from before its first packet on, at its sender from its start on. [`Self::end`] releases the flows that have waited for
/// the last flow to end.
#[derive(Debug, Default)]
pub struct Waiting {
    gates: Vec<Gate>,
    /// The gate of the flows of an entry; of one flow of it, where each waits for its own.
    of_entry: BTreeMap<(u16, Option<u32>), usize>,
    /// The gates that wait for flows of an entry; for one flow of it, if only for that.
    after: BTreeMap<(u16, Ending, Option<u32>), Vec<usize>>,
    /// Active flows that others wait for: their entry, and position in it.
    pub watched: BTreeMap<(u32, Ending), (u16, u32)>,
    /// The program that drives the run waits for flows of this entry.
    pub driven: Option<u16>,
}

/// Flows that start together.
#[derive(Debug)]
pub struct Gate {
    /// Flows that have yet to end.
    left: u32,
    pub flows: Vec<FlowStart>,
}

impl Waiting {
    /// The gate of a flow of `following`.
    pub fn gate(&mut self, following: &Following, flow: &FlowStart, plan: &Plan<'_>) -> &mut Gate {
        let number = match following.matching {
            Matching::All => None,
            Matching::Each => Some(flow.number),
        };
        let gate = *self
            .of_entry
            .entry((following.entry, number))
            .or_insert_with(|| {
                let gate = self.gates.len();
                let left = match number {
                    None => plan.followers.awaited(following, flow.spec.src),
                    Some(_) => 1,
                };
                let flows = Vec::new();
                self.gates.push(Gate { left, flows });
                for &entry in &following.after {
                    let key = (entry, following.ending, number);
                    self.after.entry(key).or_default().push(gate);
                }
                gate
            });
        &mut self.gates[gate]
    }

    /// The flows that waited only for the end of this flow, number `number` of its entry.
    pub fn end(&mut self, (entry, number): (u16, u32), ending: Ending) -> Vec<FlowStart> {
        let mut released = Vec::new();
        for number in [None, Some(number)] {
            let gates = self.after.get(&(entry, ending, number));
            for &gate in gates.into_iter().flatten() {
                let gate = &mut self.gates[gate];
                gate.left -= 1;
                if gate.left == 0 {
                    released.append(&mut gate.flows);
                }
            }
        }
        released
    }

    /// Flows that have to end before all that waits here has started.
    pub fn left(&self) -> u64 {
        self.gates.iter().map(|gate| u64::from(gate.left)).sum()
    }
}
