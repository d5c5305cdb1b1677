//! Which flows paused egresses held back, pause by pause, if it is recorded why switches sent PAUSE.
//!
//! A pause is kept once, however many flows wait in it. A flow that waits for the whole of one pause after the other
//! takes the room of a single run of them.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::{Rate, Time};

use crate::fabric::{NodeId, PortId};
use crate::outcome::causes::Wait;

/// An egress, and what it held back.
#[derive(Debug, Serialize, Deserialize)]
pub struct Egress {
    /// Node that was stopped.
    pub node: NodeId,
    /// Its egress port.
    pub port: PortId,
    /// Priority.
    pub priority: u8,
    /// The packets that it held back.
    pub held: HeldBack,
}

/// The packets that one egress held back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HeldBack {
    pauses: Vec<Pause>,
    /// Runs of pauses that may go on, by what the node calls the flow's place.
    open: Vec<Option<Run>>,
    runs: Vec<Run>,
    parts: Vec<Part>,
}

/// A time for which an egress was paused.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Pause {
    /// From then.
    pub start: Time,
    /// Until then.
    pub end: Time,
    /// When the PAUSE that was in force last had left the peer.
    pub sent: Time,
    /// Bytes that a flow which waited for all of it would have sent, if its own rate allows.
    pub each: u64,
}

/// A flow that waited for the whole of each of several pauses, one after the other.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Run {
    flow: u32,
    first: u32,
    last: u32,
    /// The flow's own rate, if it has one.
    rate: Option<Rate>,
}

/// A flow that waited from some time on until the end of a pause.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Part {
    flow: u32,
    pause: u32,
    start: Time,
    bytes: u64,
}

/// Where the waits of a flow are: a run, or a part of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    flow: u32,
    /// Which egress.
    egress: u32,
    is_run: bool,
    at: u32,
}

impl Place {
    /// The flow that waited.
    pub fn flow(&self) -> u32 {
        self.flow
    }
}

impl HeldBack {
    /// A pause is over.
    pub fn on_go(&mut self, pause: Pause) {
        self.pauses.push(pause);
    }

    /// For how long the egress was paused from `start` to `end`, in pauses that are over.
    pub fn paused_in(&self, start: Time, end: Time) -> Time {
        let late = self.pauses.iter().rev();
        let late = late.take_while(|pause| pause.end > start);
        late.fold(Time::ZERO, |paused, pause| {
            paused + pause.end.min(end).saturating_sub(pause.start.max(start))
        })
    }

    /// `flow`, which the node keeps at `place`, waited for the whole of the last pause.
    pub fn whole(&mut self, place: usize, flow: u32, rate: Option<Rate>) {
        let pause = self.pauses.len() as u32 - 1;
        if place >= self.open.len() {
            self.open.resize(place + 1, None);
        }
        let open = &mut self.open[place];
        match open {
            Some(run) if (run.flow, run.rate, run.last + 1) == (flow, rate, pause) => {
                run.last = pause;
            }
            _ => {
                let run = Run {
                    flow,
                    first: pause,
                    last: pause,
                    rate,
                };
                self.runs.extend(open.replace(run));
            }
        }
    }

    /// `flow` waited from `start` to the end of the last pause, and would have sent `bytes`.
    pub fn part(&mut self, flow: u32, start: Time, bytes: u64) {
        self.parts.push(Part {
            flow,
            pause: self.pauses.len() as u32 - 1,
            start,
            bytes,
        });
    }

    /// Of the egress `port` of `node`, for results; none if it was never paused.
    pub fn of(mut self, node: NodeId, port: PortId, priority: u8) -> Option<Egress> {
        if self.pauses.is_empty() {
            return None;
        }
        let open = std::mem::take(&mut self.open);
        self.runs.extend(open.into_iter().flatten());
        Some(Egress {
            node,
            port,
            priority,
            held: self,
        })
    }
}

impl Egress {
    /// The pauses, in order.
    pub fn pauses(&self) -> &[Pause] {
        &self.held.pauses
    }

