//! RoCE flows that give up: timeouts in a row, where `retry_count` limits them.

use std::collections::BTreeMap;

use unpause_protocols::units::Time;

use crate::engine::log::SenderEnd;
use crate::plan::Plan;

/// The flow of a sender that has given up, or whose rank has stopped, and that is not forgotten yet. No packet has this number.
pub const NOBODY: u32 = u32::MAX;

/// Timeouts in a row of a host's flows.
#[derive(Debug)]
pub struct Retries {
    most: u32,
    /// By flow: packets acknowledged at its last timeout, and timeouts since anything was.
    in_a_row: BTreeMap<u32, (u32, u32)>,
    /// By slot of the sender: flows that have ended and are not forgotten yet, and when they gave up. Connections end without that
    /// when their rank stops.
    ended: BTreeMap<u32, (u32, Option<Time>)>,
}

impl Retries {
    /// The retries of a host, if flows give up.
    pub fn of(plan: &Plan<'_>) -> Option<Box<Self>> {
        Some(Box::new(Self {
            most: plan.config.host.retry_count?,
            in_a_row: BTreeMap::new(),
            ended: BTreeMap::new(),
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

    /// The flow of the sender in `slot` ends here, perhaps because it gives up.
    pub fn end(&mut self, slot: u32, flow: u32, gave_up_at: Option<Time>) {
        self.in_a_row.remove(&flow);
        self.ended.insert(slot, (flow, gave_up_at));
    }

    /// The sender in `slot` is forgotten, or the run is over: adds to its record what has ended it.
    pub fn record(&mut self, slot: u32, record: Option<&mut SenderEnd>) {
        if let Some((flow, at)) = self.ended.remove(&slot)
            && let Some(record) = record
        {
            (record.flow, record.gave_up, record.gave_up_at) = (flow, at.is_some(), at);
        }
    }
}
