//! The reaction point of TIMELY.
//!
//! # What it does
//!
//! Watches the round-trip time: adds a step while it is short or falls, several after a run of falls,
//! and cuts the rate when it rises, in proportion to how fast, or when it is long.
//!
//! # Source
//!
//! - R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015,
//!   Algorithm 1: [`Variant::Segment`].
//! - The per-packet-pacing snippet published by its first author, which the PCN paper says it used:
//!   [`Variant::PerPacket`].
//! - Y. Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016:
//!   [`Variant::Patched`].
//! - HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control), `CC_MODE` 7: [`Variant::Hpcc`].
//!
//! # Parameters
//!
//! `Hpcc` has the defaults of `segment` and no segments.
//!
//! | name | unit | per packet | segment | patched | origin |
//! |---|---|---|---|---|---|
//! | `ewma` | fraction | 0.02 | 0.875 | 0.875 | snippet; CoNEXT 2016 |
//! | `t_low` | time | 0 | 50 us | 50 us | snippet; TIMELY paper |
//! | `t_high` | time | 1 ms | 500 us | 500 us | snippet; TIMELY paper |
//! | `min_rtt` | time | 20 us | 20 us | 20 us | CoNEXT 2016; set it to the base RTT |
//! | `delta` | bit/s | 10 Mb/s | 10 Mb/s | 10 Mb/s | TIMELY paper |
//! | `beta` | fraction | 0.8 | 0.8 | 0.008 | TIMELY paper; CoNEXT 2016 |
//! | `hai_after` | falls | 5 | 5 | - | TIMELY paper |
//! | `hai_factor` | - | 5 | 5 | - | TIMELY paper |
//! | `hai_delta` | bit/s | - | - | - | HPCC's simulator: set by its configuration |
//! | `segment_bytes` | bytes | - | 16 000 | 16 000 | TIMELY paper, ns3-rdma |
//! | `min_rate` | bit/s | 1 Mb/s | 1 Mb/s | 1 Mb/s | ours: that of PCN; the paper states none |
//!
//! The initial rate is line rate.
//!
//! # Departures
//!
//! - Integers throughout: the smoothed RTT difference counts 2^-16 ps. A positive one therefore fades to
//!   zero after about a thousand equal RTTs, where a real number would stay positive.
//! - The patched law's extras in eRPC (steps scaled by the time passed, no update at line rate) are left
//!   out.

use super::{Ack, Mechanism, Path, Settings};
use crate::names::Names;
use crate::units::{Fraction, Rate, Time};

/// Which TIMELY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Variant {
    /// Paced and measured per packet, steps scaled by the time passed.
    #[default]
    PerPacket,
    /// The paper's: bursts of a segment, one measurement each.
    Segment,
    /// Segments, with the law of CoNEXT 2016 between the two thresholds.
    Patched,
    /// HPCC's simulator: paced per packet, one update a round trip, whose RTT has the packet's own
    /// serialisation in it; steps grow after a run of increases of either kind.
    Hpcc,
}

/// Parameters of TIMELY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Which law.
    pub variant: Variant,
    /// Weight of the newest RTT difference in the average.
    pub ewma: Fraction,
    /// Below this RTT the rate always grows.
    pub t_low: Time,
    /// Above this RTT the rate always falls.
    pub t_high: Time,
    /// The RTT of the empty network, by which the gradient is normalised.
    pub min_rtt: Time,
    /// Additive step.
    pub delta: Rate,
    /// Gain of a decrease.
    pub beta: Fraction,
    /// Falls in a row after which steps are larger.
    pub hai_after: u32,
    /// How many times larger.
    pub hai_factor: u32,
    /// Instead of `hai_factor` times `delta`, the larger step.
    pub hai_delta: Option<Rate>,
    /// Bytes of a segment; of no effect per packet.
    pub segment_bytes: u32,
    /// The rate never falls below this.
    pub min_rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self::per_packet()
    }
}

