extern crate alloc;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::*;
use crate::flow_control::credits::UPDATE_BYTES;
use crate::link_buffers::rows;

/// A link with packets of one size that are always there, in one VC.
struct Link {
    rate: Rate,
    propagation: Time,
    params: Params,
    packet_bytes: u32,
    /// How long the receiver keeps a packet.
    hold: Time,
    /// Packets that are lost, by number.
    lost: fn(u64) -> bool,
    /// Updates that are lost, by number.
    lost_updates: fn(u64) -> bool,
}

#[derive(Clone, Copy)]
enum Event {
    Arrives(u64),
    Frees,
    Update,
    UpdateArrives(u32),
    Consumed,
    ConsumedArrives(u32),
    Ready,
}

/// The result.
#[derive(Default)]
struct Outcome {
    starts: Vec<Time>,
    max_held: u32,
    leaked: u32,
    at_rest: bool,
}

impl Link {
    fn at(gbps: u64, metres: u64) -> Self {
        Self {
            rate: Rate::from_gbps(gbps),
            propagation: Time::from_ns(5 * metres),
            params: Params {
                update_spacing_bytes: 0,
                credit_bytes: 1,
                consumed_interval: Time::NEVER,
                ..Params::default()
            },
            packet_bytes: 4170,
            hold: Time::ZERO,
            lost: |_| false,
            lost_updates: |_| false,
        }
    }

    fn slot(&self) -> Time {
        self.rate.time_for(self.packet_bytes.into())
    }

    /// Sends this many packets with a limit of this many credits.
    fn run(&self, packets: u64, limit: u32) -> Outcome {
        let mut run = Run {
            link: self,
            packets,
            credits: self.params.credits(self.packet_bytes),
            sender: Sender::new(limit),
            receiver: Receiver::new(),
            updates: Updates::new(self.params.update_spacing(self.rate)),
            events: BTreeMap::new(),
            pushed: 0,
            free_at: Time::ZERO,
            sent_updates: 0,
            outcome: Outcome::default(),
        };
        run.push(Time::ZERO, Event::Ready);
        run.push(self.params.consumed_interval, Event::Consumed);
        while let Some(((now, _), event)) = run.events.pop_first() {
            run.on_event(now, event);
        }
        run.outcome.at_rest = run.sender.in_use() == 0 && run.receiver.held() == 0;
        run.outcome
    }

    /// Between the starts of packets that are `apart` packets apart, in the second half.
    fn spans(&self, limit: u32, apart: usize) -> Vec<Time> {
        let starts = self.run(400, limit).starts;
        assert_eq!(starts.len(), 400);
        let later = &starts[200..];
        let spans = later.iter().zip(&later[apart..]);
        spans.map(|(first, last)| *last - *first).collect()
    }
}

/// The link while it works.
struct Run<'l> {
    link: &'l Link,
    packets: u64,
    credits: u32,
    sender: Sender,
    receiver: Receiver,
    updates: Updates,
    events: BTreeMap<(Time, u64), Event>,
    pushed: u64,
    free_at: Time,
    sent_updates: u64,
    outcome: Outcome,
}

