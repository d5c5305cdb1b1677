//! PFC of switches.

use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::{Rate, Time};

use super::threshold::PfcThreshold;

/// PFC at the ingress of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct PfcConfig {
    /// Pause time, refresh and counting.
    pub params: pfc::Params,
    /// When to send XOFF and XON.
    pub threshold: PfcThreshold,
    /// Instead of the shift of a dynamic threshold, at ports of these rates: all there are, or none.
    pub shifts: Vec<(Rate, i32)>,
    /// Bytes per (ingress port, priority) for what arrives after XOFF was sent. `None`: by the
    /// formula of IEEE 802.1Q for each link ([`pfc::headroom`]).
    pub headroom_bytes: Option<u64>,
    /// Headroom that the ports of a switch share, bytes. `None`: the sum of the ports' headroom. Shared buffers only.
    pub headroom_pool_bytes: Option<u64>,
    /// The same at ports of these rates: all there are, or none.
    pub headrooms: Vec<(Rate, u64)>,
    /// Instead of both, what the link carries in this many times its delay.
    pub headroom_delays: Option<u32>,
    /// How long a transmitter takes to obey a PAUSE it has received.
    pub reaction: Time,
}

impl Default for PfcConfig {
    /// XOFF 512 KB is the PCN paper's; XON two 1048 B packets below it is our reading.
    fn default() -> Self {
        Self {
            params: pfc::Params::default(),
            threshold: PfcThreshold::Static {
                xoff_bytes: 512_000,
                xon_bytes: 512_000 - 2 * 1048,
            },
            shifts: Vec::new(),
            headroom_bytes: None,
            headroom_pool_bytes: None,
            headrooms: Vec::new(),
            headroom_delays: None,
            reaction: Time::ZERO,
        }
    }
}
