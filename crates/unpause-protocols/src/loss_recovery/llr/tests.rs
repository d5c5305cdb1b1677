extern crate alloc;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::link_buffers::rows;

/// The fate of a frame on the wire.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Arrives,
    Corrupted,
    Vanishes,
}

/// A link with frames of one size that are always there, and acknowledgements on the other direction.
struct Link {
    rate: Rate,
    propagation: Time,
    params: Params,
    frame_bytes: u32,
    slots: usize,
    /// Messages that are lost, by number.
    lost_messages: fn(u64) -> bool,
}

#[derive(Clone, Copy)]
enum Event {
    Ready,
    Arrives { number: u32, frame: u64, fate: Fate },
    Message,
    MessageArrives(Message),
    Timer,
}

#[derive(Default)]
struct Outcome {
    /// Starts of all frames, with which frame that was.
    starts: Vec<(Time, u64)>,
    delivered: Vec<(Time, u64)>,
    nacks: u64,
    timeouts: u64,
    flushed: Option<Cause>,
    max_bytes: u32,
    end: Time,
    left: u64,
}

impl Link {
    fn at(gbps: u64, metres: u64) -> Self {
        let (rate, propagation) = (Rate::from_gbps(gbps), Time::from_ns(5 * metres));
        let mut params = Params::default();
        params.max_bytes = params.full_rate_bytes(rate, propagation, 4170) as u32;
        Self {
            rate,
            propagation,
            params,
            frame_bytes: 4170,
            slots: 1000,
            lost_messages: |_| false,
        }
    }

    fn slot(&self) -> Time {
        self.rate.time_for(self.frame_bytes.into())
    }

    /// Slots from the end of a corrupted frame to the start of the same frame.
    fn wasted(&self) -> u64 {
        let round_trip = self.propagation + self.propagation + self.rate.time_for(MESSAGE_BYTES);
        round_trip.as_ps().div_ceil(self.slot().as_ps())
    }

    /// Sends this many frames. `fate` is told how often a frame has been sent before.
    fn run(&self, frames: u64, fate: impl FnMut(u64, u32) -> Fate) -> Outcome {
        let mut run = Run {
            link: self,
            frames,
            fate,
            slots: alloc::vec![Slot::default(); self.slots],
            sender: Sender::new(&self.params),
            receiver: Receiver::new(self.params.message_spacing(self.rate)),
            kept: VecDeque::new(),
            events: BTreeMap::new(),
            pushed: 0,
            free_at: Time::ZERO,
            timer_at: Time::NEVER,
            offered: 0,
            messages: 0,
            outcome: Outcome::default(),
        };
        run.push(Time::ZERO, Event::Ready);
        while run.outcome.flushed.is_none()
            && let Some(((now, _), event)) = run.events.pop_first()
        {
            run.outcome.end = now;
            run.on_event(now, event);
            if run.sender.next_timer() < run.timer_at {
                run.timer_at = run.sender.next_timer();
                run.push(run.timer_at, Event::Timer);
            }
        }
        run.outcome.left = run.sender.outstanding();
        run.outcome
    }
}

/// The link while it works.
struct Run<'l, F> {
    link: &'l Link,
    frames: u64,
    fate: F,
    slots: Vec<Slot>,
    sender: Sender,
    receiver: Receiver,
    /// Frames that the sender keeps, with how often they were sent again.
    kept: VecDeque<(u64, u32)>,
    events: BTreeMap<(Time, u64), Event>,
    pushed: u64,
    free_at: Time,
    timer_at: Time,
    offered: u64,
    messages: u64,
    outcome: Outcome,
}