impl Run<'_> {
    fn push(&mut self, time: Time, event: Event) {
        self.pushed += 1;
        if !time.is_never() {
            self.events.insert((time, self.pushed), event);
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        let propagation = self.link.propagation;
        match event {
            Event::Arrives(packet) if (self.link.lost)(packet) => {}
            Event::Arrives(_) => {
                self.receiver.on_packet(self.credits);
                self.outcome.max_held = self.outcome.max_held.max(self.receiver.held());
                self.push(now + self.link.hold, Event::Frees);
            }
            Event::Frees => {
                self.receiver.on_freed(self.credits);
                self.has_freed(now);
            }
            Event::Update if self.updates.on_timer(now) == 1 << 3 => {
                self.sent_updates += 1;
                if !(self.link.lost_updates)(self.sent_updates) {
                    let arrives = now + propagation + self.link.rate.time_for(UPDATE_BYTES);
                    self.push(arrives, Event::UpdateArrives(self.receiver.freed()));
                }
            }
            Event::Update => {}
            Event::UpdateArrives(freed) => {
                self.sender.on_update(freed);
                self.push(now, Event::Ready);
            }
            Event::Consumed => {
                let said = Event::ConsumedArrives(self.sender.consumed());
                // Behind the packet under way.
                self.push(now.max(self.free_at) + propagation, said);
                let sent = self.outcome.starts.len() as u64;
                if sent < self.packets || self.sender.in_use() > 0 {
                    self.push(now + self.link.params.consumed_interval, Event::Consumed);
                }
            }
            Event::ConsumedArrives(consumed) => {
                let leaked = self.receiver.on_consumed(consumed);
                self.outcome.leaked += leaked;
                if leaked > 0 {
                    self.has_freed(now);
                }
            }
            Event::Ready => {
                let sent = self.outcome.starts.len() as u64;
                let may_send = self.sender.may_send(self.credits);
                if now >= self.free_at && sent < self.packets && may_send {
                    self.sender.on_sent(self.credits);
                    self.outcome.starts.push(now);
                    self.free_at = now + self.link.slot();
                    self.push(self.free_at, Event::Ready);
                    self.push(self.free_at + propagation, Event::Arrives(sent));
                }
            }
        }
    }

    fn has_freed(&mut self, now: Time) {
        self.updates.on_freed(now, 3);
        self.push(self.updates.next_timer(), Event::Update);
    }
}

/// With credit for n packets of M bytes a link carries min(C, n M / (M/C + 2 t + 8 B/C)), exactly.
#[test]
fn the_rate_is_that_of_the_closed_form() {
    for [gbps, metres, ..] in rows() {
        let link = Link::at(gbps, metres);
        let round_trip =
            link.slot() + link.propagation + link.propagation + link.rate.time_for(UPDATE_BYTES);
        for packets in 1..=60_u32 {
            let busy = Time::from_ps(link.slot().as_ps() * u64::from(packets));
            let expected = busy.max(round_trip);
            for span in link.spans(packets * 4170, packets as usize) {
                assert_eq!(span, expected, "{gbps} Gb/s, {metres} m, {packets} packets");
            }
        }
    }
}

/// The buffer of the closed form fills the link with updates 6,400 B apart; with a packet less than fill it, it does not.
#[test]
fn the_buffers_of_the_closed_form_fill_the_link() {
    for [gbps, metres, frame, bytes, ..] in rows() {
        let mut link = Link::at(gbps, metres);
        link.params.update_spacing_bytes = 6400;
        let packet = u64::from(link.packet_bytes);
        assert_eq!(frame, packet);
        let computed = link
            .params
            .full_rate_bytes(link.rate, link.propagation, packet);
        assert_eq!(computed, bytes);
        let packets = bytes.div_ceil(packet) as u32;
        let spans = |packets: u32| link.spans(packets * 4170, 100);
        let full = Time::from_ps(link.slot().as_ps() * 100);
        let fills = |packets: u32| spans(packets).iter().all(|span| *span == full);
        assert!(fills(packets), "{gbps} Gb/s, {metres} m");
        assert!(!fills(packets - 1), "{gbps} Gb/s, {metres} m");
    }
}

/// No packet finds a full buffer, however small it is and however long the receiver keeps packets; at rest all credits are
/// back.
#[test]
fn no_packet_is_lost_and_credits_are_conserved() {
    for [gbps, metres, ..] in rows() {
        let mut link = Link::at(gbps, metres);
        link.params = Params::default();
        link.params.consumed_interval = Time::NEVER;
        assert_eq!(link.params.credits(4170), 33);
        for hold in [0, 100, 5000] {
            link.hold = Time::from_ns(hold);
            for limit in [33, 66, 100, 1000, 5000] {
                let outcome = link.run(500, limit);
                assert_eq!(outcome.starts.len(), 500);
                assert!(outcome.max_held <= limit, "{limit}: {}", outcome.max_held);
                assert!(outcome.at_rest);
            }
        }
    }
}

