//! The repair of losses under the laws of NewReno and ECN TCP.

extern crate alloc;

use super::*;
use crate::congestion_control::ecn_tcp::{self, EcnTcp};
use crate::congestion_control::newreno::{self, NewReno};
use crate::units::Rate;
use alloc::vec::Vec;

const MSS: u64 = 1400;
const RTT: Time = Time::from_us(100);

fn tcp(params: Params) -> Sender<NewReno> {
    let path = params.path(Rate::from_gbps(10));
    Sender::new(&params, NewReno::new(&newreno::Params {}, &path))
}

/// Those of the ECN# authors' simulator.
fn theirs() -> Params {
    Params {
        grow_only_if_limiting: false,
        ..Params::default()
    }
}

fn unlimited_burst() -> Params {
    Params {
        max_burst: None,
        ..theirs()
    }
}

/// Numbers of the segments sent now, those sent before as negatives.
fn send(tcp: &mut Sender<NewReno>, now: Time) -> Vec<i64> {
    let mut segments = Vec::new();
    while let Some(segment) = tcp.next_segment(now, u64::MAX) {
        assert_eq!((segment.start % MSS, segment.bytes), (0, 1400));
        assert!(!segment.ect && !segment.cwr);
        let number = (segment.start / MSS) as i64;
        segments.push(if segment.retransmission {
            -number
        } else {
            number
        });
    }
    segments
}

/// The receiver lacks this segment.
fn ack(tcp: &mut Sender<NewReno>, now: Time, segment: u64) -> Vec<i64> {
    let ack = Ack {
        number: segment * MSS,
        ece: false,
        rtt: Some(RTT),
    };
    tcp.on_ack(now, &ack);
    send(tcp, now)
}

fn segments(bytes: u64) -> u64 {
    bytes / MSS
}

/// Sixteen segments in flight, 20 to 35, in congestion avoidance.
fn steady(params: Params) -> Sender<NewReno> {
    let mut tcp = tcp(params);
    send(&mut tcp, Time::ZERO);
    tcp.law.ssthresh = 16 * MSS;
    for segment in 1..=20 {
        ack(&mut tcp, Time::ZERO, segment);
    }
    tcp.law.cwnd = 16 * MSS;
    assert_eq!((tcp.in_flight(), tcp.sent), (16 * MSS, 36 * MSS));
    tcp
}

#[test]
fn the_initial_window_leaves_at_once_or_two_by_two() {
    let mut whole = tcp(unlimited_burst());
    assert_eq!(send(&mut whole, Time::ZERO).len(), 10);
    let mut tcp = tcp(theirs());
    assert_eq!(send(&mut tcp, Time::ZERO), [0, 1]);
    for segment in 1..=20 {
        let sent = ack(&mut tcp, RTT, segment);
        assert_eq!(sent.len(), 2);
        assert_eq!(segments(tcp.cwnd()), 10 + segment);
    }
}

#[test]
fn slow_start_doubles_and_congestion_avoidance_adds_a_segment() {
    let mut tcp = tcp(unlimited_burst());
    send(&mut tcp, Time::ZERO);
    tcp.law.ssthresh = 40 * MSS;
    for (round, cwnd) in [(0, 20), (1, 40), (2, 40), (3, 41), (4, 42)] {
        for _ in 0..segments(tcp.in_flight()) {
            let next = segments(tcp.una) + 1;
            ack(&mut tcp, RTT * round, next);
        }
        assert_eq!(segments(tcp.cwnd()), cwnd, "round {round}");
    }
}

#[test]
fn an_ack_for_many_segments_grows_the_window_by_one() {
    let mut tcp = tcp(unlimited_burst());
    send(&mut tcp, Time::ZERO);
    ack(&mut tcp, RTT, 10);
    assert_eq!(segments(tcp.cwnd()), 11);
}

#[test]
fn a_lost_segment_is_repaired_without_a_timeout() {
    let mut tcp = steady(unlimited_burst());
    // 20 is lost; 21 to 35 each cause a duplicate.
    assert_eq!(ack(&mut tcp, RTT, 20), [36]);
    assert_eq!(tcp.state(), State::Disorder);
    assert_eq!(ack(&mut tcp, RTT, 20), [37]);
    // The third: 18 in flight, so the threshold is 9 and the window 9 + 3.
    assert_eq!(ack(&mut tcp, RTT, 20), [-20]);
    assert_eq!(tcp.state(), State::Recovery);
    assert_eq!(segments(tcp.ssthresh()), 9);
    assert_eq!(segments(tcp.cwnd()), 12);
    // Six more bring the window to the 18 in flight, the next ones release a segment each.
    for _ in 24..30 {
        assert_eq!(ack(&mut tcp, RTT, 20), []);
    }
    for new in 38..46 {
        assert_eq!(ack(&mut tcp, RTT, 20), [new]);
    }
    // The retransmission fills the hole, and everything up to 37 is acknowledged.
    let sent = ack(&mut tcp, RTT * 2, 38);
    assert_eq!((tcp.state(), segments(tcp.cwnd())), (State::Open, 9));
    assert_eq!(sent, [46]);
    assert_eq!(tcp.timeouts(), 0);
}

