//! Shared buffers: how far queues fill before PFC stops their senders.

/// The share of a pool that one ingress may fill before it asks for PAUSE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// This part of the free bytes.
    Alpha(f64),
    /// Bytes.
    Bytes(u64),
}

/// The bytes that ingress ports with these shares hold together when each is at its threshold: with n shares alpha of a pool B,
/// n alpha B / (1 + n alpha) (Choudhury and Hahne, Dynamic queue length thresholds, 1998, section III).
pub fn fill(pool: u64, shares: &[Share]) -> u64 {
    let (mut alphas, mut bytes) = (0.0, 0);
    for share in shares {
        match share {
            Share::Alpha(alpha) => alphas += alpha,
            Share::Bytes(of) => bytes += of,
        }
    }
    let bytes = bytes.min(pool) as f64;
    (bytes + (pool as f64 - bytes) * alphas / (1.0 + alphas)) as u64
}

/// The fewest of `number` senders that bring more than `limit` bytes.
pub fn fewest(number: usize, limit: u64, brought: impl Fn(usize) -> u64) -> Option<usize> {
    (1..=number).find(|number| brought(*number) > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_pool_leave_some_of_it_free() {
        let alphas = |number| vec![Share::Alpha(0.5); number];
        assert_eq!([1, 2, 4].map(|n| fill(900, &alphas(n))), [300, 450, 600]);
        let bytes = [Share::Bytes(600), Share::Bytes(600)];
        assert_eq!([fill(900, &bytes[..1]), fill(900, &bytes)], [600, 900]);
        assert_eq!(fill(900, &[Share::Bytes(300), Share::Alpha(1.0)]), 600);
    }
}
