//! A shard in a driven run: it finds out when flows may end, and runs hosts up to these instants.

use std::collections::BTreeSet;

use unpause_protocols::units::Time;

use super::Shard;
use crate::engine::window::NodeModel;
use crate::fabric::NodeId;
use crate::plan::Plan;
use crate::run::node::Node;

impl Shard {
    /// Adds to `found` when flows may end at `hosts` from now on and before `until`, if whoever drives the run waits for
    /// them. What arrives before must be in flight.
    pub fn ends(&mut self, hosts: &[NodeId], until: Time, found: &mut BTreeSet<(Time, NodeId)>) {
        for &id in hosts {
            if self.calendar.next[id as usize] < until
                && let Some(Node::Host(host)) = &self.nodes[id as usize]
            {
                if host.has_several_nics() {
                    self.inboxes.sort(id);
                }
                host.ends(self.inboxes.waiting(id), until, found);
            }
        }
    }

    /// The same for a host that holds packets back, after it has been run through the instant found before.
    pub fn ends_after(&mut self, host: NodeId, until: Time, found: &mut BTreeSet<(Time, NodeId)>) {
        if self.host(host).holds_back() {
            self.ends(&[host], until, found);
        }
    }

    /// Runs `host` up to instant `now`, and the arrivals and timers of that instant, but starts no flow there. The calendar stays
    /// as it is, because the host has yet to run through the rest of its window.
    pub fn run_to_instant(&mut self, plan: &Plan<'_>, host: NodeId, now: Time) {
        let mut first_sent = Time::NEVER;
        let start = self.calendar.next[host as usize];
        let (nodes, mut window) = self.open(plan, (start, now), &mut first_sent);
        if let Some(Node::Host(host)) = &mut nodes[host as usize] {
            host.run(&mut window);
            window.end = now + Time::from_ps(1);
            host.run_instant(now, &mut window);
        }
    }
}
