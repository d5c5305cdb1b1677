//! The critical path of an iteration: what its end waited for, back to its beginning.
//!
//! A rank continues when the last of what it waits for has happened, and each of these events has a single one before it: a
//! message has come because its sender handed it over, that because it had entered its step, that because the step before
//! had ended, and so on. [`CriticalPaths::path`] follows them back from the end of the rank that ended last. The segments
//! join without a gap, so that their durations add up to the time of the iteration exactly. The path may lead into the
//! iteration before, as ranks are not held together between iterations; it ends where the iteration began.
//!
//! Everything follows from the records of messages and ranks, after the run. Of two messages that came at the same instant
//! the path takes the one whose sender has the lower place in the step.

use std::collections::BTreeMap;

use unpause_protocols::units::Time;

use super::collective::Operation;
use super::group::Group;
use super::job::{Exchange, Job, Over};
use super::records::{MessageRecord, RankIteration};
use super::step::{Part, Step};

/// The cause of the time of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// A rank computed.
    Compute,
    /// A rank was allowed to send a message, and did not yet: `launch`.
    Launch,
    /// A message was in flight, from when its sender handed it over until its last byte came.
    Message,
    /// It had come, and its sender waited for the ACK, or with [`super::Completion::Acknowledged`] its receiver.
    Acknowledgement,
    /// A rank added what it had received to its own.
    Reduce,
}

/// A part of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The cause of its time.
    pub kind: SegmentKind,
    /// The iteration that this was of: that of the path, or one before.
    pub iteration: u32,
    /// The phase of that.
    pub phase: u32,
    /// The rank that computed, reduced, launched, or sent.
    pub rank: u32,
    /// The message that was launched, in flight, or waited for.
    pub message: Option<&'a MessageRecord>,
    /// When it began, no sooner than the iteration of the path.
    pub start: Time,
    /// When it ended.
    pub end: Time,
}

impl Segment<'_> {
    /// How long it lasted.
    pub fn takes(&self) -> Time {
        self.end - self.start
    }

    /// How much of that a message takes that is alone on its path; what is left is delay. Of a message that was in flight
    /// before the iteration began, what would have been left of it then. `None` for other kinds, and where the way is not
    /// known.
    pub fn ideal(&self) -> Option<Time> {
        let message = self.message.filter(|_| self.kind == SegmentKind::Message)?;
        let earliest = message.start + message.ideal?;
        Some(earliest.min(self.end).saturating_sub(self.start))
    }
}

/// Where a path stands: what happened there, at a rank.
#[derive(Clone, Copy, Debug)]
enum At {
    /// It had ended this phase of this iteration.
    PhaseEnd(Place),
    /// A lane of its phase entered a step.
    Step(Place, Lane, u32),
}

/// A rank in a phase of an iteration.
#[derive(Clone, Copy, Debug)]
struct Place {
    iteration: u32,
    phase: u32,
    rank: u32,
}

/// A channel and a slice.
type Lane = (u32, u32);

/// Messages of one stream: iteration, phase, channel, slice, sender, receiver. Their order is that of the steps at both.
type Stream = (u32, u32, u32, u32, u32, u32);

/// The time that a lane spent on reducing or computing.
type Busy = (SegmentKind, Time);

/// How a lane came to the end of a step.
enum Ended<'a> {
    /// A message had come, or, if true, its ACK.
    By(&'a MessageRecord, bool),
    /// It had waited for nothing since the phase had computed, until then.
    AtOnce(Time),
}

/// The critical paths of a job.
#[derive(Debug)]
pub struct CriticalPaths<'a> {
    seed: u64,
    job: &'a Job,
    streams: BTreeMap<Stream, Vec<&'a MessageRecord>>,
    /// By phase the group of each rank, and its place there.
    places: Vec<BTreeMap<u32, (&'a Group, u32)>>,
    /// When each rank began each iteration.
    starts: BTreeMap<(u32, u32), Time>,
}

