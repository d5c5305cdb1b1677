//! Prefetching: data are loaded into the caches before they are needed.

/// Nodes of fabrics with this many ports prefetch: what they touch of smaller ones is in the second-level cache anyway, or nearly,
/// and prefetching costs instructions.
pub const FROM_PORTS: usize = 8192;

/// Prefetches the first of many.
#[inline(always)]
pub fn prefetch_first<T>(values: &[T]) {
    if let Some(first) = values.first() {
        prefetch(first);
    }
}

/// Prefetches the cache lines of the first `BYTES` of a value that begins with one.
#[inline(always)]
pub fn prefetch_front<const BYTES: usize, T>(value: &T) {
    #[repr(align(64))]
    struct Line {
        _bytes: [u8; 64],
    }
    let lines = std::ptr::from_ref(value).cast::<Line>();
    for line in 0..BYTES.div_ceil(64) {
        prefetch_at(lines.wrapping_add(line));
    }
}

/// Prefetches the cache lines of a value.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_at(std::ptr::from_ref(value));
}

/// Prefetches the cache lines of a value that is, or may be, at an address.
#[inline(always)]
pub fn prefetch_at<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = address.cast::<i8>();
        let may_end_on_another = size_of::<T>() > align_of::<T>() && align_of::<T>() < 64;
        // SAFETY: a prefetch never faults, whatever the address.
        unsafe {
            for at in (0..size_of::<T>()).step_by(64) {
                _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(at));
            }
            if may_end_on_another {
                _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(size_of::<T>() - 1));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
