//! The congestion point of QCN.
//!
//! # What it does
//!
//! Samples one arriving packet in every 150 KB or so, more often the worse things stand; combines how
//! far the queue is from its equilibrium with how fast it grows, and sends the result to the packet's
//! source when it says "congested".
//!
//! [`Count`] says whether the bytes from one sample to the next count when they arrive or when they leave. In the standard they
//! count when they arrive: a queue that fills fast is sampled often. Counted when they leave, samples of a busy link are a fixed
//! time apart, however fast packets arrive.
//!
//! The standard watches the output queue and notifies the source of the packet that arrived. [`Mode`] has
//! three more ways, which watch the input buffer of a combined-input-output-queued switch. Sampling is the
//! same; whom to notify is asked of the owner, who knows what lies in the buffer: see [`Selection`].
//!
//! # Source
//!
//! IEEE 802.1Qau (now 802.1Q clauses 30 to 33), congestion point; defaults of IEEE8021-CN-MIB. Modes and
//! the fixed interval: the QCN-at-inputs paper of Chrysos et al. (IBM), sections III to V.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `q_eq` | bytes | 26 000 | IEEE8021-CN-MIB |
//! | `weight` | - | 2 | IEEE8021-CN-MIB (log2 = 1) |
//! | `sample_base` | bytes | 150 000 | IEEE8021-CN-MIB |
//! | `quantisation` | - | `Linear` | the standard; `TopBits` is found in implementations |
//! | `mode` | - | `OutputArrival` | the standard; the others are the QCN-at-inputs paper's |
//! | `interval` | - | `StandardTable` | the standard; `Fixed` is the QCN-at-inputs paper's hardware |
//! | `count` | - | `Arrivals` | the standard; `Departures` is what "20 us (time of transmitting 100 packets)" in the PCN paper, section 3.2, may mean |
//!
//! # Departures
//!
//! - Intervals are `sample_base / (1 + qfb / 8)` exactly; old pseudo-code rounds the last two entries of
//!   its table (21.5 and 18.5 KB).
//! - The jitter factor, 0.85 to 1.15, comes in steps of 1/1024; a fixed interval has none.

use rand_core::Rng;

use super::{Indifference, Mechanism, Packet, Queue, Verdict};
use crate::jitter::jittered;
use crate::names::Names;
use crate::notification::QcnFeedback;
use crate::state_visitor::Show;
use crate::units::Time;

/// How |Fb| becomes six bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Quantisation {
    /// 63 |Fb| / (Qeq (2w + 1)), rounded down.
    #[default]
    Linear,
    /// The six most significant bits of the field that holds the largest |Fb|.
    TopBits,
}

/// Which buffer is watched, and whom a congested sample accuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Mode {
    /// The output queue; the flow of the packet that was sampled. 802.1Qau.
    #[default]
    OutputArrival,
    /// The input buffer; the flow of the packet that was sampled.
    InputArrival,
    /// The input buffer; the flow that holds most of it.
    InputOccupancyDet,
    /// The input buffer; a flow drawn in proportion to what it holds.
    InputOccupancyRand,
}

/// Whom the owner of a congestion point is to notify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The flow of the packet that has just arrived.
    Arrived,
    /// The flow with the most bytes in the buffer; of equal ones that whose oldest packet is oldest.
    Largest,
    /// The flow of a buffer unit drawn at random among those in use ([`super::culprit::CulpritArray`]).
    RandomUnit,
}

impl Mode {
    /// True if the buffer watched is that of an input port.
    pub const fn at_input(self) -> bool {
        !matches!(self, Self::OutputArrival)
    }
    /// Whom to notify.
    pub const fn selection(self) -> Selection {
        match self {
            Self::OutputArrival | Self::InputArrival => Selection::Arrived,
            Self::InputOccupancyDet => Selection::Largest,
            Self::InputOccupancyRand => Selection::RandomUnit,
        }
    }
}

/// Bytes from one sample to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Interval {
    /// Shorter the worse the feedback, down to an eighth, with jitter. 802.1Qau.
    #[default]
    StandardTable,
    /// Always `sample_base`: with 150 KB at most one notification per 100 packets of 1500 B.
    Fixed,
}

