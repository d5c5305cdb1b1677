//! A rank's part in a step of a collective operation.

use unpause_protocols::units::Time;

/// A message that a rank sends or receives in a step, before it is cut into slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Place of the other rank in the group.
    pub peer: u32,
    /// The first of its blocks.
    pub first: u32,
    /// How many blocks, from there on, and again from the first.
    pub count: u32,
    /// The receiver adds it to what it has.
    pub reduces: bool,
    /// Its bytes, where it carries parts of blocks of several ranks: there are no slices then.
    pub bytes: Option<u64>,
}

/// A rank's sends and receives in a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The parts that it sends, in this order.
    pub sends: Vec<Part>,
    /// The parts that it waits for.
    pub receives: Vec<Part>,
    /// It waits for the acknowledgements of what it sends, too.
    pub acknowledged: bool,
    /// How long it computes after that.
    pub compute: Time,
}

impl Step {
    /// A step in which nothing has been done.
    pub fn clear(&mut self) {
        self.sends.clear();
        self.receives.clear();
        self.acknowledged = false;
        self.compute = Time::ZERO;
    }
}
