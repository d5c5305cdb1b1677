//! Packets that had been held up on their way, and then came at once.

use std::collections::{HashMap, HashSet};

use unpause_protocols::units::Time;

use crate::fabric::{NodeId, PortId};
use crate::outcome::causes::CauseRecord;
use crate::outcome::held_back::{Egress, Place};
use crate::plan::Plan;

/// By flow when a switch that was paused held it up; of flows in queues that may be left from that.
pub struct Late {
    by_flow: HashMap<u32, Vec<Held>>,
}

/// Until when an egress held up a flow, and when the PAUSE that it obeyed left its peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    end: Time,
    start: Time,
    egress: (NodeId, PortId, u8),
    sent: Time,
}

impl Late {
    /// Of what paused egresses held back, flow by flow.
    pub fn new(
        plan: &Plan<'_>,
        egresses: &[Egress],
        places: &[Place],
        causes: &[CauseRecord],
    ) -> Self {
        let holders = causes.iter().flat_map(|it| &it.holders);
        let flows = holders.filter(|it| it.hosts_fit).flat_map(|it| &it.flows);
        let asked: HashSet<u32> = flows.filter_map(|it| it.flow).collect();
        let mut by_flow: HashMap<u32, Vec<Held>> = HashMap::new();
        for place in places.iter().filter(|it| asked.contains(&it.flow())) {
            let egress = &egresses[place.egress()];
            // A host sends on no faster than before.
            if plan.is_host(egress.node) {
                continue;
            }
            let held = egress.waits(place).map(|(_, wait)| Held {
                end: wait.end,
                start: wait.start,
                egress: (wait.node, wait.port, wait.priority),
                sent: wait.sent,
            });
            by_flow.entry(place.flow()).or_default().extend(held);
        }
        for held in by_flow.values_mut() {
            held.sort_unstable();
        }
        Self { by_flow }
    }

    /// The last egress that held up a flow until `at` or before, and when the PAUSE that it obeyed left its peer.
    pub fn last(&self, flow: u32, at: Time) -> Option<((NodeId, PortId, u8), Time)> {
        let held = self.by_flow.get(&flow)?;
        let until = held.partition_point(|it| it.end <= at);
        let last = &held[until.checked_sub(1)?];
        Some((last.egress, last.sent))
    }
}
