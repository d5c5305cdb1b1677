//! The flow completion time of a flow that is alone in the fabric.

use unpause_protocols::units::{LinkSpeed, Time};

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

    /// Of all together.
    pub fn bytes(self) -> u64 {
        let full = self.full.saturating_mul(self.full_bytes);
        full.saturating_add(self.last_bytes)
    }

    /// The largest of as many equal shares.
    pub fn share_of(self, links: u64) -> Self {
        Self {
            full: (self.full + 1).div_ceil(links) - 1,
            ..self
        }
    }
}

/// From the first bit at the sender to the last bit at the receiver, sent at line rate over hops of (speed,
/// propagation delay). `early` says how long before its last bit a frame is taken at the end of a link, by its
/// bytes and the speed of that link and of the next; zero for store-and-forward.
///
/// Full frame k starts on hop i `(k-1) x the longest serialisation up to i` after the first; the last, shorter
/// frame starts when both it has been taken there and its predecessor is gone.
pub fn fct(
    path: &[(LinkSpeed, Time)],
    frames: Frames,
    early: impl Fn(u64, LinkSpeed, LinkSpeed) -> Time,
) -> Time {
    let Frames {
        full,
        full_bytes,
        last_bytes,
    } = frames;
    let mut slowest = 0;
    // On the link at hand: when the first full frame starts, when the last frame could, and when it is over.
    let (mut first, mut last, mut end) = (0, 0, 0);
    for (hop, &(speed, delay)) in path.iter().enumerate() {
        let serialisation = speed.time_for(full_bytes).as_ps();
        slowest = slowest.max(serialisation);
        if full > 0 {
            last = last.max(first + (full - 1) * slowest + serialisation);
        }
        end = last + speed.time_for(last_bytes).as_ps() + delay.as_ps();
        if let Some(&(next, _)) = path.get(hop + 1) {
            let early = |bytes| early(bytes, speed, next).as_ps();
            first += serialisation + delay.as_ps() - early(full_bytes);
            last = end - early(last_bytes);
        }
    }
    Time::from_ps(end)
}

#[cfg(test)]
mod tests {
    use unpause_protocols::units::Rate;

    use super::*;

    type Early = fn(u64, LinkSpeed, LinkSpeed) -> Time;

    /// The recurrence itself, frame by frame.
    fn simulated(path: &[(LinkSpeed, Time)], frames: Frames, early: Early) -> u64 {
        let mut free = vec![0u64; path.len()];
        let mut arrival = 0;
        for k in 0..=frames.full {
            let bytes = if k == frames.full {
                frames.last_bytes
            } else {
                frames.full_bytes
            };
            let mut taken = 0;
            for (hop, &(speed, delay)) in path.iter().enumerate() {
                free[hop] = free[hop].max(taken) + speed.time_for(bytes).as_ps();
                arrival = free[hop] + delay.as_ps();
                let next = path.get(hop + 1).map_or(speed, |next| next.0);
                taken = arrival - early(bytes, speed, next).as_ps();
            }
        }
        arrival
    }

    #[test]
    fn equals_the_recurrence() {
        let us = Time::from_us;
        let speed = |gbps| LinkSpeed::of(Rate::from_gbps(gbps)).expect("a rate of a link");
        let (slow, usual, fast) = (speed(10), speed(40), speed(100));
        let (third, ninth) = (speed(2_400), speed(2_880));
        let paths: [&[(LinkSpeed, Time)]; 5] = [
            &[(usual, us(5)), (usual, us(5)), (usual, us(5))],
            &[(slow, us(5)), (usual, us(1)), (usual, us(2)), (slow, us(5))],
            &[(fast, us(1)), (slow, us(3)), (fast, us(1))],
            &[(slow, us(1))],
            &[
                (ninth, us(1)),
                (third, us(1)),
                (fast, us(1)),
                (ninth, us(2)),
            ],
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
                for early in [(|_, _, _| Time::ZERO) as Early, |bytes, speed, next| {
                    speed
                        .time_for(bytes.saturating_sub(84))
                        .min(next.time_for(bytes))
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
