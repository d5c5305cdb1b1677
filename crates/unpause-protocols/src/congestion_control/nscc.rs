//! NSCC: Ultra Ethernet's congestion control by the sender.
//!
//! # What it does
//!
//! Bounds the bytes in flight by a window. Packets are sprayed over many paths, so one mark or one late packet says little
//! of the others; a mark and the queuing delay together say which of four things to do:
//!
//! |  | delay below the target | delay at or above it |
//! |---|---|---|
//! | not marked | *proportional increase*, by how far below | *fair increase*, the same for all flows |
//! | marked | nothing: the spraying changes path | *multiplicative decrease*, by how far the average is above |
//!
//! Increases are collected and take effect every 8 packets or every network RTT. When packets keep coming back within 1 us
//! of the base RTT, the window grows at once (*fast increase*). A trimmed packet takes its size off the window. When little
//! has arrived in a period with trimmed packets or very late ones, the window becomes what has arrived (*quick adapt*), and
//! marks of packets sent before that are ignored.
//!
//! # Source
//!
//! The reference simulator of the UEC transport (uet-htsim), `uec.cpp`; its authors say that the Ultra Ethernet
//! specification is what counts. Its windows in traces of seven flows are tests.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `network_rtt` | time | of the longest path, empty | uet-htsim |
//! | `target_delay` | time | 0.75 network RTTs where switches trim, else 1 | uet-htsim |
//! | `quick_adapt_gate` | power of 2 | 3: less than an eighth of the largest window has arrived | uet-htsim |
//! | `initial_window` | bytes | the largest | uet-htsim |
//!
//! All others scale from a network of 100 Gb/s and 12 us, whose BDP is 150 000 B: with `a` for the network's BDP over that
//! one, proportional increase adds up to 4 `a` payloads times the target in 12 us for each window that is acknowledged, fair
//! increase 5 `a` payloads, and every network RTT 0.15 `a` more; fast increase adds 0.25 `a` bytes for each byte. A decrease
//! cuts by 0.8 of what the average delay has above the target, at most by half and once per base RTT. The delay of an ACK
//! enters the average with weight 1/80; above 4 targets it is very late. A period of quick adapt is a base RTT and a target.
//! The window is a packet at least, and 1.5 BDPs of the flow at most.
//!
//! # Departures
//!
//! - Integers throughout; where the reference rounds down a number that is whole but for its floating point, a window can
//!   differ by a byte.
//! - The reference counts the increase in 32 bits, which overflow above 400 Gb/s; here it does not.
//! - A path whose 1.5 BDPs are less than a packet has a window of a packet.

use crate::units::{Rate, Time};

/// The reference for the increases: 100 Gb/s for 12 us.
const REFERENCE_BYTES: u128 = 150_000;
const REFERENCE_RTT: Time = Time::from_us(12);

/// Packets come back as if the network were empty.
const FAST: Time = Time::from_us(1);

/// The average delay keeps 79/80 of itself.
const WEIGHT: u64 = 80;

/// Payloads that a window acknowledged adds at most: proportional, fair; and a network RTT, in twentieths.
const PROPORTIONAL: u128 = 4;
const FAIR: u128 = 5;
const STEADY: u128 = 3;

/// Digits after the point of the increases.
const PROPORTIONAL_DIGITS: u32 = 56;
const DIGITS: u32 = 32;

/// Parameters of NSCC, the same for all flows of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Round trip of a full packet and its ACK on the longest path of the empty network.
    pub network_rtt: Time,
    /// Rate of the hosts' ports.
    pub host_rate: Rate,
    /// Bytes of a full packet, as the window counts them.
    pub packet_bytes: u32,
    /// Payload of a full packet.
    pub payload_bytes: u32,
    /// Queuing delay that the law aims at.
    pub target_delay: Time,
    /// Quick adapt acts if less than the largest window over 2 to this power has arrived in a period.
    pub quick_adapt_gate: u32,
    /// Window that a flow starts with, if that is less than its largest.
    pub initial_window: u64,
}

