//! How the classes of a NIC share its port, where the most urgent does not simply go first.
//!
//! Start-time fair queueing (Goyal, Vin, Cheng: IEEE/ACM ToN 1997) over the bytes of frames: a class that has sent is due
//! again after its bytes divided by its weight, and the class that is due first sends. One that had nothing to send
//! resumes at the time of the others, so nothing is made up for. 802.1Q clause 37 (ETS) asks for shares, and leaves it
//! open how.

use crate::config::NicShares;
use crate::plan::Plan;

/// Virtual time of a byte at weight 1.
const BYTE: u64 = 1 << 16;
const CLASSES: usize = 8;

/// The shares of a NIC. Whoever looks for a packet asks [`Self::pick`], which reads from the NIC's counters what has been
/// sent since it was asked last.
#[derive(Clone, Debug)]
pub struct Shares {
    /// By class; 0 of classes that are served strictly.
    weights: [u32; CLASSES],
    /// By class, the virtual time at which it is due again.
    due: [u64; CLASSES],
    /// By class, the bytes that count in `due`.
    counted: [u64; CLASSES],
    /// Virtual time: when the frame was due that left last.
    now: u64,
    largest_frame: u64,
}

impl Shares {
    /// Nothing sent; none if the most urgent class goes first.
    pub fn new(plan: &Plan<'_>) -> Option<Box<Self>> {
        let NicShares { weights } = plan.config.host.shares.as_ref()?;
        let mut of_class = [0; CLASSES];
        for class in 0..plan.classes.count() {
            of_class[class] = weights[usize::from(plan.classes.priority(class as u8))].into();
        }
        Some(Box::new(Self {
            weights: of_class,
            due: [0; CLASSES],
            counted: [0; CLASSES],
            now: 0,
            largest_frame: plan.mtu_wire_bytes,
        }))
    }

    /// The class to send from, out of at least one that is `eligible`. `sent`: the bytes that each class has sent.
    pub fn pick(&mut self, eligible: u8, sent: impl Fn(usize) -> u64) -> usize {
        for class in 0..CLASSES {
            if self.weights[class] > 0 {
                self.charge(class, sent(class));
            }
        }
        let with_share = (0..CLASSES).filter(|class| self.weights[*class] > 0);
        let strict = eligible & !with_share.fold(0, |mask, class| mask | 1 << class);
        if strict != 0 {
            return 7 - strict.leading_zeros() as usize;
        }
        let classes = (0..CLASSES).filter(|class| eligible >> class & 1 == 1);
        // Of several the most urgent.
        let first = classes
            .rev()
            .min_by_key(|class| self.due[*class].max(self.now));
        first.expect("some class is eligible")
    }

    fn charge(&mut self, class: usize, sent: u64) {
        let bytes = sent - self.counted[class];
        if bytes == 0 {
            return;
        }
        self.counted[class] = sent;
        let weight = u64::from(self.weights[class]);
        let begun = self.due[class].max(self.now);
        self.due[class] = begun + bytes * BYTE / weight;
        // More than a frame at once: the others had nothing to send meanwhile.
        let last = bytes.min(self.largest_frame) * BYTE / weight;
        self.now = self.now.max(self.due[class] - last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(weights: [u32; CLASSES]) -> Shares {
        Shares {
            weights,
            due: [0; CLASSES],
            counted: [0; CLASSES],
            now: 0,
            largest_frame: 1_000,
        }
    }

    /// Bytes that each class has sent after `frames` frames, all of them eligible, with frames of these sizes.
    fn sent(it: &mut Shares, eligible: u8, frames: u32, sizes: [u64; CLASSES]) -> [u64; CLASSES] {
        let mut sent = it.counted;
        for _ in 0..frames {
            let class = it.pick(eligible, |class| sent[class]);
            sent[class] += sizes[class];
        }
        sent
    }

    #[test]
    fn bytes_are_shared_by_weight_whatever_the_frames() {
        let mut it = shares([50, 30, 20, 0, 0, 0, 0, 0]);
        let all = sent(&mut it, 0b111, 100_000, [1_000, 300, 64, 0, 0, 0, 0, 0]);
        let total: u64 = all.iter().sum();
        for (class, percent) in [(0, 50.0), (1, 30.0), (2, 20.0)] {
            let share = 100.0 * all[class] as f64 / total as f64;
            assert!((share - percent).abs() < 0.01, "{class}: {share}");
        }
    }

    #[test]
    fn classes_without_a_weight_go_first() {
        let mut it = shares([1, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(it.pick(0b1111, |_| 0), 3);
        assert_eq!(it.pick(0b0111, |_| 0), 2);
        assert_eq!(it.pick(0b0011, |_| 0), 1);
    }

    /// After a class was alone for long, the other gets its share from then on, and no more.
    #[test]
    fn nothing_is_made_up_for() {
        let mut it = shares([1, 1, 0, 0, 0, 0, 0, 0]);
        let alone = sent(&mut it, 0b01, 10_000, [1_000; CLASSES]);
        assert_eq!(alone[0], 10_000_000);
        it.pick(0b01, |class| alone[class]);
        let both = sent(&mut it, 0b11, 100, [1_000; CLASSES]);
        let gained = [both[0] - alone[0], both[1] - alone[1]];
        assert!(gained[0].abs_diff(gained[1]) <= 2_000, "{gained:?}");
        // The same if nobody asked while it was alone.
        let unasked = [both[0] + 5_000_000, both[1]];
        let mut sent = [0; CLASSES];
        sent[..2].copy_from_slice(&unasked);
        for _ in 0..100 {
            let class = it.pick(0b11, |class| sent[class]);
            sent[class] += 1_000;
        }
        let gained = [sent[0] - unasked[0], sent[1] - unasked[1]];
        assert!(gained[0].abs_diff(gained[1]) <= 2_000, "{gained:?}");
    }
}
