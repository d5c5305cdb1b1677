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
//! - Packets are numbered from 0 and never wrap: a flow has less than 2^32.
//! - No retry counter: a sender never gives up.

use crate::ledger::Ledger;
use crate::units::Time;

/// A flow at its sender.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Packets of the whole flow; cut short when it is stopped.
    packets: u32,
    /// Packets before this one may be sent: those of the flow, or up to where the window ends.
    end: u32,
    next: u32,
    /// One more than the highest packet number ever sent.
    highest: u32,
    unacknowledged: u32,
    timer: Time,
}

/// A packet that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its number.
    pub number: u32,
    /// It is the last of the flow.
    pub is_last: bool,
    /// It has been sent before.
    pub again: bool,
}

impl Sender {
    /// A flow of so many packets, `u32::MAX` for one without end.
    pub fn new(packets: u32) -> Self {
        Self {
            packets,
            end: packets,
            next: 0,
            highest: 0,
            unacknowledged: 0,
            timer: Time::NEVER,
        }
    }

    /// Nothing new is sent any more.
    #[inline]
    pub fn stop(&mut self) {
        self.packets = self.packets.min(self.highest);
        self.end = self.end.min(self.packets);
    }

    /// The flow ends before packet `number` from now on, sooner or later than before. Where a window limits what is in
    /// flight, it is opened anew.
    pub fn end_at(&mut self, number: u32) {
        self.packets = number;
        self.end = number;
    }

    /// So many packets may be in flight now.
    #[inline]
    pub fn open_window(&mut self, packets: u32) {
        let end = self.unacknowledged.saturating_add(packets);
        self.end = end.min(self.packets);
    }

    /// True if there is a packet to send, and the window lets it go.
    #[inline]
    pub fn has_packet(&self) -> bool {
        self.next < self.end
    }

    /// True if there is a packet to send, whether the window lets it go or not.
    pub fn has_left(&self) -> bool {
        self.next < self.packets
    }

    /// True if an acknowledgement of all packets before `number` acknowledges the whole flow.
    pub fn ends_at(&self, number: u32) -> bool {
        number >= self.packets
    }

    /// True when all that it will ever send has been acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.unacknowledged >= self.packets
    }

    /// Packets before this one have arrived.
    #[inline]
    pub fn unacknowledged(&self) -> u32 {
        self.unacknowledged
    }

    /// Number of the packet sent next: of one lost, after going back.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Packets sent since it last went back, and not acknowledged.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.next - self.unacknowledged
    }

    /// Sends the next packet.
    #[inline]
    pub fn send(&mut self, now: Time, timeout: Time) -> Sent {
        let number = self.next;
        self.next += 1;
        let again = number < self.highest;
        self.highest = self.highest.max(self.next);
        if self.timer.is_never() {
            self.timer = now + timeout;
        }
        Sent {
            number,
            is_last: self.next == self.packets,
            again,
        }
    }

    /// Packets before `number` have arrived. Answers how many of them are news.
    #[inline]
    pub fn on_ack(&mut self, now: Time, number: u32, timeout: Time) -> u32 {
        let news = number.saturating_sub(self.unacknowledged);
        if news > 0 {
            self.unacknowledged = number;
            self.next = self.next.max(number);
            let outstanding = number < self.highest;
            self.timer = if outstanding {
                now + timeout
            } else {
                Time::NEVER
            };
        }
        news
    }

    /// The receiver has all before `number`, and misses that one: back to it. True unless it says nothing
    /// new, or nothing that can be.
    pub fn on_nak(&mut self, now: Time, number: u32, timeout: Time) -> bool {
        let holds = number >= self.unacknowledged && number < self.highest;
        if holds {
            self.unacknowledged = number;
            self.go_back(now, timeout);
        }
        holds
    }

    /// When to call [`Self::on_timer`]; [`Time::NEVER`] while nothing is outstanding.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.timer
    }

    /// Handles a timeout that is due at or before `now`; true if there was one.
    pub fn on_timer(&mut self, now: Time, timeout: Time) -> bool {
        let due = self.timer <= now;
        if due {
            self.go_back(now, timeout);
        }
        due
    }

    fn go_back(&mut self, now: Time, timeout: Time) {
        self.next = self.unacknowledged;
        self.timer = now + timeout;
    }

    /// Shows its state, of a flow that has this number.
    pub fn show<L: Ledger>(&mut self, flow: u32, ledger: &mut L) {
        let Self {
            packets,
            end,
            next,
            highest,
            unacknowledged,
            timer,
        } = self;
        ledger.same(u64::from(*packets));
        ledger.before_end(flow, *next, *packets);
        if *end != *packets {
            ledger.before_end(flow, *end, *packets);
            ledger.number(flow, end);
        }
        ledger.number(flow, next);
        ledger.number(flow, highest);
        ledger.number(flow, unacknowledged);
        ledger.time(timer);
    }
}

