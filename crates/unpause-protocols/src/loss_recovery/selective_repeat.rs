//! Selective repeat: only what was lost is sent again.
//!
//! # What it does
//!
//! The receiver keeps packets that come out of order, and answers each with a NAK: the number before which it has all,
//! and the number of this packet. The sender notes in a bitmap what has arrived. The first NAK that shows a loss starts a
//! recovery: the sender sends the first missing packet again, then each one that counts as lost, once, and new packets
//! when there is none. The recovery is over when all that had been sent at its start has arrived. A timeout starts one,
//! too. The window bounds the distance between the first packet that is missing and the last one sent, so bitmaps are
//! of that size.
//!
//! Where switches trim packets instead of dropping them, the receiver answers a trimmed packet with a NAK that names
//! it. The sender sends that packet again before new ones, those with the lowest numbers first, as soon as the window
//! of the congestion control lets it. No recovery starts: nothing else counts as lost. After a timeout all that had been sent
//! when the timer was started counts as trimmed, unless it has arrived or was sent again since: its header was lost.
//!
//! Where receivers grant credits ([`crate::congestion_control::receiver_credits`]), a flow without credit is held: it sends
//! nothing, not again either. The timer runs for it even if nothing is in flight, so that its owner can ask for credit.
//!
//! # Source
//!
//! R. Mittal et al., "Revisiting Network Support for RDMA" (IRN), SIGCOMM 2018, 3.1 (loss recovery) and 3.2
//! (BDP-FC). Trimmed packets: Ultra Ethernet's transport as its simulator has it (uet-htsim, `uec.cpp`: the list of
//! packets to send again).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `base_rtt` | time | - | that of the topology: the longest path's |
//! | `window` | bytes | line rate x `base_rtt` | IRN: a BDP of the longest path; 120 KB at 40 Gb/s and 24 us |
//! | `rto_low` | time | 100 us | IRN, at 40 Gb/s |
//! | `rto_high` | time | 320 us | IRN, at 40 Gb/s |
//! | `few` | packets | 3 | IRN: N, with which `rto_low` counts |
//! | `reordering` | packets | 0 | IRN: any packet that overtakes another one shows a loss |
//!
//! # Departures
//!
//! - `reordering`: a packet counts as lost when one has arrived whose number is higher by more than this. IRN takes every
//!   reordering for a loss, which is wrong where packets of a flow take different paths; without a limit, only timeouts
//!   find losses. After a timeout all that is missing before the highest packet that has arrived counts as lost.
//! - uet-htsim has a timeout for each packet, from when that was sent; here a flow has one timer.
//! - A window of the congestion control counts what is in flight, packets that have arrived out of order or were trimmed
//!   taken off. It does not hold back what is sent again, unless that was trimmed.
//! - No retry counter: a sender never gives up.

mod bitmaps;

use self::bitmaps::{Bits, Trims};
use super::mechanism::{Feedback, Gap, Reassembly, Reception, Repair};
use super::numbers::{Receiver, Sender, Sent};
use crate::units::{Rate, Time};

/// Parameters of selective repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Round trip of the longest path through the empty fabric.
    pub base_rtt: Time,
    /// Payload bytes from the first packet missing to the last one sent, at most. `None`: what the sender's link
    /// carries in `base_rtt`.
    pub window: Option<u64>,
    /// Timeout while few packets are in flight.
    pub rto_low: Time,
    /// Timeout otherwise.
    pub rto_high: Time,
    /// Packets in flight, at most, with which `rto_low` counts.
    pub few: u32,
    /// A packet may be overtaken by others whose numbers are higher by this, and is not lost. `None`: 0 where all
    /// packets of a flow take one path and no switch trims them, else [`UNLIMITED`]; the owner decides.
    pub reordering: Option<u32>,
}

/// `reordering` with which no packet that arrives shows that another one was lost.
pub const UNLIMITED: u32 = u32::MAX;

impl Default for Params {
    fn default() -> Self {
        Self {
            base_rtt: Time::from_us(24),
            window: None,
            rto_low: Time::from_us(100),
            rto_high: Time::from_us(320),
            few: 3,
            reordering: None,
        }
    }
}

impl Params {
    /// Packets of this much payload in the window of a sender whose link has this rate, one at least.
    pub fn window_packets(&self, line_rate: Rate, payload_bytes: u32) -> u64 {
        let bytes = self
            .window
            .unwrap_or_else(|| line_rate.bytes_in(self.base_rtt));
        bytes.div_ceil(u64::from(payload_bytes.max(1))).max(1)
    }
}