/// Credits of packets that are lost are gone until the sender says once what it has sent.
#[test]
fn one_message_gives_back_what_leaked() {
    let mut link = Link::at(400, 30);
    link.params = Params {
        consumed_interval: Time::NEVER,
        ..Params::default()
    };
    link.lost = |packet| packet % 10 == 9;
    // Each lost packet takes its credits along: six packets' worth are gone with the sixth.
    let outcome = link.run(1000, 6 * 33);
    assert_eq!(outcome.starts.len(), 60);
    assert!(!outcome.at_rest);
    link.params.consumed_interval = Time::from_us(256);
    let outcome = link.run(1000, 6 * 33);
    assert_eq!(outcome.starts.len(), 1000);
    assert!(outcome.at_rest);
    assert_eq!(outcome.leaked, 100 * 33);
}

#[test]
fn an_update_makes_up_for_those_that_were_lost() {
    let mut link = Link::at(400, 30);
    link.lost_updates = |update| update % 3 != 0;
    let outcome = link.run(999, 20 * 4170);
    assert_eq!(outcome.starts.len(), 999);
    assert!(outcome.at_rest);
}

/// Counters of 20 bits run round many times.
#[test]
fn counters_run_round() {
    let mut link = Link::at(100, 100);
    link.params.credit_bytes = 64;
    for limit in [66, MAX_LIMIT - 5, MAX_LIMIT, u32::MAX] {
        let outcome = link.run(60_000, limit);
        assert_eq!(outcome.starts.len(), 60_000);
        assert!(outcome.at_rest);
    }
}

#[test]
fn credits_are_rounded_up_and_bounded() {
    let mut params = Params::default();
    let credits = [0, 1, 128, 129, 4170].map(|bytes| params.credits(bytes));
    assert_eq!(credits, [0, 1, 1, 2, 33]);
    params.overhead_bytes = -16;
    assert_eq!(
        [8, 16, 17, 144, 145].map(|it| params.credits(it)),
        [0, 0, 1, 1, 2]
    );
    params.overhead_bytes = 127;
    assert_eq!(
        [1, 2, u32::MAX].map(|it| params.credits(it)),
        [1, 2, 33_554_432]
    );
}

#[test]
fn what_cannot_be_is_refused() {
    let mut sender = Sender::new(100);
    assert!(sender.may_send(100) && !sender.may_send(101));
    sender.on_sent(60);
    assert!(!sender.may_send(41) && sender.may_send(40));
    assert!(!sender.on_update(61));
    assert!(!sender.on_update(u32::MAX));
    assert_eq!(sender.in_use(), 60);
    assert!(sender.on_update(60) && !sender.on_update(60));
    assert_eq!(
        (sender.in_use(), sender.max_in_use(), sender.limit()),
        (0, 60, 100)
    );
}

#[test]
fn updates_keep_their_distance() {
    let spacing = Params::default().update_spacing(Rate::from_gbps(400));
    assert_eq!(spacing, Time::from_ns(128));
    let mut updates = Updates::new(spacing);
    assert!(updates.next_timer().is_never());
    assert_eq!(updates.on_timer(Time::from_ns(5)), 0);
    updates.on_freed(Time::from_ns(10), 0);
    assert_eq!(updates.next_timer(), Time::from_ns(10));
    assert_eq!(updates.on_timer(Time::from_ns(10)), 1);
    updates.on_freed(Time::from_ns(20), 4);
    updates.on_freed(Time::from_ns(30), 31);
    assert_eq!(updates.next_timer(), Time::from_ns(138));
    assert_eq!(updates.on_timer(Time::from_ns(137)), 0);
    assert_eq!(updates.on_timer(Time::from_ns(138)), 1 << 4 | 1 << 31);
    assert!(updates.next_timer().is_never());
}
