//! PINT for HPCC: each port smooths its own use, and packets learn that of the busiest.
//!
//! # What it does
//!
//! Of a port, a [`Meter`] keeps its use: the bytes of the packet that went before, over what the link carries in a base
//! RTT, and what waits, over the same and weighed by the time since; what was counted before fades over a base RTT. Each data packet
//! that leaves has the code of it ([`LogCode`]), drawn anew, compared with what it carries, and the larger stays.
//! A queue's own state is none: it answers every departure by [`Verdict::Record`], as that of HPCC does.
//!
//! # Source
//!
//! R. Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry", SIGCOMM 2020, 4.3 and appendix on HPCC, in
//! the arithmetic of the simulator of HPCC (alibaba-edu/High-Precision-Congestion-Control, `CC_MODE` 10).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `base_rtt` | time | 13 us | HPCC paper, 5.1: T; set it to a little more than the longest base RTT |
//! | `log_step` | fraction | 5 % | simulator: `PINT_LOG_BASE` 1.05 |
//!
//! # Departures
//!
//! The simulator multiplies by adding approximate logarithms, as a switch would, which is wrong by less than a part in
//! 10,000; here products are exact. Queues in steps of 256 B and the use that is kept in steps of 1/8192 are its.

use rand_core::Rng;

use super::{Mechanism, Packet, Queue, Verdict};
use crate::pint::LogCode;
use crate::state_visitor::Show;
use crate::units::{Fraction, Rate, Time};

/// Parameters of PINT at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// T, a little more than the longest base RTT.
    pub base_rtt: Time,
    /// How much more a code stands for than the one below it.
    pub log_step: Fraction,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            base_rtt: Time::from_us(13),
            log_step: Fraction::from_ppm(50_000),
        }
    }
}

/// State of a queue: none.
#[derive(Clone, Debug, Show)]
#[show(refuse)]
pub struct Pint;

impl Pint {
    /// Records everything.
    pub fn new<R: Rng>(_params: &Params, _rng: &mut R) -> Self {
        Self
    }
}

impl Mechanism for Pint {
    #[inline]
    fn on_dequeue<R: Rng>(&mut self, _: Time, _: &Packet, _: Queue, _: &mut R) -> Verdict {
        Verdict::Record
    }
}

/// State of a port.
#[derive(Clone, Debug)]
pub struct Meter {
    code: LogCode,
    base_rtt_ns: u64,
    /// The capacity of the link over a base RTT, in bytes times 8 x 10^9.
    carried: u128,
    /// Of the packet before, whatever it was.
    last_ns: u64,
    last_bytes: u32,
    /// In steps of 1/8192.
    used: u32,
}

impl Meter {
    /// An idle port with a link of rate `link`.
    pub fn new(params: &Params, link: Rate) -> Self {
        let base_rtt_ns = (params.base_rtt.as_ps() / 1000).max(1);
        Self {
            code: LogCode::new(params.log_step),
            base_rtt_ns,
            carried: carried(link, base_rtt_ns),
            last_ns: 0,
            last_bytes: 0,
            used: 0,
        }
    }

    /// The link has another rate from now on. What was used before stays a share of the rate that it had then.
    pub fn set_link_rate(&mut self, link: Rate) {
        self.carried = carried(link, self.base_rtt_ns);
    }

    /// A packet of `bytes` leaves, and `queue_bytes` stay behind. Answers the code if it `is_data`: nothing else counts
    /// a second time, or fades what was counted.
    pub fn on_departure<R: Rng>(
        &mut self,
        now: Time,
        bytes: u32,
        is_data: bool,
        queue_bytes: u64,
        rng: &mut R,
    ) -> Option<u16> {
        let ns = now.as_ps() / 1000;
        let code = is_data.then(|| {
            let passed = ns.saturating_sub(self.last_ns).min(self.base_rtt_ns);
            let used = self.next_use(passed, queue_bytes);
            self.used = (used.saturating_add(1 << 18) >> 19).min(u32::MAX.into()) as u32;
            self.code.encode(used, rng)
        });
        (self.last_ns, self.last_bytes) = (ns, bytes);
        code
    }