    /// The waits at a place that is of this egress, each with the number of its pause.
    pub fn waits(&self, place: &Place) -> impl Iterator<Item = (usize, Wait)> {
        let at = place.at as usize;
        let (first, last) = if place.is_run {
            (self.held.runs[at].first, self.held.runs[at].last)
        } else {
            (self.held.parts[at].pause, self.held.parts[at].pause)
        };
        (first as usize..=last as usize).map(move |number| {
            let pause = &self.held.pauses[number];
            let (start, bytes) = if place.is_run {
                let span = pause.end - pause.start;
                let allowed = self.held.runs[at].rate.map(|rate| bytes_in(rate, span));
                (
                    pause.start,
                    allowed.map_or(pause.each, |it| it.min(pause.each)),
                )
            } else {
                (self.held.parts[at].start, self.held.parts[at].bytes)
            };
            let wait = Wait {
                start,
                end: pause.end,
                node: self.node,
                port: self.port,
                priority: self.priority,
                flow: place.flow,
                bytes,
                sent: pause.sent,
            };
            (number, wait)
        })
    }
}

/// Where the waits of every flow are, by flow.
pub fn by_flow(all: &[Egress]) -> Vec<Place> {
    let count = |it: &Egress| it.held.runs.len() + it.held.parts.len();
    let mut places = Vec::with_capacity(all.iter().map(count).sum());
    for (egress, it) in (0..).zip(all) {
        let runs = it.held.runs.iter().map(|run| (run.flow, true)).zip(0..);
        let parts = it.held.parts.iter().map(|part| (part.flow, false)).zip(0..);
        places.extend(runs.chain(parts).map(|((flow, is_run), at)| Place {
            flow,
            egress,
            is_run,
            at,
        }));
    }
    places.sort_unstable();
    places
}

impl Place {
    /// Which of all egresses it is of.
    pub fn egress(&self) -> usize {
        self.egress as usize
    }
}

/// Bytes that go in `span` at `rate`.
pub fn bytes_in(rate: Rate, span: Time) -> u64 {
    let bits = u128::from(rate.as_bps()) * u128::from(span.as_ps()) / 1_000_000_000_000;
    (bits / 8) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(start: u64) -> Pause {
        Pause {
            start: Time::from_us(start),
            end: Time::from_us(start + 6),
            sent: Time::from_us(start),
            each: 1_000,
        }
    }

    /// Two flows wait through many pauses, one of them at a rate of its own; a third comes in the middle of one.
    #[test]
    fn memory_follows_pauses_and_not_the_flows_that_wait() {
        let mut held = HeldBack::default();
        let slow = Rate::from_mbps(100);
        for number in 0..1_000 {
            held.on_go(pause(10 * number));
            held.whole(0, 7, None);
            held.whole(2, 8, Some(slow));
            if number == 500 {
                held.part(9, Time::from_us(5_004), 3);
            }
        }
        let egress = held.of(1, 2, 3).expect("it was paused");
        assert_eq!((egress.held.runs.len(), egress.held.parts.len()), (2, 1));
        let all = [egress];
        let places = by_flow(&all);
        let flows: Vec<u32> = places.iter().map(Place::flow).collect();
        assert_eq!(flows, [7, 8, 9]);
        let of = |at: usize| -> Vec<_> { all[0].waits(&places[at]).collect() };
        assert_eq!((of(0).len(), of(1).len(), of(2).len()), (1_000, 1_000, 1));
        assert!(of(0).iter().all(|(_, wait)| wait.bytes == 1_000));
        // 6 us at 100 Mb/s are 75 B.
        assert!(of(1).iter().all(|(_, wait)| wait.bytes == 75));
        let (number, wait) = of(2)[0];
        assert_eq!((number, wait.bytes), (500, 3));
        assert_eq!(wait.start, Time::from_us(5_004));
        assert_eq!(
            (wait.end, wait.sent),
            (Time::from_us(5_006), Time::from_us(5_000))
        );
    }

    /// A flow that did not wait in a pause, one whose rate changes and one that takes another's place begin anew.
    #[test]
    fn runs_end_where_something_changes() {
        let mut held = HeldBack::default();
        let rate = |number: u64| Some(Rate::from_mbps(100 * number));
        for (number, (flow, rate)) in [
            (Some(1), rate(1)),
            (Some(1), rate(1)),
            (None, None),
            (Some(1), rate(1)),
            (Some(1), rate(2)),
            (Some(2), rate(2)),
        ]
        .into_iter()
        .enumerate()
        {
            held.on_go(pause(10 * number as u64));
            if let Some(flow) = flow {
                held.whole(0, flow, rate);
            }
        }
        let all = [held.of(0, 0, 0).expect("it was paused")];
        let lengths: Vec<_> = by_flow(&all)
            .iter()
            .map(|place| (place.flow(), all[0].waits(place).count()))
            .collect();
        assert_eq!(lengths, [(1, 2), (1, 1), (1, 1), (2, 1)]);
    }
}
