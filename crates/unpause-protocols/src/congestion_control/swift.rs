//! Swift.
//!
//! # What it does
//!
//! Keeps the delay of the fabric at a target: adds to the window while the round-trip time is below it,
//! and cuts it by how far above it is, at most once a round trip. The target grows as the window shrinks,
//! so that many flows can share a queue. A window below a packet is a packet paced over several round
//! trips.
//!
//! # Source
//!
//! G. Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter",
//! SIGCOMM 2020, Algorithm 1 and 3.5; constants that the paper does not state from htsim (Broadcom's
//! csg-htsim), whose authors call them guesses.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `base_target` | time | 20 us | htsim |
//! | `fs_range` | time | 100 us | htsim: five times `base_target` |
//! | `fs_min_cwnd` | packets | 0.1 | htsim |
//! | `fs_max_cwnd` | packets | 100 | htsim |
//! | `ai` | packets | 1 | htsim |
//! | `beta` | fraction | 0.8 | htsim |
//! | `max_mdf` | fraction | 0.5 | htsim |
//! | `min_cwnd` | packets | 0.001 | ours: a packet a second at 1 ms; htsim has 10 bytes |
//! | `retx_reset_threshold` | timeouts | 5 | htsim |
//!
//! The initial window is what line rate sends in `base_target`, or the transport's if that is smaller:
//! a RoCE flow starts at line rate. The largest is what line rate sends in the largest target.
//!
//! # Departures
//!
//! - The delay is the whole round-trip time: the hosts of the simulator take no time, so the second
//!   window, against the endpoint's delay, would never be the smaller one.
//! - No term for the number of hops: no packet tells it. `base_target` is for the longest path.
//! - A window is capped by the path and not by a `max_cwnd`.
//! - Integers throughout: windows count 2^-32 packets.

use super::{Ack, Loss, Mechanism, Path, Settings};
use crate::units::{Fraction, Rate, Time};

/// A number of packets, in steps of 2^-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packets(u64);

impl Packets {
    /// One packet.
    pub const ONE: Self = Self(ONE);

    /// `numerator / denominator` packets, rounded down; at most 2^31.
    pub const fn of(numerator: u64, denominator: u64) -> Self {
        if denominator == 0 {
            return Self(MOST);
        }
        let scaled = ((numerator as u128) << 32) / denominator as u128;
        Self(if scaled > MOST as u128 {
            MOST
        } else {
            scaled as u64
        })
    }
    /// How many steps of 2^-32.
    pub const fn as_q32(self) -> u64 {
        self.0
    }
}

const ONE: u64 = 1 << 32;
const MOST: u64 = 1 << 63;

/// Parameters of Swift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Target delay of a flow with a large window.
    pub base_target: Time,
    /// The largest addition to the target delay of a flow with a small window.
    pub fs_range: Time,
    /// Windows up to this have the largest target.
    pub fs_min_cwnd: Packets,
    /// Windows from this on have the smallest target.
    pub fs_max_cwnd: Packets,
    /// Additive increase in a round trip.
    pub ai: Packets,
    /// Gain of a decrease.
    pub beta: Fraction,
    /// The most that is cut of a window at once.
    pub max_mdf: Fraction,
    /// The window never falls below this.
    pub min_cwnd: Packets,
    /// After this many consecutive timeouts the window is the smallest.
    pub retx_reset_threshold: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            base_target: Time::from_us(20),
            fs_range: Time::from_us(100),
            fs_min_cwnd: Packets::of(1, 10),
            fs_max_cwnd: Packets::of(100, 1),
            ai: Packets::ONE,
            beta: Fraction::from_ppm(800_000),
            max_mdf: Fraction::from_ppm(500_000),
            min_cwnd: Packets::of(1, 1000),
            retx_reset_threshold: 5,
        }
    }
}

/// State of Swift.
#[derive(Clone, Debug)]
pub struct Swift {
    params: Params,
    line_rate: Rate,
    packet_bytes: u64,
    /// In 2^-32 packets, like those below.
    cwnd: u64,
    max_cwnd: u64,
    /// 1/sqrt of `fs_min_cwnd` and `fs_max_cwnd`, in steps of 2^-32.
    steepest: u64,
    flattest: u64,
    rate: Rate,
    rtt: Time,
    last_decrease: Time,
    timeouts: u32,
}

