//! Ranks of jobs that do steps: what they compute, send and wait for.
//!
//! A rank is moved on by its timers, and by what comes over its connections ([`super::connections`]).

use std::cmp::Reverse;
use std::collections::VecDeque;

use unpause_protocols::units::Time;

use super::super::machine::Machine;
use super::super::senders::Senders;
use super::state::{Due, Ranks};
use crate::engine::window::Window;
use crate::jobs::step::{Part, Step};

/// The next action of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) enum Do {
    Phase,
    Collective,
    EnterStep(u32),
    EndStep(u32),
}

impl Ranks {
    /// The first of what ranks have set a timer for is due.
    #[cold]
    pub fn on_timer(
        &mut self,
        now: Time,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let Some(Reverse((_, _, rank, due))) = self.timers.pop() else {
            return;
        };
        if due == Due::Stop {
            self.stop(now, rank, senders, machine, window);
        } else if self.ranks[rank].stopped {
            // What it had set a timer for is void.
        } else if self.runs_program(rank, window.plan) {
            self.on_program_timer(now, (rank, due), senders, machine, window);
        } else {
            let next = match due {
                Due::Start => Some(Do::Phase),
                Due::Computed => Some(Do::Collective),
                Due::Launched(channel, to, bytes) => {
                    self.post(now, (rank, channel), (to, bytes), senders, machine, window);
                    None
                }
                Due::Reduced(lane) => {
                    self.ranks[rank].lanes[lane as usize].step += 1;
                    Some(Do::EnterStep(lane))
                }
                Due::Came(flow, mark) => {
                    self.hand_over(now, (flow, mark), senders, machine, window);
                    None
                }
                Due::Ended(_) | Due::Ready(_) | Due::Stop => {
                    unreachable!("its steps have no operations")
                }
            };
            if let Some(next) = next {
                self.move_on(now, rank, next, senders, machine, window);
            }
        }
        machine.set_rank(self.next_timer());
    }

    /// When the rank of job number `job` at this host last began a step; `None` if it has no steps left.
    pub fn last_step(&self, job: usize) -> Option<Time> {
        let rank = self.ranks.iter().find(|rank| rank.job == job)?;
        (rank.running > 0).then_some(rank.stepped)
    }

    /// A rank takes this action, and all that follow at once.
    pub(super) fn move_on(
        &mut self,
        now: Time,
        rank: usize,
        first: Do,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let mut todo = VecDeque::from([first]);
        while let Some(next) = todo.pop_front() {
            match next {
                Do::Phase => {
                    let compute = self.ranks[rank].compute(window.plan);
                    if compute == Time::ZERO {
                        todo.push_back(Do::Collective);
                    } else {
                        self.set(now + compute, rank, Due::Computed);
                    }
                }
                Do::Collective => {
                    let lanes = self.ranks[rank].begin_lanes(now, window.plan);
                    todo.extend((0..lanes).map(Do::EnterStep));
                    if lanes == 0 && self.ranks[rank].end_phase(now, window.plan, window.log) {
                        todo.push_back(Do::Phase);
                    }
                }
                Do::EnterStep(lane) => {
                    let entered = self.enter_step(now, (rank, lane), senders, machine, window);
                    match entered {
                        Entered::Waits => {}
                        Entered::Over => todo.push_back(Do::EndStep(lane)),
                        Entered::NoStep => {
                            let of_rank = &mut self.ranks[rank];
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
                    let of_rank = &mut self.ranks[rank];
                    let busy = of_rank.end_step(lane, window.plan);
                    if busy == Time::ZERO {
                        of_rank.lanes[lane as usize].step += 1;
                        todo.push_back(Do::EnterStep(lane));
                    } else {
                        self.set(now + busy, rank, Due::Reduced(lane));
                    }
                }
            }
        }
    }

    /// A lane begins its next step: it sends, and counts what it waits for.
    fn enter_step(
        &mut self,
        now: Time,
        (rank, lane): (usize, u32),
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> Entered {
        let mut room = std::mem::take(&mut self.room);
        let entered = self.enter(now, (rank, lane), &mut room, senders, machine, window);
        self.room = room;
        entered
    }

    fn enter(
        &mut self,
        now: Time,
        (rank, lane): (usize, u32),
        room: &mut Step,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> Entered {
        let of_rank = &mut self.ranks[rank];
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
        it.step((me, group), channel, step, room);
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
            if job.launch == Time::ZERO {
                self.post(now, (rank, channel), send, senders, machine, window);
            } else {
                let due = Due::Launched(channel, send.0, send.1);
                self.set(now + job.launch, rank, due);
            }
        }
        match left {
            0 => Entered::Over,
            _ => Entered::Waits,
        }
    }
}

/// The state of a step that a lane has entered.
enum Entered {
    /// It waits for something.
    Waits,
    /// Nothing is left to wait for.
    Over,
    /// There was none left.
    NoStep,
}
