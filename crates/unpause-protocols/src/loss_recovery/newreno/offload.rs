//! Segments that leave together, as one segment that the network card cuts (TSO).

/// Which segments leave together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offload {
    /// At most this many; `None`: each leaves by itself.
    limit: Option<u32>,
    /// Segments of the current burst that are still to come.
    pub left: u32,
}

impl Offload {
    pub(super) const fn new(limit: Option<u32>) -> Self {
        Self { limit, left: 0 }
    }

    /// Bytes that leave together under such a window: a full burst, or a third of it (Linux's
    /// `tcp_tso_win_divisor`). While there is no room for this many, it is the window that holds them back.
    pub(super) fn burst(&self, window: u64, mss: u64) -> Option<u64> {
        let full = u64::from(self.limit?) * mss;
        Some(full.min((window / 3).max(mss)))
    }

    /// True if new segments are to wait, with this much room in a window, and this much data: until there is
    /// room for a burst, or for all of the data.
    pub(super) fn waits(&self, room: u64, window: u64, data: u64, mss: u64) -> bool {
        let burst = self.burst(window, mss).filter(|_| self.left == 0);
        burst.is_some_and(|burst| room < burst.min(data))
    }

    /// A new segment is sent, with this much room in the window before.
    pub(super) fn sent(&mut self, room: u64, data: u64, mss: u64) {
        if self.left > 0 {
            self.left -= 1;
        } else if let Some(limit) = self.limit {
            let segments = (room / mss).min(data.div_ceil(mss));
            self.left = segments.clamp(1, u64::from(limit)) as u32 - 1;
        }
    }
}
