//! HPCC: the sender's reaction to what switches write into its packets.
//!
//! # What it does
//!
//! Every switch on the way writes its time, the bytes its port has sent, its queue and its rate into a packet,
//! and the ACK brings that back. From two such records of a hop follows how much of it is in use: what it
//! sent and what waits, against what it could carry in a base RTT. The busiest hop, smoothed over a base RTT,
//! sets the rate: divided by its use over the target, or raised by a step while it is below. Once a round trip
//! that becomes the reference from which the rates until the next one are reckoned, so that the same packets
//! are not answered twice. The window is what the rate sends in a base RTT.
//!
//! # Source
//!
//! Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, Algorithm 1, in the words of rates of
//! its simulator (alibaba-edu/High-Precision-Congestion-Control, `CC_MODE` 3): W = R x T there.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `base_rtt` | time | 13 us | HPCC paper, 5.1: T; set it to a little more than the longest base RTT |
//! | `window` | bytes | line rate x `base_rtt` | HPCC paper: W_init |
//! | `per_path` | - | false | simulator: `GLOBAL_T` 0 |
//! | `fixed_window` | - | false | HPCC paper; simulator: `VAR_WIN` 0 |
//! | `u_target` | fraction | 95 % | HPCC paper: eta |
//! | `mi_thresh` | round trips | 5 | HPCC paper: maxStage; its simulator's sample has 0 |
//! | `fast_react` | - | true | HPCC paper: per ACK and per RTT |
//! | `multi_rate` | - | false | simulator: a rate for each hop |
//! | `sample_feedback` | - | false | simulator: empty queues count once a round trip only |
//! | `tx_unit`, `queue_unit` | bytes | 128, 80 | the simulator's INT header |
//! | `unknown_rate` | bit/s | none | simulator: 25 Gb/s stands for rates its header has no code for |
//! | `rate_ai` | bit/s | 50 Mb/s | HPCC paper: W_AI of 80 B at 13 us |
//! | `min_rate` | bit/s | 100 Mb/s | simulator |
//!
//! The initial rate is line rate.
//!
//! # Departures
//!
//! - Use is counted in steps of 2^-24.
//! - Counters are longer than the header's, which wrap after 16.8 ms, 134 MB and 10 MB: of time after 4.3 s, of
//!   bytes and queues after 2^32 units.
//! - Two records of a hop from one nanosecond say nothing of it.

use super::{Ack, Hop, Mechanism, Path, Settings};
use crate::units::{Fraction, PS_BITS_PER_BYTE, Rate, Time};

/// Hops of which a packet has room for telemetry: the first ones on its path, as in HPCC's simulator. A law reads no others. How many
/// an acknowledgement of the C library may have is another number, `UNPAUSE_MOST_HOPS`.
pub const MOST_HOPS: usize = 5;

/// Parameters of HPCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// T, a little more than the longest base RTT.
    pub base_rtt: Time,
    /// The window at line rate; `None`: what the sender's link carries in `base_rtt`.
    pub window: Option<u64>,
    /// T and the window are those of the flow's own path.
    pub per_path: bool,
    /// The window stays what it is at line rate.
    pub fixed_window: bool,
    /// Use of the busiest hop that is aimed at.
    pub u_target: Fraction,
    /// Round trips of additive increase before a multiplicative one.
    pub mi_thresh: u32,
    /// Reacts to every ACK, not only once a round trip.
    pub fast_react: bool,
    /// Keeps a rate for every hop; the lowest counts.
    pub multi_rate: bool,
    /// Between round trips, only hops with a queue count.
    pub sample_feedback: bool,
    /// Bytes sent are known to whole multiples of it.
    pub tx_unit: u32,
    /// Queues are known to whole multiples of it.
    pub queue_unit: u32,
    /// The rate that hops report if theirs is none of 25, 50, 100, 200 and 400 Gb/s; `None`: their own.
    pub unknown_rate: Option<Rate>,
    /// Step of additive increase.
    pub rate_ai: Rate,
    /// The rate never falls below this.
    pub min_rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            base_rtt: Time::from_us(13),
            window: None,
            per_path: false,
            fixed_window: false,
            u_target: Fraction::from_ppm(950_000),
            mi_thresh: 5,
            fast_react: true,
            multi_rate: false,
            sample_feedback: false,
            tx_unit: 128,
            queue_unit: 80,
            unknown_rate: None,
            rate_ai: Rate::from_mbps(50),
            min_rate: Rate::from_mbps(100),
        }
    }
}

