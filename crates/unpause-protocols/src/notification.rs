//! Notifications that travel back to the sender of a flow.

/// Feedback of an 802.1Qau congestion notification message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QcnFeedback {
    /// Quantised feedback, 0 to 63: the larger, the more congested.
    pub qfb: u8,
    /// Equilibrium minus present queue length in bytes: negative when the queue is too long.
    pub q_offset: i32,
    /// Present queue length minus that of the sample before, in bytes.
    pub q_delta: i32,
}

/// A message to the reaction point of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Notification {
    /// DCQCN's CNP: the flow had marked packets.
    Cnp,
    /// PCN's CNP.
    Pcn {
        /// Decrease (true) or increase.
        congested: bool,
        /// Receive rate in units of the notification point's `rec_rate_unit`; 0 in an increase.
        rec_rate: u32,
    },
    /// A congestion notification message of 802.1Qau.
    Qcn(QcnFeedback),
}
