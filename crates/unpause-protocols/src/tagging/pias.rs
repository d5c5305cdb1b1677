//! PIAS: a multi-level feedback queue by bytes sent.
//!
//! # What it does
//!
//! The first bytes of every flow are the most urgent; past each threshold the flow goes down a level.
//! Short flows so overtake long ones, though nobody knows their sizes.
//!
//! # Source
//!
//! W. Bai et al., "Information-Agnostic Flow Scheduling for Commodity Data Centers", NSDI 2015;
//! thresholds of the ECN# authors' ns-3 code (snowzjx/ns3-ecn-sharp).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `thresholds` | bytes | 140 000, 280 000, 420 000 | the authors' code: 100 segments of 1400 bytes a level |
//!
//! # Departures
//!
//! - A packet that crosses a threshold already has the lower level.
//! - The code restarts its counter of bytes at each level; here thresholds count from the start of the
//!   flow.
//! - SYNs and ACKs carry no bytes of the flow: their level is for the host to say.

use super::Mechanism;

/// Thresholds, at most: with 8 queues there are 8 levels.
const MOST: usize = 7;

/// Parameters of PIAS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Bytes that a flow may send in all at levels 0, 1, …; `u64::MAX` for "no further level".
    pub thresholds: [u64; MOST],
}

impl Default for Params {
    fn default() -> Self {
        Self::of(&[140_000, 280_000, 420_000])
    }
}

impl Params {
    /// As many levels as there are thresholds, and one more. Thresholds past the seventh are ignored.
    pub fn of(thresholds: &[u64]) -> Self {
        let mut all = [u64::MAX; MOST];
        all.iter_mut()
            .zip(thresholds)
            .for_each(|(into, threshold)| *into = *threshold);
        Self { thresholds: all }
    }
}

/// State of PIAS: its parameters.
#[derive(Clone, Debug)]
pub struct Pias {
    params: Params,
}

impl Pias {
    /// Tags by these thresholds.
    pub fn new(params: &Params) -> Self {
        Self { params: *params }
    }
}

impl Mechanism for Pias {
    #[inline]
    fn level(&self, offset: u64, bytes: u32) -> u8 {
        let sent = offset.saturating_add(u64::from(bytes));
        let passed = self
            .params
            .thresholds
            .iter()
            .filter(|threshold| sent > **threshold);
        passed.count() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_goes_down_a_level_every_hundred_segments() {
        let pias = Pias::new(&Params::default());
        for segment in 0..1000 {
            let level = (segment / 100).min(3);
            assert_eq!(pias.level(1400 * segment, 1400), level as u8);
        }
    }

    #[test]
    fn the_packet_that_crosses_a_threshold_has_the_lower_level() {
        let pias = Pias::new(&Params::of(&[1000]));
        assert_eq!(pias.level(0, 1000), 0);
        assert_eq!(pias.level(0, 1001), 1);
        assert_eq!(pias.level(999, 1), 0);
        assert_eq!(pias.level(1000, 1), 1);
        assert_eq!(pias.level(u64::MAX, u32::MAX), 1);
    }

    #[test]
    fn no_threshold_is_one_level_and_seven_are_eight() {
        assert_eq!(Pias::new(&Params::of(&[])).level(u64::MAX, 1), 0);
        let pias = Pias::new(&Params::of(&[1, 2, 3, 4, 5, 6, 7, 8, 9]));
        assert_eq!(pias.level(100, 1), 7);
    }
}
