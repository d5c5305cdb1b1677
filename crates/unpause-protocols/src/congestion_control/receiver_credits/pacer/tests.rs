extern crate alloc;

use super::*;
use alloc::vec::Vec;

const MOST: u64 = 262_926;

struct Host {
    pacer: Pacer,
    flows: [Flow; 3],
}

impl Host {
    fn new() -> Self {
        Self {
            pacer: Pacer::new(Rate::from_gbps(100)),
            flows: [Flow::new(MOST); 3],
        }
    }
    fn wants(&mut self, flow: u32, now: Time, target: u64) {
        self.pacer.on_target(&mut self.flows[..], flow, now, target);
    }
    fn next(&mut self) -> Option<(Time, Pull)> {
        let now = self.pacer.next_timer();
        let pull = self.pacer.on_timer(&mut self.flows[..], now);
        pull.map(|pull| (now, pull))
    }
    fn pulls(&mut self, count: usize) -> Vec<(u32, u64, bool)> {
        let pulls = (0..count).map(|_| self.next().expect("a pull").1);
        pulls
            .map(|pull| (pull.flow, pull.granted, pull.slow))
            .collect()
    }
}

#[test]
fn flows_take_turns_and_get_what_they_ask_for() {
    let mut host = Host::new();
    assert_eq!(host.pacer.next_timer(), Time::NEVER);
    host.wants(2, Time::ZERO, 100);
    host.wants(0, Time::ZERO, 192);
    host.wants(1, Time::ZERO, 10);
    let pulls = host.pulls(6);
    let asked = [
        (2, 64, false),
        (0, 64, false),
        (1, 10, false),
        (2, 100, false),
        (0, 128, false),
        (0, 192, false),
    ];
    assert_eq!(pulls, asked);
}

/// 64 units are 131 072 bits: 1 323.96 ns at 99 Gb/s.
#[test]
fn pulls_are_as_far_apart_as_their_bytes_at_99_hundredths_of_the_link() {
    let mut host = Host::new();
    host.wants(0, Time::from_us(5), 74);
    let times = |host: &mut Host| host.next().expect("a pull").0;
    assert_eq!(times(&mut host), Time::from_us(5), "at once");
    assert_eq!(times(&mut host), Time::from_ps(5_000_000 + 1_323_960));
    // 10 units.
    let third = 5_000_000 + 1_323_960 + 206_869;
    assert_eq!(times(&mut host), Time::from_ps(third));
    host.pacer.set_share(Fraction::of(1, 2));
    assert_eq!(times(&mut host), Time::from_ps(third + 1_323_960));
    assert_eq!(
        times(&mut host),
        Time::from_ps(third + 1_323_960 + 2_647_920)
    );
}

#[test]
fn a_request_waits_for_the_pull_before() {
    let mut host = Host::new();
    host.wants(0, Time::ZERO, 64);
    host.next();
    host.wants(1, Time::from_ns(1), 64);
    assert_eq!(
        host.pacer.on_timer(&mut host.flows[..], Time::from_ns(1)),
        None
    );
    assert_eq!(
        host.next().map(|(now, _)| now),
        Some(Time::from_ps(1_323_960))
    );
}

/// 262 926 B are 1 027 units, which 17 pulls exceed.
#[test]
fn idle_flows_get_some_to_start_with_again() {
    let mut host = Host::new();
    host.wants(0, Time::ZERO, 64);
    host.wants(1, Time::ZERO, 64);
    let pulls = host.pulls(36);
    assert!(pulls[2..].iter().all(|(_, _, slow)| *slow));
    assert_eq!(pulls[2..4], [(0, 128, true), (1, 128, true)]);
    assert_eq!(
        pulls[34..],
        [(0, 64 + 17 * 64, true), (1, 64 + 17 * 64, true)]
    );
    assert!(host.next().is_none());
    assert_eq!(host.pacer.next_timer(), Time::NEVER);
    // What it has unused it need not be granted again.
    host.wants(0, Time::from_ms(1), 64 + 64);
    assert_eq!(host.pulls(1), [(0, 64 + 17 * 64, false)]);
    host.wants(0, Time::from_ms(2), 64 + 17 * 64 + 1);
    assert_eq!(host.pulls(1), [(0, 64 + 17 * 64 + 1, false)]);
}

#[test]
fn who_asks_goes_before_who_is_idle() {
    let mut host = Host::new();
    host.wants(0, Time::ZERO, 1);
    host.wants(1, Time::ZERO, 1);
    host.pulls(3);
    host.wants(0, Time::ZERO, 300);
    assert_eq!(host.pulls(2), [(0, 129, false), (0, 193, false)]);
}

/// A pull that grants nothing makes the sender repair, and takes the time of 4 units.
#[test]
fn a_trim_asks_its_flow_again() {
    let mut host = Host::new();
    host.pacer.on_trim(&mut host.flows[..], 1, Time::ZERO);
    host.pacer.on_trim(&mut host.flows[..], 1, Time::ZERO);
    assert_eq!(host.pulls(1), [(1, 0, false)]);
    assert_eq!(host.pacer.next_timer(), Time::from_ps(82_748));
}

#[test]
fn a_flow_that_has_ended_gets_nothing() {
    let mut host = Host::new();
    host.wants(0, Time::ZERO, 500);
    host.wants(1, Time::ZERO, 64);
    host.pulls(1);
    host.flows[0].end();
    assert_eq!(host.pulls(2), [(1, 64, false), (1, 128, true)]);
    host.flows[1].end();
    assert!(host.next().is_none());
}

#[test]
fn without_a_rate_there_is_one_pull() {
    let mut host = Host::new();
    host.pacer = Pacer::new(Rate::ZERO);
    host.wants(0, Time::ZERO, 500);
    host.pulls(1);
    assert_eq!(host.pacer.next_timer(), Time::NEVER);
}