#[test]
fn a_second_hole_is_repaired_by_a_partial_ack() {
    let mut tcp = steady(unlimited_burst());
    for _ in 0..3 {
        ack(&mut tcp, RTT, 20);
    }
    let timer = tcp.next_timer();
    // 25 is lost too: 5 segments have left the network, one goes in.
    let cwnd = tcp.cwnd();
    assert_eq!(ack(&mut tcp, RTT * 2, 25)[0], -25);
    assert_eq!(tcp.cwnd(), cwnd - 5 * MSS + MSS);
    assert_eq!(tcp.state(), State::Recovery);
    assert!(tcp.next_timer() > timer);
    // Only the first partial ACK puts the timer off.
    let timer = tcp.next_timer();
    assert_eq!(ack(&mut tcp, RTT * 3, 30)[0], -30);
    assert_eq!(tcp.next_timer(), timer);
    ack(&mut tcp, RTT * 4, 38);
    assert_eq!(tcp.state(), State::Open);
}

#[test]
fn a_lost_retransmission_takes_a_timeout() {
    let mut tcp = steady(unlimited_burst());
    for _ in 0..3 {
        ack(&mut tcp, RTT, 20);
    }
    let sent = segments(tcp.sent);
    let due = tcp.next_timer();
    assert_eq!(due, Time::from_ms(1));
    tcp.on_timer(due - Time::from_ps(1));
    assert_eq!(tcp.state(), State::Recovery);
    tcp.on_timer(due);
    assert_eq!((tcp.state(), segments(tcp.cwnd())), (State::Loss, 1));
    assert_eq!(segments(tcp.ssthresh()), 9);
    assert_eq!(send(&mut tcp, due), [-20]);
    // Go-back-N in slow start; late duplicates start no recovery.
    assert_eq!(ack(&mut tcp, due, 21), [-21, -22]);
    for _ in 0..5 {
        assert_eq!(ack(&mut tcp, due, 21), []);
    }
    assert_eq!(tcp.state(), State::Loss);
    // The receiver had the rest.
    let after = ack(&mut tcp, due, sent);
    assert_eq!(tcp.state(), State::Open);
    let sent = sent as i64;
    assert_eq!(after, [sent, sent + 1, sent + 2]);
}

#[test]
fn timeouts_double_and_leave_the_threshold_alone_until_the_connection_is_given_up() {
    let mut tcp = steady(Params {
        retries: 3,
        ..unlimited_burst()
    });
    let mut due = tcp.next_timer();
    for timeout in 1..=3 {
        tcp.on_timer(due);
        assert_eq!(send(&mut tcp, due), [-20]);
        assert_eq!(tcp.timeouts(), timeout);
        assert_eq!(tcp.ssthresh(), 8 * MSS);
        let next = tcp.next_timer();
        assert_eq!(next - due, Time::from_ms(1 << timeout));
        due = next;
    }
    tcp.on_timer(due);
    assert!(tcp.has_given_up() && tcp.next_timer().is_never());
    assert_eq!(send(&mut tcp, due), []);
    assert_eq!(ack(&mut tcp, due, 30), []);
}

#[test]
fn progress_takes_the_doublings_back() {
    let mut tcp = steady(unlimited_burst());
    for _ in 0..3 {
        tcp.on_timer(tcp.next_timer());
        send(&mut tcp, Time::from_ms(10));
    }
    assert_eq!(tcp.rto(), Time::from_ms(8));
    ack(&mut tcp, Time::from_ms(10), 21);
    assert_eq!((tcp.rto(), tcp.timeouts()), (Time::from_ms(1), 0));
    assert_eq!(tcp.next_timer(), Time::from_ms(11));
}

#[test]
fn without_limited_transmit_duplicates_release_nothing() {
    let mut tcp = steady(Params {
        limited_transmit: false,
        ..unlimited_burst()
    });
    assert_eq!(ack(&mut tcp, RTT, 20), []);
    assert_eq!(ack(&mut tcp, RTT, 20), []);
    assert_eq!(ack(&mut tcp, RTT, 20), [-20]);
    assert_eq!(segments(tcp.ssthresh()), 8);
}

