//! Which way on a link.

/// Directions of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Both of them.
    Both,
    /// From [`super::Link::a`] to [`super::Link::b`].
    Forward,
    /// From [`super::Link::b`] to [`super::Link::a`].
    Backward,
}

impl Direction {
    /// Which ends of the link send in these directions: 0 is [`super::Link::a`].
    pub fn senders(self) -> std::ops::Range<usize> {
        match self {
            Self::Both => 0..2,
            Self::Forward => 0..1,
            Self::Backward => 1..2,
        }
    }
}
