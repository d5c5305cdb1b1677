//! CaPFC: congestion-aware priority flow control.
//!
//! # What it does
//!
//! PFC looks at the ingress of a switch only. Where a packet cannot wait at the ingress for room in its
//! egress queue, a full egress queue means a drop, or a stop of everything. CaPFC watches egress queues
//! too: above a threshold it marks the inputs that have filled the queue, and an input that is marked
//! anywhere is paused as if its own ingress were full. Frames and hosts are those of PFC.
//!
//! # Source
//!
//! S. N. Avci, Z. Li, F. Liu, "Congestion Aware Priority Flow Control in Data Center Networks", IFIP
//! Networking 2016.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `EgressParams::xoff` | bytes | 25 000 | Table II: above it, inputs are marked |
//! | `EgressParams::xon` | bytes | 20 000 | Table II: at or below it, marks are cleared |
//! | `EgressParams::warn` | bytes | 20 000 | Table II: from it on, packets are counted by input |
//! | `EgressParams::stop` | - | `Max` | Stop-Max |
//! | `Stop::Calibrate::cut` | - | - | Table II: 80 % |
//! | `IngressParams::xoff` | bytes | 50 000 | Table II |
//! | `IngressParams::xon` | bytes | 40 000 | Table II |
//!
//! How long a PAUSE asks for, and when it is repeated, is [`pfc::Params`]'s; `Ns3Rdma` repeats it by time
//! only.
//!
//! # Departures
//!
//! - The paper does not say which of two inputs with equal counts is the larger: here the lower number.
//! - "Pass" and "exceed" the cut are both in the text: here the fewest inputs with at least that share.
//! - The ingress is at XOFF from its threshold on, and at XON at or below its own; the paper fixes
//!   neither.
//! - XOFF is repeated at half the pause time, as by PFC; the paper is silent.

use super::pfc::{self, Action};
use crate::state_visitor::Show;
use crate::units::{Fraction, Time};

/// Which inputs a queue above XOFF marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// The one that the most packets came from.
    #[default]
    Max,
    /// As few as together sent at least `cut` of the packets, those that sent most first.
    Calibrate {
        /// Above 0.
        cut: Fraction,
    },
}

/// Parameters of an egress queue, with XON and WARN at most XOFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressParams {
    /// A packet that leaves the queue above this marks inputs, bytes.
    pub xoff: u64,
    /// At or below this all marks are cleared, bytes.
    pub xon: u64,
    /// Packets are counted from this on, and forgotten at or below it, bytes.
    pub warn: u64,
    /// Which inputs are marked.
    pub stop: Stop,
}

impl Default for EgressParams {
    fn default() -> Self {
        Self {
            xoff: 25_000,
            xon: 20_000,
            warn: 20_000,
            stop: Stop::Max,
        }
    }
}

/// Parameters of an ingress, with XON at most XOFF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IngressParams {
    /// PAUSE from this on, bytes.
    pub xoff: u64,
    /// Resume at or below this, bytes.
    pub xon: u64,
}

impl Default for IngressParams {
    fn default() -> Self {
        Self {
            xoff: 50_000,
            xon: 40_000,
        }
    }
}

/// The state that an egress queue keeps for one input port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Packets from there since the queue was last at or below WARN.
    pub packets: u32,
    /// The congestion bit E.
    pub marked: bool,
}

/// Accounting of one (egress port, priority). The owner lends the memory, an [`Input`] for each port:
/// an array, or a boxed slice.
#[derive(Clone, Debug)]
pub struct Egress<S> {
    bytes: u64,
    inputs: S,
    counted: bool,
    marked: bool,
}

impl<S: AsRef<[Input]> + AsMut<[Input]>> Egress<S> {
    /// An empty queue; `inputs` are all at their default.
    pub fn new(inputs: S) -> Self {
        Self {
            bytes: 0,
            inputs,
            counted: false,
            marked: false,
        }
    }