/// A hop's record as it is kept, short as in the header: the state of every flow has room for it.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Modulo 2^32.
    time_ns: u32,
    /// Modulo 2^32.
    tx_units: u32,
    queue_units: u32,
}

/// A rate, and how it was come by.
#[derive(Clone, Copy, Debug)]
struct Reference {
    rate: u64,
    /// Use, in steps of 2^-24.
    used: u32,
    stage: u32,
}

/// State of HPCC.
#[derive(Clone, Debug)]
pub struct Hpcc {
    params: Params,
    line_rate: u64,
    base_rtt_ns: u64,
    /// At line rate.
    window: u64,
    payload_bytes: u64,
    packet_bytes: u64,
    rate: u64,
    /// Where the round trip ends whose update has been made; 0 before the first.
    updated: u64,
    last: [Record; MOST_HOPS],
    /// Of every hop if each has its own, else the first is that of all together.
    references: [Reference; MOST_HOPS],
}

/// 1 in steps of a use.
const ONE: u32 = 1 << 24;

impl Hpcc {
    /// A flow at line rate.
    pub fn new(params: &Params, path: &Path) -> Self {
        let mut params = *params;
        params.min_rate = params.min_rate.min(path.line_rate);
        params.tx_unit = params.tx_unit.max(1);
        params.queue_unit = params.queue_unit.max(1);
        let line_rate = path.line_rate.as_bps();
        let base_rtt = if params.per_path {
            path.base_rtt
        } else {
            params.base_rtt
        };
        let base_rtt_ns = (base_rtt.as_ps() / 1000).max(1);
        let carried = u128::from(line_rate) * u128::from(base_rtt_ns) / 8_000_000_000;
        let window = if params.per_path {
            Some(path.bandwidth_delay)
        } else {
            params.window
        };
        let start = Reference {
            rate: line_rate,
            used: ONE,
            stage: 0,
        };
        Self {
            line_rate,
            base_rtt_ns,
            window: window.unwrap_or(carried as u64).max(1),
            payload_bytes: u64::from(path.payload_bytes).max(1),
            packet_bytes: u64::from(path.packet_bytes),
            rate: line_rate,
            updated: 0,
            last: [Record::default(); MOST_HOPS],
            references: [start; MOST_HOPS],
            params,
        }
    }

    fn record(&self, hop: &Hop) -> Record {
        let queue = hop.queue_bytes / u64::from(self.params.queue_unit);
        Record {
            time_ns: (hop.time.as_ps() / 1000) as u32,
            tx_units: (hop.tx_bytes / u64::from(self.params.tx_unit)) as u32,
            queue_units: queue.min(u32::MAX.into()) as u32,
        }
    }

    /// Picoseconds that a byte lasts at a hop, as far as the header says, as a fraction.
    fn ps_per_byte(&self, hop: &Hop) -> (u64, u64) {
        const CODES: [u64; 5] = [25, 50, 100, 200, 400];
        let rate = match self.params.unknown_rate {
            Some(instead) if !CODES.iter().any(|gbps| Rate::from_gbps(*gbps) == hop.rate) => {
                instead
            }
            _ => hop.rate,
        };
        rate.ps_of_byte()
    }

    /// The use of a hop between two records of it, and the nanoseconds between them.
    fn use_of(&self, hop: &Hop, now: Record, before: Record) -> Option<(u32, u64)> {
        let passed = u64::from(now.time_ns.wrapping_sub(before.time_ns));
        if passed == 0 {
            return None;
        }
        let (ps, per) = self.ps_per_byte(hop);
        let (ps, per) = (u128::from(ps), u128::from(per));
        let bytes = |units: u32, unit: u32| u128::from(units) * u128::from(unit);
        let sent = now.tx_units.wrapping_sub(before.tx_units);
        let busy = bytes(sent, self.params.tx_unit) * ps;
        let busy = (busy.min(1 << 100) << 24) / (u128::from(passed) * 1000 * per);
        let queue = now.queue_units.min(before.queue_units);
        let waits = bytes(queue, self.params.queue_unit) << 24;
        let share = u128::from(self.line_rate) * ps / per;
        let waits = waits.min(1 << 60) * share.min(1 << 60)
            / (u128::from(PS_BITS_PER_BYTE) * u128::from(self.window));
        Some(((busy + waits).min(u32::MAX.into()) as u32, passed))
    }

