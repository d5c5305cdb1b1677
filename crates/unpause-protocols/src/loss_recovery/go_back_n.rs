//! Go-back-N: how a RoCE flow repairs losses.
//!
//! # What it does
//!
//! The receiver takes packets in order only. It reports the first packet of a gap by a NAK, once; the
//! sender goes back to it and sends everything again from there. A timeout repairs what no NAK tells of.
//!
//! # Source
//!
//! InfiniBand Architecture Specification, 9.7 (reliable connections): PSN sequence errors, implied NAK,
//! transport timer.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `timeout` | time | - | the owner's, at each call |
//! | `again` | time | - | the owner's: how often a gap that stays is reported; HPCC's simulator has 500 us |
//!
//! # Departures
//!
//! No retry counter: its owner counts timeouts, and may [abandon](super::numbers::Sender::abandon) the flow.

use super::mechanism::{Feedback, Gap, Reassembly, Reception, Repair};
use super::numbers::{Receiver, Sender, Sent};
use crate::units::Time;

/// The sender's side: all it needs beside the flow's numbers.
#[derive(Clone, Copy, Debug)]
pub struct GoBack {
    /// After this time without progress everything is sent again.
    pub timeout: Time,
}

impl GoBack {
    fn go_back(self, flow: &mut Sender, now: Time) {
        flow.next = flow.unacknowledged;
        flow.timer = now + self.timeout;
    }
}

impl Repair for GoBack {
    #[inline(always)]
    fn send(&mut self, flow: &mut Sender, now: Time) -> Sent {
        let sent = flow.count(flow.next);
        if flow.timer.is_never() {
            flow.timer = now + self.timeout;
        }
        sent
    }

    #[inline(always)]
    fn on_ack(&mut self, flow: &mut Sender, now: Time, feedback: Feedback) -> u32 {
        let number = feedback.number;
        let news = number.saturating_sub(flow.unacknowledged);
        if news > 0 {
            flow.unacknowledged = number;
            flow.next = flow.next.max(number);
            let outstanding = number < flow.highest;
            flow.timer = if outstanding {
                now + self.timeout
            } else {
                Time::NEVER
            };
        }
        news
    }

    /// The receiver has all before the number, and misses that packet: back to it.
    fn on_nak(&mut self, flow: &mut Sender, now: Time, feedback: Feedback) -> Option<Gap> {
        let number = feedback.number;
        let news = number.checked_sub(flow.unacknowledged)?;
        if number >= flow.highest {
            return None;
        }
        flow.unacknowledged = number;
        self.go_back(flow, now);
        Some(Gap { news, lost: true })
    }

    /// A trimmed packet tells no more than a gap: back to the first packet that is missing.
    fn on_trim(&mut self, flow: &mut Sender, now: Time, before: u32, _number: u32) -> Option<Gap> {
        self.on_nak(flow, now, Feedback::cumulative(before))
    }

    fn on_timer(&mut self, flow: &mut Sender, now: Time) -> bool {
        let due = flow.timer <= now;
        if due {
            self.go_back(flow, now);
        }
        due
    }

    #[inline]
    fn open_window(&mut self, flow: &mut Sender, packets: u32) {
        let end = flow.unacknowledged.saturating_add(packets);
        flow.end = end.min(flow.packets);
    }

    /// Packets sent since it last went back, and not acknowledged.
    #[inline]
    fn in_flight(&self, flow: &Sender) -> u32 {
        flow.next - flow.unacknowledged
    }
}

/// The receiver's side: all it needs beside the flow's numbers.
#[derive(Clone, Copy, Debug)]
pub struct InOrder {
    /// A remaining gap is reported again after this time, if at all.
    pub again: Option<Time>,
}

