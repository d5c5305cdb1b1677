//! Strict priority.
//!
//! # What it does
//!
//! Sends from the highest-numbered queue that may send.
//!
//! # Source
//!
//! IEEE 802.1Q, 8.6.8.1: strict priority algorithm, numbered as there.
//!
//! # Parameters
//!
//! None.
//!
//! # Departures
//!
//! None.

use super::Mechanism;

/// Strict priority has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params;

/// Strict priority has no state.
#[derive(Clone, Copy, Debug)]
pub struct Strict;

impl Strict {
    /// The only one there is.
    pub fn new(_params: &Params) -> Self {
        Self
    }
}

impl Mechanism for Strict {
    #[inline]
    fn next(&mut self, eligible: u8, _head: impl Fn(u8) -> u32) -> Option<u8> {
        highest(eligible)
    }
}

/// The highest bit that is set.
#[inline]
pub(super) fn highest(bits: u8) -> Option<u8> {
    bits.checked_ilog2().map(|bit| bit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_eligible_queue_sends() {
        let mut strict = Strict::new(&Params);
        for (eligible, next) in [
            (0, None),
            (0b1, Some(0)),
            (0b0110, Some(2)),
            (0xff, Some(7)),
        ] {
            assert_eq!(strict.next(eligible, |_| 1500), next);
        }
    }
}
