//! What of a host moves on with time.

use unpause_protocols::state_visitor::{Show, StateVisitor};

use super::state::Host;
use super::tcp::Tcp;
use crate::plan::Plan;

impl Host {
    /// Shows its state.
    pub fn show<L: StateVisitor>(&mut self, plan: &Plan<'_>, visitor: &mut L) {
        self.show_own(plan.config.host.ack_every, visitor);
        if let Some(ranks) = &mut self.ranks {
            ranks.show(plan, visitor);
        }
        if !self.others.is_empty() {
            let number = self.number;
            visitor.same(u64::from(number));
            let resting = (0..).zip(&mut self.others);
            let resting = resting.filter(|(nic, _)| *nic != number);
            resting.for_each(|(_, nic)| nic.show(visitor));
        }
        self.set_start();
        self.set_rare();
    }
}

impl Tcp {
    /// True if it has never had a flow.
    pub(super) fn is_idle(&self) -> bool {
        let Self {
            senders,
            receivers,
            pool,
            qdisc: _,
        } = self;
        senders.is_empty() && receivers.is_empty() && pool.is_empty()
    }
}
