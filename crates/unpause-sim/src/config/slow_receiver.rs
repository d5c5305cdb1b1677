//! Hosts that do not take what their link brings.

use unpause_protocols::units::{Rate, Time};

use crate::fabric::NodeId;

/// NICs that for some time take data packets out of their receive buffers more slowly than their links
/// bring them, and send PAUSE: the slow-receiver symptom and, at no rate at all, the NIC PAUSE storm of Guo et al., RDMA over
/// Commodity Ethernet at Scale (SIGCOMM 2016), sections 4.4 and 4.3. PFC is that of the switches
/// ([`super::PfcConfig`]) but for its thresholds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowReceiver {
    /// The hosts.
    pub hosts: Vec<NodeId>,
    /// So fast packets leave the buffer of each; zero: not at all.
    pub drain_rate: Rate,
    /// From then on.
    pub start: Time,
    /// Until then; what is in the buffer leaves it at the link's rate after that.
    pub stop: Time,
    /// PAUSE above this many bytes of a lossless priority.
    pub xoff_bytes: u64,
    /// XON at or below this many.
    pub xon_bytes: u64,
    /// Room of a host's whole buffer. `None`: XOFF, the frame that exceeds it and, by the formula of IEEE 802.1Q, what comes
    /// after that, for each lossless priority, and as much for all others, which hold no more.
    pub buffer_bytes: Option<u64>,
}