    /// A use smoothed over a base RTT.
    fn smoothed(&self, before: u32, used: u32, passed: u64) -> u32 {
        let passed = passed.min(self.base_rtt_ns);
        let old = u128::from(before) * u128::from(self.base_rtt_ns - passed);
        let new = u128::from(used) * u128::from(passed);
        ((old + new) / u128::from(self.base_rtt_ns)) as u32
    }

    /// The next rate and stage from a reference whose use is `used`.
    fn next(&self, reference: &Reference, used: u32) -> Reference {
        let target = (self.params.u_target.as_q32() >> 8) as u32;
        let ai = self.params.rate_ai.as_bps();
        let (rate, stage) = if used >= target || reference.stage >= self.params.mi_thresh {
            let scaled = u128::from(reference.rate) * u128::from(target) / u128::from(used.max(1));
            let scaled = scaled.min(u64::MAX.into()) as u64;
            (scaled.saturating_add(ai), 0)
        } else {
            (reference.rate.saturating_add(ai), reference.stage + 1)
        };
        Reference {
            rate: rate.max(self.params.min_rate.as_bps()).min(self.line_rate),
            used,
            stage,
        }
    }

    /// Answers an ACK; `ends` a round trip, so that what follows becomes the reference.
    fn answer(&mut self, hops: &[Hop], ends: bool) {
        let mut busiest = (0, 0);
        let mut lowest = self.line_rate;
        let mut any = false;
        for (index, hop) in hops.iter().enumerate().take(MOST_HOPS) {
            let now = self.record(hop);
            let skipped = self.params.sample_feedback && now.queue_units == 0 && !ends;
            let found = if skipped {
                None
            } else {
                self.use_of(hop, now, self.last[index])
            };
            let Some((used, passed)) = found else {
                lowest = lowest.min(self.references[index].rate);
                continue;
            };
            any = true;
            self.last[index] = now;
            if used > busiest.0 {
                busiest = (used, passed);
            }
            if self.params.multi_rate {
                let reference = self.references[index];
                let used = self.smoothed(reference.used, used, passed);
                let next = self.next(&reference, used);
                lowest = lowest.min(next.rate);
                self.references[index] = if ends {
                    next
                } else {
                    Reference { used, ..reference }
                };
            }
        }
        if !any {
            return;
        }
        if self.params.multi_rate {
            self.rate = lowest;
            return;
        }
        let reference = self.references[0];
        let used = self.smoothed(reference.used, busiest.0, busiest.1);
        let next = self.next(&reference, used);
        self.rate = next.rate;
        self.references[0] = if ends {
            next
        } else {
            Reference { used, ..reference }
        };
    }
}

impl Settings for Params {
    fn reads_telemetry(&self) -> bool {
        true
    }
    fn reads_path(&self) -> bool {
        self.per_path
    }
    fn least_rate(&self) -> Option<Rate> {
        Some(self.min_rate)
    }
}

impl Mechanism for Hpcc {
    #[inline]
    fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    /// Whole packets, of which another goes while less payload than the window is in flight.
    fn window(&self) -> Option<u64> {
        let bytes = if self.params.fixed_window {
            self.window
        } else {
            let scaled = u128::from(self.window) * u128::from(self.rate);
            (scaled / u128::from(self.line_rate.max(1))) as u64
        };
        Some(bytes.max(1).div_ceil(self.payload_bytes) * self.packet_bytes)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.telemetry.is_empty() {
            return;
        }
        if self.updated == 0 {
            for (index, hop) in ack.telemetry.iter().enumerate().take(MOST_HOPS) {
                self.last[index] = self.record(hop);
            }
            self.updated = ack.sent;
        } else if ack.acknowledged > self.updated {
            self.answer(ack.telemetry, true);
            self.updated = self.updated.max(ack.sent);
        } else if self.params.fast_react {
            self.answer(ack.telemetry, false);
        }
    }
}

#[cfg(test)]
mod tests;