impl Default for Params {
    /// Of the network that the increases scale from, with the reference's packets and switches that trim.
    fn default() -> Self {
        Self::for_network(REFERENCE_RTT, Rate::from_gbps(100), 4150, 4086, true)
    }
}

impl Params {
    /// The reference's parameters for a network with this round-trip time and rate, with or without trimming switches.
    pub const fn for_network(
        network_rtt: Time,
        host_rate: Rate,
        packet_bytes: u32,
        payload_bytes: u32,
        trimming: bool,
    ) -> Self {
        let rtt = network_rtt.as_ps();
        Self {
            network_rtt,
            host_rate,
            packet_bytes,
            payload_bytes,
            target_delay: Time::from_ps(if trimming { rtt - rtt.div_ceil(4) } else { rtt }),
            quick_adapt_gate: 3,
            initial_window: u64::MAX,
        }
    }

    /// `factor` · `a` / `divisor`, in steps of 2^-`digits`, to the nearest.
    fn scaled(&self, factor: u128, divisor: u128, digits: u32) -> u64 {
        let bytes = u128::from(self.host_rate.bytes_in(self.network_rtt)).min(1 << 40);
        let divisor = REFERENCE_BYTES * divisor;
        // At most 2^40 · 2^36: the rest of 128 bits is for the digits.
        let product = factor * bytes;
        let room = product.leading_zeros().min(digits);
        let steps = (product << room).saturating_add(divisor / 2) / divisor;
        u64::try_from(steps)
            .ok()
            .and_then(|steps| steps.checked_mul(1 << (digits - room)))
            .unwrap_or(u64::MAX)
    }
}

/// An acknowledgement, as reported to the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// When it came.
    pub now: Time,
    /// By how much the bytes have grown that the receiver says it has received, headers included.
    pub bytes: u64,
    /// The packet that caused it was marked.
    pub marked: bool,
    /// How long after that packet was sent; `None` if nobody knows, as after a retransmission, and of a header without
    /// payload if it is shorter than the base RTT, which is that of full packets.
    pub rtt: Option<Time>,
    /// Share of the window for these bytes that the receiver leaves to the sender, in 255ths; `None`: all of it.
    pub penalty: Option<u8>,
    /// Bytes in flight, without those acknowledged.
    pub in_flight: u64,
}

impl Ack {
    /// An ACK that reports only that this many bytes have arrived.
    pub const fn at(now: Time, bytes: u64, in_flight: u64) -> Self {
        Self {
            now,
            bytes,
            marked: false,
            rtt: None,
            penalty: None,
            in_flight,
        }
    }
}

/// A switch has trimmed a packet, and its receiver says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nack {
    /// When it came.
    pub now: Time,
    /// Size of the packet as it was sent.
    pub bytes: u64,
    /// How long after the packet was sent; `None` if nobody knows.
    pub rtt: Option<Time>,
    /// The window need not shrink: the last switch has trimmed it, and the receiver's credits slow the senders.
    pub credited: bool,
    /// Bytes in flight, with those of the packet.
    pub in_flight: u64,
}

/// State of NSCC at the sender of a flow.
#[derive(Clone, Debug)]
pub struct Nscc {
    host_rate: Rate,
    network_rtt: Time,
    target: Time,
    gate: u32,
    /// Increase for a byte and a picosecond below the target, in steps of 2^-56 bytes.
    proportional: u64,
    /// Increases for a byte, in steps of 2^-32 bytes.
    fair: u64,
    fast: u64,
    /// Increase for a network RTT, in bytes.
    steady: u64,
    /// Bytes, as all below.
    least: u64,
    most: u64,
    window: u64,
    base_rtt: Time,
    average: Time,
    /// Increase to come, times the window.
    increase: u64,
    /// Arrived since the last time that it came.
    received: u64,
    last_increase: Time,
    last_decrease: Time,
    /// Acknowledged in a row with next to no delay.
    undelayed: u64,
    fast_now: bool,
    /// Arrived in this period of quick adapt.
    achieved: u64,
    period_end: Time,
    trimmed: bool,
    /// Bytes whose marks are still to be ignored, after quick adapt.
    to_ignore: u64,
}