impl<'a> CriticalPaths<'a> {
    /// Of a job of a run of `seed`, and what was recorded of all jobs. `None` if the job does not record its messages.
    pub fn new(
        seed: u64,
        job: &'a Job,
        ranks: &[RankIteration],
        messages: &'a [MessageRecord],
    ) -> Option<Self> {
        if !job.records_messages || job.phases.is_empty() {
            return None;
        }
        let mut streams: BTreeMap<Stream, Vec<&MessageRecord>> = BTreeMap::new();
        for it in messages.iter().filter(|it| it.entry == job.entry) {
            let (lane, ends) = ((it.channel, it.slice), (it.from, it.to));
            let stream = (it.iteration, it.phase, lane.0, lane.1, ends.0, ends.1);
            streams.entry(stream).or_default().push(it);
        }
        for messages in streams.values_mut() {
            messages.sort_unstable_by_key(|it| it.step);
        }
        let groups = |exchange: &'a Exchange| {
            let each = exchange.groups.iter().flat_map(|group| {
                let places = group.iter().enumerate();
                places.map(move |(at, rank)| (*rank, (group, at as u32)))
            });
            each.collect()
        };
        let exchanges = job.phases.iter().map(|it| it.collective.as_ref());
        let own = ranks.iter().filter(|it| it.entry == job.entry);
        Some(Self {
            seed,
            job,
            streams,
            places: exchanges
                .map(|it| it.map(groups).unwrap_or_default())
                .collect(),
            starts: own.map(|it| ((it.iteration, it.rank), it.start)).collect(),
        })
    }

    /// The path of an iteration that took from `start` to `end`, at which `last_rank` ended it: segments in order of time,
    /// each of which begins where the one before ends, the first at `start`, the last at `end`. `None` if the records do
    /// not tell.
    pub fn path(
        &self,
        iteration: u32,
        (start, end): (Time, Time),
        last_rank: u32,
    ) -> Option<Vec<Segment<'a>>> {
        let mut walk = Walk {
            of: self,
            now: end,
            until: start,
            found: Vec::new(),
        };
        let mut at = At::PhaseEnd(Place {
            iteration,
            phase: self.job.phases.len() as u32 - 1,
            rank: last_rank,
        });
        while walk.now > start {
            at = match at {
                At::PhaseEnd(place) => walk.before_phase_end(place)?,
                At::Step(place, lane, step) => walk.before_step(place, lane, step)?,
            };
        }
        walk.found.reverse();
        Some(walk.found)
    }

    fn exchange(&self, place: Place) -> Option<(&'a Exchange, &'a Group, u32)> {
        let exchange = self.job.phases[place.phase as usize].collective.as_ref()?;
        let (group, me) = self.places[place.phase as usize].get(&place.rank)?;
        Some((exchange, group, *me))
    }

    /// The step of `rank`, without parts that have no bytes.
    fn step(&self, place: Place, (channel, slice): Lane, step: u32) -> Option<Step> {
        let (exchange, group, me) = self.exchange(place)?;
        let (it, n) = (&exchange.collective, group.len() as u32);
        let mut found = Step::default();
        it.step((me, group), channel, step, &mut found);
        let bytes =
            |ends: (u32, u32), part: &Part| it.bytes((ends.0, ends.1, n), (channel, slice), part);
        found.sends.retain(|part| bytes((me, part.peer), part) > 0);
        found
            .receives
            .retain(|part| bytes((part.peer, me), part) > 0);
        Some(found)
    }

    /// The messages of a lane from one rank to another, in order.
    fn stream(
        &self,
        place: Place,
        (channel, slice): Lane,
        (from, to): (u32, u32),
    ) -> Option<&[&'a MessageRecord]> {
        let stream = (place.iteration, place.phase, channel, slice, from, to);
        self.streams.get(&stream).map(Vec::as_slice)
    }

    /// The message that came last of those that a rank received together with this one: with connections of their own,
    /// messages may come before those that count first.
    fn last_to_come(&self, message: &'a MessageRecord) -> &'a MessageRecord {
        if self.job.over == Over::Connections || message.received == message.end {
            return message;
        }
        let same = |it: &MessageRecord| {
            let of = |it: &MessageRecord| (it.channel, it.from, it.to, it.received);
            of(it) == of(message)
        };
        let all = self.streams.values().flatten().copied();
        let last = all.filter(|it| same(it)).max_by_key(|it| it.end);
        last.unwrap_or(message)
    }

    /// How many messages a rank sends to `peer`, a place in its group, in the steps of a lane before `step`.
    fn sent_before(&self, place: Place, lane: Lane, step: u32, peer: u32) -> Option<usize> {
        let mut count = 0;
        for earlier in 0..step {
            let parts = self.step(place, lane, earlier)?.sends;
            count += parts.iter().filter(|part| part.peer == peer).count();
        }
        Some(count)
    }

    /// The step in which the sender of a message sent it.
    fn step_of_sender(&self, message: &MessageRecord) -> Option<u32> {
        let lane = (message.channel, message.slice);
        let place = Place {
            iteration: message.iteration,
            phase: message.phase,
            rank: message.from,
        };
        let (exchange, group, _) = self.exchange(place)?;
        let peer = group.iter().position(|it| *it == message.to)? as u32;
        let all = self.stream(place, lane, (message.from, message.to))?;
        let mut left = all.binary_search_by_key(&message.step, |it| it.step).ok()?;
        for step in 0..exchange.collective.steps(group.len() as u32) {
            let parts = self.step(place, lane, step)?.sends;
            let sent = parts.iter().filter(|part| part.peer == peer).count();
            if left < sent {
                return Some(step);
            }
            left -= sent;
        }
        None
    }

    /// How long a lane reduces at the end of a step, or computes.
    fn busy(&self, place: Place, lane: Lane, step: u32) -> Option<Busy> {
        let (exchange, group, me) = self.exchange(place)?;
        let compute = match exchange.collective.operation {
            Operation::Pipeline(_) => self.step(place, lane, step)?.compute,
            _ => Time::ZERO,
        };
        let Some(rate) = exchange.reduce_rate else {
            return Some((SegmentKind::Compute, compute));
        };
        let (it, n) = (&exchange.collective, group.len() as u32);
        let parts = self.step(place, lane, step)?.receives;
        let parts = parts.iter().filter(|part| part.reduces);
        let bytes: u64 = parts
            .map(|part| it.bytes((part.peer, me, n), lane, part))
            .sum();
        let reduces = match bytes {
            0 => Time::ZERO,
            _ => rate.time_for(bytes),
        };
        Some((SegmentKind::Reduce, reduces))
    }

    /// The end of step `step` of a lane at `end`, or of one before it if it was over at once. What it reduced or computed
    /// since is recorded in `busy`, latest first.
    fn ended(
        &self,
        place: Place,
        lane: Lane,
        (step, end): (u32, Time),
        busy: &mut Vec<Busy>,
    ) -> Option<Ended<'a>> {
        let (_, group, _) = self.exchange(place)?;
        let mut now = end;
        for step in (0..=step).rev() {
            let (kind, takes) = self.busy(place, lane, step)?;
            if takes > now {
                return None;
            }
            now = now - takes;
            if takes > Time::ZERO {
                busy.push((kind, takes));
            }
            let parts = self.step(place, lane, step)?;
            for part in &parts.receives {
                let ends = (group[part.peer as usize], place.rank);
                let all = self.stream(place, lane, ends)?;
                let number = all.binary_search_by_key(&step, |it| it.step).ok()?;
                let message = all[number];
                if message.received == now {
                    return Some(Ended::By(message, false));
                }
            }
            for part in parts.sends.iter().filter(|_| parts.acknowledged) {
                let ends = (place.rank, group[part.peer as usize]);
                let number = self.sent_before(place, lane, step, part.peer)?;
                let message = *self.stream(place, lane, ends)?.get(number)?;
                if message.acknowledged == Some(now) {
                    return Some(Ended::By(message, true));
                }
            }
        }
        Some(Ended::AtOnce(now))
    }
}

