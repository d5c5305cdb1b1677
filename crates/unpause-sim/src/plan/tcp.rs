//! The settings that all TCP connections of a run share.

use unpause_protocols::tagging::{self, Tagging};

use crate::config::Config;
use crate::fabric::packet::MIN_FRAME_BYTES;
use crate::outcome::ideal::Frames;

/// The settings that all TCP connections share.
#[derive(Debug)]
pub struct TcpPlan {
    /// Bytes of the flow in a full segment.
    pub mss: u32,
    header_bytes: u32,
    /// Frame size of SYN and ACK.
    pub control_bytes: u16,
    /// Bytes in flight at most: whole segments, so that segments stay where they are in the flow.
    pub buffer_bytes: u64,
    tagging: Tagging,
    /// Priorities by level; none where segments have that of their flow.
    priorities: Vec<u8>,
}

impl TcpPlan {
    pub(super) fn new(config: &Config) -> Self {
        let tcp = &config.host.tcp;
        let mss = tcp.recovery.mss.max(1);
        let whole = tcp.buffer_bytes / u64::from(mss) * u64::from(mss);
        let (law, priorities) = match &tcp.tags {
            Some(tags) => (&tags.law, tags.priorities.clone()),
            None => (&tagging::Config::None, Vec::new()),
        };
        Self {
            mss,
            header_bytes: tcp.header_bytes,
            control_bytes: tcp.header_bytes.max(MIN_FRAME_BYTES) as u16,
            buffer_bytes: whole.max(u64::from(mss)),
            tagging: Tagging::new(law),
            priorities,
        }
    }

    /// Bytes in the segment that starts at `start`, of a flow of `size` bytes.
    #[inline]
    pub fn segment_bytes(&self, start: u64, size: Option<u64>) -> u32 {
        let rest = size.unwrap_or(u64::MAX).saturating_sub(start);
        rest.min(u64::from(self.mss)) as u32
    }

    /// Frame size of a segment.
    #[inline]
    pub fn frame_bytes(&self, payload: u32) -> u32 {
        (payload + self.header_bytes).max(MIN_FRAME_BYTES)
    }

    /// Priority of a segment of a flow whose own is `priority`.
    #[inline]
    pub fn priority(&self, priority: u8, start: u64, bytes: u32) -> u8 {
        match &self.priorities[..] {
            [] => priority,
            [.., last] => {
                let level = self.tagging.level(start, bytes);
                *self.priorities.get(usize::from(level)).unwrap_or(last)
            }
        }
    }

    /// Priority of the first segment of a flow whose own is `priority`.
    pub fn first_priority(&self, priority: u8) -> u8 {
        self.priorities.first().copied().unwrap_or(priority)
    }

    /// The frames of a flow of `size` bytes, above 0, with `framing` bytes on the wire for each.
    pub fn frames(&self, size: u64, framing: u64) -> Frames {
        let full = (size - 1) / u64::from(self.mss);
        let last = (size - full * u64::from(self.mss)) as u32;
        Frames {
            full,
            full_bytes: u64::from(self.frame_bytes(self.mss)) + framing,
            last_bytes: u64::from(self.frame_bytes(last)) + framing,
        }
    }
}
