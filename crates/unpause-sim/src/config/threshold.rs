//! When PFC sends PAUSE.

/// The largest share of the free buffer is 2 to the power of this: SONiC's `dynamic_th` ends at 8.
pub const MOST_ALPHA_SHIFT: i32 = 8;

/// Thresholds on the bytes held for one (ingress port, priority).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PfcThreshold {
    /// The same at all times.
    Static {
        /// PAUSE above this many bytes.
        xoff_bytes: u64,
        /// Resume at or below this many bytes.
        xon_bytes: u64,
    },
    /// A share of the free shared buffer: `XOFF = (shared size - shared used) / 2^shift`.
    Dynamic {
        /// 3 for one eighth (HPCC's simulator), -3 for eight times what is free, from
        /// -[`MOST_ALPHA_SHIFT`] to 32. Above all that is free, the packet that finds none sends PAUSE.
        shift: i32,
        /// Resume this many bytes below XOFF.
        xon_gap_bytes: u64,
    },
    /// The same, as HPCC's simulator counts: an ingress has some bytes to itself before shared memory,
    /// PAUSE is sent at XOFF, and headroom takes what would exceed it, PAUSE sent or not. Headroom and what
    /// an ingress has to itself are taken from the buffer once for a port.
    Reserved {
        /// As with [`Self::Dynamic`].
        shift: i32,
        /// As with [`Self::Dynamic`].
        xon_gap_bytes: u64,
        /// Bytes reserved for each ingress.
        reserve_bytes: u64,
    },
}