impl Reassembly for InOrder {
    /// Only the packet expected is taken. A gap is reported once, and then again and again after this time.
    #[inline(always)]
    fn on_data(&mut self, flow: &mut Receiver, now: Time, number: u32) -> Reception {
        if number == flow.expected {
            flow.expected += 1;
            flow.nak_sent = false;
            if flow.expected == flow.packets {
                Reception::Complete
            } else {
                Reception::InOrder
            }
        } else if number < flow.expected {
            Reception::Duplicate
        } else if flow.nak_sent
            && self
                .again
                .is_none_or(|again| now < flow.nak_at.saturating_add(again))
        {
            Reception::KnownGap
        } else {
            flow.nak_sent = true;
            flow.nak_at = now;
            Reception::Gap
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Time = Time::from_us(500);
    const REPAIR: GoBack = GoBack { timeout: TIMEOUT };

    fn nak(sender: &mut Sender, us: u64, number: u32) -> bool {
        let gap = { REPAIR }.on_nak(sender, at(us), Feedback::cumulative(number));
        gap.is_some_and(|gap| gap.lost)
    }

    fn ack(sender: &mut Sender, us: u64, number: u32) -> u32 {
        { REPAIR }.on_ack(sender, at(us), Feedback::cumulative(number))
    }

    fn data(receiver: &mut Receiver, us: u64, number: u32, again: Option<Time>) -> Reception {
        InOrder { again }.on_data(receiver, at(us), number)
    }

    fn open_window(sender: &mut Sender, packets: u32) {
        { REPAIR }.open_window(sender, packets);
    }

    fn at(us: u64) -> Time {
        Time::from_us(us)
    }

    fn sent(sender: &mut Sender, us: u64) -> (u32, bool) {
        let sent = { REPAIR }.send(sender, at(us));
        (sent.number, sent.again)
    }

    #[test]
    fn a_nak_takes_the_sender_back_to_the_gap() {
        let mut sender = Sender::new(4);
        let mut receiver = Receiver::new(4);
        for number in 0..4 {
            assert_eq!(sent(&mut sender, 0), (number, false));
        }
        assert!(!sender.has_packet());
        assert_eq!(sender.next(), 4);
        // Packet 1 is lost.
        assert_eq!(data(&mut receiver, 0, 0, None), Reception::InOrder);
        assert_eq!(data(&mut receiver, 0, 2, None), Reception::Gap);
        assert_eq!(data(&mut receiver, 0, 3, None), Reception::KnownGap);
        assert!(nak(&mut sender, 10, receiver.expected()));
        assert_eq!((sender.unacknowledged(), REPAIR.in_flight(&sender)), (1, 0));
        assert_eq!(sender.next(), 1);
        for number in 1..4 {
            assert_eq!(sent(&mut sender, 10), (number, true));
        }
        assert_eq!(data(&mut receiver, 0, 0, None), Reception::Duplicate);
        assert_eq!(data(&mut receiver, 0, 1, None), Reception::InOrder);
        assert_eq!(data(&mut receiver, 0, 2, None), Reception::InOrder);
        assert_eq!(data(&mut receiver, 0, 3, None), Reception::Complete);
        assert_eq!(ack(&mut sender, 20, 4), 3);
        assert!(sender.is_done() && sender.next_timer().is_never());
        // What comes late changes nothing.
        assert!(!nak(&mut sender, 20, 1));
        assert_eq!(ack(&mut sender, 20, 2), 0);
    }

    #[test]
    fn a_nak_of_a_packet_that_was_never_sent_changes_nothing() {
        let mut sender = Sender::new(4);
        sent(&mut sender, 0);
        sent(&mut sender, 0);
        // The first packet that has not been sent: nothing before it is missing, so it is no NAK but nonsense.
        assert!(!nak(&mut sender, 10, 2));
        assert_eq!((sender.unacknowledged(), sender.next()), (0, 2));
        assert_eq!(sender.next_timer(), TIMEOUT);
        // The last one that was sent can be missing.
        assert!(nak(&mut sender, 10, 1));
        assert_eq!((sender.unacknowledged(), sender.next()), (1, 1));
    }

    #[test]
    fn a_gap_after_a_repaired_one_is_reported_again() {
        let mut receiver = Receiver::new(u32::MAX);
        assert_eq!(data(&mut receiver, 0, 1, None), Reception::Gap);
        assert_eq!(data(&mut receiver, 0, 0, None), Reception::InOrder);
        assert_eq!(data(&mut receiver, 0, 2, None), Reception::Gap);
    }

    #[test]
    fn a_gap_that_stays_is_reported_again_after_a_while() {
        let mut receiver = Receiver::new(9);
        let again = Some(at(500));
        assert_eq!(data(&mut receiver, 1, 3, again), Reception::Gap);
        assert_eq!(data(&mut receiver, 500, 4, again), Reception::KnownGap);
        assert_eq!(data(&mut receiver, 501, 5, again), Reception::Gap);
        assert_eq!(data(&mut receiver, 999, 6, None), Reception::KnownGap);
    }

    #[test]
    fn the_timer_runs_from_the_last_progress_and_starts_all_over() {
        let mut sender = Sender::new(3);
        assert_eq!(sender.next_timer(), Time::NEVER);
        sent(&mut sender, 0);
        sent(&mut sender, 100);
        assert_eq!(sender.next_timer(), at(500));
        assert_eq!(ack(&mut sender, 200, 1), 1);
        assert_eq!(sender.next_timer(), at(700));
        assert!(!{ REPAIR }.on_timer(&mut sender, at(699)));
        assert!({ REPAIR }.on_timer(&mut sender, at(700)));
        assert_eq!(sent(&mut sender, 700), (1, true));
        assert_eq!(sent(&mut sender, 700), (2, false));
        assert_eq!(sender.next_timer(), at(1200));
    }

    #[test]
    fn a_flow_that_gives_up_sends_and_awaits_nothing() {
        let mut sender = Sender::new(9);
        for _ in 0..5 {
            sent(&mut sender, 0);
        }
        ack(&mut sender, 100, 2);
        assert!({ REPAIR }.on_timer(&mut sender, at(600)));
        assert!(sender.has_packet() && !sender.is_done());
        sender.abandon();
        assert!(!sender.has_packet() && !sender.has_left() && sender.is_done());
        assert!(sender.next_timer().is_never());
        assert_eq!(sender.unacknowledged(), 2);
    }

    #[test]
    fn an_ack_beyond_the_place_it_went_back_to_skips_what_has_arrived() {
        let mut sender = Sender::new(10);
        for _ in 0..5 {
            sent(&mut sender, 0);
        }
        assert!({ REPAIR }.on_timer(&mut sender, at(500)));
        ack(&mut sender, 501, 5);
        assert_eq!(sent(&mut sender, 501), (5, false));
    }

    #[test]
    fn a_flow_that_is_stopped_ends_with_what_it_has_sent() {
        let mut sender = Sender::new(u32::MAX);
        sent(&mut sender, 0);
        sent(&mut sender, 0);
        sender.stop();
        assert!(!sender.has_packet() && !sender.is_done());
        // Even so what is lost is sent again.
        assert!(nak(&mut sender, 1, 1));
        let again = { REPAIR }.send(&mut sender, at(1));
        assert!(again.is_last && again.again);
        ack(&mut sender, 2, 2);
        assert!(sender.is_done());
    }

    #[test]
    fn a_window_holds_packets_back() {
        let mut sender = Sender::new(10);
        open_window(&mut sender, 2);
        sent(&mut sender, 0);
        assert!(sender.has_packet());
        sent(&mut sender, 0);
        assert!(!sender.has_packet());
        ack(&mut sender, 1, 1);
        open_window(&mut sender, 2);
        assert!(sender.has_packet());
    }
}
