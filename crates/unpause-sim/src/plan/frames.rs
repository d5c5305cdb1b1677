//! Sizes of frames.

use crate::config::{Config, MIN_FRAME_BYTES};

/// Bytes of the smallest frame on a wire.
pub fn smallest_on_wire(config: &Config) -> u64 {
    let host = &config.host;
    let data = host.header_bytes.max(host.min_frame_bytes);
    let smallest = MIN_FRAME_BYTES.min(data).min(host.ack_bytes.into());
    u64::from(smallest) + u64::from(config.fabric.framing_bytes)
}
