//! How long a collective operation takes that is alone in the fabric.
//!
//! All ranks begin at once. Each message takes as long as alone on its path, and messages of a NIC leave one after the
//! other, in the order in which they are handed over. On a fabric where all paths are alike, this is the closed form of the
//! algorithm: a ring of `n` ranks takes `2 (n - 1) T(S / n)`, with `T(m)` the ideal completion time of `m` bytes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use unpause_protocols::units::{Rate, Time};

use super::collective::Collective;
use super::group::Group;
use super::step::Step;

/// Messages of the different operations of a job, up to which they are gone through.
pub const MOST_MESSAGES: u64 = 4_000_000;

/// A message that is alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alone {
    /// The NIC by which it leaves.
    pub nic: u16,
    /// How long it occupies that.
    pub leaves: Time,
    /// From then on until its last byte has come.
    pub takes: Time,
    /// And from there until the receiver's rank is told.
    pub told: Time,
    /// How long its ACK takes.
    pub ack: Time,
}

/// A collective operation of a group.
#[derive(Clone, Copy, Debug)]
pub struct Ideal<'a> {
    /// The operation.
    pub collective: &'a Collective,
    /// The group.
    pub group: &'a Group,
    /// From the moment at which a rank may send a message until it does.
    pub launch: Time,
    /// Bytes that a rank reduces in a second; `None`: that takes no time.
    pub reduce_rate: Option<Rate>,
}

/// Messages by places of sender and receiver, channel and bytes.
type Known = HashMap<(u32, u32, u32, u64), Alone>;

/// An event of a lane of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// It enters its next step.
    Enters,
    /// A message from the rank at this place has come.
    Came(u32),
    /// A message has been acknowledged.
    Acknowledged,
}

#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    step: u32,
    left: u32,
    reduces: u64,
    computes: Time,
}

impl Ideal<'_> {
    /// When each channel is over, from the beginning; `alone` knows a message by the places of its sender and receiver, its
    /// channel and its bytes. `None` if it does not, or if there are more messages than are `left`, which counts down.
    pub fn channels(
        &self,
        left: &mut u64,
        alone: &mut dyn FnMut((u32, u32, u32), u64) -> Option<Alone>,
    ) -> Option<Vec<Time>> {
        let lanes = self.collective.lanes();
        let mut run = Run {
            of: *self,
            alone,
            known: Known::new(),
            lanes: vec![Lane::default(); (self.group.count() * lanes) as usize],
            ahead: HashMap::new(),
            free: HashMap::new(),
            events: BinaryHeap::new(),
            ends: vec![Time::ZERO; self.collective.lanes_of_channels() as usize],
            left,
        };
        for me in 0..self.group.count() {
            for lane in 0..lanes {
                run.enter(Time::ZERO, me, lane)?;
            }
        }
        while let Some(Reverse((now, me, lane, event))) = run.events.pop() {
            run.on(now, (me, lane), event)?;
        }
        Some(run.ends)
    }
}

struct Run<'a> {
    of: Ideal<'a>,
    alone: &'a mut dyn FnMut((u32, u32, u32), u64) -> Option<Alone>,
    known: Known,
    /// By place and lane.
    lanes: Vec<Lane>,
    /// By place, lane and sender: messages that have come, less those waited for.
    ahead: HashMap<(u32, u32, u32), i32>,
    /// By place and NIC, when that is free.
    free: HashMap<(u32, u16), Time>,
    events: BinaryHeap<Reverse<(Time, u32, u32, Event)>>,
    /// By channel.
    ends: Vec<Time>,
    left: &'a mut u64,
}

