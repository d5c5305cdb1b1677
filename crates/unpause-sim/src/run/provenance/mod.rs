//! From PAUSEs, and what held the bytes at each, to where they began and whom they held up
//! ([`crate::config::Probes::causes`]).
//!
//! At each transition to XOFF a switch has looked through what the ingress holds, and at the end of each pause
//! transmitters have said which flows it held back ([`crate::outcome::held_back`]). When the run is over, [`graph`] follows
//! PAUSE to PAUSE to the root, and [`victims`] tells the flows that had no part in it.

mod graph;
mod late;
mod victims;

use crate::engine::log::FlowEnd;
use crate::outcome::causes::{CauseRecord, Expiry, VictimRecord};
use crate::outcome::held_back::{self, Egress};
use crate::plan::Plan;

/// PAUSEs by time, each with its root and for how long it held its neighbour, and their victims.
pub fn told(
    plan: &Plan<'_>,
    causes: Vec<CauseRecord>,
    egresses: &[Egress],
    expiries: &[Expiry],
    flows: &[FlowEnd],
) -> (Vec<CauseRecord>, Vec<VictimRecord>) {
    let places = held_back::by_flow(egresses);
    let mut graph = graph::Graph::new(plan, causes, egresses, &places, expiries);
    let held_by = graph.hold(egresses);
    let waits = victims::Waits {
        egresses,
        places: &places,
        held_by: &held_by,
    };
    let victims = victims::of_waits(plan, &graph, &waits, flows);
    (graph.into_causes(), victims)
}