impl<F: FnMut(u64, u32) -> Fate> Run<'_, F> {
    fn push(&mut self, time: Time, event: Event) {
        self.pushed += 1;
        if !time.is_never() {
            self.events.insert((time, self.pushed), event);
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Ready => self.send(now),
            Event::Arrives {
                fate: Fate::Vanishes,
                ..
            } => {}
            Event::Arrives {
                number,
                frame,
                fate,
            } => {
                let good = fate == Fate::Arrives;
                if self.receiver.on_frame(now, number, good) == Verdict::Deliver {
                    self.outcome.delivered.push((now, frame));
                }
                self.push(self.receiver.next_timer(), Event::Message);
            }
            Event::Message => {
                if let Some(message) = self.receiver.on_timer(now) {
                    self.outcome.nacks += u64::from(matches!(message, Message::Nack(_)));
                    self.messages += 1;
                    if !(self.link.lost_messages)(self.messages) {
                        let crossing = self.link.rate.time_for(MESSAGE_BYTES);
                        let arrives = now + crossing + self.link.propagation;
                        self.push(arrives, Event::MessageArrives(message));
                    }
                }
            }
            Event::MessageArrives(message) => {
                let freed = match message {
                    Message::Ack(number) => self.sender.on_ack(now, number, &self.slots),
                    Message::Nack(number) => self.sender.on_nack(now, number, &self.slots),
                };
                self.kept.drain(..freed as usize);
                self.push(now, Event::Ready);
            }
            Event::Timer => {
                self.timer_at = Time::NEVER;
                match self.sender.on_timer(now) {
                    Expiry::None => {}
                    Expiry::Replay => self.outcome.timeouts += 1,
                    Expiry::Flush(cause) => self.outcome.flushed = Some(cause),
                }
                self.push(now, Event::Ready);
            }
        }
    }

    /// The port is free, or there may be more to send.
    fn send(&mut self, now: Time) {
        let bytes = self.link.frame_bytes;
        if now < self.free_at {
            return;
        }
        let ((frame, before), number) = if let Some(place) = self.sender.next_again() {
            let again = &mut self.kept[place as usize];
            again.1 += 1;
            (*again, self.sender.on_sent_again())
        } else if self.offered < self.frames && self.sender.may_send(bytes, &self.slots) {
            let new = (self.offered, 0);
            self.kept.push_back(new);
            self.offered += 1;
            (new, self.sender.on_sent(now, bytes, &mut self.slots))
        } else {
            return;
        };
        self.outcome.starts.push((now, frame));
        let kept = self.sender.outstanding_bytes();
        self.outcome.max_bytes = self.outcome.max_bytes.max(kept);
        self.free_at = now + self.link.slot();
        self.push(self.free_at, Event::Ready);
        let arrives = Event::Arrives {
            number,
            frame,
            fate: (self.fate)(frame, before),
        };
        self.push(self.free_at + self.link.propagation, arrives);
    }
}

/// All frames, once, in order.
fn assert_whole(outcome: &Outcome, frames: u64) {
    let frames_delivered = outcome.delivered.iter().map(|it| it.1);
    assert!(frames_delivered.eq(0..frames));
    assert_eq!((outcome.left, outcome.flushed), (0, None));
}

/// A corrupted frame is sent again 1 + m slots later, m being the slots of the round trip.
#[test]
fn a_corrupted_frame_costs_one_round_trip() {
    for [gbps, metres, ..] in rows() {
        let link = Link::at(gbps, metres);
        let outcome = link.run(500, |frame, before| match (frame, before) {
            (200, 0) => Fate::Corrupted,
            _ => Fate::Arrives,
        });
        assert_whole(&outcome, 500);
        let starts = outcome.starts.iter().filter(|start| start.1 == 200);
        let starts: Vec<Time> = starts.map(|start| start.0).collect();
        let slots = 1 + link.wasted();
        let expected = Time::from_ps(link.slot().as_ps() * slots);
        assert_eq!(starts.len(), 2);
        assert_eq!(starts[1] - starts[0], expected, "{gbps} Gb/s, {metres} m");
        assert_eq!((outcome.nacks, outcome.timeouts), (1, 0));
        assert_eq!(outcome.starts.len() as u64, 500 + slots);
    }
    let link = Link::at(400, 30);
    assert_eq!(link.wasted(), 4);
    assert_eq!(link.slot().as_ps() * 5, 417_000);
}

/// A frame of which nothing at all arrives is missed with the next one.
#[test]
fn a_frame_that_vanishes_is_missed_with_the_next() {
    let link = Link::at(400, 30);
    let outcome = link.run(500, |frame, before| match (frame, before) {
        (200, 0) => Fate::Vanishes,
        _ => Fate::Arrives,
    });
    assert_whole(&outcome, 500);
    assert_eq!((outcome.nacks, outcome.timeouts), (1, 0));
    assert_eq!(outcome.starts.len() as u64, 500 + 2 + link.wasted());
}

