//! RoCE flows that give up: timeouts in a row, where `retry_count` limits them.

use std::collections::BTreeMap;

use unpause_protocols::units::Time;

use crate::engine::log::SenderEnd;
use crate::plan::Plan;

/// The flow of a sender that has given up and is not forgotten yet. No packet has this number.
pub const NOBODY: u32 = u32::MAX;

/// Timeouts in a row of a host's flows.
#[derive(Debug)]
pub struct Retries {
    most: u32,
    /// By flow: packets acknowledged at its last timeout, and timeouts since anything was.
    in_a_row: BTreeMap<u32, (u32, u32)>,
    /// By slot of the sender: flows that have given up and are not forgotten yet, and when they did.
    gave_up: BTreeMap<u32, (u32, Time)>,
}

impl Retries {
    /// The retries of a host, if flows give up.
    pub fn of(plan: &Plan<'_>) -> Option<Box<Self>> {
        Some(Box::new(Self {
            most: plan.config.host.retry_count?,
            in_a_row: BTreeMap::new(),
            gave_up: BTreeMap::new(),
        }))
    }

    /// A flow has timed out after this many `acknowledged` packets. True if it has now timed out too often.
    pub fn count(&mut self, flow: u32, acknowledged: u32) -> bool {
        let (at, timeouts) = self.in_a_row.entry(flow).or_insert((acknowledged, 0));
        *timeouts = if *at == acknowledged {
            *timeouts + 1
        } else {
            1
        };
        *at = acknowledged;
        *timeouts > self.most
    }

    /// The flow of the sender in `slot` gives up.
    pub fn give_up(&mut self, slot: u32, flow: u32, now: Time) {
        self.in_a_row.remove(&flow);
        self.gave_up.insert(slot, (flow, now));
    }

    /// The sender in `slot`, which has given up, is forgotten, or the run is over: adds that to its record.
    pub fn record(&mut self, slot: u32, end: &mut SenderEnd) {
        if let Some((flow, at)) = self.gave_up.remove(&slot) {
            (end.flow, end.gave_up, end.gave_up_at) = (flow, true, Some(at));
        }
    }
}
