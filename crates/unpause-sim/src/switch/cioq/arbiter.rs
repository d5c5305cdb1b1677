//! The credit arbiter of one (output port, class): who may send a frame into its buffer, and when.

use std::collections::VecDeque;

use unpause_protocols::units::{LinkSpeed, Time};

use crate::fabric::PortId;

/// The arbiter. Inputs that have asked are served in turn, a frame each, while the buffer has room for it,
/// no faster than the fabric's speedup.
#[derive(Debug)]
pub struct Arbiter {
    /// Bytes of the buffer in use or granted.
    pub used: u64,
    /// It may grant again then.
    pub next_at: Time,
    /// An event is pending for that.
    pub armed: bool,
    speed: LinkSpeed,
    speedup_percent: u64,
    /// Requests of each input that has any, the next to be served first.
    turns: VecDeque<(PortId, u32)>,
}

impl Arbiter {
    /// An arbiter of an output of this speed.
    pub fn new(speed: LinkSpeed, speedup_percent: u32) -> Self {
        Self {
            used: 0,
            next_at: Time::ZERO,
            armed: false,
            speed,
            speedup_percent: u64::from(speedup_percent),
            turns: VecDeque::new(),
        }
    }

    /// `input` has another frame for this output.
    pub fn request(&mut self, input: PortId) {
        match self.turns.iter_mut().find(|turn| turn.0 == input) {
            Some((_, requests)) => *requests += 1,
            None => self.turns.push_back((input, 1)),
        }
    }

    /// Whose turn it is.
    pub fn next(&self) -> Option<PortId> {
        self.turns.front().map(|turn| turn.0)
    }

    /// Grants a frame of this many bytes to the input whose turn it is.
    pub fn grant(&mut self, now: Time, bytes: u64) {
        self.used += bytes;
        let at_line_rate = self.speed.time_for(bytes * 100).as_ps();
        self.next_at = now + Time::from_ps(at_line_rate / self.speedup_percent);
        if let Some((input, requests)) = self.turns.pop_front()
            && requests > 1
        {
            self.turns.push_back((input, requests - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use unpause_protocols::units::Rate;

    use super::*;

    #[test]
    fn inputs_are_served_in_turn_at_the_speedup() {
        let mut arbiter = Arbiter::new(LinkSpeed::of(Rate::from_gbps(10)).unwrap(), 160);
        for input in [4, 4, 4, 2, 7, 2] {
            arbiter.request(input);
        }
        let mut now = Time::ZERO;
        let mut served = Vec::new();
        while let Some(input) = arbiter.next() {
            served.push(input);
            arbiter.grant(now, 1600);
            // 1600 B at 16 Gb/s.
            assert_eq!(arbiter.next_at, now + Time::from_ns(800));
            now = arbiter.next_at;
        }
        assert_eq!(served, [4, 2, 7, 4, 2, 4]);
        assert_eq!(arbiter.used, 9600);
    }
}
