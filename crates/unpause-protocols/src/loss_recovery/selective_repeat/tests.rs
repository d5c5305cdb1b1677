extern crate alloc;

use super::*;
use alloc::vec;
use alloc::vec::Vec;

type Words = [u64; 2];

fn at(us: u64) -> Time {
    Time::from_us(us)
}

/// A flow of 200 packets with a window of 10, IRN's timeouts, and its receiver.
struct Pair {
    sender: Sender,
    repair: SelectiveRepeat<Words>,
    receiver: Receiver,
    order: OutOfOrder<Words>,
}

impl Pair {
    fn new(reordering: u32) -> Self {
        let params = Params {
            reordering: Some(reordering),
            ..Params::default()
        };
        let mut pair = Self {
            sender: Sender::new(200),
            repair: SelectiveRepeat::new(&params, 10, false, [0; 2]),
            receiver: Receiver::new(200),
            order: OutOfOrder::new(10, [0; 2]),
        };
        pair.repair.open_window(&mut pair.sender, u32::MAX);
        pair
    }

    /// All that it sends at once.
    fn burst(&mut self, us: u64) -> Vec<u32> {
        let mut sent = Vec::new();
        while self.sender.has_packet() {
            sent.push(self.repair.send(&mut self.sender, at(us)).number);
        }
        sent
    }

    /// Nothing comes until packets count as lost.
    fn time_out(&mut self) {
        loop {
            let due = self.sender.next_timer();
            if self.repair.on_timer(&mut self.sender, due) {
                return;
            }
        }
    }

    /// Packets arrive, and their answers do.
    fn deliver(&mut self, us: u64, numbers: &[u32]) -> Vec<Reception> {
        numbers
            .iter()
            .map(|number| self.arrive(us, *number))
            .collect()
    }

    fn arrive(&mut self, us: u64, number: u32) -> Reception {
        let reception = self.order.on_data(&mut self.receiver, at(us), number);
        let expected = self.receiver.expected();
        let feedback = Feedback {
            number: expected,
            kept: (reception == Reception::Kept).then_some(number),
        };
        if reception == Reception::Kept {
            self.repair.on_nak(&mut self.sender, at(us), feedback);
        } else {
            self.repair.on_ack(&mut self.sender, at(us), feedback);
        }
        reception
    }
}

#[test]
fn only_what_is_missing_is_sent_again() {
    let mut pair = Pair::new(0);
    assert_eq!(pair.burst(0), Vec::from_iter(0..10));
    // 1 and 3 are lost.
    assert_eq!(pair.arrive(10, 0), Reception::InOrder);
    assert_eq!(pair.arrive(10, 2), Reception::Kept);
    // The window moves by the one that has arrived in order.
    assert_eq!(pair.burst(10), [1, 10]);
    assert_eq!(pair.arrive(11, 4), Reception::Kept);
    assert_eq!(pair.burst(11), [3]);
    pair.deliver(12, &[5, 6, 7, 8, 9, 10]);
    // Each is sent again once.
    assert_eq!(pair.burst(12), []);
    assert_eq!(pair.arrive(13, 1), Reception::Filled);
    assert_eq!(
        (pair.receiver.expected(), pair.sender.unacknowledged()),
        (3, 3)
    );
    assert_eq!(pair.burst(13), [11, 12]);
    assert_eq!(pair.arrive(14, 3), Reception::Filled);
    assert_eq!(pair.receiver.expected(), 11);
    assert_eq!(pair.arrive(15, 3), Reception::Duplicate);
    assert_eq!(pair.arrive(15, 12), Reception::Kept);
    assert_eq!(pair.arrive(15, 12), Reception::Duplicate);
}

