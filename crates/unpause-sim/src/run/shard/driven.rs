//! What a shard does for whoever drives the run: it says when flows may end, and stops there.

use unpause_protocols::units::Time;

use super::Shard;
use crate::fabric::NodeId;
use crate::plan::Plan;
use crate::run::node::Node;

impl Shard {
    /// Adds to `found` when flows may end at `hosts` from now on and before `until`, if whoever drives the run waits for
    /// them. What arrives before must be in flight. Answers up to which time that is all.
    pub fn ends(
        &mut self,
        hosts: &[NodeId],
        mut until: Time,
        found: &mut Vec<(Time, NodeId)>,
    ) -> Time {
        for &id in hosts {
            if self.calendar.next[id as usize] < until
                && let Some(Node::Host(host)) = &self.nodes[id as usize]
            {
                if host.has_several_nics() {
                    self.inboxes.sort(id);
                }
                until = host.ends(self.inboxes.waiting(id), until, found);
            }
        }
        until
    }

    /// Runs `host` through instant `now`, before which it has nothing to do, up to where flows start.
    pub fn run_instant(&mut self, plan: &Plan<'_>, host: NodeId, now: Time) {
        let mut mailed = Time::NEVER;
        let end = now + Time::from_ps(1);
        let (nodes, mut window) = self.open(plan, (now, end), &mut mailed);
        if let Some(Node::Host(host)) = &mut nodes[host as usize] {
            host.run_instant(now, &mut window);
        }
    }
}
