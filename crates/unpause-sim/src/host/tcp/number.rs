//! Numbers of bytes: 32 bits on the wire, 64 at both ends.

/// The number nearest to `near` that is `low` modulo 2^32.
#[inline]
pub fn unwrap(low: u32, near: u64) -> u64 {
    let distance = low.wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(i64::from(distance))
}