/// Packets whose bytes are counted from one sample to the next. The packet that ends the count is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Count {
    /// Packets that join the buffer. 802.1Qau.
    #[default]
    Arrivals,
    /// Packets that leave the queue. Only for [`Mode::OutputArrival`]: at inputs, arrivals always count.
    Departures,
}

/// Parameters of the congestion point of QCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Equilibrium queue length Qeq, in bytes.
    pub q_eq: u32,
    /// Weight w of the queue's growth.
    pub weight: u8,
    /// Bytes between samples of an uncongested queue.
    pub sample_base: u32,
    /// How the feedback is quantised.
    pub quantisation: Quantisation,
    /// Which buffer is watched, and who is notified.
    pub mode: Mode,
    /// How far apart samples are.
    pub interval: Interval,
    /// Where bytes are counted.
    pub count: Count,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            q_eq: 26_000,
            weight: 2,
            sample_base: 150_000,
            quantisation: Quantisation::Linear,
            mode: Mode::OutputArrival,
            interval: Interval::StandardTable,
            count: Count::Arrivals,
        }
    }
}

/// State of the congestion point of QCN.
#[derive(Clone, Debug, Show)]
#[show(refuse)]
pub struct Qcn {
    params: Params,
    /// Queue length at the last sample.
    q_old: i64,
    to_sample: i64,
}

/// The longest queue that is distinguished: offsets must fit an `i32`.
const LONGEST_QUEUE: u64 = i32::MAX as u64;

impl Qcn {
    /// An empty queue, its first sample about `sample_base` away.
    pub fn new<R: Rng>(params: &Params, rng: &mut R) -> Self {
        let mut params = *params;
        params.q_eq = params.q_eq.clamp(1, i32::MAX as u32);
        let mut this = Self {
            params,
            q_old: 0,
            to_sample: 0,
        };
        this.to_sample = this.distance(0, rng);
        this
    }

    /// The largest |Fb|.
    fn fb_span(&self) -> i64 {
        i64::from(self.params.q_eq) * (2 * i64::from(self.params.weight) + 1)
    }

    /// Fb of a queue that has gone from `q_old` to `q`: negative when congested, never positive.
    fn fb(&self, q: i64, q_old: i64) -> i64 {
        let fb = i64::from(self.params.q_eq) - q - i64::from(self.params.weight) * (q - q_old);
        fb.clamp(-self.fb_span(), 0)
    }

    /// The six bits that stand for `fb`.
    fn quantise(&self, fb: i64) -> u8 {
        let span = self.fb_span();
        let qfb = match self.params.quantisation {
            Quantisation::Linear => -fb * 63 / span,
            Quantisation::TopBits => {
                let bits = i64::BITS - span.leading_zeros();
                -fb >> bits.saturating_sub(6)
            }
        };
        qfb.clamp(0, 63) as u8
    }

    /// Bytes to the next sample, before jitter.
    fn interval(&self, qfb: u8) -> u64 {
        u64::from(self.params.sample_base) / u64::from(1 + qfb / 8)
    }

    /// Bytes to the next sample.
    fn distance<R: Rng>(&self, qfb: u8, rng: &mut R) -> i64 {
        let bytes = match self.params.interval {
            Interval::StandardTable => jittered(self.interval(qfb), rng),
            Interval::Fixed => u64::from(self.params.sample_base),
        };
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }

    /// True if it counts packets that leave.
    fn counts_departures(&self) -> bool {
        self.params.count == Count::Departures && !self.params.mode.at_input()
    }

    /// Counts a packet of this many bytes; samples the queue if that is due.
    fn count<R: Rng>(&mut self, bytes: u32, queue: Queue, rng: &mut R) -> Verdict {
        self.to_sample -= i64::from(bytes);
        if self.to_sample > 0 {
            Verdict::Pass
        } else {
            self.sample(queue, rng)
        }
    }

    fn sample<R: Rng>(&mut self, queue: Queue, rng: &mut R) -> Verdict {
        let q = queue.bytes.min(LONGEST_QUEUE) as i64;
        let qfb = self.quantise(self.fb(q, self.q_old));
        let feedback = QcnFeedback {
            qfb,
            q_offset: (i64::from(self.params.q_eq) - q) as i32,
            q_delta: (q - self.q_old) as i32,
        };
        self.q_old = q;
        self.to_sample = self.distance(qfb, rng);
        if qfb > 0 {
            Verdict::Notify(feedback)
        } else {
            Verdict::Pass
        }
    }
}

