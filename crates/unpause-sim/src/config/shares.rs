//! Shares of a NIC's port.

use super::PRIORITIES;

/// How the priorities of a NIC share its port, as with ETS (802.1Q, clause 37).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicShares {
    /// By priority: bytes in proportion to it. Priorities with 0 are served before those with a weight, the most urgent
    /// first.
    pub weights: [u16; PRIORITIES],
}
