//! When wires next changed: without a look at the changes of others.

use std::collections::BTreeSet;

use unpause_protocols::units::Time;
use unpause_sim::results::{LinkChange, Results};

use crate::run::link_names::Port;

/// Changes of one kind, by the port that sends by the wire and by time.
pub struct Changes(BTreeSet<(Port, Time)>);

impl Changes {
    /// Those that `is_one` says are of the kind.
    pub fn of(results: &Results, is_one: impl Fn(&LinkChange) -> bool) -> Self {
        let all = results.link_changes.iter().filter(|it| is_one(it));
        Self(all.filter_map(|it| Some((it.port()?, it.at()))).collect())
    }

    /// The first change of a wire after a time; never if there was none.
    pub fn next(&self, wire: Port, after: Time) -> Time {
        let own = self.0.range((wire, after)..=(wire, Time::NEVER));
        let mut later = own.map(|it| it.1).filter(|at| *at > after);
        later.next().unwrap_or(Time::NEVER)
    }
}