impl Params {
    /// The published snippet for per-packet pacing.
    pub const fn per_packet() -> Self {
        Self {
            variant: Variant::PerPacket,
            ewma: Fraction::from_ppm(20_000),
            t_low: Time::ZERO,
            t_high: Time::from_us(1000),
            ..Self::segment()
        }
    }
    /// The paper's algorithm.
    pub const fn segment() -> Self {
        Self {
            variant: Variant::Segment,
            ewma: Fraction::from_ppm(875_000),
            t_low: Time::from_us(50),
            t_high: Time::from_us(500),
            min_rtt: Time::from_us(20),
            delta: Rate::from_mbps(10),
            beta: Fraction::from_ppm(800_000),
            hai_after: 5,
            hai_factor: 5,
            hai_delta: None,
            segment_bytes: 16_000,
            min_rate: Rate::from_mbps(1),
        }
    }
    /// HPCC's simulator.
    pub const fn hpcc() -> Self {
        Self {
            variant: Variant::Hpcc,
            ..Self::segment()
        }
    }
    /// The law of CoNEXT 2016.
    pub const fn patched() -> Self {
        Self {
            variant: Variant::Patched,
            beta: Fraction::from_ppm(8_000),
            ..Self::segment()
        }
    }
}

/// State of TIMELY.
#[derive(Clone, Debug)]
pub struct Timely {
    params: Params,
    line_rate: u64,
    rate: u64,
    /// The RTT before; never before the first.
    previous: Time,
    /// Smoothed difference of successive RTTs, in 2^-16 ps.
    average: i64,
    /// Falls in a row.
    falls: u32,
    last_ack: Time,
    /// Of a full packet at the sender.
    serialisation: Time,
    /// Where the round trip ends whose update has been made; 0 before the first.
    updated: u64,
}

/// Longer round trips count as this, 70 s, so that averages fit 64 bits.
const LONGEST_RTT: Time = Time::from_ps(1 << 46);

const ONE: i128 = Fraction::ONE.as_q32() as i128;

impl Timely {
    /// A flow at line rate.
    pub fn new(params: &Params, path: &Path) -> Self {
        let mut params = *params;
        params.min_rtt = params.min_rtt.max(Time::from_ps(1));
        params.min_rate = params.min_rate.min(path.line_rate);
        Self {
            params,
            line_rate: path.line_rate.as_bps(),
            rate: path.line_rate.as_bps(),
            previous: Time::NEVER,
            average: 0,
            falls: 0,
            last_ack: Time::ZERO,
            serialisation: path.line_rate.time_for(u64::from(path.packet_bytes)),
            updated: 0,
        }
    }

    /// Takes in one RTT; answers what part of the steps the time since the last one is worth.
    fn observe(&mut self, now: Time, rtt: Time) -> Fraction {
        let previous = if self.previous.is_never() {
            rtt
        } else {
            self.previous
        };
        let difference = rtt.as_ps() as i64 - previous.as_ps() as i64;
        let ewma = i128::from(self.params.ewma.as_q32());
        let old = i128::from(self.average) * (ONE - ewma);
        let new = (i128::from(difference) << 16) * ewma;
        self.average = ((old + new) >> 32) as i64;
        let falls = match self.params.variant {
            Variant::PerPacket => difference < 0,
            Variant::Segment | Variant::Patched | Variant::Hpcc => self.average <= 0,
        };
        self.falls = if falls {
            self.falls.saturating_add(1)
        } else {
            0
        };
        let elapsed = now.saturating_sub(self.last_ack);
        self.previous = rtt;
        self.last_ack = now;
        match self.params.variant {
            Variant::PerPacket => Fraction::of(elapsed.as_ps(), self.params.min_rtt.as_ps()),
            Variant::Segment | Variant::Patched | Variant::Hpcc => Fraction::ONE,
        }
    }

    /// Smoothed RTT difference over `min_rtt`, in steps of 2^-32.
    fn gradient(&self) -> i128 {
        (i128::from(self.average) << 16) / i128::from(self.params.min_rtt.as_ps())
    }

    fn raised(&self, steps: u64, scale: Fraction) -> u64 {
        let step = self.params.delta.as_bps().saturating_mul(steps);
        self.rate.saturating_add(scale.of_value(step))
    }

    /// The rate less `cut` (in steps of 2^-32) of it.
    fn lowered(&self, cut: u128) -> u64 {
        let cut = (u128::from(self.rate) * cut.min(ONE as u128)) >> 32;
        self.rate - cut as u64
    }

    /// Above `t_high`: a cut by how far above.
    fn retreat(&self, rtt: Time, scale: Fraction) -> u64 {
        let excess = rtt.saturating_sub(self.params.t_high);
        let excess = Fraction::of(excess.as_ps(), rtt.as_ps());
        let cut = self.params.beta.of_value(excess.as_q32());
        self.lowered(u128::from(scale.of_value(cut)))
    }

