//! Credit-based flow control: the buffers of links.

use unpause_protocols::flow_control::credits::Settings as _;
use unpause_protocols::units::{LinkSpeed, Time};

use super::Plan;

impl Plan<'_> {
    /// Bytes of each lossless (ingress port, priority) at both ends of a link; none without such flow control.
    pub fn credit_buffer(&self, speed: LinkSpeed, delay: Time) -> u64 {
        let Some(config) = &self.config.switch.cbfc else {
            return 0;
        };
        let params = &config.params;
        let bytes = config.buffer_bytes.unwrap_or_else(|| {
            let frame = self.mtu_wire_bytes;
            let bytes = params.full_rate_bytes(speed.rate(), delay, frame);
            let largest = params.taken(self.config.largest_frame_bytes());
            bytes.div_ceil(frame).saturating_mul(largest)
        });
        params.counted(bytes)
    }

    /// How long a class was held: by PAUSE, and for want of credits.
    pub fn waited(&self, held: Time) -> (Time, Time) {
        match self.config.switch.cbfc {
            None => (held, Time::ZERO),
            Some(_) => (Time::ZERO, held),
        }
    }
}
