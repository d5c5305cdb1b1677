//! Flows of a host that start when others have ended at it.

use unpause_protocols::units::Time;

use super::state::Host;
use crate::engine::batch::FlowStart;
use crate::engine::log::{Ended, Log};
use crate::plan::Plan;
use crate::traffic::{Ending, FlowSpec};

impl Host {
    /// Keeps a flow of an entry that follows others until those have ended.
    pub fn wait_for(&mut self, start: FlowStart, plan: &Plan<'_>) {
        let group = start.spec.group;
        let following = plan.config.following.iter().find(|it| it.entry == group);
        let following = following.expect("only flows of such entries wait");
        let waiting = self.waiting.get_or_insert_default();
        waiting.gate(following, &start, plan).flows.push(start);
    }

    /// Flow `flow`, the one at place `number` of its entry, is to be heard of when it ends so, if some wait for it.
    pub(super) fn watch(
        &mut self,
        (flow, number): (u32, u32),
        spec: &FlowSpec,
        ending: Ending,
        plan: &Plan<'_>,
    ) {
        if plan.followers.watches(spec.group, ending) {
            let waiting = self.waiting.get_or_insert_default();
            waiting.driven = plan.followers.driven();
            waiting.watched.insert((flow, ending), (spec.group, number));
        }
    }

    /// A flow has ended at this host: what has waited for it alone starts, at times that count from now.
    #[cold]
    pub(super) fn ended(&mut self, now: Time, flow: u32, ending: Ending, log: &mut Log) {
        let Some(waiting) = &mut self.waiting else {
            return;
        };
        let Some((entry, number)) = waiting.watched.remove(&(flow, ending)) else {
            return;
        };
        if waiting.driven == Some(entry) {
            log.ended.push(Ended { flow, ending });
        }
        for mut start in waiting.end((entry, number), ending) {
            let spec = &mut start.spec;
            spec.start = now.saturating_add(spec.start);
            // Time::NEVER stays.
            spec.stop = now.saturating_add(spec.stop);
            log.released.push((start.id, spec.start));
            self.schedule(start);
        }
    }
}