/// A flow at its receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    packets: u32,
    expected: u32,
    nak_sent: bool,
    nak_at: Time,
}

/// What the receiver makes of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// The one expected.
    InOrder,
    /// In order, and the last.
    Complete,
    /// Had it already.
    Duplicate,
    /// A gap, to be reported.
    Gap,
    /// A gap that has been reported.
    KnownGap,
}

impl Receiver {
    /// A flow of so many packets of which nothing has arrived; `u32::MAX` for one without end.
    pub fn new(packets: u32) -> Self {
        Self {
            packets,
            expected: 0,
            nak_sent: false,
            nak_at: Time::ZERO,
        }
    }

    /// The flow ends before packet `number` from now on.
    pub fn end_at(&mut self, number: u32) {
        self.packets = number;
    }

    /// True if the flow cannot be complete before packet `number`, or a later one, has arrived.
    pub fn ends_with(&self, number: u32) -> bool {
        number.saturating_add(1) >= self.packets
    }

    /// Number of the packet expected next.
    #[inline]
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// A packet has arrived: only the one expected is taken. A gap is reported once, and then `again` and
    /// again after so long.
    #[inline]
    pub fn on_data(&mut self, now: Time, number: u32, again: Option<Time>) -> Reception {
        if number == self.expected {
            self.expected += 1;
            self.nak_sent = false;
            if self.expected == self.packets {
                Reception::Complete
            } else {
                Reception::InOrder
            }
        } else if number < self.expected {
            Reception::Duplicate
        } else if self.nak_sent && again.is_none_or(|again| now < self.nak_at.saturating_add(again))
        {
            Reception::KnownGap
        } else {
            self.nak_sent = true;
            self.nak_at = now;
            Reception::Gap
        }
    }

