//! Packets that had been held up on their way, and then came at once.

use std::collections::HashMap;

use unpause_protocols::units::Time;

use crate::causes::Wait;
use crate::fabric::{NodeId, PortId};
use crate::plan::Plan;

/// An egress and a priority.
type Egress = (NodeId, PortId, u8);

/// By flow when a switch that was paused last held it up.
pub struct Late {
    by_flow: HashMap<u32, Vec<Wait>>,
}

impl Late {
    /// Of what flows waited for, in any order.
    pub fn new(plan: &Plan<'_>, waits: &[Wait]) -> Self {
        let mut by_flow: HashMap<u32, Vec<Wait>> = HashMap::new();
        // A host sends on no faster than before.
        for wait in waits.iter().filter(|it| !plan.is_host(it.node)) {
            by_flow.entry(wait.flow).or_default().push(*wait);
        }
        for waits in by_flow.values_mut() {
            waits.sort_unstable_by_key(|it| (it.end, *it));
        }
        Self { by_flow }
    }

    /// The last egress that held up a flow until `at` or before, and when the PAUSE that it obeyed left its peer.
    pub fn last(&self, flow: u32, at: Time) -> Option<(Egress, Time)> {
        let waits = self.by_flow.get(&flow)?;
        let until = waits.partition_point(|it| it.end <= at);
        let wait = &waits[until.checked_sub(1)?];
        Some(((wait.node, wait.port, wait.priority), wait.sent))
    }
}