/// A replay buffer of the closed form's size fills the link; one frame less does not.
#[test]
fn the_buffers_of_the_closed_form_fill_the_link() {
    for [gbps, metres, frame, .., bytes] in rows() {
        let mut link = Link::at(gbps, metres);
        assert_eq!(u64::from(link.params.max_bytes), bytes);
        let full = Time::from_ps(link.slot().as_ps() * 400);
        let last_start = |link: &Link| {
            let outcome = link.run(401, |_, _| Fate::Arrives);
            assert_whole(&outcome, 401);
            assert!(outcome.max_bytes <= link.params.max_bytes);
            outcome.starts[400].0
        };
        // Frames are whole, so what is kept is, too.
        link.params.max_bytes = (bytes.div_ceil(frame) * frame) as u32;
        assert_eq!(last_start(&link), full, "{gbps} Gb/s, {metres} m");
        link.params.max_bytes -= frame as u32;
        let less = last_start(&link);
        // Acknowledgements that do not wait for the one before need less than the closed form has for that.
        let needed = 2 * link.propagation.as_ps() + link.rate.time_for(MESSAGE_BYTES).as_ps();
        let frames = u64::from(link.params.max_bytes) / frame;
        let fills = frames * link.slot().as_ps() >= link.slot().as_ps() + needed;
        assert_eq!(less == full, fills, "{gbps} Gb/s, {metres} m");
    }
}

/// The slots that this many frames take, with errors of probability `loss`, and whether the frame that
/// the receiver waits for may be hit, too (not if it is to `survive`).
#[expect(clippy::float_arithmetic, reason = "statistics of a test")]
fn slots_for(link: &Link, frames: u64, loss: f64, seed: u64, survive: bool) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let threshold = (loss * 2_f64.powi(64)) as u64;
    let mut missing = None;
    let outcome = link.run(frames, |frame, _| {
        let hit = rng.next_u64() < threshold;
        if survive && missing == Some(frame) {
            missing = None;
        } else if hit {
            missing = missing.or(Some(frame));
            return Fate::Corrupted;
        }
        Fate::Arrives
    });
    assert_whole(&outcome, frames);
    let end = outcome
        .delivered
        .last()
        .map_or(Time::ZERO, |delivered| delivered.0);
    let slots = end.saturating_sub(link.propagation).as_ps();
    slots as f64 / link.slot().as_ps() as f64
}

/// Goodput with independent losses p of frames is (1 - p) / (1 + m p) where replays survive.
#[test]
fn goodput_is_that_of_the_closed_form() {
    let link = Link::at(400, 30);
    let wasted = link.wasted() as f64;
    for (loss, frames) in [
        (1e-5, 400_000),
        (1e-4, 200_000),
        (1e-3, 100_000),
        (1e-2, 100_000),
    ] {
        let share = (1.0 - loss) / (1.0 + wasted * loss);
        for seed in 0..2 {
            let slots = slots_for(&link, frames, loss, seed, true);
            let deviation = (1.0 + wasted) * (loss * frames as f64).sqrt();
            let expected = frames as f64 / share;
            assert!(
                (slots - expected).abs() <= 1.96 * deviation + 1.0,
                "{loss}: {slots} {expected}"
            );
        }
    }
}

/// A replay that is hit waits for the replay timer: that costs its slots each time.
#[test]
fn a_replay_that_is_lost_waits_for_the_timer() {
    let mut link = Link::at(400, 30);
    link.params.max_age = Time::from_us(100);
    link.params.max_replays = 20;
    let wasted = link.wasted() as f64;
    let timer = link
        .params
        .replay_timer
        .as_ps()
        .div_ceil(link.slot().as_ps()) as f64;
    let (loss, frames) = (1e-2, 100_000);
    let slots = slots_for(&link, frames, loss, 7, false);
    let each = 1.0 + loss * (1.0 + wasted) + loss * loss / (1.0 - loss) * timer;
    let expected = frames as f64 * each;
    let deviation =
        ((1.0 + wasted).powi(2) * loss + (timer * loss).powi(2)).sqrt() * (frames as f64).sqrt();
    assert!(
        (slots - expected).abs() <= 1.96 * deviation,
        "{slots} {expected}"
    );
}

#[test]
fn a_lost_acknowledgement_is_made_up_for_and_a_lost_nack_waits_for_the_timer() {
    let mut link = Link::at(400, 30);
    link.lost_messages = |message| message % 2 == 1;
    let outcome = link.run(500, |_, _| Fate::Arrives);
    assert_whole(&outcome, 500);
    assert_eq!(outcome.timeouts, 0);
    link.lost_messages = |message| message == 1;
    let outcome = link.run(500, |frame, before| match (frame, before) {
        (0, 0) => Fate::Corrupted,
        _ => Fate::Arrives,
    });
    assert_whole(&outcome, 500);
    assert_eq!((outcome.nacks, outcome.timeouts), (1, 1));
    let again = outcome.starts.iter().filter(|start| start.1 == 0).nth(1);
    assert_eq!(again, Some(&(link.params.replay_timer, 0)));
}

