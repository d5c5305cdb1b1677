//! Settings that differ between switches.

use unpause_protocols::units::Fraction;

use crate::fabric::{NodeId, PRIORITIES};

/// Settings of some switches with a shared buffer, in place of [`super::SwitchConfig`]'s. If several apply to one switch, the
/// last one that has a setting decides it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwitchOverride {
    /// Which.
    pub switches: Vec<NodeId>,
    /// Bit p set: priority p has PFC there, both ways. Only priorities that have it elsewhere can.
    pub lossless: Option<u8>,
    /// XOFF and XON, bytes, where thresholds are fixed.
    pub fixed: Option<(u64, u64)>,
    /// The shift of thresholds that are dynamic.
    pub shift: Option<i32>,
    /// Packet memory of the whole switch.
    pub buffer_bytes: Option<u64>,
    /// Largest lossy queue.
    pub lossy_queue_bytes: Option<u64>,
    /// PAUSE of priority p stops the queue of the priority at place p, for all p; by default each its own.
    pub pfc_to_queue: Option<[u8; PRIORITIES]>,
    /// Thresholds of marking by queue length, of every queue and scheme that marks so.
    pub red: Option<RedThresholds>,
}

/// No marks up to `kmin`, all above `kmax`, with probability `pmax` just below that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedThresholds {
    /// Bytes.
    pub kmin: u64,
    /// Bytes.
    pub kmax: u64,
    /// Probability at `kmax`.
    pub pmax: Fraction,
}
