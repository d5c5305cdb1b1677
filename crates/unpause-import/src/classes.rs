//! The maps of classes to egress queues and to priority groups, and of PAUSE to queues: where they do not fit together.

/// A fault of the maps about one priority with PFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// No class fills the group that asks for its PAUSE; the class that waits in the queue that it stops, if there is one.
    Unfed {
        /// That class.
        class: Option<u8>,
    },
    /// This class fills the group that asks for PAUSE, and waits in another queue than the one that PAUSE stops.
    Another {
        /// The class.
        class: u8,
    },
    /// This class waits in the queue that PAUSE stops, and fills another group.
    Stopped {
        /// The class.
        class: u8,
    },
}

/// The faults about a priority with PFC, of which are given the group that asks for its PAUSE and the queue that its PAUSE stops.
///
/// `classes` are those in use; `group_of` and `queue_of` give the group that a class fills and the queue in which it waits,
/// where the maps have an entry for it.
pub fn mismatches(
    classes: impl Iterator<Item = u8> + Clone,
    (group_of, queue_of): (impl Fn(u8) -> Option<u8>, impl Fn(u8) -> Option<u8>),
    (group, queue): (u8, u8),
) -> Vec<Mismatch> {
    let fills = |class: &u8| group_of(*class) == Some(group);
    let waits = |class: &u8| queue_of(*class) == Some(queue);
    let mut found = Vec::new();
    if !classes.clone().any(|class| fills(&class)) {
        let class = classes.clone().find(waits);
        found.push(Mismatch::Unfed { class });
    }
    let another = classes
        .clone()
        .filter(|class| fills(class) && !waits(class));
    found.extend(another.map(|class| Mismatch::Another { class }));
    let stopped = classes.filter(|class| waits(class) && !fills(class));
    found.extend(stopped.map(|class| Mismatch::Stopped { class }));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(groups: [u8; 8], queues: [u8; 8], priority: (u8, u8)) -> Vec<Mismatch> {
        let maps = (
            |class: u8| Some(groups[usize::from(class)]),
            |class: u8| Some(queues[usize::from(class)]),
        );
        mismatches(0..8, maps, priority)
    }

    #[test]
    fn maps_fit_if_the_class_that_fills_a_group_waits_in_the_queue_that_is_stopped() {
        let own = [0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(of(own, own, (3, 3)), []);
        // PAUSE of 3 stops queue 1.
        let found = [
            Mismatch::Another { class: 3 },
            Mismatch::Stopped { class: 1 },
        ];
        assert_eq!(of(own, own, (3, 1)), found);
        // Class 3 fills group 4.
        let groups = [0, 1, 2, 4, 4, 5, 6, 7];
        let found = [
            Mismatch::Unfed { class: Some(3) },
            Mismatch::Stopped { class: 3 },
        ];
        assert_eq!(of(groups, own, (3, 3)), found);
        assert_eq!(of(groups, own, (4, 4)), [Mismatch::Another { class: 3 }]);
    }
}
