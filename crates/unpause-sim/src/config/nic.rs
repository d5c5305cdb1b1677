//! Models of a NIC.

use unpause_protocols::names::Names;

/// How a NIC chooses among its RoCE flows, and who wakes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum NicModel {
    /// In turn by when their rate limiters have let them go; each limiter wakes it.
    #[default]
    Own,
    /// As HPCC's simulator: in turn by when they have started, whatever their priority, the one after the last one
    /// served first. One timer wakes it, which nobody sets anew while it runs; so do ACKs, new flows, and the ends
    /// of a transmission and of a PAUSE. NAKs measure RTTs; duplicates of an active flow are not acknowledged.
    Hpcc,
}

impl NicModel {
    /// True if every ACK measures an RTT and wakes the NIC, whether or not the law asks for it.
    pub(crate) const fn hears_every_ack(self) -> bool {
        matches!(self, Self::Hpcc)
    }

    /// True if a NAK measures an RTT, as an ACK does: with lost ACKs it may be what ends a round trip.
    pub(crate) const fn times_naks(self) -> bool {
        matches!(self, Self::Hpcc)
    }

    /// True if a receiver acknowledges a packet that it has seen before. HPCC's simulator does not, and has no timeouts; after
    /// one, `is_retry`, a sender would never hear that the receiver has everything.
    pub(crate) const fn answers_duplicate(self, is_retry: bool) -> bool {
        matches!(self, Self::Own) || is_retry
    }
}