/// Words of the bitmap for a window of this many packets.
pub const fn words(window: u32) -> usize {
    window.div_ceil(u64::BITS) as usize
}

/// The sender's side.
#[derive(Clone, Debug)]
pub struct SelectiveRepeat<B> {
    rto_low: Time,
    rto_high: Time,
    few: u32,
    reordering: u32,
    /// Packets from the first one missing to the last one sent, at most.
    window: u32,
    /// While it repairs: all before this one had been sent when it began.
    recover: Option<u32>,
    /// The missing packets before this one have been sent again since then.
    resent: u32,
    /// The missing packets before this one count as lost, whatever has overtaken them.
    lost_before: u32,
    /// The highest number that has arrived out of order.
    highest_kept: u32,
    /// How many have arrived out of order, and are still ahead of one that is missing.
    kept: u32,
    /// How many were trimmed or have timed out, and have not been sent again.
    trimmed: u32,
    /// No trimmed packet has a lower number.
    first_trimmed: u32,
    /// The timer runs for `rto_low`.
    is_low: bool,
    /// It has no credit.
    held: bool,
    bits: Bits<B>,
    trims: Option<Trims<B>>,
}

impl<B: AsRef<[u64]> + AsMut<[u64]>> SelectiveRepeat<B> {
    /// A flow of which nothing has been sent, with a window of this many packets and a bitmap of zeros for it ([`words`]).
    /// `may_pass`: a packet may be overtaken and is not lost, since its packets take different paths, or the receiver
    /// names those that were trimmed.
    pub fn new(params: &Params, window: u32, may_pass: bool, bits: B) -> Self {
        let unless_set = if may_pass { UNLIMITED } else { 0 };
        Self {
            rto_low: params.rto_low,
            rto_high: params.rto_high.max(params.rto_low),
            few: params.few,
            reordering: params.reordering.unwrap_or(unless_set),
            window,
            recover: None,
            resent: 0,
            lost_before: 0,
            highest_kept: 0,
            kept: 0,
            trimmed: 0,
            first_trimmed: 0,
            is_low: false,
            held: false,
            bits: Bits(bits),
            trims: None,
        }
    }

    /// Switches may trim its packets: two more bitmaps of zeros, as long as the first one.
    pub fn with_trims(mut self, bits: [B; 2]) -> Self {
        self.trims = Some(Trims::new(bits));
        self
    }

    /// Packets from the first one missing to the last one sent, at most.
    pub fn window(&self) -> u32 {
        self.window
    }

    /// True if the flow has no credit.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// The flow has no credit, or it has some again.
    pub fn hold(&mut self, flow: &mut Sender, held: bool) {
        self.held = held;
        if !held && flow.unacknowledged == flow.highest {
            flow.timer = Time::NEVER;
        }
        self.choose(flow);
    }

    /// The same just before the owner tells of an acknowledgement.
    pub fn hold_from_now(&mut self, held: bool) {
        self.held = held;
    }

    /// Packets to be sent again.
    pub fn repairs(&self, flow: &Sender) -> u32 {
        let Some(end) = self.recover.map(|_| self.lost_end(flow)) else {
            return self.trimmed;
        };
        let missing = self.resent.max(flow.unacknowledged)..end;
        let lost = missing.filter(|missing| self.is_in_flight(flow, *missing));
        self.trimmed + lost.count() as u32
    }

    /// True if packet `number`, which has been sent, has neither arrived nor been trimmed.
    pub fn is_in_flight(&self, flow: &Sender, number: u32) -> bool {
        let trimmed = || {
            let trims = self.trims.as_ref();
            trims.is_some_and(|trims| trims.lost.has(number))
        };
        number >= flow.unacknowledged && !self.bits.has(number) && !trimmed()
    }

    /// How long the timer runs, or ran when it was last set.
    pub(super) const fn timeout(&self) -> Time {
        if self.is_low {
            self.rto_low
        } else {
            self.rto_high
        }
    }

    /// Starts the timer anew, or stops it if nothing is outstanding.
    fn restart_timer(&mut self, flow: &mut Sender, now: Time) {
        self.is_low = self.in_flight(flow) <= self.few;
        let timeout = self.timeout();
        let waits = self.held && flow.highest < flow.packets;
        flow.timer = if flow.unacknowledged < flow.highest || waits {
            now.saturating_add(timeout)
        } else {
            Time::NEVER
        };
        if let Some(trims) = &mut self.trims {
            trims.start_timer(flow.highest);
        }
    }