#[test]
fn short_flows_end_in_a_short_segment_and_a_silent_timer() {
    let mut tcp = tcp(Params::default());
    let first = tcp.next_segment(Time::ZERO, 1401).unwrap();
    let second = tcp.next_segment(Time::ZERO, 1401).unwrap();
    assert_eq!((first.start, first.bytes), (0, 1400));
    assert_eq!((second.start, second.bytes), (1400, 1));
    assert_eq!(tcp.next_segment(Time::ZERO, 1401), None);
    let ack = |number| Ack {
        number,
        ece: false,
        rtt: Some(RTT),
    };
    tcp.on_ack(RTT, &ack(1401));
    assert_eq!(tcp.next_timer(), Time::NEVER);
    assert_eq!(tcp.next_segment(RTT, 1401), None);
    // The application continues.
    tcp.on_write();
    assert_eq!(tcp.next_segment(RTT, 1402).unwrap().start, 1401);
    // An empty flow sends nothing and runs no timer.
    let mut empty = self::tcp(Params::default());
    assert_eq!(empty.next_segment(Time::ZERO, 0), None);
    assert_eq!(empty.next_timer(), Time::NEVER);
}

#[test]
fn acks_of_the_past_and_of_the_future_are_ignored() {
    let mut tcp = steady(unlimited_burst());
    let before = (tcp.cwnd(), tcp.una, tcp.sent);
    for _ in 0..5 {
        assert_eq!(ack(&mut tcp, RTT, 19), []);
        assert_eq!(ack(&mut tcp, RTT, 37), []);
    }
    assert_eq!((tcp.cwnd(), tcp.una, tcp.sent), before);
}

#[test]
fn a_retransmission_not_fetched_in_time_is_forgotten() {
    let mut tcp = steady(unlimited_burst());
    let ack = |number| Ack {
        number,
        ece: false,
        rtt: None,
    };
    for _ in 0..3 {
        tcp.on_ack(RTT, &ack(20 * MSS));
    }
    // It was only reordering.
    tcp.on_ack(RTT, &ack(36 * MSS));
    assert_eq!(tcp.state(), State::Open);
    assert_eq!(send(&mut tcp, RTT)[0], 36);
}

#[test]
fn a_window_that_does_not_limit_need_not_grow() {
    let mut tcp = tcp(Params {
        grow_only_if_limiting: true,
        ..unlimited_burst()
    });
    // The network card takes one segment per round trip.
    for segment in 1..100 {
        tcp.next_segment(Time::ZERO, u64::MAX);
        let ack = Ack {
            number: segment * MSS,
            ece: false,
            rtt: None,
        };
        tcp.on_ack(Time::ZERO, &ack);
    }
    assert_eq!(segments(tcp.cwnd()), 10);
    // All of the window is used.
    send(&mut tcp, Time::ZERO);
    for _ in 0..10 {
        let next = segments(tcp.una) + 1;
        ack(&mut tcp, Time::ZERO, next);
    }
    assert_eq!(segments(tcp.cwnd()), 20);
}

#[test]
fn recovery_ends_with_a_window_not_far_above_what_is_in_flight() {
    for (in_flight, cwnd) in [(0, 2), (3, 4), (12, 8)] {
        let mut tcp = steady(Params {
            limited_transmit: false,
            ..unlimited_burst()
        });
        let ack = |number| Ack {
            number,
            ece: false,
            rtt: None,
        };
        for _ in 0..3 {
            tcp.on_ack(RTT, &ack(20 * MSS));
        }
        for _ in 0..20 {
            tcp.on_ack(RTT, &ack(20 * MSS));
        }
        for _ in 0..=in_flight {
            tcp.next_segment(RTT, u64::MAX).unwrap();
        }
        tcp.on_ack(RTT, &ack(36 * MSS));
        assert_eq!(segments(tcp.in_flight()), in_flight);
        assert_eq!(segments(tcp.cwnd()), cwnd);
    }
}

/// A connection with sixteen segments in flight, 0 to 15, that halves its window at a mark.
fn marked(cwnd: u64) -> Sender<EcnTcp> {
    let params = Params {
        initial_window: 16,
        ..unlimited_burst()
    };
    let law = EcnTcp::new(&ecn_tcp::Params {}, &params.path(Rate::from_gbps(10)));
    let mut tcp = Sender::new(&params, law);
    while tcp.next_segment(Time::ZERO, u64::MAX).is_some() {}
    tcp.law.0.cwnd = cwnd * MSS;
    tcp
}

fn ece(segment: u64) -> Ack {
    Ack {
        number: segment * MSS,
        ece: true,
        rtt: Some(RTT),
    }
}

