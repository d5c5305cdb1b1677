//! Flows that begin: their receivers and senders hear of them.

use crate::engine::batch::FlowStart;
use crate::plan::Plan;
use crate::traffic::FlowSpec;

use super::Shard;

impl Shard {
    /// Makes place for a flow at its receiver, which is sampled from its start on.
    pub fn expect_flow(&mut self, plan: &Plan<'_>, of: (u32, u32), spec: &FlowSpec) -> u32 {
        let host = self.host(spec.dst);
        let slot = host.expect(of.0, of.1, spec, plan);
        if spec.recorded {
            let sample = host.next_sample();
            self.calendar.wake(spec.dst, sample);
        }
        slot
    }

    /// Hands a flow to its sender, in this shard or another, with its start or to wait for others.
    pub fn start_flow(&mut self, plan: &Plan<'_>, start: FlowStart) {
        let to = self.shard_of[start.spec.src as usize];
        if plan.followers.has(start.id) {
            if to == self.index {
                self.host(start.spec.src).wait_for(start, plan)
            } else {
                self.outboxes[to as usize].starts.push(start)
            }
        } else if to == self.index {
            self.host(start.spec.src).schedule(start);
            self.calendar.wake(start.spec.src, start.spec.start);
        } else {
            let half = plan.schedule.outer.of(start.spec.src);
            self.first_sent.add(half, start.spec.start);
            self.outboxes[to as usize].starts.push(start);
        }
    }
}