    /// A packet from `input` has joined the queue; `newly_marked` is told of each input that is to be
    /// marked from now on.
    #[inline]
    pub fn on_enqueue(
        &mut self,
        input: usize,
        bytes: u32,
        params: &EgressParams,
        newly_marked: impl FnMut(usize),
    ) {
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        if self.bytes >= params.warn
            && let Some(input) = self.inputs.as_mut().get_mut(input)
        {
            input.packets = input.packets.saturating_add(1);
            self.counted = true;
        }
        if self.bytes > params.xoff {
            self.mark(params.stop, newly_marked);
        }
    }

    /// A packet has left the queue; `cleared` is told of each input whose mark is taken away.
    #[inline]
    pub fn on_dequeue(
        &mut self,
        bytes: u32,
        params: &EgressParams,
        mut cleared: impl FnMut(usize),
    ) {
        self.bytes = self.bytes.saturating_sub(u64::from(bytes));
        if self.counted && self.bytes <= params.warn {
            self.counted = false;
            for input in self.inputs.as_mut() {
                input.packets = 0;
            }
        }
        if self.marked && self.bytes <= params.xon {
            self.marked = false;
            for (number, input) in self.inputs.as_mut().iter_mut().enumerate() {
                if core::mem::take(&mut input.marked) {
                    cleared(number);
                }
            }
        }
    }

    /// Bytes in the queue.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The state of each input.
    pub fn inputs(&self) -> &[Input] {
        self.inputs.as_ref()
    }

    fn mark(&mut self, stop: Stop, mut newly_marked: impl FnMut(usize)) {
        let inputs = self.inputs.as_mut();
        let total: u64 = inputs.iter().map(|input| u64::from(input.packets)).sum();
        let mut marked_packets = 0;
        let mut last = None;
        while let Some(largest) = next_largest(inputs, last) {
            let input = &mut inputs[largest];
            self.marked = true;
            if !core::mem::replace(&mut input.marked, true) {
                newly_marked(largest);
            }
            marked_packets += u64::from(input.packets);
            last = Some(largest);
            if stop.is_enough(marked_packets, total) {
                break;
            }
        }
    }
}

impl Stop {
    /// True if inputs with `marked` of `total` packets are all that must be marked.
    fn is_enough(self, marked: u64, total: u64) -> bool {
        match self {
            Self::Max => true,
            // A fraction is rounded to its step; so little more or less is the same.
            Self::Calibrate { cut } => {
                (u128::from(marked) << 32) + u128::from(total)
                    >= u128::from(cut.as_q32()) * u128::from(total)
            }
        }
    }
}

/// The input with the most packets, or after `last` the most: among equals, the lowest number first.
/// One without packets does not count.
fn next_largest(inputs: &[Input], last: Option<usize>) -> Option<usize> {
    let mut found: Option<usize> = None;
    for (number, input) in inputs.iter().enumerate() {
        let comes_later = last.is_none_or(|last| {
            let before = inputs[last].packets;
            input.packets < before || (input.packets == before && number > last)
        });
        let is_larger = found.is_none_or(|found| input.packets > inputs[found].packets);
        if input.packets > 0 && comes_later && is_larger {
            found = Some(number);
        }
    }
    found
}

/// Accounting of one (ingress port, priority): the sender of PAUSE. Without marks it is PFC's.
#[derive(Clone, Debug, Default, Show)]
#[show(refuse)]
pub struct Ingress {
    bytes: u64,
    /// The ingress congestion bit I.
    full: bool,
    /// Egress ports that mark this input.
    marks: u32,
    /// When to repeat the PAUSE; `Some` while the peer is paused.
    refresh: Option<Time>,
}

impl Ingress {
    /// Holds nothing.
    pub const fn new() -> Self {
        Self {
            bytes: 0,
            full: false,
            marks: 0,
            refresh: None,
        }
    }

    /// A packet has been admitted. `pause` is the duration that a PAUSE asks for.
    #[inline]
    pub fn on_admit(
        &mut self,
        now: Time,
        bytes: u32,
        params: &IngressParams,
        pause: Time,
        frames: &pfc::Params,
    ) -> Action {
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        self.full |= self.bytes >= params.xoff;
        self.decide(now, pause, frames)
    }