impl Mechanism for Qcn {
    fn indifference(&self) -> Indifference {
        let departures = self.counts_departures();
        Indifference {
            to_enqueue: departures,
            to_enqueue_behind: departures,
            to_dequeue_below: if departures { 0 } else { u64::MAX },
            ..Indifference::default()
        }
    }
    #[inline]
    fn on_enqueue<R: Rng>(
        &mut self,
        _now: Time,
        packet: &Packet,
        queue: Queue,
        rng: &mut R,
    ) -> Verdict {
        if self.counts_departures() {
            Verdict::Pass
        } else {
            self.count(packet.bytes, queue, rng)
        }
    }
    #[inline]
    fn on_dequeue<R: Rng>(
        &mut self,
        _now: Time,
        packet: &Packet,
        queue: Queue,
        rng: &mut R,
    ) -> Verdict {
        if self.counts_departures() {
            self.count(packet.bytes, queue, rng)
        } else {
            Verdict::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn cp(params: Params) -> (Qcn, Xoshiro256PlusPlus) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        (Qcn::new(&params, &mut rng), rng)
    }

    fn queue(bytes: u64) -> Queue {
        Queue { bytes, packets: 1 }
    }

    /// (queue, queue before, Fb, quantised, bytes to the next sample)
    const GOLDEN: [(i64, i64, i64, u8, u64); 7] = [
        (26_000, 26_000, 0, 0, 150_000),
        (27_000, 26_000, -3_000, 1, 150_000),
        (40_000, 30_000, -34_000, 16, 50_000),
        (20_000, 10_000, -14_000, 6, 150_000),
        (60_000, 26_000, -102_000, 49, 21_428),
        (100_000, 60_000, -130_000, 63, 18_750),
        (30_000, 60_000, 0, 0, 150_000),
    ];

    #[test]
    fn feedback_has_its_golden_values() {
        let (cp, _) = cp(Params::default());
        for (q, q_old, fb, qfb, interval) in GOLDEN {
            assert_eq!(cp.fb(q, q_old), fb);
            assert_eq!(cp.quantise(fb), qfb);
            assert_eq!(cp.interval(qfb), interval);
        }
    }

    #[test]
    fn only_the_standards_mode_watches_an_output() {
        let modes = [
            (Mode::OutputArrival, false, Selection::Arrived),
            (Mode::InputArrival, true, Selection::Arrived),
            (Mode::InputOccupancyDet, true, Selection::Largest),
            (Mode::InputOccupancyRand, true, Selection::RandomUnit),
        ];
        for (mode, at_input, selection) in modes {
            assert_eq!((mode.at_input(), mode.selection()), (at_input, selection));
        }
    }

    #[test]
    fn intervals_follow_the_table() {
        let (cp, _) = cp(Params::default());
        let table = [
            150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_428, 18_750,
        ];
        for qfb in 0..64 {
            assert_eq!(cp.interval(qfb), table[usize::from(qfb / 8)]);
        }
    }

    #[test]
    fn top_bits_of_the_default_span_are_a_shift_by_eleven() {
        let (cp, _) = cp(Params {
            quantisation: Quantisation::TopBits,
            ..Params::default()
        });
        for fb in [0, 2_047, 2_048, 34_000, 130_000] {
            assert_eq!(cp.quantise(-fb), (fb >> 11) as u8);
        }
    }

    #[test]
    fn a_sample_names_the_queue_and_its_growth_in_the_standards_signs() {
        let (mut cp, mut rng) = cp(Params::default());
        cp.q_old = 30_000;
        let Verdict::Notify(feedback) = cp.sample(queue(40_000), &mut rng) else {
            panic!("a congested queue must notify");
        };
        let expected = QcnFeedback {
            qfb: 16,
            q_offset: -14_000,
            q_delta: 10_000,
        };
        assert_eq!(feedback, expected);
        assert!((42_480..=57_471).contains(&cp.to_sample));
        assert_eq!(cp.q_old, 40_000);
        // The slightest congestion is told too.
        cp.q_old = 26_000;
        let verdict = cp.sample(queue(27_000), &mut rng);
        assert!(matches!(verdict, Verdict::Notify(feedback) if feedback.qfb == 1));
    }

    #[test]
    fn samples_of_a_short_queue_are_150_kilobytes_apart_and_silent() {
        let (mut cp, mut rng) = cp(Params::default());
        let packet = Packet {
            bytes: 1000,
            ect: true,
            enqueued_at: Time::ZERO,
        };
        let mut samples = 0;
        for _ in 0..150_000 {
            let before = cp.to_sample;
            let verdict = cp.on_enqueue(Time::ZERO, &packet, queue(1000), &mut rng);
            assert_eq!(verdict, Verdict::Pass);
            samples += u32::from(cp.to_sample > before);
        }
        assert!((985..=1005).contains(&samples), "{samples}");
    }

    #[test]
    fn a_congested_queue_notifies_at_every_sample() {
        let (mut cp, mut rng) = cp(Params::default());
        let packet = Packet {
            bytes: 1000,
            ect: true,
            enqueued_at: Time::ZERO,
        };
        let notifies = |_: &u32| {
            let verdict = cp.on_enqueue(Time::ZERO, &packet, queue(200_000), &mut rng);
            matches!(verdict, Verdict::Notify(_))
        };
        // The first comes after up to 173 KB, the others 18.75 KB apart.
        let notifications = (0..2000).filter(notifies).count();
        assert!((95..=101).contains(&notifications), "{notifications}");
    }

    /// QCN-at-inputs paper, section V: at most one notification per 100 packets of 1500 B.
    #[test]
    fn a_fixed_interval_notifies_once_in_a_hundred_packets() {
        let params = Params {
            interval: Interval::Fixed,
            ..Params::default()
        };
        let (mut cp, mut rng) = cp(params);
        let packet = Packet {
            bytes: 1500,
            ect: true,
            enqueued_at: Time::ZERO,
        };
        let mut last = 0;
        for number in 1..=10_000 {
            let verdict = cp.on_enqueue(Time::ZERO, &packet, queue(1_000_000), &mut rng);
            if verdict != Verdict::Pass {
                assert_eq!(number - last, 100);
                last = number;
            }
        }
        assert_eq!(last, 10_000);
    }
    /// PCN paper, section 3.2: a sample in "20 us (time of transmitting 100 packets)", 100 packets of 1048 B at 40 Gb/s,
    /// if departures count. If arrivals do, a sample comes earlier by the ratio of the rates, here 14.5.
    #[test]
    fn samples_are_apart_in_time_by_the_rate_of_what_is_counted() {
        const BYTES: u32 = 1048;
        let count_of = |count, (arrivals, departures): (u32, u32)| {
            let params = Params {
                interval: Interval::Fixed,
                sample_base: 100 * BYTES,
                count,
                ..Params::default()
            };
            let (mut cp, mut rng) = cp(params);
            let packet = Packet {
                bytes: BYTES,
                ect: true,
                enqueued_at: Time::ZERO,
            };
            let mut samples = 0;
            for _ in 0..arrivals {
                let verdict = cp.on_enqueue(Time::ZERO, &packet, queue(1_000_000), &mut rng);
                samples += u32::from(verdict != Verdict::Pass);
            }
            for _ in 0..departures {
                let verdict = cp.on_dequeue(Time::ZERO, &packet, queue(1_000_000), &mut rng);
                samples += u32::from(verdict != Verdict::Pass);
            }
            samples
        };
        // 580 Gb/s arrive and 40 Gb/s leave, for 2.1 ms.
        let packets = (145_000, 10_000);
        assert_eq!(count_of(Count::Arrivals, packets), 1450);
        assert_eq!(count_of(Count::Departures, packets), 100);
    }

    #[test]
    fn at_inputs_arrivals_always_count() {
        let params = Params {
            mode: Mode::InputArrival,
            interval: Interval::Fixed,
            count: Count::Departures,
            ..Params::default()
        };
        let (mut cp, mut rng) = cp(params);
        let packet = Packet {
            bytes: 150_000,
            ect: true,
            enqueued_at: Time::ZERO,
        };
        let verdict = cp.on_enqueue(Time::ZERO, &packet, queue(1_000_000), &mut rng);
        assert!(matches!(verdict, Verdict::Notify(_)));
        let verdict = cp.on_dequeue(Time::ZERO, &packet, queue(1_000_000), &mut rng);
        assert_eq!(verdict, Verdict::Pass);
    }
}
