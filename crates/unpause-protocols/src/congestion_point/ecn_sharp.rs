//! ECN#: marking on instantaneous and on persistent queueing.
//!
//! # What it does
//!
//! Marks a departing packet when it waited longer than a high threshold (a burst, or a queue that costs
//! nothing yet), and besides, while packets have waited longer than a low threshold for a whole
//! interval, single packets ever more often, until the standing queue is gone.
//!
//! # Source
//!
//! J. Zhang, W. Bai, K. Chen, "Enabling ECN for Datacenter Networks with RTT Variations", CoNEXT 2019
//! and IEEE TCC 2022, Algorithm 1; the authors' ns-3 code (snowzjx/ns3-ecn-sharp) where it differs.
//!
//! # Parameters
//!
//! | name | unit | default | `large_scale` | origin |
//! |---|---|---|---|---|
//! | `instantaneous` | time | above 200 us | above 220 us | paper: testbed; 90th percentile of the simulated RTTs |
//! | `pst_target` | time | 85 us | 10 us | paper: testbed; its CoDel setting |
//! | `pst_interval` | time | 200 us | 240 us | paper: testbed; its CoDel setting |
//! | `variant` | - | `AuthorsCode` | same | the simulations come from that code |
//! | `signal` | - | `SojournTime` | same | paper |
//!
//! `Instantaneous::Linear` is the paper's variant for DCQCN; it gives Kmin and Kmax in bytes, which
//! become times at the link's rate.
//!
//! # Departures
//!
//! - "Unset" is a value of its own, so time zero is legal; both sources use zero.
//! - The square root is exact, rounded down to 1 ns, the clock of the authors' code; the paper's
//!   quotient is rounded down to 1 ps.
//! - The queue length is what the departing packet leaves behind. Behind a link that is never idle it
//!   lasts as long as the packet waited, to within a packet.
//!
//! A packet that cannot be marked passes: its mark is lost, but the state moves on, as in the authors'
//! code. An empty queue changes nothing, as in both sources.

use rand_core::Rng;

use super::{Mechanism, Packet, Queue, Verdict};
use crate::names::Names;
use crate::state_visitor::Show;
use crate::units::{Rate, Time};

/// The law by which persistent marks follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Variant {
    /// The k-th mark schedules the next `pst_interval / k` after its own due time, which must have
    /// passed.
    Paper,
    /// The k-th mark schedules the next `pst_interval / sqrt(k)` after itself, when it is due at once.
    #[default]
    AuthorsCode,
}

/// Measure of the time that a packet waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// The time it waited.
    #[default]
    SojournTime,
    /// How long the bytes it leaves behind last at this rate.
    QueueLength(Rate),
}

/// The part that looks at one packet only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instantaneous {
    /// Mark above this waiting time.
    Above(Time),
    /// Never up to `from`, always above `to`, between them with a probability that grows from 0 to 1.
    Linear {
        /// Kmin as a waiting time.
        from: Time,
        /// Kmax as a waiting time.
        to: Time,
    },
}

impl Instantaneous {
    /// True when a packet that waited `wait` is to be marked.
    #[inline]
    fn marks<R: Rng>(self, wait: Time, rng: &mut R) -> bool {
        match self {
            Self::Above(target) => wait > target,
            Self::Linear { from, to } if from < wait && wait <= to => {
                let draw = u128::from(rng.next_u32());
                draw * u128::from((to - from).as_ps()) < u128::from((wait - from).as_ps()) << 32
            }
            Self::Linear { to, .. } => wait > to,
        }
    }
}

/// Parameters of ECN#.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The part that looks at one packet only.
    pub instantaneous: Instantaneous,
    /// From this waiting time on there is a queue that may be persistent.
    pub pst_target: Time,
    /// How long it must last; the distance of the first two marks.
    pub pst_interval: Time,
    /// The law of the marks.
    pub variant: Variant,
    /// Measure of the waiting time.
    pub signal: Signal,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            instantaneous: Instantaneous::Above(Time::from_us(200)),
            pst_target: Time::from_us(85),
            pst_interval: Time::from_us(200),
            variant: Variant::default(),
            signal: Signal::default(),
        }
    }
}

