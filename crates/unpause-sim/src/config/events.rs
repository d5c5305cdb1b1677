//! Links that fail, return and lose frames while a run goes on.

use unpause_protocols::units::Time;

use super::direction::Direction;
use super::errors::ErrorEvent;

/// Changes of links, known before the run, and how soon routes follow them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// The changes, in any order; of those of one link at one time the last one counts.
    pub links: Vec<LinkEvent>,
    /// Changes of the errors on links, likewise. At first there are none.
    pub errors: Vec<ErrorEvent>,
    /// A link that has been down, or up again, for so long is noticed by the switches at its ends, which then use the
    /// equal paths that are left.
    pub detection: Time,
    /// From then on until all switches have the routes of the fabric as it is.
    pub convergence: Time,
}

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEvent {
    /// When.
    pub at: Time,
    /// Index in [`super::Fabric::links`].
    pub link: usize,
    /// Which of its directions change.
    pub direction: Direction,
    /// It works from now on, or it does not.
    pub up: bool,
}

impl Events {
    /// True if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.errors.is_empty()
    }
}