impl Run<'_> {
    fn at(&mut self, (me, lane): (u32, u32)) -> &mut Lane {
        &mut self.lanes[(me * self.of.collective.lanes() + lane) as usize]
    }

    fn on(&mut self, now: Time, (me, lane): (u32, u32), event: Event) -> Option<()> {
        let ends = match event {
            Event::Enters => return self.enter(now, me, lane),
            Event::Came(from) => {
                let ahead = self.ahead.entry((me, lane, from)).or_default();
                *ahead += 1;
                *ahead <= 0
            }
            Event::Acknowledged => true,
        };
        if ends {
            let of = self.at((me, lane));
            of.left -= 1;
            if of.left == 0 {
                self.end_step(now, (me, lane));
            }
        }
        Some(())
    }

    fn end_step(&mut self, now: Time, (me, lane): (u32, u32)) {
        let rate = self.of.reduce_rate;
        let of = self.at((me, lane));
        let reduces = rate.filter(|_| of.reduces > 0);
        let busy = of.computes + reduces.map_or(Time::ZERO, |it| it.time_for(of.reduces));
        of.step += 1;
        self.events
            .push(Reverse((now + busy, me, lane, Event::Enters)));
    }

    /// A lane enters its next step: it sends, and counts what it waits for.
    fn enter(&mut self, now: Time, me: u32, lane: u32) -> Option<()> {
        let (it, group) = (self.of.collective, self.of.group);
        let n = group.count();
        let (channel, slice) = (lane / it.slices, lane % it.slices);
        let step = self.at((me, lane)).step;
        if step == it.steps(n) {
            let end = &mut self.ends[channel as usize];
            *end = now.max(*end);
            return Some(());
        }
        let mut room = Step::default();
        it.step((me, group), channel, step, &mut room);
        let (mut left, mut reduces) = (0, 0);
        for part in &room.receives {
            let bytes = it.bytes((part.peer, me, n), (channel, slice), part);
            if bytes == 0 {
                continue;
            }
            if part.reduces {
                reduces += bytes;
            }
            let ahead = self.ahead.entry((me, lane, part.peer)).or_default();
            *ahead -= 1;
            left += u32::from(*ahead < 0);
        }
        for part in &room.sends {
            let bytes = it.bytes((me, part.peer, n), (channel, slice), part);
            if bytes > 0 {
                let (came, acknowledged) = self.send(now, (me, part.peer, channel), bytes)?;
                self.events
                    .push(Reverse((came, part.peer, lane, Event::Came(me))));
                if room.acknowledged {
                    left += 1;
                    self.events
                        .push(Reverse((acknowledged, me, lane, Event::Acknowledged)));
                }
            }
        }
        *self.at((me, lane)) = Lane {
            step,
            left,
            reduces,
            computes: room.compute,
        };
        if left == 0 {
            self.end_step(now, (me, lane));
        }
        Some(())
    }

    /// When a message has come, and when its sender knows.
    fn send(&mut self, now: Time, way: (u32, u32, u32), bytes: u64) -> Option<(Time, Time)> {
        *self.left = self.left.checked_sub(1)?;
        let (from, to, channel) = way;
        let key = (from, to, channel, bytes);
        let alone = match self.known.get(&key) {
            Some(known) => *known,
            None => {
                let found = (self.alone)(way, bytes)?;
                self.known.insert(key, found);
                found
            }
        };
        let free = self.free.entry((from, alone.nic)).or_default();
        let start = (now + self.of.launch).max(*free);
        *free = start + alone.leaves;
        let came = start + alone.takes;
        Some((came + alone.told, came + alone.ack))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Algorithm, Operation, Pipeline};
    use super::*;

    /// On links of 1 B/ns, behind each other `LATENCY`.
    const LATENCY: u64 = 1_000;

    fn takes(collective: &Collective, ranks: u32, launch: u64, reduce: Option<u64>) -> u64 {
        takes_with(collective, ranks, (LATENCY, 1), (launch, reduce))
    }

    /// With this latency, and this many ns for each byte.
    fn takes_with(
        collective: &Collective,
        ranks: u32,
        (latency, per_byte): (u64, u64),
        (launch, reduce): (u64, Option<u64>),
    ) -> u64 {
        let ideal = Ideal {
            collective,
            group: &Group::from_iter(0..ranks),
            launch: Time::from_ns(launch),
            reduce_rate: reduce.map(|it| Rate::from_gbps(8 * it)),
        };
        let mut alone = |_, bytes| {
            Some(Alone {
                nic: 0,
                leaves: Time::from_ns(per_byte * bytes),
                takes: Time::from_ns(latency + per_byte * bytes),
                told: Time::ZERO,
                ack: Time::from_ns(latency),
            })
        };
        let ends = ideal
            .channels(&mut MOST_MESSAGES.clone(), &mut alone)
            .expect("few messages");
        ends.into_iter().max().expect("a channel").as_ps() / 1000
    }

    fn collective(operation: Operation, algorithm: Algorithm, bytes: u64) -> Collective {
        Collective {
            operation,
            algorithm,
            bytes,
            channels: 1,
            slices: 1,
            pxn: false,
        }
    }

    #[test]
    fn a_ring_is_its_closed_form() {
        for n in 2..=64 {
            for bytes in [u64::from(n) * 500, 100_001] {
                let ring = collective(Operation::AllReduce, Algorithm::Ring, bytes);
                let block = bytes.div_ceil(n.into());
                let steps = 2 * (u64::from(n) - 1);
                assert_eq!(takes(&ring, n, 0, None), steps * (LATENCY + block), "{n}");
                // One step in two reduces.
                let more = steps * (LATENCY + block + 7) + steps / 2 * block;
                if bytes.is_multiple_of(n.into()) {
                    assert_eq!(takes(&ring, n, 7, Some(1)), more, "{n}");
                }
            }
        }
    }

    #[test]
    fn a_sliced_ring_is_its_closed_form() {
        for (n, block, slices) in [(4, 8_000, 4), (8, 8_000, 2), (8, 800, 8), (5, 64_000, 16)] {
            let sliced = Collective {
                slices,
                pxn: false,
                ..collective(Operation::AllReduce, Algorithm::Ring, n * block)
            };
            let (steps, k) = (2 * (n - 1), u64::from(slices));
            let slice = block / k;
            let expected = (steps - 1) * (slice + LATENCY).max(k * slice) + k * slice + LATENCY;
            assert_eq!(
                takes(&sliced, n as u32, 0, None),
                expected,
                "{n} {block} {slices}"
            );
        }
    }

    #[test]
    fn other_algorithms_are_their_closed_forms() {
        let all = 64_000;
        for q in 1..=6_u32 {
            let n = 1_u32 << q;
            let (of, parts) = (u64::from(n), all / u64::from(n));
            let by =
                |operation, algorithm| takes(&collective(operation, algorithm, all), n, 0, None);
            let halving = by(Operation::AllReduce, Algorithm::HalvingDoubling);
            assert_eq!(halving, 2 * (u64::from(q) * LATENCY + (of - 1) * parts));
            let direct = by(Operation::AllReduce, Algorithm::Direct);
            assert_eq!(direct, 2 * (LATENCY + (of - 1) * parts));
            let direct = by(Operation::AllToAll, Algorithm::Direct);
            assert_eq!(direct, LATENCY + (of - 1) * parts);
            let pairwise = by(Operation::AllToAll, Algorithm::Pairwise);
            // Each step ends with the ACK of its message.
            assert_eq!(pairwise, (of - 1) * (2 * LATENCY + parts));
        }
    }

    const FORWARD: u64 = 30_000;
    const BACKWARD: u64 = 60_000;

    /// A pipeline, and how long it takes if a message takes `latency`, and if that is not zero, a ns for each of its bytes.
    fn pipelined(
        (n, micro_batches, chunks): (u64, u64, u64),
        algorithm: Algorithm,
        (latency, bytes): (u64, u64),
    ) -> u64 {
        let pipeline = Pipeline {
            micro_batches: micro_batches as u32,
            chunks: chunks as u32,
            forward: Time::from_ns(FORWARD),
            backward: Time::from_ns(BACKWARD),
        };
        let it = collective(Operation::Pipeline(pipeline), algorithm, bytes);
        takes_with(&it, n as u32, (latency, u64::from(latency > 0)), (0, None))
    }

    #[test]
    fn gpipe_is_its_closed_form() {
        for n in 2..=6 {
            for micro_batches in 1..=12 {
                let of = (n, micro_batches, 1);
                let takes = pipelined(of, Algorithm::GPipe, (LATENCY, 500));
                let computed = (micro_batches + n - 1) * (FORWARD + BACKWARD);
                assert_eq!(takes, computed + 2 * (n - 1) * (LATENCY + 500), "{of:?}");
            }
        }
    }

    /// Narayanan et al.: of messages that take no time, the bubble is (P - 1)(f + b)/v, for v chunks at each of P ranks.
    #[test]
    fn bubbles_are_their_closed_forms() {
        use Algorithm::{GPipe, Interleaved, OneForwardOneBackward};
        let nothing = (0, 1);
        for n in 2..=8 {
            for micro_batches in 1..=24 {
                for algorithm in [GPipe, OneForwardOneBackward] {
                    let takes = pipelined((n, micro_batches, 1), algorithm, nothing);
                    assert_eq!(takes, (micro_batches + n - 1) * (FORWARD + BACKWARD));
                }
            }
            for chunks in [2, 3, 5].into_iter().filter(|_| n > 2) {
                for groups in 1..=4 {
                    let of = (n, groups * n, chunks);
                    let takes = pipelined(of, Interleaved, nothing);
                    let of_chunk = (FORWARD + BACKWARD) / chunks;
                    assert_eq!(takes, (chunks * groups * n + n - 1) * of_chunk, "{of:?}");
                    assert!(pipelined(of, Interleaved, (LATENCY, 500)) > takes, "{of:?}");
                }
            }
        }
    }

    #[test]
    fn too_many_messages_are_not_gone_through() {
        let many = collective(Operation::AllReduce, Algorithm::Ring, 1_000);
        let ideal = Ideal {
            collective: &many,
            group: &Group::from_iter([0, 1]),
            launch: Time::ZERO,
            reduce_rate: None,
        };
        let mut alone = |_, _| {
            Some(Alone {
                nic: 0,
                leaves: Time::from_ns(1),
                takes: Time::from_ns(1),
                told: Time::ZERO,
                ack: Time::ZERO,
            })
        };
        assert_eq!(ideal.channels(&mut 3, &mut alone), None);
    }
}
