//! ECN# as a Tofino switch computes it.
//!
//! # What it does
//!
//! Algorithm 1 of ECN# with the means of a programmable switch: a 32-bit clock pieced together from a
//! nanosecond timestamp, registers that a packet may touch once, and a table for division. The
//! registers hand out one access each and a packet consumes it, so a second access does not compile.
//!
//! # Source
//!
//! J. Zhang, W. Bai, K. Chen, "Enabling ECN for Datacenter Networks with RTT Variations", CoNEXT 2019
//! and IEEE TCC 2022: Algorithms 2 (clock) and 3 (division), Figures 5 and 6 (registers).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `ins_target` | time | 200 us | paper, testbed |
//! | `pst_target` | time | 85 us | paper, testbed |
//! | `pst_interval` | time | 200 us | paper, testbed |
//! | `load` | - | `Scaled` | ours: `Unscaled` loads microseconds as ticks, which are 2.4 % longer |
//!
//! # How far it is from the exact algorithm
//!
//! Against [`super::ecn_sharp`], variant `Paper`, with the targets and the interval that were loaded
//! ([`Tofino::exact`]), timestamps in whole nanoseconds and no silence of 4.29 s
//! (`examples/tofino_bounds.rs` checks it):
//!
//! - the clock is right to the tick, and the comparison with `pst_target` on every packet;
//! - the instantaneous part never marks a packet too many, and misses only those that exceed
//!   `ins_target` by less than a tick;
//! - a persistent queue is never detected early, and less than a tick late;
//! - counted from the first mark of an episode, the k-th mark thereafter is due less than k ticks early
//!   and at most 14.3 % late.
//!
//! # Departures
//!
//! - The clock wraps when `low < reg_low`; the paper's `<=` would also skip 4.29 s between two packets
//!   of one tick.
//! - The first packet above `pst_target` sets the deadline, and only later ones test it; the paper's
//!   figure tests first. The target itself is above, as in Algorithm 1; the figure says otherwise.
//! - The division table is scaled by 2^-e; the paper's printed table is right only for intervals from
//!   509 to 1016 ticks.
//! - The waiting time is the difference of two timestamps in 32 bits of nanoseconds, then shifted.
//! - Count and due time of the next mark share one 64-bit register, and its one access includes the
//!   division; how the prototype breaks that circle the paper does not say.
//! - Zero stands for "no deadline": a deadline that comes out as zero is a tick late.
//!
//! Differences of times are taken modulo 2^32 ticks and are right up to half an hour.

use rand_core::Rng;

use super::ecn_sharp::{self, Instantaneous, Signal, Variant};
use super::{Mechanism, Packet, Queue, Verdict};
use crate::names::Names;
use crate::state_visitor::Show;
use crate::units::Time;

/// One tick of the clock.
pub const TICK: Time = Time::from_ns(1 << TICK_SHIFT);

const TICK_SHIFT: u32 = 10;
/// Bits of the clock that come from the timestamp.
const LOW_BITS: u32 = 32 - TICK_SHIFT;
const HIGH_MASK: u32 = (1 << (32 - LOW_BITS)) - 1;
/// The longest span whose sign is told from that of its opposite.
const LONGEST: u32 = i32::MAX as u32;

/// How times become numbers of ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Load {
    /// Divided by the length of a tick, to the nearest.
    #[default]
    Scaled,
    /// As many ticks as microseconds.
    Unscaled,
}

impl Load {
    fn ticks(self, time: Time) -> u32 {
        let tick = match self {
            Self::Scaled => TICK,
            Self::Unscaled => Time::from_us(1),
        };
        let ticks =
            (u128::from(time.as_ps()) + u128::from(tick.as_ps() / 2)) / u128::from(tick.as_ps());
        ticks.min(u128::from(LONGEST)) as u32
    }
}

