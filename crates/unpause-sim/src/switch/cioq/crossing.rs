//! The fabric between inputs and outputs: a pipe, or leaves and spines.

use std::collections::VecDeque;

use unpause_protocols::units::Time;

use super::spines::Spines;
use super::voq::{Arrival, Shape, Voq};
use crate::config::CioqConfig;
use crate::fabric::packet::Packet;

/// The fabric that frames cross.
#[derive(Debug)]
pub enum Crossing {
    /// Everything takes its time and nothing is in the way of anything.
    Pipe(Pipe),
    /// Leaves and spines that carry cells.
    Spines(Box<Spines>),
}

impl Crossing {
    /// Nothing is crossing.
    pub fn new(config: &CioqConfig, shape: Shape) -> Self {
        match config.spines {
            None => Self::Pipe(Pipe::new(config.latency)),
            Some(spines) => Self::Spines(Box::new(Spines::new(config, &spines, shape))),
        }
    }
    /// An input asks for room for the next frame of `voq`.
    pub fn request(&mut self, now: Time, voq: Voq) {
        match self {
            Self::Pipe(pipe) => pipe.send_message(now, Arrival::Request(voq)),
            Self::Spines(spines) => spines.send_message(now, voq, false),
        }
    }
    /// An arbiter grants room to the next frame of `voq`.
    pub fn grant(&mut self, now: Time, voq: Voq) {
        match self {
            Self::Pipe(pipe) => pipe.send_message(now, Arrival::Grant(voq)),
            Self::Spines(spines) => spines.send_message(now, voq, true),
        }
    }
    /// The granted frame at `head` goes.
    pub fn inject(&mut self, now: Time, voq: Voq, head: u32, packet: &Packet) {
        match self {
            Self::Pipe(pipe) => pipe.inject(now, voq, head, packet),
            Self::Spines(spines) => spines.inject(now, voq, head, packet),
        }
    }
    /// When something happens next.
    #[inline]
    pub fn next_time(&self) -> Time {
        match self {
            Self::Pipe(pipe) => pipe.next_time(),
            Self::Spines(spines) => spines.next_time(),
        }
    }
    /// The output of the event that is due now, if it has one.
    pub fn step(&mut self) -> Option<Arrival> {
        match self {
            Self::Pipe(pipe) => pipe.step(),
            Self::Spines(spines) => spines.step(),
        }
    }
}

/// A pipe of constant latency, half of it for messages.
#[derive(Debug)]
pub struct Pipe {
    latency: Time,
    /// Arrivals in flight with either latency, and those that come out at once: each in order of time.
    lanes: [VecDeque<(Time, Arrival)>; 3],
}

const AT_ONCE: usize = 0;
const MESSAGES: usize = 1;
const FRAMES: usize = 2;

impl Pipe {
    fn new(latency: Time) -> Self {
        Self {
            latency,
            lanes: Default::default(),
        }
    }
    fn send_message(&mut self, now: Time, message: Arrival) {
        let at = now + Time::from_ps(self.latency.as_ps() / 2);
        self.lanes[MESSAGES].push_back((at, message));
    }
    fn inject(&mut self, now: Time, voq: Voq, head: u32, packet: &Packet) {
        let frame = Arrival::Frame {
            voq,
            packet: *packet,
        };
        self.lanes[AT_ONCE].push_back((now, Arrival::Left { voq, head }));
        self.lanes[FRAMES].push_back((now + self.latency, frame));
    }
    #[inline]
    fn next_time(&self) -> Time {
        let due = |lane: &VecDeque<(Time, _)>| lane.front().map_or(Time::NEVER, |next| next.0);
        due(&self.lanes[0])
            .min(due(&self.lanes[1]))
            .min(due(&self.lanes[2]))
    }
    fn step(&mut self) -> Option<Arrival> {
        let next = self.next_time();
        let due = |lane: &&mut VecDeque<(Time, _)>| lane.front().is_some_and(|it| it.0 == next);
        let lane = self.lanes.iter_mut().find(due)?;
        lane.pop_front().map(|(_, arrival)| arrival)
    }
}
