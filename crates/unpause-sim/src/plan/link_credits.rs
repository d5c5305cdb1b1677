//! Credit-based flow control: the buffers of links.

use unpause_protocols::flow_control::cbfc::MAX_LIMIT;
use unpause_protocols::units::{LinkSpeed, Time};

use super::Plan;

impl Plan<'_> {
    /// Credits of each lossless (ingress port, priority) at both ends of a link; none without such flow control.
    pub fn credit_limit(&self, speed: LinkSpeed, delay: Time) -> u32 {
        let Some(config) = &self.config.switch.cbfc else {
            return 0;
        };
        let params = &config.params;
        let limit = match config.buffer_bytes {
            Some(bytes) => bytes / u64::from(params.credit_bytes),
            None => {
                let frame = self.mtu_wire_bytes;
                let bytes = params.full_rate_bytes(speed.rate(), delay, frame);
                let largest = params.credits(self.config.largest_frame_bytes());
                bytes.div_ceil(frame) * u64::from(largest)
            }
        };
        u32::try_from(limit).unwrap_or(u32::MAX).min(MAX_LIMIT)
    }

    /// How long a class was held: by PAUSE, and for want of credits.
    pub fn waited(&self, held: Time) -> (Time, Time) {
        match self.config.switch.cbfc {
            None => (held, Time::ZERO),
            Some(_) => (Time::ZERO, held),
        }
    }

    /// The same in bytes.
    pub fn credit_bytes(&self, speed: LinkSpeed, delay: Time) -> u64 {
        let config = self.config.switch.cbfc;
        let each = config.map_or(0, |it| u64::from(it.params.credit_bytes));
        u64::from(self.credit_limit(speed, delay)) * each
    }
}