#[test]
fn recovery_ends_when_all_sent_before_has_arrived() {
    let mut pair = Pair::new(0);
    pair.burst(0);
    pair.arrive(1, 1);
    assert_eq!(pair.burst(1), [0]);
    // Still missing: nothing more is lost by what overtakes it.
    pair.deliver(2, &[2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(pair.burst(2), []);
    pair.arrive(3, 0);
    assert_eq!(pair.burst(3), Vec::from_iter(10..19));
    // 9 is not lost yet, as 10 comes: it is, while the recovery lasts.
    pair.arrive(4, 10);
    assert_eq!(pair.burst(4), [9]);
    pair.arrive(5, 9);
    // A new recovery, of what is sent after it.
    assert_eq!(pair.repair.recover, None);
    pair.arrive(6, 12);
    assert_eq!(pair.repair.recover, Some(19));
}

#[test]
fn packets_may_overtake_others_by_as_much_as_allowed() {
    let mut pair = Pair::new(3);
    pair.burst(0);
    pair.deliver(1, &[1, 2, 3]);
    assert_eq!((pair.burst(1), pair.repair.recover), (vec![], None));
    pair.arrive(2, 4);
    assert_eq!(pair.burst(2), [0]);
}

#[test]
fn without_a_limit_only_the_timer_finds_losses() {
    let mut pair = Pair::new(UNLIMITED);
    pair.burst(0);
    pair.deliver(1, &[1, 3, 4, 5, 6, 7]);
    assert_eq!(pair.burst(1), []);
    assert_eq!(pair.repair.in_flight(&pair.sender), 4);
    assert_eq!(pair.sender.next_timer(), at(321));
    assert!(!pair.repair.on_timer(&mut pair.sender, at(320)));
    assert!(pair.repair.on_timer(&mut pair.sender, at(321)));
    // 8 and 9 may be on their way.
    assert_eq!(pair.burst(321), [0, 2]);
}

#[test]
fn few_packets_in_flight_have_the_short_timeout() {
    let mut pair = Pair::new(0);
    pair.repair.open_window(&mut pair.sender, 3);
    assert_eq!(pair.burst(0), [0, 1, 2]);
    assert_eq!(pair.sender.next_timer(), at(100));
    // More of them by the time that it runs out: the long one.
    pair.repair.open_window(&mut pair.sender, 4);
    assert_eq!(pair.burst(50), [3]);
    assert!(!pair.repair.on_timer(&mut pair.sender, at(100)));
    assert_eq!(pair.sender.next_timer(), at(320));
    assert!(pair.repair.on_timer(&mut pair.sender, at(320)));
    assert_eq!(pair.burst(320), [0]);
    assert_eq!(pair.sender.next_timer(), at(640));
}

#[test]
fn a_window_of_the_law_counts_what_has_not_arrived() {
    let mut pair = Pair::new(UNLIMITED);
    pair.repair.open_window(&mut pair.sender, 2);
    assert_eq!(pair.burst(0), [0, 1]);
    pair.arrive(1, 1);
    assert_eq!(pair.burst(1), [2]);
    pair.arrive(2, 2);
    assert_eq!(pair.burst(2), [3]);
    pair.arrive(3, 0);
    assert_eq!(pair.burst(3), [4]);
}

#[test]
fn the_last_packet_that_is_missing_completes_the_flow() {
    let mut sender = Sender::new(3);
    let mut repair = SelectiveRepeat::new(&Params::default(), 10, false, [0; 1]);
    repair.open_window(&mut sender, u32::MAX);
    let (mut receiver, mut order) = (Receiver::new(3), OutOfOrder::new(10, [0; 1]));
    assert!(!repair.send(&mut sender, at(0)).is_last);
    assert!(!repair.send(&mut sender, at(0)).is_last);
    assert!(repair.send(&mut sender, at(0)).is_last);
    assert_eq!(order.on_data(&mut receiver, at(1), 2), Reception::Kept);
    assert_eq!(order.missing(&receiver), 2);
    assert_eq!(order.on_data(&mut receiver, at(1), 0), Reception::InOrder);
    let complete = order.on_data(&mut receiver, at(1), 1);
    assert_eq!((complete, receiver.expected()), (Reception::Complete, 3));
    assert_eq!(
        repair.on_ack(&mut sender, at(2), Feedback::cumulative(3)),
        3
    );
    assert!(sender.is_done() && sender.next_timer().is_never());
    // What comes late, or cannot be, changes nothing.
    let late = Feedback {
        number: 1,
        kept: Some(7),
    };
    assert_eq!(repair.on_nak(&mut sender, at(3), late), None);
}

#[test]
fn a_flow_that_is_stopped_repairs_what_it_has_sent() {
    let mut pair = Pair::new(0);
    pair.sender.stop();
    assert!(pair.sender.is_done());
    let mut pair = Pair::new(0);
    pair.burst(0);
    pair.sender.stop();
    pair.deliver(1, &[0, 2]);
    pair.sender.stop();
    assert_eq!(pair.burst(1), [1]);
    pair.deliver(2, &[1, 3, 4, 5, 6, 7, 8, 9]);
    assert!(pair.sender.is_done() && !pair.sender.has_packet());
}

#[test]
fn windows_hold_a_round_trip_of_the_link() {
    let params = Params::default();
    // The paper's: 40 Gb/s, 24 us, 120 KB.
    assert_eq!(params.window_packets(Rate::from_gbps(40), 1000), 120);
    let params = Params {
        window: Some(1),
        ..params
    };
    assert_eq!(params.window_packets(Rate::from_gbps(40), 1000), 1);
    assert_eq!((words(1), words(64), words(65)), (1, 1, 2));
}

/// The window of the law is full, and the receiver gets headers only.
#[test]
fn trimmed_packets_go_first_as_the_window_allows() {
    let mut pair = Pair::new(UNLIMITED);
    pair.repair = pair.repair.with_trims([[0; 2]; 2]);
    pair.repair.open_window(&mut pair.sender, 4);
    assert_eq!(pair.burst(0), [0, 1, 2, 3]);
    let trim = |pair: &mut Pair, us, number| {
        let before = pair.receiver.expected();
        let gap = pair
            .repair
            .on_trim(&mut pair.sender, at(us), before, number);
        gap.map(|gap| gap.lost)
    };
    assert_eq!(trim(&mut pair, 10, 2), Some(true));
    assert_eq!(pair.repair.in_flight(&pair.sender), 3);
    assert_eq!(trim(&mut pair, 10, 1), Some(true));
    // The same report again says nothing.
    assert_eq!(trim(&mut pair, 10, 1), None);
    // The lowest first. Two are in flight, so two may go; nothing new does.
    assert_eq!(pair.burst(10), [1, 2]);
    assert_eq!(pair.repair.in_flight(&pair.sender), 4);
    // Trimmed once more, while the window has shrunk: it waits for its turn.
    pair.repair.open_window(&mut pair.sender, 2);
    assert_eq!(trim(&mut pair, 20, 2), Some(true));
    assert_eq!(pair.burst(20), []);
    assert_eq!(pair.arrive(21, 0), Reception::InOrder);
    assert_eq!(pair.arrive(21, 3), Reception::Kept);
    assert_eq!(pair.burst(21), [2]);
    assert_eq!(
        pair.deliver(22, &[1, 2]),
        [Reception::InOrder, Reception::Filled]
    );
    assert_eq!(pair.burst(22), [4, 5]);
    // What has arrived is not missed, whatever a late report says.
    assert_eq!(trim(&mut pair, 23, 3), None);
    assert_eq!(pair.repair.trimmed, 0);
}

/// Packets that were sent before the timer started and have not arrived leave the flight when it expires: their headers
/// were lost. They are sent again as the window allows.
#[test]
fn a_timeout_gives_up_all_that_it_covers_where_switches_trim() {
    let mut pair = Pair::new(UNLIMITED);
    pair.repair = pair.repair.with_trims([[0; 2]; 2]);
    pair.repair.open_window(&mut pair.sender, 6);
    assert_eq!(pair.burst(0), [0, 1, 2, 3, 4, 5]);
    pair.arrive(1, 4);
    pair.repair.open_window(&mut pair.sender, 4);
    // The timer starts anew, and 1 is sent again after that.
    pair.repair.on_trim(&mut pair.sender, at(2), 0, 1);
    assert_eq!(pair.burst(2), []);
    pair.repair.on_trim(&mut pair.sender, at(3), 0, 2);
    assert_eq!(pair.burst(3), [1]);
    pair.time_out();
    // 1 is the only one in flight: three more may be.
    assert_eq!(pair.repair.in_flight(&pair.sender), 1);
    assert_eq!(pair.burst(323), [0, 2, 3]);
    assert_eq!(pair.repair.trimmed, 1);
    // Now 1 is given up, too. The others have been sent since.
    pair.time_out();
    assert_eq!(pair.burst(643), [1]);
    assert_eq!(pair.repair.trimmed, 1);
    pair.time_out();
    assert_eq!(pair.burst(963), [0, 2, 3]);
}

/// Without credit nothing goes, lost or new; what is to be sent again counts.
#[test]
fn a_flow_without_credit_is_held() {
    let mut pair = Pair::new(0);
    assert_eq!(pair.burst(0), Vec::from_iter(0..10));
    pair.repair.hold(&mut pair.sender, true);
    pair.deliver(10, &[0, 2, 3]);
    assert_eq!(pair.burst(10), []);
    assert!(pair.sender.has_left() && pair.repair.is_held());
    assert_eq!(pair.repair.repairs(&pair.sender), 1);
    pair.repair.hold(&mut pair.sender, false);
    assert_eq!(pair.burst(11), [1, 10]);
    assert_eq!(pair.repair.repairs(&pair.sender), 0);
}

/// Nothing is in flight, and more is to be sent: the timer runs, and nothing is lost when it runs out.
#[test]
fn the_timer_of_a_held_flow_runs() {
    let mut pair = Pair::new(0);
    pair.burst(0);
    pair.repair.hold(&mut pair.sender, true);
    pair.deliver(10, &Vec::from_iter(0..10));
    assert_eq!(pair.sender.next_timer(), at(110));
    assert!(!pair.repair.on_timer(&mut pair.sender, at(109)));
    assert!(!pair.repair.on_timer(&mut pair.sender, at(110)));
    assert_eq!(pair.repair.repairs(&pair.sender), 0);
    assert_eq!(pair.sender.next_timer(), at(210));
    // With credit the timer is that of packets in flight again.
    pair.repair.hold(&mut pair.sender, false);
    assert_eq!(pair.sender.next_timer(), Time::NEVER);
    assert_eq!(pair.burst(200), Vec::from_iter(10..20));
    pair.deliver(210, &Vec::from_iter(10..20));
    assert_eq!(pair.burst(210), Vec::from_iter(20..30));
}

/// Trimmed packets count once, whether they count as lost, too, or not.
#[test]
fn trimmed_packets_are_repairs() {
    let mut pair = Pair::new(0);
    pair.repair = pair.repair.with_trims([[0; 2]; 2]);
    pair.burst(0);
    pair.repair.hold(&mut pair.sender, true);
    for number in [2, 5] {
        pair.repair.on_trim(&mut pair.sender, at(5), 0, number);
    }
    assert_eq!(pair.repair.repairs(&pair.sender), 2);
    pair.deliver(10, &[7]);
    // 0 to 6 have been overtaken.
    assert_eq!(pair.repair.repairs(&pair.sender), 7);
}