    /// Between the thresholds, by the gradient.
    fn follow_gradient(&self, scale: Fraction) -> u64 {
        if self.average <= 0 {
            let hyper = self.falls >= self.params.hai_after;
            if let Some(step) = self.params.hai_delta.filter(|_| hyper) {
                return self.rate.saturating_add(scale.of_value(step.as_bps()));
            }
            let steps = if hyper { self.params.hai_factor } else { 1 };
            return self.raised(u64::from(steps), scale);
        }
        let beta = i128::from(self.params.beta.as_q32());
        self.lowered(((self.gradient() * beta) >> 32) as u128)
    }

    /// Between the thresholds, by gradient and distance from `t_low` together.
    fn follow_patched(&self, rtt: Time) -> u64 {
        let weight = (2 * self.gradient() + ONE / 2).clamp(0, ONE);
        let weight = Fraction::from_q32(weight as u64);
        let reference = self.params.t_low.max(Time::from_ps(1));
        let error = u128::from(rtt.saturating_sub(reference).as_ps());
        let gain = u128::from(self.params.beta.of_value(weight.as_q32()));
        let cut = gain * error / u128::from(reference.as_ps());
        let step = self.params.delta.as_bps();
        let step = weight.complement().of_value(step);
        self.lowered(cut).saturating_add(step)
    }

    /// An ACK as HPCC's simulator takes it: the first of a round trip counts.
    fn on_round_trip(&mut self, ack: &Ack<'_>, rtt: Time) {
        if ack.acknowledged <= self.updated {
            return;
        }
        let rtt = rtt.saturating_add(self.serialisation).min(LONGEST_RTT);
        let is_first = self.updated == 0;
        if ack.sent > self.updated {
            self.updated = ack.sent;
        }
        let rises = self.falls;
        self.observe(ack.now, rtt);
        self.falls = rises;
        if is_first {
            return;
        }
        let next = if rtt > self.params.t_high {
            self.retreat(rtt, Fraction::ONE)
        } else if rtt < self.params.t_low || self.average <= 0 {
            let step = if self.falls < self.params.hai_after {
                self.params.delta.as_bps()
            } else {
                self.hyper_step()
            };
            self.falls = self.falls.saturating_add(1);
            self.rate = self.rate.saturating_add(step).min(self.line_rate);
            return;
        } else {
            let beta = i128::from(self.params.beta.as_q32());
            self.lowered(((self.gradient() * beta) >> 32) as u128)
        };
        self.falls = 0;
        self.rate = next.max(self.params.min_rate.as_bps());
    }

    fn hyper_step(&self) -> u64 {
        let factor = u64::from(self.params.hai_factor);
        let several = self.params.delta.as_bps().saturating_mul(factor);
        self.params.hai_delta.map_or(several, Rate::as_bps)
    }

    /// A round-trip time has been measured.
    fn on_rtt(&mut self, now: Time, rtt: Time) {
        let rtt = rtt.min(LONGEST_RTT);
        let scale = self.observe(now, rtt);
        let mut next = if rtt < self.params.t_low {
            self.raised(1, scale)
        } else if rtt > self.params.t_high {
            self.retreat(rtt, scale)
        } else if self.params.variant == Variant::Patched {
            self.follow_patched(rtt)
        } else {
            self.follow_gradient(scale)
        };
        if self.params.variant == Variant::PerPacket {
            next = next.max(self.rate / 2);
        }
        self.rate = next.max(self.params.min_rate.as_bps()).min(self.line_rate);
    }
}

impl Settings for Params {
    fn least_rate(&self) -> Option<Rate> {
        Some(self.min_rate)
    }
}

impl Mechanism for Timely {
    #[inline]
    fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        match ack.rtt {
            Some(rtt) if self.params.variant == Variant::Hpcc => self.on_round_trip(ack, rtt),
            Some(rtt) => self.on_rtt(ack.now, rtt),
            None => {}
        }
    }

    #[inline]
    fn burst_bytes(&self) -> Option<u32> {
        match self.params.variant {
            Variant::PerPacket | Variant::Hpcc => None,
            Variant::Segment | Variant::Patched => Some(self.params.segment_bytes),
        }
    }
}

#[cfg(test)]
mod tests;