#[test]
fn the_last_frame_is_sent_again_by_the_timer() {
    let link = Link::at(400, 30);
    let outcome = link.run(5, |frame, before| match (frame, before) {
        (4, 0) => Fate::Vanishes,
        _ => Fate::Arrives,
    });
    assert_whole(&outcome, 5);
    assert_eq!((outcome.nacks, outcome.timeouts), (0, 1));
}

#[test]
fn a_frame_whose_acknowledgement_was_lost_is_acknowledged_again() {
    let mut link = Link::at(400, 30);
    link.lost_messages = |message| message == 1;
    let outcome = link.run(1, |_, _| Fate::Arrives);
    assert_whole(&outcome, 1);
    assert_eq!((outcome.starts.len(), outcome.timeouts), (2, 1));
}

/// The third replay is the last; then it gives up.
#[test]
fn a_dead_link_is_flushed() {
    let mut link = Link::at(400, 30);
    link.params.max_age = Time::from_us(1000);
    let outcome = link.run(5, |_, _| Fate::Vanishes);
    assert_eq!(outcome.flushed, Some(Cause::Replays));
    assert_eq!(outcome.timeouts, 3);
    assert_eq!(outcome.end, Time::from_us(20));
    link.params.max_age = Time::from_us(12);
    let outcome = link.run(5, |_, _| Fate::Vanishes);
    assert_eq!((outcome.flushed, outcome.timeouts), (Some(Cause::Age), 2));
}

#[test]
fn a_link_without_signal_is_flushed_and_begins_anew() {
    let mut slots = [Slot::default(); 4];
    let mut sender = Sender::new(&Params {
        max_age: Time::NEVER,
        replay_timer: Time::NEVER,
        ..Params::default()
    });
    let mut receiver = Receiver::new(Time::ZERO);
    assert_eq!(sender.on_sent(Time::ZERO, 100, &mut slots), 0);
    sender.on_signal(Time::from_us(1), false);
    sender.on_signal(Time::from_us(20), true);
    assert!(sender.next_timer().is_never());
    sender.on_signal(Time::from_us(30), false);
    sender.on_signal(Time::from_us(40), false);
    assert_eq!(sender.next_timer(), Time::from_us(80));
    assert_eq!(sender.on_timer(Time::from_us(79)), Expiry::None);
    assert_eq!(
        sender.on_timer(Time::from_us(80)),
        Expiry::Flush(Cause::Signal)
    );
    assert_eq!(
        (sender.state(), sender.outstanding_bytes()),
        (State::Flushed, 0)
    );
    assert!(!sender.may_send(1, &slots));
    receiver.restart(sender.restart());
    assert_eq!(sender.on_sent(Time::from_us(90), 100, &mut slots), 1);
    let now = Time::from_us(91);
    assert_eq!(receiver.on_frame(now, 0, true), Verdict::Duplicate);
    assert_eq!(receiver.on_frame(now, 1, true), Verdict::Deliver);
    assert_eq!(receiver.on_timer(now), Some(Message::Ack(1)));
}

#[test]
fn outstanding_frames_are_bounded_by_slots_and_bytes() {
    let mut slots = [Slot::default(); 3];
    let mut sender = Sender::new(&Params {
        max_bytes: 1000,
        ..Params::default()
    });
    for number in 0..3 {
        assert_eq!(sender.on_sent(Time::ZERO, 300, &mut slots), number);
    }
    assert!(!sender.may_send(10, &slots));
    assert_eq!(sender.on_ack(Time::ZERO, 1, &slots), 2);
    assert!(sender.may_send(700, &slots) && !sender.may_send(701, &slots));
    // Of frames that it never sent, and of older ones, nothing is heard.
    assert_eq!(sender.on_ack(Time::ZERO, 3, &slots), 0);
    assert_eq!(sender.on_nack(Time::ZERO, NUMBER_MASK, &slots), 0);
    assert_eq!(sender.state(), State::Advance);
    assert_eq!(sender.on_nack(Time::ZERO, 1, &slots), 0);
    assert_eq!(
        (sender.state(), sender.next_again()),
        (State::Replay, Some(0))
    );
    assert_eq!(sender.on_sent_again(), 2);
    assert_eq!(sender.state(), State::Advance);
}

/// Numbers of 20 bits run round.
#[test]
fn numbers_run_round() {
    let link = Link::at(800, 10);
    let frames = 1_100_000;
    let outcome = link.run(frames, |frame, before| {
        let at_wrap = frame.abs_diff(1 << 20) < 3 || frame % 100_000 == 7;
        if at_wrap && before == 0 {
            Fate::Corrupted
        } else {
            Fate::Arrives
        }
    });
    assert_whole(&outcome, frames);
    assert_eq!(outcome.timeouts, 0);
}
