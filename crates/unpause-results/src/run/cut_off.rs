//! Hosts that no path joins at the end of a run, because links are down.

use std::collections::{BTreeMap, BTreeSet};

use unpause_protocols::units::Time;
use unpause_sim::config::NodeId;
use unpause_sim::results::{LinkChange, Results};

use crate::run::distances::Distances;
use crate::run::link_names::Port;
use crate::run::measured::Measured;

/// Which hosts still reach which.
pub struct CutOff<'a> {
    /// None if no link is down.
    distances: Option<Distances<'a>>,
}

impl<'a> CutOff<'a> {
    /// At the end of this run.
    pub fn new(measured: &'a Measured) -> Self {
        let down = down_during(&measured.results, (Time::NEVER, Time::NEVER));
        let down: BTreeSet<Port> = down.into_keys().collect();
        let distances = (!down.is_empty()).then(|| Distances::new(&measured.run, down));
        Self { distances }
    }

    /// True if packets of one host cannot come to the other, or none come back.
    pub fn separates(&mut self, one: NodeId, other: NodeId) -> bool {
        let leads = |it: &mut Distances<'_>, from, to| it.between(from, to).is_some();
        let distances = self.distances.as_mut();
        distances.is_some_and(|it| !leads(it, one, other) || !leads(it, other, one))
    }
}

/// Ports whose wire is down at some time from the one to the other, each with the time since when.
pub fn down_during(results: &Results, (from, to): (Time, Time)) -> BTreeMap<Port, Time> {
    let mut down = BTreeMap::new();
    for change in &results.link_changes {
        if let LinkChange::Wire { at, node, port, up } = *change
            && at <= if up { from } else { to }
        {
            if up {
                down.remove(&(node, port));
            } else {
                down.entry((node, port)).or_insert(at);
            }
        }
    }
    down
}
