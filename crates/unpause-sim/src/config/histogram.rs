//! How long queues are, as histograms.

use unpause_protocols::units::Time;

/// When lengths of all egress queues of switches are counted into histograms, as HPCC's simulator does: from
/// `start` on at every `interval`, for the last time at the first such instant that is not before `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramProbe {
    /// Between two instants.
    pub interval: Time,
    /// The first one.
    pub start: Time,
    /// None after the first that has come to this.
    pub end: Time,
    /// The counts so far are reported at those instants that are multiples of this, which is a
    /// multiple of the interval.
    pub report: Time,
}
