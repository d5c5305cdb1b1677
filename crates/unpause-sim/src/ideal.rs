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

/// From the first bit at the sender to the last bit at the receiver, sent at line rate over
/// store-and-forward hops of (time of a byte in ps, propagation delay).
///
/// Full frames leave hop i at `sum of serialisations up to i + (k-1) x the longest of them`; the
/// last, shorter frame leaves a hop when both it has arrived there and its predecessor is gone.
pub fn fct(path: &[(u64, Time)], frames: Frames) -> Time {
    let mut sum = 0;
    let mut slowest = 0;
    let mut propagation = 0;
    let mut last_departure = 0;
    for &(ps_per_byte, delay) in path {
        let serialisation = frames.full_bytes * ps_per_byte;
        sum += serialisation;
        slowest = slowest.max(serialisation);
        let previous_gone = if frames.full == 0 {
            0
        } else {
            propagation + sum + (frames.full - 1) * slowest
        };
        let arrived = last_departure;
        last_departure =
            arrived.max(previous_gone) + frames.last_bytes * ps_per_byte + delay.as_ps();
        propagation += delay.as_ps();
    }
    Time::from_ps(last_departure)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recurrence itself, frame by frame.
    fn simulated(path: &[(u64, Time)], frames: Frames) -> u64 {
        let mut free = vec![0u64; path.len()];
        let mut arrival = 0;
        for k in 0..=frames.full {
            let bytes = if k == frames.full {
                frames.last_bytes
            } else {
                frames.full_bytes
            };
            arrival = 0;
            for (hop, &(ps, delay)) in path.iter().enumerate() {
                free[hop] = free[hop].max(arrival) + bytes * ps;
                arrival = free[hop] + delay.as_ps();
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
                assert_eq!(
                    fct(path, frames).as_ps(),
                    simulated(path, frames),
                    "{path:?} {frames:?}"
                );
            }
        }
    }
}