impl Nscc {
    /// A flow that has sent nothing, on a path of this round trip or less.
    pub fn new(params: &Params, base_rtt: Time) -> Self {
        let payload = u128::from(params.payload_bytes);
        let reference = u128::from(REFERENCE_RTT.as_ps());
        let mut flow = Self {
            host_rate: params.host_rate,
            network_rtt: params.network_rtt,
            target: params.target_delay,
            gate: params.quick_adapt_gate.min(63),
            proportional: params.scaled(PROPORTIONAL * payload, reference, PROPORTIONAL_DIGITS),
            fair: params.scaled(FAIR * payload, 1, DIGITS),
            fast: params.scaled(1, 4, DIGITS),
            steady: params.scaled(STEADY * payload, 20, DIGITS) >> DIGITS,
            least: u64::from(params.packet_bytes.max(1)),
            most: 0,
            window: 0,
            base_rtt,
            average: Time::ZERO,
            increase: 0,
            received: 0,
            last_increase: Time::ZERO,
            last_decrease: Time::ZERO,
            undelayed: 0,
            fast_now: false,
            achieved: 0,
            period_end: Time::ZERO,
            trimmed: false,
            to_ignore: 0,
        };
        flow.most = flow.largest();
        flow.window = params.initial_window.clamp(flow.least, flow.most);
        flow
    }

    /// Bytes that may be in flight: a packet goes if it fits.
    #[inline]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The shortest round trip seen.
    pub fn base_rtt(&self) -> Time {
        self.base_rtt
    }

    /// The average queuing delay, from which an ACK without a round trip of its own takes its delay.
    pub fn average_delay(&self) -> Time {
        self.average
    }

    /// Of the flow's base RTT.
    fn largest(&self) -> u64 {
        let bytes = self.host_rate.bytes_in(self.base_rtt).min(1 << 60);
        (bytes + bytes / 2).max(self.least)
    }

    fn clamp(&mut self) {
        self.window = self.window.clamp(self.least, self.most);
    }

    fn shrink(&mut self, bytes: u64) {
        self.window = self.window.saturating_sub(bytes).max(self.least);
    }

