//! Links that fail, return and lose frames, and NICs that send PAUSE, during a run.

use unpause_protocols::units::{Rate, Time};

use super::direction::Direction;
use super::errors::ErrorEvent;
use crate::fabric::{NodeId, PortId};

/// Changes of links, known before the run, and how soon routes follow them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Events {
    /// The changes, in any order; of those of one link at one time the last one counts.
    pub links: Vec<LinkEvent>,
    /// Changes of the errors on links, likewise. At first there are none.
    pub errors: Vec<ErrorEvent>,
    /// Changes of the rates of links, likewise. At first they are those of the fabric, and never higher.
    pub rates: Vec<RateEvent>,
    /// NICs that send PAUSE for some time.
    pub storms: Vec<PauseStorm>,
    /// A link that has been down, or up again, for this long is noticed by the switches at its ends, which then use the
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

/// A change of the rate of a link. The frame that is being sent keeps its end; the next one has the new rate.
///
/// Only what leaves later depends on it: lookahead is that of the fabric's rates, so no link becomes faster than these.
/// Settings by link rate stay as they are: XOFF, headroom, pause times, thresholds of congestion points, the line rate
/// of senders, and ideal completion times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateEvent {
    /// When.
    pub at: Time,
    /// Index in [`super::Fabric::links`].
    pub link: usize,
    /// Which of its directions change.
    pub direction: Direction,
    /// From now on, up to [`super::Link::rate`].
    pub rate: Rate,
}

/// A NIC of a host, or each of them, sends PAUSE for all lossless priorities without a break. It still receives at line rate.
/// This is the NIC PAUSE storm of Guo et al., RDMA over Commodity Ethernet at Scale (SIGCOMM 2016), section 4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseStorm {
    /// The host.
    pub host: NodeId,
    /// Which of its NICs, or all.
    pub nic: Option<PortId>,
    /// When it sends the first XOFF.
    pub start: Time,
    /// When it sends XON; after the run, never.
    pub stop: Time,
}

impl PauseStorm {
    /// True if this NIC of a host is in it.
    pub fn is_at(&self, host: NodeId, nic: PortId) -> bool {
        self.host == host && self.nic.is_none_or(|it| it == nic)
    }
}

impl Events {
    /// True if no link changes.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.errors.is_empty() && self.rates.is_empty()
    }
}
