//! Link-level retry: parameters of each link, with defaults.

use unpause_protocols::loss_recovery::llr::{MESSAGE_BYTES, Params};

use super::Plan;
use crate::fabric::ports::Transmitter;

/// A port gives up a frame that has waited for this many replay timers, as in the source's profiles: 20 us with timers of 5 us.
const TIMERS_OF_AGE: u64 = 4;

impl Plan<'_> {
    /// Parameters of retry on a link.
    pub fn retry_params(&self, link: &Transmitter) -> Params {
        let retry = self.config.switch.retry.unwrap_or_default();
        let source = Params::default();
        let (rate, delay) = (link.speed.rate(), link.delay);
        let largest = self.mtu_wire_bytes;
        let needed = source.full_rate_bytes(rate, delay, largest) + MESSAGE_BYTES;
        let waits = 2 * largest + u64::from(source.message_spacing_bytes) + MESSAGE_BYTES;
        let round_trip = delay + delay + link.speed.time_for(waits);
        let replay_timer = retry
            .replay_timer
            .unwrap_or(source.replay_timer + round_trip);
        Params {
            max_bytes: retry
                .buffer_bytes
                .unwrap_or(u32::try_from(needed).unwrap_or(u32::MAX)),
            replay_timer,
            max_replays: retry.max_replays.unwrap_or(source.max_replays),
            max_age: replay_timer * TIMERS_OF_AGE,
            ..source
        }
    }

    /// Bytes of the largest.
    pub fn largest_on_wire(&self) -> u32 {
        self.mtu_wire_bytes as u32
    }
}