    /// Notes what has arrived; answers how much of it is news.
    fn note(&mut self, flow: &mut Sender, now: Time, feedback: Feedback) -> u32 {
        let mut news = 0;
        for number in flow.unacknowledged..feedback.number.min(flow.highest) {
            if self.bits.take(number) {
                self.kept -= 1
            } else {
                news += 1
            }
            self.forget_trim(number);
            flow.unacknowledged = number + 1;
        }
        let outstanding = flow.unacknowledged..flow.highest;
        if let Some(number) = feedback.kept.filter(|it| outstanding.contains(it))
            && !self.bits.set(number)
        {
            news += 1;
            self.kept += 1;
            self.highest_kept = self.highest_kept.max(number);
            self.forget_trim(number);
        }
        if self
            .recover
            .is_some_and(|recover| flow.unacknowledged >= recover)
        {
            self.recover = None;
        }
        if news > 0 {
            self.restart_timer(flow, now);
        }
        news
    }

    /// A packet has arrived, or is sent again; true if it had been trimmed.
    #[inline]
    fn forget_trim(&mut self, number: u32) -> bool {
        let was = self.trimmed > 0
            && self
                .trims
                .as_mut()
                .is_some_and(|trim| trim.lost.take(number));
        self.trimmed -= u32::from(was);
        was
    }

    /// The first packet that was trimmed, if any.
    fn first_trimmed(&mut self, flow: &Sender) -> Option<u32> {
        let trims = self.trims.as_ref().filter(|_| self.trimmed > 0)?;
        let mut number = self.first_trimmed.max(flow.unacknowledged);
        while !trims.lost.has(number) {
            number += 1;
        }
        self.first_trimmed = number;
        Some(number)
    }

    /// The timer has run out: starts a recovery. Where switches trim, headers were lost instead: what had been sent when the timer
    /// was started, and was not sent again since, counts as trimmed. True if anything was lost.
    fn give_up(&mut self, flow: &Sender) -> bool {
        let Some(trims) = &mut self.trims else {
            self.start_recovery(flow, self.highest_kept);
            return true;
        };
        let had = self.trimmed;
        for number in flow.unacknowledged..trims.timed.min(flow.highest) {
            if !self.bits.has(number) && !trims.again.has(number) && !trims.lost.set(number) {
                self.trimmed += 1;
                self.first_trimmed = self.first_trimmed.min(number);
            }
        }
        self.trimmed > had
    }

    fn start_recovery(&mut self, flow: &Sender, lost_before: u32) {
        self.recover = Some(flow.highest);
        self.resent = flow.unacknowledged;
        self.lost_before = lost_before.max(flow.unacknowledged + 1);
    }

    /// The missing packets before this one count as lost, since others have overtaken them.
    fn overtaken(&self) -> u32 {
        self.highest_kept.saturating_sub(self.reordering)
    }

    /// While it repairs: what is missing before this one counts as lost.
    fn lost_end(&self, flow: &Sender) -> u32 {
        self.overtaken().max(self.lost_before).min(flow.highest)
    }

    /// The first packet that is to be sent again.
    fn first_lost(&mut self, flow: &Sender) -> Option<u32> {
        self.recover?;
        let end = self.lost_end(flow);
        let mut number = self.resent.max(flow.unacknowledged);
        while number < end && self.bits.has(number) {
            number += 1;
        }
        self.resent = number;
        (number < end).then_some(number)
    }

    /// Says in the flow's numbers what is sent next.
    fn choose(&mut self, flow: &mut Sender) {
        self.choose_next(flow);
        if self.held {
            flow.end = flow.next;
        }
    }

    fn choose_next(&mut self, flow: &mut Sender) {
        if let Some(lost) = self.first_lost(flow) {
            (flow.next, flow.end) = (lost, flow.packets);
            return;
        }
        let room = flow.window.saturating_sub(self.in_flight(flow));
        if let Some(trimmed) = self.first_trimmed(flow) {
            (flow.next, flow.end) = (trimmed, trimmed + room.min(1));
            return;
        }
        let end = flow.unacknowledged.saturating_add(self.window);
        flow.next = flow.highest;
        flow.end = end.min(flow.highest.saturating_add(room)).min(flow.packets);
    }
}