    /// A packet admitted earlier has gone on to its egress queue, or is discarded.
    #[inline]
    pub fn on_release(
        &mut self,
        now: Time,
        bytes: u32,
        params: &IngressParams,
        pause: Time,
        frames: &pfc::Params,
    ) -> Action {
        self.bytes = self.bytes.saturating_sub(u64::from(bytes));
        self.full &= self.bytes > params.xon;
        self.decide(now, pause, frames)
    }

    /// The queue of another port has marked this input.
    pub fn on_mark(&mut self, now: Time, pause: Time, frames: &pfc::Params) -> Action {
        self.marks = self.marks.saturating_add(1);
        self.decide(now, pause, frames)
    }

    /// A queue that had marked this input has cleared its mark.
    pub fn on_clear(&mut self, now: Time, pause: Time, frames: &pfc::Params) -> Action {
        self.marks = self.marks.saturating_sub(1);
        self.decide(now, pause, frames)
    }

    /// Repeats the PAUSE when it is time.
    pub fn on_timer(&mut self, now: Time, pause: Time, frames: &pfc::Params) -> Action {
        match self.refresh {
            Some(due) if due <= now => self.send_xoff(now, pause, frames),
            _ => Action::None,
        }
    }

    /// When to call [`Self::on_timer`]; [`Time::NEVER`] while the peer may send.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.refresh.unwrap_or(Time::NEVER)
    }

    /// Bytes held.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True while the peer is paused: the decision D.
    #[inline]
    pub fn is_xoff(&self) -> bool {
        self.refresh.is_some()
    }

    /// D = I or any E.
    #[inline]
    fn decide(&mut self, now: Time, pause: Time, frames: &pfc::Params) -> Action {
        match (self.full || self.marks > 0, self.is_xoff()) {
            (true, false) => self.send_xoff(now, pause, frames),
            (false, true) => {
                self.refresh = None;
                Action::Xon
            }
            _ => Action::None,
        }
    }

    fn send_xoff(&mut self, now: Time, pause: Time, frames: &pfc::Params) -> Action {
        self.refresh = Some(now.saturating_add(frames.refresh_interval(pause)));
        Action::Xoff
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    const PAUSE: Time = Time::from_us(100);
    const FRAME: u32 = 1500;
    const CALIBRATE: Stop = Stop::Calibrate {
        cut: Fraction::of(4, 5),
    };

    /// An egress queue of the paper's thresholds.
    struct Queue {
        egress: Egress<[Input; 4]>,
        params: EgressParams,
    }

    impl Queue {
        fn new(stop: Stop) -> Self {
            Self {
                egress: Egress::new(Default::default()),
                params: EgressParams {
                    stop,
                    ..EgressParams::default()
                },
            }
        }
        /// Inputs newly marked by a packet from each of `inputs`.
        fn fill(&mut self, inputs: &[usize]) -> Vec<Vec<usize>> {
            let marked = |&input: &usize| {
                let mut marked = vec![];
                self.egress
                    .on_enqueue(input, FRAME, &self.params, |it| marked.push(it));
                marked
            };
            inputs.iter().map(marked).collect()
        }
        fn drain(&mut self, bytes: u32) -> Vec<usize> {
            let mut cleared = vec![];
            self.egress
                .on_dequeue(bytes, &self.params, |it| cleared.push(it));
            cleared
        }
        fn counts(&self) -> [u32; 4] {
            core::array::from_fn(|input| self.egress.inputs()[input].packets)
        }
    }

    const NOBODY: Vec<usize> = Vec::new();

    #[test]
    fn stop_max_marks_the_largest_and_adds_the_next_one_later() {
        let mut queue = Queue::new(Stop::Max);
        queue.fill(&[3; 13]);
        assert_eq!((queue.egress.bytes(), queue.counts()), (19_500, [0; 4]));
        let marked = queue.fill(&[1, 1, 2, 1]);
        assert_eq!(marked, [NOBODY, NOBODY, NOBODY, vec![1]]);
        assert_eq!(
            (queue.egress.bytes(), queue.counts()),
            (25_500, [0, 3, 1, 0])
        );
        // At the second, 3 to 3, the tie goes to the lower number, which is marked already.
        assert_eq!(queue.fill(&[2, 2, 2]), [NOBODY, NOBODY, vec![2]]);
        assert_eq!(queue.counts(), [0, 3, 4, 0]);
        assert_eq!(queue.drain(9_000), NOBODY);
        assert_eq!(queue.counts(), [0, 3, 4, 0]);
        assert_eq!(queue.drain(1_500), [1, 2]);
        assert_eq!((queue.egress.bytes(), queue.counts()), (19_500, [0; 4]));
        assert_eq!(queue.egress.inputs().iter().filter(|i| i.marked).count(), 0);
    }

    #[test]
    fn stop_calibrate_marks_as_few_as_make_up_the_cut() {
        let mut queue = Queue::new(CALIBRATE);
        queue.fill(&[3; 13]);
        let marked = queue.fill(&[1, 1, 2, 1]);
        assert_eq!(marked, [NOBODY, NOBODY, NOBODY, vec![1, 2]]);
        assert_eq!(queue.drain(6_000), [1, 2]);
        assert_eq!(queue.drain(1_500), NOBODY);
        // 4 of 5 packets are 80 %, 4 of 6 are not.
        queue.fill(&[3, 0, 0, 0]);
        assert_eq!(queue.fill(&[0, 1, 1]), [vec![0], NOBODY, vec![1]]);
    }

    #[test]
    fn a_cut_of_all_marks_every_contributor_and_no_other() {
        let mut queue = Queue::new(Stop::Calibrate { cut: Fraction::ONE });
        queue.fill(&[3; 13]);
        assert_eq!(queue.fill(&[2, 0, 0, 0])[3], [0, 2]);
    }

    #[test]
    fn an_input_is_paused_once_for_whatever_reasons() {
        let frames = pfc::Params::default();
        let params = IngressParams::default();
        let mut ingress = Ingress::new();
        let now = Time::ZERO;
        let admit =
            |ingress: &mut Ingress, bytes| ingress.on_admit(now, bytes, &params, PAUSE, &frames);
        let release =
            |ingress: &mut Ingress, bytes| ingress.on_release(now, bytes, &params, PAUSE, &frames);
        assert_eq!(admit(&mut ingress, 49_999), Action::None);
        assert_eq!(admit(&mut ingress, 1), Action::Xoff);
        assert_eq!(ingress.on_mark(now, PAUSE, &frames), Action::None);
        assert_eq!(ingress.on_mark(now, PAUSE, &frames), Action::None);
        assert_eq!(ingress.on_clear(now, PAUSE, &frames), Action::None);
        assert_eq!(release(&mut ingress, 9_999), Action::None);
        assert_eq!(release(&mut ingress, 1), Action::None);
        assert_eq!(ingress.on_clear(now, PAUSE, &frames), Action::Xon);
        assert_eq!((ingress.bytes(), ingress.is_xoff()), (40_000, false));
        assert_eq!(ingress.on_mark(now, PAUSE, &frames), Action::Xoff);
    }

    #[test]
    fn a_standing_xoff_is_refreshed_every_half_pause() {
        let frames = pfc::Params::default();
        let mut ingress = Ingress::new();
        ingress.on_mark(Time::ZERO, PAUSE, &frames);
        for refresh in 1..5 {
            let due = Time::from_us(50 * refresh);
            assert_eq!(ingress.next_timer(), due);
            assert_eq!(ingress.on_timer(due, PAUSE, &frames), Action::Xoff);
        }
        let now = Time::from_us(210);
        assert_eq!(ingress.on_clear(now, PAUSE, &frames), Action::Xon);
        assert!(ingress.next_timer().is_never());
    }
}