/// A path on its way back.
struct Walk<'p, 'a> {
    of: &'p CriticalPaths<'a>,
    /// How far back it has come.
    now: Time,
    /// Where it ends.
    until: Time,
    found: Vec<Segment<'a>>,
}

impl<'a> Walk<'_, 'a> {
    /// Something took from `start` until now.
    fn took(
        &mut self,
        kind: SegmentKind,
        place: Place,
        message: Option<&'a MessageRecord>,
        start: Time,
    ) {
        let start_here = start.max(self.until);
        if start_here < self.now {
            self.found.push(Segment {
                kind,
                iteration: place.iteration,
                phase: place.phase,
                rank: place.rank,
                message,
                start: start_here,
                end: self.now,
            });
        }
        self.now = start;
    }

    fn was_busy(&mut self, place: Place, each: &[Busy]) -> Option<()> {
        for (kind, time) in each {
            if *time > self.now {
                return None;
            }
            self.took(*kind, place, None, self.now - *time);
        }
        Some(())
    }

    /// Goes from the end of a phase, which is now, to its cause.
    fn before_phase_end(&mut self, place: Place) -> Option<At> {
        // Of lanes that waited for nothing, when they began and what they did.
        let mut at_once: Option<(Time, Vec<Busy>)> = None;
        let exchange = self.of.exchange(place);
        let steps = exchange.map_or(0, |it| it.0.collective.steps(it.1.len() as u32));
        if let Some((exchange, ..)) = exchange.filter(|_| steps > 0) {
            let slices = exchange.collective.slices;
            for lane in 0..exchange.collective.lanes() {
                let lane = (lane / slices, lane % slices);
                let mut busy = Vec::new();
                let step = (steps - 1, self.now);
                match self.of.ended(place, lane, step, &mut busy)? {
                    Ended::By(message, by_ack) => {
                        self.was_busy(place, &busy)?;
                        return self.before_message(message, by_ack);
                    }
                    // All began at once, so that the one that reduced longest ended last.
                    Ended::AtOnce(began) => {
                        if at_once.as_ref().is_none_or(|it| began < it.0) {
                            at_once = Some((began, busy));
                        }
                    }
                }
            }
        }
        if let Some((_, busy)) = at_once {
            self.was_busy(place, &busy)?;
        }
        self.before_collective(place)
    }

    /// Goes from a lane's entry to a step, which is now, to its cause.
    fn before_step(&mut self, place: Place, lane: Lane, step: u32) -> Option<At> {
        let Some(before) = step.checked_sub(1) else {
            return self.before_collective(place);
        };
        let mut busy = Vec::new();
        let ended = self.of.ended(place, lane, (before, self.now), &mut busy)?;
        self.was_busy(place, &busy)?;
        match ended {
            Ended::By(message, by_ack) => self.before_message(message, by_ack),
            Ended::AtOnce(_) => self.before_collective(place),
        }
    }

    /// A message has come, or its ACK, now.
    fn before_message(&mut self, message: &'a MessageRecord, by_ack: bool) -> Option<At> {
        let message = if by_ack {
            message
        } else {
            self.of.last_to_come(message)
        };
        let sender = Place {
            iteration: message.iteration,
            phase: message.phase,
            rank: message.from,
        };
        if by_ack || message.received > message.end {
            self.took(
                SegmentKind::Acknowledgement,
                sender,
                Some(message),
                message.end,
            );
        }
        self.took(SegmentKind::Message, sender, Some(message), message.start);
        let launch = self.of.job.launch;
        if launch > self.now {
            return None;
        }
        let ready = self.now - launch;
        self.took(SegmentKind::Launch, sender, Some(message), ready);
        let step = self.of.step_of_sender(message)?;
        Some(At::Step(sender, (message.channel, message.slice), step))
    }

    /// A rank began the collective operation of a phase now: it had computed, and before that ended the phase before.
    fn before_collective(&mut self, place: Place) -> Option<At> {
        let phase = &self.of.job.phases[place.phase as usize];
        let of = (place.iteration, place.phase, place.rank);
        let compute = phase.compute_of(self.of.seed, self.of.job.entry, of);
        if compute > self.now {
            return None;
        }
        self.took(SegmentKind::Compute, place, None, self.now - compute);
        if let Some(phase) = place.phase.checked_sub(1) {
            return Some(At::PhaseEnd(Place { phase, ..place }));
        }
        // Here the records say what has to be.
        let began = self.of.starts.get(&(place.iteration, place.rank))?;
        if *began != self.now {
            return None;
        }
        let before = place.iteration.checked_sub(1).map(|iteration| Place {
            iteration,
            phase: self.of.job.phases.len() as u32 - 1,
            rank: place.rank,
        });
        match before {
            Some(before) => Some(At::PhaseEnd(before)),
            // The job began; so did the iteration.
            None if self.now <= self.until => Some(At::PhaseEnd(place)),
            None => None,
        }
    }
}