impl<B: AsRef<[u64]> + AsMut<[u64]>> Repair for SelectiveRepeat<B> {
    fn send(&mut self, flow: &mut Sender, now: Time) -> Sent {
        let sent = flow.count(flow.next);
        let trimmed = sent.again && self.forget_trim(sent.number);
        if sent.again && (!trimmed || sent.number == self.resent) {
            self.resent = sent.number + 1;
        }
        if let Some(trims) = self.trims.as_mut().filter(|_| sent.again) {
            trims.send_again(sent.number);
        }
        if flow.timer.is_never() {
            self.restart_timer(flow, now);
        }
        self.choose(flow);
        sent
    }

    fn on_ack(&mut self, flow: &mut Sender, now: Time, feedback: Feedback) -> u32 {
        let news = self.note(flow, now, feedback);
        self.choose(flow);
        news
    }

    fn on_nak(&mut self, flow: &mut Sender, now: Time, feedback: Feedback) -> Option<Gap> {
        let news = self.note(flow, now, feedback);
        let lost = self.recover.is_none() && self.overtaken() > flow.unacknowledged;
        if lost {
            self.start_recovery(flow, 0);
        }
        self.choose(flow);
        (news > 0 || lost).then_some(Gap { news, lost })
    }

    fn on_trim(&mut self, flow: &mut Sender, now: Time, before: u32, number: u32) -> Option<Gap> {
        let news = self.note(flow, now, Feedback::cumulative(before));
        let outstanding = flow.unacknowledged..flow.highest;
        let mut lost = outstanding.contains(&number) && !self.bits.has(number);
        if let Some(trims) = self.trims.as_mut().filter(|_| lost) {
            lost = !trims.lost.set(number);
            self.trimmed += u32::from(lost);
            self.first_trimmed = self.first_trimmed.min(number);
        }
        if lost {
            self.restart_timer(flow, now);
        }
        self.choose(flow);
        (news > 0 || lost).then_some(Gap { news, lost })
    }

    /// The short timeout becomes the long one if more packets are in flight than when it began.
    fn on_timer(&mut self, flow: &mut Sender, now: Time) -> bool {
        if flow.timer > now {
            return false;
        }
        if self.is_low && self.in_flight(flow) > self.few {
            self.is_low = false;
            flow.timer += self.rto_high - self.rto_low;
            if flow.timer > now {
                return false;
            }
        }
        // With nothing outstanding, a flow has waited for credit: nothing is lost.
        let lost = flow.unacknowledged < flow.highest && self.give_up(flow);
        self.restart_timer(flow, now);
        self.choose(flow);
        lost
    }

    fn open_window(&mut self, flow: &mut Sender, packets: u32) {
        flow.window = packets;
        self.choose(flow);
    }

    fn in_flight(&self, flow: &Sender) -> u32 {
        flow.highest - flow.unacknowledged - self.kept - self.trimmed
    }
}

/// The receiver's side.
#[derive(Clone, Debug)]
pub struct OutOfOrder<B> {
    window: u32,
    /// Packets that have arrived after one that is missing.
    kept: u32,
    bits: Bits<B>,
}

impl<B: AsRef<[u64]> + AsMut<[u64]>> OutOfOrder<B> {
    /// A flow of which nothing has arrived; window and bitmap are as at the sender.
    pub fn new(window: u32, bits: B) -> Self {
        Self {
            window,
            kept: 0,
            bits: Bits(bits),
        }
    }

    /// Packets of the whole flow that have not arrived.
    pub fn missing(&self, flow: &Receiver) -> u32 {
        flow.packets - flow.expected - self.kept
    }
}

impl<B: AsRef<[u64]> + AsMut<[u64]>> Reassembly for OutOfOrder<B> {
    fn on_data(&mut self, flow: &mut Receiver, _now: Time, number: u32) -> Reception {
        let Some(ahead) = number.checked_sub(flow.expected) else {
            return Reception::Duplicate;
        };
        if ahead >= self.window {
            // No sender of this window has sent it.
            return Reception::KnownGap;
        }
        if ahead > 0 {
            if self.bits.set(number) {
                return Reception::Duplicate;
            }
            self.kept += 1;
            return Reception::Kept;
        }
        flow.expected += 1;
        let had = self.kept;
        while self.kept > 0 && self.bits.take(flow.expected) {
            flow.expected += 1;
            self.kept -= 1;
        }
        if flow.expected >= flow.packets {
            // Of a flow that continues after its end, what comes next may have arrived before.
            Reception::Complete
        } else if self.kept < had {
            Reception::Filled
        } else {
            Reception::InOrder
        }
    }
}

#[cfg(test)]
mod tests;