/// Parameters of ECN# on Tofino.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Mark above this waiting time.
    pub ins_target: Time,
    /// From this waiting time on there is a queue that may be persistent.
    pub pst_target: Time,
    /// How long it must last; the distance of the first two marks.
    pub pst_interval: Time,
    /// How these become ticks.
    pub load: Load,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            ins_target: Time::from_us(200),
            pst_target: Time::from_us(85),
            pst_interval: Time::from_us(200),
            load: Load::Scaled,
        }
    }
}

/// The one access to a register that a packet has.
struct Access<'a, T>(&'a mut T);

impl<T> Access<'_, T> {
    /// Read, compare and write, all at once.
    fn with<R>(self, alu: impl FnOnce(&mut T) -> R) -> R {
        alu(self.0)
    }
}

/// Number of marks of an episode, and when the next is due: a 64-bit register.
#[derive(Clone, Copy, Debug, Default)]
struct Episode {
    /// 0 when there is none.
    count: u32,
    next_mark: u32,
}

#[derive(Clone, Debug, Default)]
struct Registers {
    low: u32,
    high: u32,
    /// When the queue will have persisted; [`UNSET`] while it is not above the target.
    deadline: u32,
    episode: Episode,
}

const UNSET: u32 = 0;

/// The registers as one packet finds them.
struct Pass<'a> {
    low: Access<'a, u32>,
    high: Access<'a, u32>,
    deadline: Access<'a, u32>,
    episode: Access<'a, Episode>,
}

impl Registers {
    fn pass(&mut self) -> Pass<'_> {
        Pass {
            low: Access(&mut self.low),
            high: Access(&mut self.high),
            deadline: Access(&mut self.deadline),
            episode: Access(&mut self.episode),
        }
    }
}

/// Algorithm 2: ticks of a clock of 32 bits.
fn clock(low: Access<'_, u32>, high: Access<'_, u32>, timestamp_ns: u64) -> u32 {
    let ticks = timestamp_ns as u32 >> TICK_SHIFT;
    let wrapped = low.with(|low| {
        let wrapped = ticks < *low;
        *low = ticks;
        wrapped
    });
    let high = high.with(|high| {
        *high = (*high + u32::from(wrapped)) & HIGH_MASK;
        *high
    });
    high << LOW_BITS | ticks
}

/// True when `now` is later than `due`.
fn is_past(now: u32, due: u32) -> bool {
    now.wrapping_sub(due) as i32 > 0
}

/// Algorithm 3: division of a constant by table and shift.
#[derive(Clone, Debug)]
pub struct Divider {
    /// Multiples of 2^scale, for divisors of four bits.
    table: [u8; 16],
    scale: i32,
}

impl Divider {
    /// Divides `dividend`.
    pub fn new(dividend: u32) -> Self {
        /// So that entries fit seven bits.
        const LARGEST: u64 = 8 * 127;
        const LEAST_SCALE: i32 = -9;
        let dividend = u64::from(dividend) << -LEAST_SCALE;
        let mut scale = LEAST_SCALE;
        while LARGEST << (scale - LEAST_SCALE) < dividend {
            scale += 1;
        }
        let mut table = [0; 16];
        for divisor in 8..16_u8 {
            let unit = u64::from(divisor) << (scale - LEAST_SCALE);
            table[usize::from(divisor)] = dividend.div_ceil(unit) as u8;
        }
        Self { table, scale }
    }

    /// The quotient as `(m, e)`, which stands for `m * 2^e`: never too small, at most 14.3 % too large.
    pub fn approximate(&self, divisor: u32) -> (u8, i32) {
        let divisor = divisor.max(1);
        let log = divisor.ilog2();
        let top = if log >= 3 {
            divisor >> (log - 3)
        } else {
            divisor << (3 - log)
        };
        (self.table[top as usize], 3 - log as i32 + self.scale)
    }

