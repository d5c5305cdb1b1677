//! Settings of queues at each port, as a scenario states them: those of most ports, and overrides where a switch or a port differs.

use std::collections::{BTreeMap, BTreeSet};

use super::fabric_ports::Use;
use super::writer::{Scope, Writer};

/// The setting of a queue or a group of a port.
#[derive(Clone)]
pub(super) struct At<'a, T> {
    pub at: Use<'a>,
    pub number: u8,
    pub value: T,
}

/// Which of several values counts for all, where some differ.
pub(super) type Choose<T> = fn(&[&T]) -> T;

/// The value that most have; of several the smallest.
pub(super) fn most<T: Ord + Clone>(values: &[&T]) -> T {
    let mut counts: BTreeMap<&T, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    // The last of equal ones is taken: from the largest down.
    let first = counts.into_iter().rev().max_by_key(|it| it.1);
    first.expect("there are some").0.clone()
}

/// The value that most have, or none if one has none.
pub(super) fn most_of_all<T: Ord + Clone>(values: &[&Option<T>]) -> Option<T> {
    if values.iter().any(|it| it.is_none()) {
        None
    } else {
        most(values)
    }
}

/// The values of each queue, the general ones first: what all have, what switches have otherwise, and what ports have otherwise
/// than their switch. `what` says what it is where ports to the same neighbour differ, which a scenario cannot tell apart.
pub(super) fn differing<T: Ord + Clone>(
    what: &str,
    all: &[At<'_, T>],
    choose: Choose<T>,
    writer: &mut Writer,
) -> Vec<(Scope, T)> {
    let mut found: BTreeMap<(Option<String>, Option<String>, T), BTreeSet<u8>> = BTreeMap::new();
    let numbers: BTreeSet<u8> = all.iter().map(|it| it.number).collect();
    for number in numbers {
        let own: Vec<&At<'_, T>> = all.iter().filter(|it| it.number == number).collect();
        let values = |of: &[&At<'_, T>]| {
            let values: Vec<T> = of.iter().map(|it| it.value.clone()).collect();
            choose(&values.iter().collect::<Vec<_>>())
        };
        let mut add = |port: Option<String>, switch: Option<String>, value: &T| {
            let key = (port, switch, value.clone());
            found.entry(key).or_default().insert(number);
        };
        let general = values(&own);
        add(None, None, &general);
        let switches: BTreeSet<usize> = own.iter().map(|it| it.at.switch).collect();
        for switch in switches {
            let of: Vec<&At<'_, T>> = own
                .iter()
                .filter(|it| it.at.switch == switch)
                .copied()
                .collect();
            let of_switch = values(&of);
            if of_switch != general {
                add(None, Some(of[0].at.db.name()), &of_switch);
            }
            let mut ports: BTreeMap<String, &T> = BTreeMap::new();
            for it in of {
                let name = it.at.name();
                let first = *ports.entry(name.clone()).or_insert(&it.value);
                if *first != it.value {
                    writer.leave_out(format!(
                        "{}: {what} of queue {number}: another port to the same neighbour has another one, which counts \
                         for both: a scenario names ports by their neighbours",
                        it.at.whose()
                    ));
                } else if it.value != of_switch {
                    add(Some(name), None, &it.value);
                }
            }
        }
    }
    let scope = |((port, switch, value), priorities)| {
        let scope = Scope {
            port,
            switch,
            priorities,
        };
        (scope, value)
    };
    found.into_iter().map(scope).collect()
}