    /// Shows its state, of a flow that has this number.
    pub fn show<L: Ledger>(&mut self, flow: u32, ledger: &mut L) {
        let Self {
            packets,
            expected,
            nak_sent,
            nak_at: _,
        } = self;
        ledger.before_end(flow, *expected, *packets);
        ledger.number(flow, expected);
        if *nak_sent {
            // What comes next depends on how long ago that was.
            ledger.refuse();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Time = Time::from_us(500);

    fn at(us: u64) -> Time {
        Time::from_us(us)
    }

    fn sent(sender: &mut Sender, us: u64) -> (u32, bool) {
        let sent = sender.send(at(us), TIMEOUT);
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
        assert_eq!(receiver.on_data(at(0), 0, None), Reception::InOrder);
        assert_eq!(receiver.on_data(at(0), 2, None), Reception::Gap);
        assert_eq!(receiver.on_data(at(0), 3, None), Reception::KnownGap);
        assert!(sender.on_nak(at(10), receiver.expected(), TIMEOUT));
        assert_eq!((sender.unacknowledged(), sender.in_flight()), (1, 0));
        assert_eq!(sender.next(), 1);
        for number in 1..4 {
            assert_eq!(sent(&mut sender, 10), (number, true));
        }
        assert_eq!(receiver.on_data(at(0), 0, None), Reception::Duplicate);
        assert_eq!(receiver.on_data(at(0), 1, None), Reception::InOrder);
        assert_eq!(receiver.on_data(at(0), 2, None), Reception::InOrder);
        assert_eq!(receiver.on_data(at(0), 3, None), Reception::Complete);
        assert_eq!(sender.on_ack(at(20), 4, TIMEOUT), 3);
        assert!(sender.is_done() && sender.next_timer().is_never());
        // What comes late changes nothing.
        assert!(!sender.on_nak(at(20), 1, TIMEOUT));
        assert_eq!(sender.on_ack(at(20), 2, TIMEOUT), 0);
    }

    #[test]
    fn a_nak_of_a_packet_that_was_never_sent_changes_nothing() {
        let mut sender = Sender::new(4);
        sent(&mut sender, 0);
        sent(&mut sender, 0);
        // The first packet that has not been sent: nothing before it is missing, so it is no NAK but nonsense.
        assert!(!sender.on_nak(at(10), 2, TIMEOUT));
        assert_eq!((sender.unacknowledged(), sender.next()), (0, 2));
        assert_eq!(sender.next_timer(), TIMEOUT);
        // The last one that was sent can be missing.
        assert!(sender.on_nak(at(10), 1, TIMEOUT));
        assert_eq!((sender.unacknowledged(), sender.next()), (1, 1));
    }

    #[test]
    fn a_gap_after_a_repaired_one_is_reported_again() {
        let mut receiver = Receiver::new(u32::MAX);
        assert_eq!(receiver.on_data(at(0), 1, None), Reception::Gap);
        assert_eq!(receiver.on_data(at(0), 0, None), Reception::InOrder);
        assert_eq!(receiver.on_data(at(0), 2, None), Reception::Gap);
    }

    #[test]
    fn a_gap_that_stays_is_reported_again_after_a_while() {
        let mut receiver = Receiver::new(9);
        let again = Some(at(500));
        assert_eq!(receiver.on_data(at(1), 3, again), Reception::Gap);
        assert_eq!(receiver.on_data(at(500), 4, again), Reception::KnownGap);
        assert_eq!(receiver.on_data(at(501), 5, again), Reception::Gap);
        assert_eq!(receiver.on_data(at(999), 6, None), Reception::KnownGap);
    }

    #[test]
    fn the_timer_runs_from_the_last_progress_and_starts_all_over() {
        let mut sender = Sender::new(3);
        assert_eq!(sender.next_timer(), Time::NEVER);
        sent(&mut sender, 0);
        sent(&mut sender, 100);
        assert_eq!(sender.next_timer(), at(500));
        assert_eq!(sender.on_ack(at(200), 1, TIMEOUT), 1);
        assert_eq!(sender.next_timer(), at(700));
        assert!(!sender.on_timer(at(699), TIMEOUT));
        assert!(sender.on_timer(at(700), TIMEOUT));
        assert_eq!(sent(&mut sender, 700), (1, true));
        assert_eq!(sent(&mut sender, 700), (2, false));
        assert_eq!(sender.next_timer(), at(1200));
    }

    #[test]
    fn an_ack_beyond_the_place_it_went_back_to_skips_what_has_arrived() {
        let mut sender = Sender::new(10);
        for _ in 0..5 {
            sent(&mut sender, 0);
        }
        assert!(sender.on_timer(at(500), TIMEOUT));
        sender.on_ack(at(501), 5, TIMEOUT);
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
        assert!(sender.on_nak(at(1), 1, TIMEOUT));
        let again = sender.send(at(1), TIMEOUT);
        assert!(again.is_last && again.again);
        sender.on_ack(at(2), 2, TIMEOUT);
        assert!(sender.is_done());
    }

    #[test]
    fn a_window_holds_packets_back() {
        let mut sender = Sender::new(10);
        sender.open_window(2);
        sent(&mut sender, 0);
        assert!(sender.has_packet());
        sent(&mut sender, 0);
        assert!(!sender.has_packet());
        sender.on_ack(at(1), 1, TIMEOUT);
        sender.open_window(2);
        assert!(sender.has_packet());
    }
}
