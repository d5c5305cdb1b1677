//! Priorities that depend on a flow's size.

use crate::fabric::PRIORITIES;

/// Priorities of flows up to some sizes; larger ones have [`FlowSettings::priority`].
///
/// [`FlowSettings::priority`]: super::FlowSettings::priority
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PriorityBySize {
    /// `(payload bytes, priority)`, by size; those that are not used come last.
    classes: [Option<(u64, u8)>; PRIORITIES - 1],
}

impl PriorityBySize {
    /// From `(payload bytes, priority)`: a flow has the priority of the first entry whose bytes are
    /// not fewer than its own.
    ///
    /// # Errors
    ///
    /// Says which entry is wrong: sizes must grow, and there is room for seven.
    pub fn new(classes: &[(u64, u8)]) -> Result<Self, String> {
        if let Some(pair) = classes.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            return Err(format!(
                "sizes must grow: {} B comes after {} B",
                pair[1].0, pair[0].0
            ));
        }
        let mut all = Self::default();
        if classes.len() > all.classes.len() {
            return Err(format!(
                "there are {} priorities, {} sizes divide flows into more",
                PRIORITIES,
                classes.len()
            ));
        }
        for (place, class) in all.classes.iter_mut().zip(classes) {
            *place = Some(*class);
        }
        Ok(all)
    }

    /// The priority of a flow of `bytes`, if it is not larger than every size here.
    pub fn of(&self, bytes: u64) -> Option<u8> {
        let mut classes = self.classes.iter().flatten();
        classes
            .find(|(upto, _)| bytes <= *upto)
            .map(|class| class.1)
    }

    /// All priorities, by size.
    pub fn priorities(&self) -> impl Iterator<Item = u8> {
        self.classes.iter().flatten().map(|class| class.1)
    }
}