impl Swift {
    /// A flow that starts.
    pub fn new(params: &Params, path: &Path) -> Self {
        let mut params = *params;
        params.min_cwnd.0 = params.min_cwnd.0.max(1);
        params.fs_min_cwnd.0 = params.fs_min_cwnd.0.max(1);
        params.fs_max_cwnd = params.fs_max_cwnd.max(params.fs_min_cwnd);
        let packet_bytes = u64::from(path.packet_bytes.max(1));
        let sent_in = |span: Time| {
            let bytes = path.line_rate.bytes_in(span);
            Packets::of(bytes, packet_bytes).0
        };
        let largest_target = params.base_target.saturating_add(params.fs_range);
        let max_cwnd = sent_in(largest_target).max(params.min_cwnd.0).max(ONE);
        let initial = sent_in(params.base_target)
            .min(Packets::of(path.initial_window, packet_bytes).0)
            .max(ONE);
        Self {
            steepest: inverse_root(params.fs_min_cwnd.0),
            flattest: inverse_root(params.fs_max_cwnd.0),
            line_rate: path.line_rate,
            packet_bytes,
            cwnd: initial.min(max_cwnd),
            max_cwnd,
            rate: path.line_rate,
            rtt: Time::ZERO,
            last_decrease: Time::ZERO,
            timeouts: 0,
            params,
        }
    }

    /// The window, which may be less than a packet.
    pub fn cwnd(&self) -> Packets {
        Packets(self.cwnd)
    }

    /// The delay that it aims at now: the base, and α / sqrt(cwnd) + β with
    /// α = fs_range / (1 / sqrt(fs_min_cwnd) - 1 / sqrt(fs_max_cwnd)), β = -α / sqrt(fs_max_cwnd).
    pub fn target(&self) -> Time {
        let scaled = if self.cwnd >= self.params.fs_max_cwnd.0 {
            Fraction::ZERO
        } else {
            let above = inverse_root(self.cwnd).saturating_sub(self.flattest);
            Fraction::of(above, self.steepest - self.flattest)
        };
        let more = scaled.of_value(self.params.fs_range.as_ps());
        self.params.base_target.saturating_add(Time::from_ps(more))
    }

    fn can_decrease(&self, now: Time) -> bool {
        now.saturating_sub(self.last_decrease) >= self.rtt
    }

    fn add(&mut self, acked: u64) {
        let step = u128::from(self.params.ai.0) * u128::from(acked) / u128::from(self.packet_bytes);
        let step = if self.cwnd >= ONE {
            (step << 32) / u128::from(self.cwnd)
        } else {
            step
        };
        let step = u64::try_from(step).unwrap_or(u64::MAX);
        self.cwnd = self.cwnd.saturating_add(step);
    }

    /// The delay is as far above the target.
    fn retreat(&mut self, delay: Time, target: Time) {
        let excess = Fraction::of(delay.saturating_sub(target).as_ps(), delay.as_ps());
        let cut = self.params.beta.of_value(excess.as_q32());
        self.cut(Fraction::from_q32(cut).min(self.params.max_mdf));
    }

    fn cut(&mut self, share: Fraction) {
        self.cwnd -= share.of_value(self.cwnd);
    }

    /// Keeps the window within its bounds, and the pace to it.
    fn settle(&mut self, now: Time, before: u64) {
        let least = self.params.min_cwnd.0;
        self.cwnd = self.cwnd.clamp(least, self.max_cwnd);
        if self.cwnd < before {
            self.last_decrease = now;
        }
        self.rate = if self.cwnd >= ONE || self.rtt == Time::ZERO {
            self.line_rate
        } else {
            // A packet in rtt / cwnd.
            let full = Rate::of(self.packet_bytes, self.rtt).as_bps();
            let paced = Fraction::from_q32(self.cwnd).of_value(full);
            Rate::from_bps(paced.max(1)).min(self.line_rate)
        };
    }
}

/// 1 / sqrt(packets), in steps of 2^-32.
fn inverse_root(packets: u64) -> u64 {
    // sqrt(packets / 2^32) in steps of 2^-32, at least 2^-16.
    let root = (u128::from(packets) << 32).isqrt() as u64;
    u64::try_from((1_u128 << 64) / u128::from(root.max(1))).unwrap_or(u64::MAX)
}