    /// The quotient in whole ticks, rounded down as a shift does.
    pub fn quotient(&self, divisor: u32) -> u32 {
        let (mantissa, exponent) = self.approximate(divisor);
        let mantissa = u64::from(mantissa);
        let quotient = if exponent >= 0 {
            mantissa << exponent
        } else {
            mantissa >> exponent.unsigned_abs().min(63)
        };
        quotient.min(u64::from(u32::MAX)) as u32
    }
}

/// The intermediate values for a packet, as the switch computes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The clock, in ticks.
    pub now: u32,
    /// The queue is found to persist.
    pub detected: bool,
    /// The instantaneous part marks.
    pub instantaneous: bool,
    /// The persistent part marks.
    pub persistent: bool,
}

/// State of ECN# on Tofino.
#[derive(Clone, Debug, Show)]
#[show(refuse)]
pub struct Tofino {
    /// Targets and interval, in ticks.
    ins_target: u32,
    pst_target: u32,
    pst_interval: u32,
    divider: Divider,
    registers: Registers,
}

impl Tofino {
    /// A switch just started: its clock shows what the timestamp's low bits say.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        let pst_interval = params.load.ticks(params.pst_interval);
        Self {
            ins_target: params.load.ticks(params.ins_target),
            pst_target: params.load.ticks(params.pst_target),
            pst_interval,
            divider: Divider::new(pst_interval),
            registers: Registers::default(),
        }
    }

    /// Parameters of the exact algorithm that this one approximates.
    pub fn exact(&self) -> ecn_sharp::Params {
        let time = |ticks: u32| TICK * u64::from(ticks);
        ecn_sharp::Params {
            instantaneous: Instantaneous::Above(time(self.ins_target)),
            pst_target: time(self.pst_target),
            pst_interval: time(self.pst_interval),
            variant: Variant::Paper,
            signal: Signal::SojournTime,
        }
    }

    /// Marks of the persistent part since it set in, and the tick after which the next is due.
    pub fn episode(&self) -> (u32, u32) {
        (
            self.registers.episode.count,
            self.registers.episode.next_mark,
        )
    }

    /// One packet's way through the pipeline.
    pub fn decide(&mut self, now: Time, enqueued_at: Time) -> Decision {
        let (timestamp, enqueued) = (now.as_ps() / 1000, enqueued_at.as_ps() / 1000);
        let wait = timestamp.wrapping_sub(enqueued) as u32 >> TICK_SHIFT;
        let (interval, divider) = (self.pst_interval, &self.divider);
        let pass = self.registers.pass();
        let now = clock(pass.low, pass.high, timestamp);
        let above = wait >= self.pst_target;
        let detected = pass.deadline.with(|deadline| {
            if !above {
                *deadline = UNSET;
                false
            } else if *deadline == UNSET {
                *deadline = now.wrapping_add(interval).max(UNSET + 1);
                false
            } else {
                is_past(now, *deadline)
            }
        });
        let persistent = pass.episode.with(|episode| {
            if !detected {
                episode.count = 0;
                false
            } else if episode.count == 0 {
                episode.count = 1;
                episode.next_mark = now.wrapping_add(interval);
                true
            } else if is_past(now, episode.next_mark) {
                episode.count = episode.count.saturating_add(1);
                let step = divider.quotient(episode.count);
                episode.next_mark = episode.next_mark.wrapping_add(step);
                true
            } else {
                false
            }
        });
        Decision {
            now,
            detected,
            instantaneous: wait > self.ins_target,
            persistent,
        }
    }
}

impl Mechanism for Tofino {
    #[inline]
    fn on_dequeue<R: Rng>(
        &mut self,
        now: Time,
        packet: &Packet,
        _queue: Queue,
        _rng: &mut R,
    ) -> Verdict {
        let decision = self.decide(now, packet.enqueued_at);
        if packet.ect && (decision.instantaneous || decision.persistent) {
            Verdict::MarkCe
        } else {
            Verdict::Pass
        }
    }
}

#[cfg(test)]
mod tests;