#[test]
fn after_a_mark_the_first_new_segment_bears_cwr_and_its_ack_ends_the_cut() {
    let mut tcp = marked(16);
    for segment in 1..=8 {
        tcp.on_ack(RTT, &ece(segment));
        assert_eq!(tcp.next_segment(RTT, u64::MAX), None);
    }
    // 8 in flight are the window's; from now on a segment leaves for each that arrives.
    for segment in 9..=16 {
        tcp.on_ack(RTT, &ece(segment));
        let sent = tcp.next_segment(RTT, u64::MAX).unwrap();
        assert_eq!(sent.start, (segment + 7) * MSS);
        assert_eq!((sent.ect, sent.cwr), (true, segment == 9));
        assert_eq!(tcp.state(), State::Cwr);
    }
    assert_eq!(segments(tcp.cwnd()), 8);
    // Segment 16 bore CWR: the ACK of it may be answered again.
    tcp.on_ack(RTT, &ece(17));
    assert_eq!((segments(tcp.cwnd()), tcp.state()), (4, State::Cwr));
}

#[test]
fn a_mark_leaves_the_threshold_at_half_of_what_is_in_flight_at_least() {
    let mut tcp = marked(6);
    tcp.on_ack(RTT, &ece(2));
    assert_eq!((tcp.cwnd(), tcp.ssthresh()), (3 * MSS, 7 * MSS));
    let mut least = marked(1);
    least.on_ack(RTT, &ece(16));
    assert_eq!((least.cwnd(), least.ssthresh()), (MSS, MSS));
}

#[test]
fn marks_are_answered_in_disorder_but_not_in_recovery_nor_after_a_timeout() {
    let mut tcp = marked(16);
    tcp.on_ack(RTT, &ece(0));
    assert_eq!((segments(tcp.cwnd()), tcp.state()), (8, State::Cwr));
    let mut recovering = marked(16);
    for _ in 0..3 {
        recovering.on_ack(
            RTT,
            &Ack {
                ece: false,
                ..ece(0)
            },
        );
    }
    let (cwnd, ssthresh) = (recovering.cwnd(), recovering.ssthresh());
    recovering.on_ack(RTT, &ece(0));
    assert_eq!(recovering.cwnd(), cwnd + MSS);
    assert_eq!(recovering.ssthresh(), ssthresh);
    let mut starting_over = marked(16);
    starting_over.on_timer(starting_over.next_timer());
    starting_over.on_ack(RTT, &ece(1));
    assert_eq!(segments(starting_over.cwnd()), 2);
    assert_eq!(starting_over.state(), State::Loss);
}

#[test]
fn segments_that_a_card_cuts_from_one_wait_for_one_another() {
    let params = Params {
        tso: Some(4),
        ..unlimited_burst()
    };
    let mut tcp = tcp(params);
    // Four and four; there is room for two more of the ten, which is less than a third of the window.
    assert_eq!(send(&mut tcp, Time::ZERO), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(!tcp.is_in_burst());
    assert_eq!(ack(&mut tcp, RTT, 1), [8, 9, 10, 11]);
    // Eleven of twelve are under way: two ACKs make room for four, each grows the window.
    assert_eq!(ack(&mut tcp, RTT, 2), []);
    assert_eq!(ack(&mut tcp, RTT, 3), [12, 13, 14, 15]);
    // The last of the data do not wait.
    let last = 17 * MSS;
    let number = 4 * MSS;
    tcp.on_ack(
        RTT,
        &Ack {
            number,
            ece: false,
            rtt: Some(RTT),
        },
    );
    assert_eq!(
        tcp.next_segment(RTT, last).map(|segment| segment.start),
        Some(16 * MSS)
    );
    assert_eq!(tcp.next_segment(RTT, last), None);
}

/// Waiting for a burst counts as waiting for the window: it grows as if each segment left by itself.
#[test]
fn waiting_for_a_burst_does_not_keep_a_window_from_growing() {
    let grown = |tso| {
        let params = Params {
            tso,
            grow_only_if_limiting: true,
            initial_window: 40,
            ..unlimited_burst()
        };
        let mut tcp = tcp(params);
        tcp.law.ssthresh = 40 * MSS;
        send(&mut tcp, Time::ZERO);
        for round in 1..=400 {
            let next = segments(tcp.una) + 1;
            ack(&mut tcp, RTT * round, next);
        }
        segments(tcp.cwnd())
    };
    // Nine rounds of 40 to 48 segments.
    let (single, together) = (grown(None), grown(Some(44)));
    assert_eq!(single, 48);
    assert!(together >= 47, "{together}");
}