impl Params {
    /// For base RTTs from 80 to 240 us.
    pub fn large_scale() -> Self {
        Self {
            instantaneous: Instantaneous::Above(Time::from_us(220)),
            pst_target: Time::from_us(10),
            pst_interval: Time::from_us(240),
            ..Self::default()
        }
    }
}

/// State of ECN#.
#[derive(Clone, Debug, Show)]
pub struct EcnSharp {
    #[show(skip)]
    params: Params,
    /// When a packet first waited `pst_target`, none since having waited less; or never.
    #[show(time)]
    #[show(by = visitor.time(&mut first_above.saturating_add(params.pst_interval)))]
    first_above: Time,
    /// When the next mark of the episode is due.
    #[show(time)]
    next_mark: Time,
    /// Marks of the episode; 0 when there is none.
    #[show(same)]
    count: u32,
}

impl EcnSharp {
    /// A queue that has not been seen above `pst_target`.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        Self {
            params: *params,
            first_above: Time::NEVER,
            next_mark: Time::ZERO,
            count: 0,
        }
    }

    /// How many marks the persistent part has asked for since it set in; 0 when it is silent.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// When the persistent part marks next, if its queue lasts; [`Time::NEVER`] when it is silent.
    pub fn next_mark(&self) -> Time {
        if self.count == 0 {
            Time::NEVER
        } else {
            self.next_mark
        }
    }

    /// The persistent part: true when it marks a packet that leaves at `now` and waited `wait`.
    pub fn persistent(&mut self, now: Time, wait: Time) -> bool {
        if !self.detect(now, wait) {
            self.count = 0;
            return false;
        }
        if self.count == 0 {
            self.count = 1;
            self.next_mark = now.saturating_add(self.params.pst_interval);
            return true;
        }
        let due = match self.params.variant {
            Variant::Paper => now > self.next_mark,
            Variant::AuthorsCode => now >= self.next_mark,
        };
        if due {
            self.count = self.count.saturating_add(1);
            let base = match self.params.variant {
                Variant::Paper => self.next_mark,
                Variant::AuthorsCode => now,
            };
            self.next_mark = base.saturating_add(self.step());
        }
        due
    }

    /// True when the queue has been above `pst_target` for longer than `pst_interval`.
    fn detect(&mut self, now: Time, wait: Time) -> bool {
        if wait < self.params.pst_target {
            self.first_above = Time::NEVER;
            false
        } else if self.first_above.is_never() {
            self.first_above = now;
            false
        } else {
            now > self.first_above.saturating_add(self.params.pst_interval)
        }
    }

    /// From the present mark to the next.
    fn step(&self) -> Time {
        const NANOSECOND: u64 = Time::from_ns(1).as_ps();
        let interval = self.params.pst_interval.as_ps();
        Time::from_ps(match self.params.variant {
            Variant::Paper => interval / u64::from(self.count),
            Variant::AuthorsCode => {
                over_square_root(interval, self.count) / NANOSECOND * NANOSECOND
            }
        })
    }

    fn wait(&self, now: Time, packet: &Packet, queue: Queue) -> Time {
        match self.params.signal {
            Signal::SojournTime => now.saturating_sub(packet.enqueued_at),
            Signal::QueueLength(rate) => rate.time_for(queue.bytes),
        }
    }
}

/// `value / sqrt(count)`, rounded down; `count` is not 0.
pub(super) fn over_square_root(value: u64, count: u32) -> u64 {
    // The floor of a square root is that of the floor's.
    let square = u128::from(value) * u128::from(value);
    (square / u128::from(count)).isqrt() as u64
}

impl Mechanism for EcnSharp {
    #[inline]
    fn on_dequeue<R: Rng>(
        &mut self,
        now: Time,
        packet: &Packet,
        queue: Queue,
        rng: &mut R,
    ) -> Verdict {
        let wait = self.wait(now, packet, queue);
        let instantaneous = self.params.instantaneous.marks(wait, rng);
        let persistent = self.persistent(now, wait);
        if packet.ect && (instantaneous || persistent) {
            Verdict::MarkCe
        } else {
            Verdict::Pass
        }
    }
}

#[cfg(test)]
mod tests;
