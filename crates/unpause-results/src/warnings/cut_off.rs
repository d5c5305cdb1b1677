//! Hosts that no path joins at the end of a run, because links are down.

use std::collections::BTreeSet;

use unpause_sim::config::{NodeId, PortId};
use unpause_sim::results::{LinkChange, Results};

use crate::run::measured::Measured;
use crate::warnings::distances::Distances;

/// Which hosts still reach which.
pub struct CutOff<'a> {
    /// None if no link is down.
    distances: Option<Distances<'a>>,
}

impl<'a> CutOff<'a> {
    /// At the end of this run.
    pub fn new(measured: &'a Measured) -> Self {
        let down = down(&measured.results);
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

/// Ports whose wire is down at the end.
fn down(results: &Results) -> BTreeSet<(NodeId, PortId)> {
    let mut down = BTreeSet::new();
    for change in &results.link_changes {
        if let LinkChange::Wire { node, port, up, .. } = *change {
            match up {
                true => down.remove(&(node, port)),
                false => down.insert((node, port)),
            };
        }
    }
    down
}