    /// In steps of 2^-32.
    fn next_use(&self, passed: u64, queue_bytes: u64) -> u64 {
        let share = |bytes: u64| (u128::from(bytes) << 32) * 8_000_000_000 / self.carried;
        let over_rtt = |used: u128, ns: u64| used * u128::from(ns) / u128::from(self.base_rtt_ns);
        let queue = queue_bytes.min(1 << 40) & !0xff;
        let waits = over_rtt(share(queue).min(1 << 56), passed);
        let kept = over_rtt(u128::from(self.used) << 19, self.base_rtt_ns - passed);
        let used = waits + share(self.last_bytes.into()) + kept;
        used.min(u64::MAX.into()) as u64
    }
}

/// The capacity of a link of rate `link` over a base RTT, in bytes times 8 x 10^9.
fn carried(link: Rate, base_rtt_ns: u64) -> u128 {
    (u128::from(link.as_bps()) * u128::from(base_rtt_ns)).max(1)
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// 10 Gb/s and 10 us: 12,500 B.
    fn meter() -> (Meter, Xoshiro256PlusPlus) {
        let params = Params {
            base_rtt: Time::from_us(10),
            ..Params::default()
        };
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        (Meter::new(&params, Rate::from_gbps(10)), rng)
    }

    fn leaves(
        of: &mut (Meter, Xoshiro256PlusPlus),
        ns: u64,
        is_data: bool,
        queue: u64,
    ) -> Option<u16> {
        let (meter, rng) = of;
        meter.on_departure(Time::from_ns(ns), 1250, is_data, queue, rng)
    }

    fn used(of: &(Meter, Xoshiro256PlusPlus)) -> u32 {
        of.0.used
    }

    /// The packet before is a tenth of what is carried: U = 0.1, then 0.9 x 0.1 + 0.1, then as much with 3,125 B, of
    /// which whole 256 B count, over a tenth of the time: 0.9 x 0.19 + 0.1 + 0.1 x 3,072 / 12,500.
    #[test]
    fn use_is_what_was_sent_and_what_waits_over_a_base_rtt() {
        let mut port = meter();
        leaves(&mut port, 0, true, 0);
        assert_eq!(used(&port), 0);
        leaves(&mut port, 1_000, true, 0);
        assert_eq!(used(&port), 819);
        leaves(&mut port, 2_000, true, 0);
        assert_eq!(used(&port), 1556);
        let code = leaves(&mut port, 3_000, true, 3_125).unwrap();
        // 0.29547 x 8192, where 1556 has been kept; 152 units of 512, between the 102nd and the 103rd power.
        assert_eq!(used(&port), 2421);
        assert!([102, 103].contains(&code), "{code}");
    }

    /// On a link that is always busy it comes to 1; after a base RTT of silence it is the last packet alone.
    #[test]
    fn a_busy_link_is_in_use_and_silence_fades() {
        let mut port = meter();
        for ns in 0..200 {
            leaves(&mut port, 1_000 * ns, true, 0);
        }
        assert!(used(&port).abs_diff(8192) < 10, "{}", used(&port));
        leaves(&mut port, 300_000, true, 1_000_000);
        assert_eq!(used(&port), 656_137);
        leaves(&mut port, 400_000, true, 0);
        assert_eq!(used(&port), 819);
    }

    /// An ACK counts as the packet before, but what was there before it does not fade meanwhile.
    #[test]
    fn only_data_moves_the_use() {
        let mut port = meter();
        leaves(&mut port, 0, true, 0);
        leaves(&mut port, 1_000, true, 0);
        assert_eq!(leaves(&mut port, 5_000, false, 0), None);
        assert_eq!(used(&port), 819);
        leaves(&mut port, 6_000, true, 0);
        assert_eq!(used(&port), 1556);
    }
}