    /// The base RTT falls to a shorter round trip, and with it the largest window.
    fn learn_base_rtt(&mut self, rtt: Time) {
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            self.most = self.largest();
        }
    }

    /// Takes a delay into the average. A late packet without a mark lowers it: other paths were faster.
    fn average_in(&mut self, delay: Time, marked: bool) {
        let kept = u128::from(self.average.as_ps()) * u128::from(4 * (WEIGHT - 1));
        let new = if !marked && delay > self.target {
            u128::from(self.base_rtt.as_ps())
        } else {
            u128::from(delay.as_ps()) * 4
        };
        let average = (kept + new) / u128::from(4 * WEIGHT);
        self.average = Time::from_ps(u64::try_from(average).unwrap_or(u64::MAX));
    }

    /// An ACK has come.
    pub fn on_ack(&mut self, ack: &Ack) {
        let n = ack.bytes;
        self.achieved = self.achieved.saturating_add(n);
        self.received = self.received.saturating_add(n);
        self.to_ignore = self.to_ignore.saturating_sub(n);
        if let Some(kept) = ack.penalty.filter(|kept| *kept < u8::MAX) {
            let kept = u128::from(n) * u128::from(kept) / u128::from(u8::MAX);
            self.shrink(n - u64::try_from(kept).unwrap_or(n));
        }
        let mut delay = self.average;
        if let Some(rtt) = ack.rtt {
            self.learn_base_rtt(rtt);
            delay = rtt.saturating_sub(self.base_rtt);
            self.average_in(delay, ack.marked);
        }
        let late = delay.as_ps() > self.target.as_ps().saturating_mul(4);
        if self.quick_adapt(ack.now, ack.marked, late, ack.in_flight) {
            return;
        }
        match (ack.marked, delay < self.target) {
            (false, true) => self.grow_by_delay(n, delay),
            (false, false) => self.collect(n, self.fair, DIGITS),
            (true, false) => self.decrease(ack.now),
            (true, true) => {}
        }
        self.clamp();
        self.settle(ack.now);
        self.clamp();
    }

    /// A switch has trimmed a packet: a sample of a network RTT for the average delay.
    pub fn on_nack(&mut self, nack: &Nack) {
        if let Some(rtt) = nack.rtt {
            self.learn_base_rtt(rtt);
        }
        self.to_ignore = self.to_ignore.saturating_sub(nack.bytes);
        self.average_in(self.network_rtt, true);
        self.trimmed = true;
        if !self.quick_adapt(nack.now, true, true, nack.in_flight) && !nack.credited {
            self.window = self.window.saturating_sub(nack.bytes);
            self.clamp();
        }
    }

    /// The retransmission timer of a packet of this size has run out.
    pub fn on_timeout(&mut self, bytes: u64) {
        self.shrink(bytes);
    }

    /// At the end of a period in which little has arrived, the window becomes that. True if it has, or if the mark is to be
    /// ignored: then nothing else is done.
    fn quick_adapt(&mut self, now: Time, marked: bool, late: bool, in_flight: u64) -> bool {
        let mut done = false;
        if marked && self.to_ignore > 0 {
            done = true;
        } else if now > self.period_end {
            let little = self.achieved < self.most >> self.gate;
            if self.period_end > Time::ZERO && (self.trimmed || late) && little {
                self.window = self.achieved.max(self.least);
                self.to_ignore = in_flight;
                self.trimmed = false;
                done = true;
            }
            self.achieved = 0;
            let period = self.base_rtt.saturating_add(self.target);
            self.period_end = now.saturating_add(period);
        }
        if done {
            self.increase = 0;
            self.received = 0;
        }
        done
    }

    /// Collects an increase.
    fn collect(&mut self, amount: u64, factor: u64, digits: u32) {
        let sum = (u128::from(amount) * u128::from(factor)) >> digits;
        let sum = u64::try_from(sum).unwrap_or(u64::MAX);
        self.increase = self.increase.saturating_add(sum);
    }

    /// Fast increase if there is next to no delay for more than a window, or else proportional.
    fn grow_by_delay(&mut self, bytes: u64, delay: Time) {
        if delay < FAST {
            self.undelayed = self.undelayed.saturating_add(bytes);
            if self.fast_now || self.undelayed > self.window {
                self.fast_now = true;
                let more = (u128::from(bytes) * u128::from(self.fast)) >> DIGITS;
                let more = u64::try_from(more).unwrap_or(u64::MAX);
                self.window = self.window.saturating_add(more);
                return;
            }
        } else {
            self.undelayed = 0;
        }
        self.fast_now = false;
        let below = self.target.saturating_sub(delay).as_ps();
        let amount = bytes.saturating_mul(below);
        self.collect(amount, self.proportional, PROPORTIONAL_DIGITS);
    }

    /// Multiplicative decrease: 1 - 0.8 (A - T)/A of the window is left, which is (A + 4 T)/5 A, and half of it at least.
    fn decrease(&mut self, now: Time) {
        self.fast_now = false;
        self.undelayed = 0;
        let since = now.saturating_sub(self.last_decrease);
        if self.average <= self.target || since <= self.base_rtt {
            return;
        }
        let (average, target) = (self.average.as_ps(), self.target.as_ps());
        let (average, target) = (u128::from(average), u128::from(target));
        let left = u128::from(self.window) * (average + 4 * target) / (5 * average);
        let left = u64::try_from(left).unwrap_or(self.window);
        self.window = left.max(self.window / 2).max(self.least);
        self.last_decrease = now;
    }

    /// Every 8 packets or network RTT the increases that have been collected take effect.
    fn settle(&mut self, now: Time) {
        let since = now.saturating_sub(self.last_increase);
        if self.received <= 8 * self.least && since <= self.network_rtt {
            return;
        }
        self.window = self.window.saturating_add(self.increase / self.window);
        if since >= self.network_rtt {
            self.window = self.window.saturating_add(self.steady);
            self.last_increase = now;
        }
        self.increase = 0;
        self.received = 0;
    }
}

#[cfg(test)]
mod tests;
