//! How a flow is cut into frames.

use crate::outcome::ideal::Frames;
use crate::plan::Plan;

/// How a flow is cut into frames.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Packets; `u32::MAX` for a flow without end.
    pub packets: u32,
    /// Bytes of every frame but the last.
    pub full_bytes: u32,
    /// Bytes of the last frame.
    pub last_bytes: u32,
}

impl Layout {
    /// Bytes on a wire, with `framing` bytes for each frame.
    pub fn frames(&self, framing: u64) -> Frames {
        Frames {
            full: u64::from(self.packets) - 1,
            full_bytes: u64::from(self.full_bytes) + framing,
            last_bytes: u64::from(self.last_bytes) + framing,
        }
    }

    /// The frames of a flow of this many payload bytes.
    pub fn of(size_bytes: Option<u64>, plan: &Plan<'_>) -> Self {
        let payload = u64::from(plan.config.host.payload_bytes);
        let full_bytes = plan.frame_bytes(payload as u32);
        match size_bytes {
            None => Self {
                packets: u32::MAX,
                full_bytes,
                last_bytes: full_bytes,
            },
            Some(size) => {
                let packets = size.div_ceil(payload).max(1);
                let last = size - (packets - 1) * payload;
                Self {
                    packets: packets as u32,
                    full_bytes,
                    last_bytes: plan.frame_bytes(last as u32),
                }
            }
        }
    }
}