impl Settings for Params {
    // Windows below a packet are paced over round trips of any length.
    fn least_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps(1))
    }
}

impl Mechanism for Swift {
    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    /// The window of whole packets: below one, the rate says when the next may go.
    #[inline]
    fn window(&self) -> Option<u64> {
        let bytes = (u128::from(self.cwnd) * u128::from(self.packet_bytes)) >> 32;
        Some((bytes as u64).max(self.packet_bytes))
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.timeouts = 0;
        let Some(delay) = ack.rtt else {
            return;
        };
        let before = self.cwnd;
        let target = self.target();
        self.rtt = delay;
        if delay < target {
            if ack.may_grow {
                self.add(ack.bytes);
            }
        } else if self.can_decrease(ack.now) {
            self.retreat(delay, target);
        }
        self.settle(ack.now, before);
    }

    fn on_loss(&mut self, now: Time, loss: Loss, _in_flight: u64) {
        let before = self.cwnd;
        match loss {
            // It sends nothing that could be marked.
            Loss::Mark => return,
            Loss::Packet | Loss::Trim { .. } => self.timeouts = 0,
            Loss::Timeout { .. } => self.timeouts = self.timeouts.saturating_add(1),
        }
        if self.timeouts > 0 && self.timeouts >= self.params.retx_reset_threshold {
            self.cwnd = self.params.min_cwnd.0;
        } else if self.can_decrease(now) {
            self.cut(self.params.max_mdf);
        }
        self.settle(now, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u64 = 1000;
    const LINE: Rate = Rate::from_gbps(100);

    fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    fn swift(cwnd: Packets) -> Swift {
        let mut law = Swift::new(&Params::default(), &Path::new(LINE, PACKET as u32));
        law.cwnd = cwnd.0;
        law
    }

    fn ack(now: Time, delay: Time) -> Ack<'static> {
        Ack {
            rtt: Some(delay),
            bytes: PACKET,
            ..Ack::at(now)
        }
    }

    fn timeout(again: bool) -> Loss {
        Loss::Timeout { again, window: 0 }
    }

    /// In thousandths of a packet.
    fn milli(law: &Swift) -> u64 {
        ((u128::from(law.cwnd) * 1000 + (1 << 31)) >> 32) as u64
    }

    #[test]
    fn the_target_follows_the_formula_of_flow_scaling() {
        // (packets, target in ns): 20 us + 100 us (1/sqrt(w) - 0.1) / (sqrt(10) - 0.1).
        let golden = [
            (Packets::of(1, 1000), 120_000),
            (Packets::of(1, 10), 120_000),
            (Packets::of(1, 4), 82_045),
            (Packets::ONE, 49_390),
            (Packets::of(4, 1), 33_062),
            (Packets::of(10, 1), 27_061),
            (Packets::of(25, 1), 23_266),
            (Packets::of(100, 1), 20_000),
            (Packets::of(1000, 1), 20_000),
        ];
        for (cwnd, expected) in golden {
            let target = swift(cwnd).target().as_ps() / 1000;
            assert!(target.abs_diff(expected) <= 1, "{cwnd:?}: {target}");
        }
    }

    #[test]
    fn a_round_trip_below_the_target_adds_a_packet() {
        let mut law = swift(Packets::of(50, 1));
        for _ in 0..50 {
            law.on_ack(&ack(us(100), us(10)));
        }
        // Slightly less: the window grows meanwhile.
        assert!((50_980..=51_000).contains(&milli(&law)), "{}", milli(&law));
        // Below a packet it adds as much for each.
        let mut small = swift(Packets::of(1, 4));
        small.on_ack(&ack(us(100), us(10)));
        assert_eq!(milli(&small), 1250);
    }

    #[test]
    fn a_cut_is_by_the_excess_over_the_delay_and_half_at_most() {
        // The target of 100 packets is 20 us: 1 - 0.8 (delay - 20) / delay, but at least 0.5.
        let golden = [(25, 84_000), (40, 60_000), (50, 52_000), (1000, 50_000)];
        for (delay, expected) in golden {
            let mut law = swift(Packets::of(100, 1));
            law.on_ack(&ack(us(5000), us(delay)));
            assert_eq!(milli(&law), expected, "{delay} us");
        }
        // At the target there is no increase, and a cut of nothing.
        let mut law = swift(Packets::of(100, 1));
        law.on_ack(&ack(us(5000), us(20)));
        assert_eq!(milli(&law), 100_000);
    }

    #[test]
    fn there_is_one_cut_in_a_round_trip() {
        let mut law = swift(Packets::of(100, 1));
        law.on_ack(&ack(us(1000), us(40)));
        law.on_ack(&ack(us(1039), us(40)));
        assert_eq!(milli(&law), 60_000);
        law.on_ack(&ack(us(1040), us(40)));
        assert!(milli(&law) < 60_000);
    }

    #[test]
    fn below_a_packet_it_paces() {
        let mut law = swift(Packets::of(1, 2));
        assert_eq!(law.window(), Some(PACKET));
        // Delay above the target of 61 us at most by a little: no cut worth naming.
        law.params.beta = Fraction::ZERO;
        law.on_ack(&ack(us(1000), us(100)));
        // A packet in 200 us.
        assert_eq!(law.rate().time_for(PACKET), us(200));
        law.on_ack(&ack(us(1001), us(10)));
        assert_eq!((milli(&law), law.rate()), (1500, LINE));
        assert_eq!(law.window(), Some(1500));
    }

    #[test]
    fn losses_cut_by_the_most_and_timeouts_in_a_row_to_the_least() {
        let mut law = swift(Packets::of(100, 1));
        law.rtt = us(20);
        law.on_loss(us(1000), Loss::Packet, 0);
        law.on_loss(us(1001), Loss::Packet, 0);
        assert_eq!(milli(&law), 50_000);
        for count in 1..5 {
            law.on_loss(us(1000 + 1000 * count), timeout(true), 0);
        }
        assert_eq!(milli(&law), 3_125);
        law.on_loss(us(9000), timeout(true), 0);
        assert_eq!(law.cwnd(), Packets::of(1, 1000));
        // An ACK ends the row.
        law.on_ack(&ack(us(9500), us(10)));
        law.on_loss(us(9990), timeout(false), 0);
        assert_eq!(milli(&law), 501);
    }

    #[test]
    fn it_starts_at_line_rate_and_never_holds_more_than_the_largest_target() {
        let mut law = Swift::new(&Params::default(), &Path::new(LINE, PACKET as u32));
        // 100 Gb/s for 20 us and for 120 us.
        assert_eq!(law.cwnd(), Packets::of(250, 1));
        for _ in 0..20_000 {
            law.on_ack(&Ack {
                bytes: 100 * PACKET,
                ..ack(us(1), us(1))
            });
        }
        assert_eq!(law.cwnd(), Packets::of(1500, 1));
        let tcp = Path {
            initial_window: 10 * PACKET,
            ..Path::new(LINE, PACKET as u32)
        };
        assert_eq!(
            Swift::new(&Params::default(), &tcp).cwnd(),
            Packets::of(10, 1)
        );
    }

    /// N flows on a link, of which the delay is a base and the queue of what is above it: all of them come
    /// to rest where the window's target is the delay that N such windows make.
    #[test]
    fn flows_share_a_link_at_the_target_of_their_windows() {
        let (base, capacity) = (us(12), 12_500_000_000_u64);
        for flows in [1_u64, 10, 100] {
            let mut law = swift(Packets::of(2, 1));
            let (mut now, mut sum, mut rounds) = (us(1000), 0, 0);
            for round in 0..40_000 {
                let bytes = u128::from(law.cwnd) * u128::from(flows * PACKET);
                let drain = (bytes * 1_000_000_000_000 / u128::from(capacity)) >> 32;
                let delay = Time::from_ps(drain as u64).max(base);
                now += delay;
                let per_round = Ack {
                    bytes: ((u128::from(law.cwnd) * u128::from(PACKET)) >> 32) as u64,
                    ..ack(now, delay)
                };
                law.on_ack(&per_round);
                if round >= 20_000 {
                    let error = delay.as_ps() as i64 - law.target().as_ps() as i64;
                    sum += error * 1000 / law.target().as_ps() as i64;
                    rounds += 1;
                }
            }
            let error = sum / rounds;
            assert!(
                error.abs() < 60,
                "{flows} flows: off by {error} thousandths"
            );
        }
    }
}
