//! The ranks of jobs at a host: what they compute, send and wait for.
//!
//! `Ranks::of` finds those of a host before the run. A rank is moved on by what its host sees: `Host::on_rank_timer` when it
//! has computed, and what comes over its connections (`host/connections.rs`).

use std::cmp::Reverse;
use std::collections::VecDeque;

use unpause_protocols::units::Time;

use super::flow::layout::Layout;
use super::flow::selective::recovery;
use super::ranks::{Due, Ranks};
use super::state::Host;
use crate::engine::log::MessageStart;
use crate::engine::window::Window;
use crate::jobs::Over;
use crate::jobs::connections::Connection;
use crate::jobs::step::{Part, Step};

/// What a rank does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Do {
    Phase,
    Collective,
    EnterStep(u32),
    EndStep(u32),
}

impl Host {
    /// The first of what ranks have set a timer for is due.
    #[cold]
    pub(super) fn on_rank_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let Some(mut ranks) = self.ranks.take() else {
            return;
        };
        let Some(Reverse((_, _, rank, due))) = ranks.timers.pop() else {
            return self.keep(ranks);
        };
        if ranks.runs_program(rank, window.plan) {
            self.on_program_timer(now, &mut ranks, (rank, due), window);
        } else {
            let next = match due {
                Due::Start => Some(Do::Phase),
                Due::Computed => Some(Do::Collective),
                Due::Launched(channel, to, bytes) => {
                    self.post(now, &mut ranks, (rank, channel), (to, bytes), window);
                    None
                }
                Due::Reduced(lane) => {
                    ranks.ranks[rank].lanes[lane as usize].step += 1;
                    Some(Do::EnterStep(lane))
                }
                Due::Came(flow, mark) => {
                    self.hand_over(now, &mut ranks, (flow, mark), window);
                    None
                }
                Due::Ended(_) | Due::Ready(_) => unreachable!("its steps have no operations"),
            };
            if let Some(next) = next {
                self.move_on(now, &mut ranks, rank, next, window);
            }
        }
        self.keep(ranks);
    }

    /// When the rank of job number `job` at this host last began a step; `None` if it has no steps left.
    pub fn last_step(&self, job: usize) -> Option<Time> {
        let mut ranks = self.ranks.iter().flat_map(|it| &it.ranks);
        let rank = ranks.find(|it| it.job == job)?;
        (rank.running > 0).then_some(rank.stepped)
    }

    pub(super) fn keep(&mut self, ranks: Box<Ranks>) {
        self.ranks = Some(ranks);
        self.set_start();
        self.set_rare();
    }

    /// A rank does what is next, and all that follows at once.
    pub(super) fn move_on(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        rank: usize,
        first: Do,
        window: &mut Window<'_, '_>,
    ) {
        let mut todo = VecDeque::from([first]);
        while let Some(next) = todo.pop_front() {
            match next {
                Do::Phase => {
                    let compute = ranks.ranks[rank].compute(window.plan);
                    match compute == Time::ZERO {
                        true => todo.push_back(Do::Collective),
                        false => ranks.set(now + compute, rank, Due::Computed),
                    }
                }
                Do::Collective => {
                    let lanes = ranks.ranks[rank].begin_lanes(now, window.plan);
                    todo.extend((0..lanes).map(Do::EnterStep));
                    if lanes == 0 && ranks.ranks[rank].end_phase(now, window.plan, window.log) {
                        todo.push_back(Do::Phase);
                    }
                }
                Do::EnterStep(lane) => {
                    let entered = self.enter_step(now, ranks, (rank, lane), window);
                    match entered {
                        Entered::Waits => {}
                        Entered::Over => todo.push_back(Do::EndStep(lane)),
                        Entered::NoStep => {
                            let of_rank = &mut ranks.ranks[rank];
                            of_rank.end_lane(now, lane, (window.plan, window.log));
                            if of_rank.running == 0
                                && of_rank.end_phase(now, window.plan, window.log)
                            {
                                todo.push_back(Do::Phase);
                            }
                        }
                    }
                }
                Do::EndStep(lane) => {
                    let of_rank = &mut ranks.ranks[rank];
                    let busy = of_rank.end_step(lane, window.plan);
                    if busy == Time::ZERO {
                        of_rank.lanes[lane as usize].step += 1;
                        todo.push_back(Do::EnterStep(lane));
                    } else {
                        ranks.set(now + busy, rank, Due::Reduced(lane));
                    }
                }
            }
        }
    }

    /// A lane begins its next step: it sends, and counts what it waits for.
    fn enter_step(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        (rank, lane): (usize, u32),
        window: &mut Window<'_, '_>,
    ) -> Entered {
        let mut room = std::mem::take(&mut ranks.room);
        let entered = self.enter(now, ranks, (rank, lane), &mut room, window);
        ranks.room = room;
        entered
    }

    fn enter(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        (rank, lane): (usize, u32),
        room: &mut Step,
        window: &mut Window<'_, '_>,
    ) -> Entered {
        let of_rank = &mut ranks.ranks[rank];
        let job = &window.plan.config.jobs[of_rank.job];
        let exchange = job.phases[of_rank.phase as usize].collective.as_ref();
        let exchange = exchange.expect("lanes are of a collective operation");
        let it = &exchange.collective;
        let (group, me) = exchange.place(of_rank.number).expect("it takes part");
        let n = group.len() as u32;
        let (channel, slice) = (lane / it.slices, lane % it.slices);
        let step = of_rank.lanes[lane as usize].step;
        if step == it.steps(n) {
            return Entered::NoStep;
        }
        if lane == 0 {
            of_rank.stepped = now;
        }
        it.step((me, n), channel, step, room);
        let (mut left, mut reduces) = (0, 0);
        for part in &room.receives {
            let bytes = it.bytes((part.peer, me, n), (channel, slice), part);
            if bytes == 0 {
                continue;
            }
            if part.reduces {
                reduces += bytes;
            }
            left += of_rank.wait_for(channel, group[part.peer as usize], (slice, it.slices));
        }
        let bytes_of = |part: &Part| it.bytes((me, part.peer, n), (channel, slice), part);
        let sends = room
            .sends
            .iter()
            .map(|part| (group[part.peer as usize], bytes_of(part)));
        let sends = sends.filter(|(_, bytes)| *bytes > 0);
        for (to, _) in sends.clone() {
            if let Some(outgoing) = of_rank.to.get_mut(&(channel, to)) {
                outgoing.begun += 1;
                if room.acknowledged {
                    outgoing.waits = Some(lane);
                    left += 1;
                }
            }
        }
        let lane_of = &mut of_rank.lanes[lane as usize];
        lane_of.left = left;
        lane_of.reduces = reduces;
        lane_of.computes = room.compute;
        for send in sends {
            match job.launch == Time::ZERO {
                true => self.post(now, ranks, (rank, channel), send, window),
                false => ranks.set(
                    now + job.launch,
                    rank,
                    Due::Launched(channel, send.0, send.1),
                ),
            }
        }
        match left {
            0 => Entered::Over,
            _ => Entered::Waits,
        }
    }

    /// Hands a message of this many bytes to the connection of a channel to rank `to`.
    pub(super) fn post(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        (rank, channel): (usize, u32),
        (to, bytes): (u32, u64),
        window: &mut Window<'_, '_>,
    ) {
        let plan = window.plan;
        let of_rank = &mut ranks.ranks[rank];
        let job = &plan.config.jobs[of_rank.job];
        let outgoing = of_rank.to.get_mut(&(channel, to));
        let outgoing = outgoing.expect("connections open when their job starts");
        let number = outgoing.posted;
        outgoing.posted += 1;
        let own = outgoing.starts.pop_front();
        let (flow, slot) = match own {
            Some(start) => {
                let from = of_rank.number;
                let connection = Connection { from, to, channel };
                self.open_for_message(now, start, ranks, (rank, connection, number), plan)
            }
            None => (outgoing.flow, outgoing.slot),
        };
        if job.records_messages {
            let number = match job.over {
                Over::Connections => number,
                Over::Messages => 0,
            };
            window.log.message_starts.push(MessageStart {
                flow,
                number,
                start: now,
            });
        }
        if let Some(nic) = self.nic_of_sender(slot, plan) {
            self.turn_to(nic);
        }
        // Messages of one instant take their places in the order in which they are posted.
        self.nic.end.busy_until = self.nic.end.busy_until.max(now);
        let sender = &mut self.senders[slot as usize];
        let from = ranks.outgoing.get_mut(&flow).expect("it is open");
        let recovery = recovery(&mut self.selective, slot, Time::NEVER);
        sender.post(&mut from.posted, &Layout::of(Some(bytes), plan), recovery);
        self.after_change(now, slot);
        self.wake(now);
    }
}

/// What has become of a step that a lane has entered.
enum Entered {
    /// It waits for something.
    Waits,
    /// Nothing is left to wait for.
    Over,
    /// There was none left.
    NoStep,
}
