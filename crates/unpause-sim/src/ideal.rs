//! The flow completion time of a flow that is alone in the fabric.

use unpause_protocols::units::Time;

/// Frame sizes of a flow on the wire, with framing.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    /// Number of full frames before the last one.
    pub full: u64,
    /// Bytes of a full frame.
    pub full_bytes: u64,
    /// Bytes of the last frame.
    pub last_bytes: u64,
}

impl Frames {
    /// A single frame.
    pub fn one(bytes: u64) -> Self {
        Self {
            full: 0,
            full_bytes: bytes,
            last_bytes: bytes,
        }
    }
}

/// From the first bit at the sender to the last bit at the receiver, sent at line rate over hops of (time of a byte
/// in ps, propagation delay). `early` says how long before its last bit a frame is taken at the end of a link, by its
/// bytes and the time of a byte there and on the next link; zero for store-and-forward.
///
/// Full frame k starts on hop i `(k-1) x the longest serialisation up to i` after the first; the last, shorter
/// frame starts when both it has been taken there and its predecessor is gone.
pub fn fct(path: &[(u64, Time)], frames: Frames, early: impl Fn(u64, u64, u64) -> Time) -> Time {
    let Frames {
        full,
        full_bytes,
        last_bytes,
    } = frames;
    let mut slowest = 0;
    // On the link at hand: when the first full frame starts, when the last frame could, and when it is over.
    let (mut first, mut last, mut end) = (0, 0, 0);
    for (hop, &(ps_per_byte, delay)) in path.iter().enumerate() {
        let serialisation = full_bytes * ps_per_byte;
        slowest = slowest.max(serialisation);
        if full > 0 {
            last = last.max(first + (full - 1) * slowest + serialisation);
        }
        end = last + last_bytes * ps_per_byte + delay.as_ps();
        if let Some(&(next, _)) = path.get(hop + 1) {
            let early = |bytes| early(bytes, ps_per_byte, next).as_ps();
            first += serialisation + delay.as_ps() - early(full_bytes);
            last = end - early(last_bytes);
        }
    }
    Time::from_ps(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Early = fn(u64, u64, u64) -> Time;

    /// The recurrence itself, frame by frame.
    fn simulated(path: &[(u64, Time)], frames: Frames, early: Early) -> u64 {
        let mut free = vec![0u64; path.len()];
        let mut arrival = 0;
        for k in 0..=frames.full {
            let bytes = if k == frames.full {
                frames.last_bytes
            } else {
                frames.full_bytes
            };
            let mut taken = 0;
            for (hop, &(ps, delay)) in path.iter().enumerate() {
                free[hop] = free[hop].max(taken) + bytes * ps;
                arrival = free[hop] + delay.as_ps();
                let next = path.get(hop + 1).map_or(ps, |next| next.0);
                taken = arrival - early(bytes, ps, next).as_ps();
            }
        }
        arrival
    }

    #[test]
    fn equals_the_recurrence() {
        let us = Time::from_us;
        let paths: [&[(u64, Time)]; 4] = [
            &[(200, us(5)), (200, us(5)), (200, us(5))],
            &[(800, us(5)), (200, us(1)), (200, us(2)), (800, us(5))],
            &[(80, us(1)), (800, us(3)), (80, us(1))],
            &[(800, us(1))],
        ];
        for path in paths {
            for (full, last_bytes) in [
                (0, 64),
                (0, 1048),
                (1, 64),
                (7, 500),
                (100, 1048),
                (999, 65),
            ] {
                let frames = Frames {
                    full,
                    full_bytes: 1048,
                    last_bytes,
                };
                for early in [(|_, _, _| Time::ZERO) as Early, |bytes, ps, next| {
                    Time::from_ps((bytes.saturating_sub(84) * ps).min(bytes * next))
                }] {
                    assert_eq!(
                        fct(path, frames, early).as_ps(),
                        simulated(path, frames, early),
                        "{path:?} {frames:?}"
                    );
                }
            }
        }
    }
}
