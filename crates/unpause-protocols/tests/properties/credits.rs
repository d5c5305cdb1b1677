//! Credits of a link: the buffer is never overrun, and nothing of it is lost for good.

use std::collections::VecDeque;

use proptest::prelude::*;
use unpause_protocols::flow_control::credits::cbfc;
use unpause_protocols::flow_control::credits::{CHANNELS, Config, Credits, Mechanism};
use unpause_protocols::units::{Rate, Time};

/// The least that a scheme can be: bytes count as they are, and the receiver returns those that it has freed.
#[derive(Debug)]
struct Returned {
    free: [u64; CHANNELS],
    freed: [u32; CHANNELS],
}

impl Returned {
    fn new(buffer_bytes: u64) -> Self {
        Self {
            free: [buffer_bytes; CHANNELS],
            freed: [0; CHANNELS],
        }
    }
}

impl Mechanism for Returned {
    fn may_send(&self, vc: u8, before: Option<u32>, bytes: u32) -> bool {
        u64::from(before.unwrap_or(0)) + u64::from(bytes) <= self.free[usize::from(vc)]
    }
    fn on_sent(&mut self, vc: u8, bytes: u32) {
        self.free[usize::from(vc)] -= u64::from(bytes);
    }
    fn on_lost(&mut self, vc: u8, bytes: u32) {
        self.free[usize::from(vc)] += u64::from(bytes);
    }
    fn on_packet(&mut self, _vc: u8, _bytes: u32) {}
    fn on_freed(&mut self, _now: Time, vc: u8, bytes: u32) {
        self.freed[usize::from(vc)] += bytes;
    }
    fn next_timer(&self) -> Time {
        if self.freed.iter().any(|it| *it > 0) {
            Time::ZERO
        } else {
            Time::NEVER
        }
    }
    fn on_timer(&mut self, _now: Time) -> u32 {
        let due = (0..).zip(self.freed).filter(|(_, freed)| *freed > 0);
        due.fold(0, |bits, (vc, _): (u32, _)| bits | 1 << vc)
    }
    fn update(&mut self, vc: u8) -> u32 {
        std::mem::take(&mut self.freed[usize::from(vc)])
    }
    fn on_update_lost(&mut self, _now: Time, vc: u8, said: u32) {
        self.freed[usize::from(vc)] += said;
    }
    fn on_update(&mut self, vc: u8, says: u32) {
        self.free[usize::from(vc)] += u64::from(says);
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A packet starts if it may.
    Send(u8, u32),
    /// The first packet on the link arrives, or does not.
    Arrive { lost: bool },
    /// One of the packets in the buffer leaves it.
    Free(usize),
    /// An update starts if one is due, and is lost or not.
    Update { lost: bool },
    /// The first update on its way back arrives.
    Hear,
}

fn step() -> impl Strategy<Value = Step> {
    let send = (0..CHANNELS as u8, 64..1500_u32).prop_map(|(vc, bytes)| Step::Send(vc, bytes));
    let lost = || prop::bool::weighted(0.2);
    prop_oneof![
        4 => send,
        3 => lost().prop_map(|lost| Step::Arrive { lost }),
        3 => any::<usize>().prop_map(Step::Free),
        2 => lost().prop_map(|lost| Step::Update { lost }),
        2 => Just(Step::Hear),
    ]
}

/// Packets go from `near` to `far`, updates back.
struct Link<M> {
    near: M,
    far: M,
    buffer_bytes: u64,
    now: Time,
    sent: VecDeque<(u8, u32)>,
    held: Vec<(u8, u32)>,
    updates: VecDeque<(u8, u32)>,
}

impl<M: Mechanism> Link<M> {
    fn step(&mut self, step: &Step) {
        self.now += Time::from_us(1);
        match *step {
            Step::Send(vc, bytes) => {
                if self.near.may_send(vc, None, bytes) {
                    self.near.on_sent(vc, bytes);
                    self.sent.push_back((vc, bytes));
                }
            }
            Step::Arrive { lost } => {
                let Some((vc, bytes)) = self.sent.pop_front() else {
                    return;
                };
                if lost {
                    return self.near.on_lost(vc, bytes);
                }
                self.far.on_packet(vc, bytes);
                self.held.push((vc, bytes));
                let held = self.held.iter().filter(|it| it.0 == vc);
                let held: u64 = held.map(|it| u64::from(it.1)).sum();
                assert!(held <= self.buffer_bytes, "{held} B in the buffer");
            }
            Step::Free(at) if !self.held.is_empty() => {
                let (vc, bytes) = self.held.swap_remove(at % self.held.len());
                self.far.on_freed(self.now, vc, bytes);
            }
            Step::Free(_) => {}
            Step::Update { lost } => {
                let due = self.far.on_timer(self.now);
                for vc in (0..CHANNELS as u8).filter(|vc| due >> vc & 1 == 1) {
                    let says = self.far.update(vc);
                    if lost {
                        self.far.on_update_lost(self.now, vc, says)
                    } else {
                        self.updates.push_back((vc, says))
                    }
                }
            }
            Step::Hear => {
                if let Some((vc, says)) = self.updates.pop_front() {
                    self.near.on_update(vc, says);
                }
            }
        }
    }

    /// Nothing is in flight any more.
    fn drain(&mut self) {
        while !self.sent.is_empty() {
            self.step(&Step::Arrive { lost: false });
        }
        while !self.held.is_empty() {
            self.step(&Step::Free(0));
        }
        let until = self.now + Time::from_ms(1);
        while !self.far.next_timer().is_never() {
            assert!(self.now < until, "there is something to say forever");
            self.step(&Step::Update { lost: false });
        }
        while !self.updates.is_empty() {
            self.step(&Step::Hear);
        }
    }
}

fn keeps_its_buffer<M: Mechanism>(end: impl Fn() -> M, buffer_bytes: u32, steps: &[Step]) {
    let mut link = Link {
        near: end(),
        far: end(),
        buffer_bytes: buffer_bytes.into(),
        now: Time::ZERO,
        sent: VecDeque::new(),
        held: Vec::new(),
        updates: VecDeque::new(),
    };
    for step in steps {
        link.step(step);
    }
    link.drain();
    for vc in 0..CHANNELS as u8 {
        assert!(
            link.near.may_send(vc, None, buffer_bytes),
            "all of it is free"
        );
        assert!(!link.near.may_send(vc, None, buffer_bytes + 1));
        assert!(!link.near.may_send(vc, Some(buffer_bytes), 1));
    }
}

proptest! {
    #[test]
    fn no_credit_is_lost_and_none_is_made(
        frames in 1..20_u32,
        credit_bytes in prop::sample::select(vec![1_u16, 64, 128]),
        steps in prop::collection::vec(step(), 0..300),
    ) {
        let buffer = frames * 1536;
        let params = cbfc::Params { credit_bytes, ..cbfc::Params::default() };
        let config = Config::Cbfc(params);
        let rate = Rate::from_gbps(100);
        keeps_its_buffer(|| Credits::new(&config, buffer.into(), rate), buffer, &steps);
        keeps_its_buffer(|| Returned::new(buffer.into()), buffer, &steps);
    }
}
