//! The ranks of jobs at a host: what they compute, send and wait for.
//!
//! `Ranks::of` finds those of a host before the run. `Host::expect_messages` and `Host::open_connection` tell of the
//! connections that lead to a rank and from it, before the first message. From then on a rank is moved on by what its
//! host sees: `Host::on_rank_timer` when it has computed, `Host::on_message` when the last packet of a message has come,
//! `Host::on_messages_acknowledged` when all that a connection has sent has been acknowledged.

use std::cmp::Reverse;
use std::collections::VecDeque;

use unpause_protocols::units::Time;

use super::layout::Layout;
use super::posted::Posted;
use super::ranks::{Due, From, Incoming, Outgoing, Ranks};
use super::state::Host;
use crate::engine::window::Window;
use crate::jobs::connections::Messages;
use crate::jobs::step::{Part, Step};
use crate::log::{MessageAck, MessageEnd, MessageStart};
use crate::plan::Plan;

/// What a rank does next.
#[derive(Clone, Copy, Debug)]
enum Do {
    Phase,
    Collective,
    EnterStep(u32),
    EndStep(u32),
}

/// The job that has `group` as its entry.
fn job_of(group: u16, plan: &Plan<'_>) -> Option<usize> {
    plan.config.jobs.iter().position(|it| it.entry == group)
}

impl Host {
    /// Flow `flow`, number `number` of its entry, may be a connection to a rank here: then what comes first is known.
    #[cold]
    pub(super) fn expect_messages(
        &mut self,
        (flow, number, group): (u32, u32, u16),
        slot: usize,
        plan: &Plan<'_>,
    ) {
        let (Some(job), Some(ranks)) = (job_of(group, plan), &mut self.ranks) else {
            return;
        };
        let connection = plan.jobs.connection(job, number);
        let mut messages = Messages::default();
        let next = messages.next(&plan.config.jobs[job], &connection, &mut ranks.room);
        let packets = next.map_or(0, |it| Layout::of(Some(it.bytes), plan).packets);
        self.receivers[slot].recovery.end_at(packets);
        let incoming = Incoming {
            rank: ranks.rank_of(job),
            connection,
            messages,
            next,
            delivered: 0,
        };
        ranks.incoming.insert(flow, incoming);
    }

    /// The flow in `slot`, number `number` of its entry, has started: it may be a connection from a rank here.
    #[cold]
    pub(super) fn open_connection(
        &mut self,
        (slot, number, group): (u32, u32, u16),
        plan: &Plan<'_>,
    ) {
        let (Some(job), Some(ranks)) = (job_of(group, plan), &mut self.ranks) else {
            return;
        };
        let connection = plan.jobs.connection(job, number);
        let sender = &mut self.senders[slot as usize];
        sender.open_for_messages(plan.config.jobs[job].program.is_some());
        let rank = ranks.rank_of(job);
        let from = From {
            rank,
            connection,
            posted: Posted::default(),
        };
        ranks.outgoing.insert(sender.flow, from);
        let outgoing = Outgoing {
            slot,
            flow: sender.flow,
            posted: 0,
            waits: None,
        };
        let key = (connection.channel, connection.to);
        ranks.ranks[rank].to.insert(key, outgoing);
    }

    /// The last packet of a message has come to the receiver in `slot`; false if that is of no connection.
    #[cold]
    pub(super) fn on_message(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) -> bool {
        let flow = self.receivers[slot as usize].flow;
        let Some(mut ranks) = self.ranks.take_if(|it| it.incoming.contains_key(&flow)) else {
            return false;
        };
        let plan = window.plan;
        let incoming = ranks.incoming.get_mut(&flow).expect("it is there");
        let connection = incoming.connection;
        let rank = incoming.rank;
        let job = &plan.config.jobs[ranks.ranks[rank].job];
        let message = incoming.next.expect("a message has come");
        if job.records_messages {
            window.log.message_ends.push(MessageEnd {
                flow,
                number: incoming.delivered,
                entry: job.entry,
                iteration: message.iteration,
                phase: message.phase,
                step: message.step,
                channel: connection.channel,
                slice: message.slice,
                from: connection.from,
                to: connection.to,
                bytes: message.bytes,
                end: now,
            });
        }
        incoming.delivered += 1;
        self.receivers[slot as usize].count_message(message.bytes, plan);
        incoming.next = incoming.messages.next(job, &connection, &mut ranks.room);
        if let Some(next) = &incoming.next {
            let recovery = &mut self.receivers[slot as usize].recovery;
            let packets = Layout::of(Some(next.bytes), plan).packets;
            recovery.end_at(recovery.expected() + packets);
        }
        let nic = self.number;
        if job.program.is_some() {
            self.on_program_message(now, &mut ranks, (rank, message.step), window);
        } else if let Some(lane) = ranks.ranks[rank].take(&connection, message.slice, job) {
            self.move_on(now, &mut ranks, rank, Do::EndStep(lane), window);
        }
        self.turn_to(nic);
        self.keep(ranks);
        true
    }

    /// All that has been sent over the connection in `slot` has been acknowledged.
    #[cold]
    pub(super) fn on_messages_acknowledged(
        &mut self,
        now: Time,
        slot: u32,
        window: &mut Window<'_, '_>,
    ) {
        let (sender, posted) = self.connection(slot);
        let flow = sender.flow;
        if sender.note_acknowledged(posted) == 0 || sender.has_left() {
            return;
        }
        let Some(mut ranks) = self.ranks.take() else {
            return;
        };
        let From {
            rank, connection, ..
        } = ranks.outgoing[&flow];
        let of_rank = &mut ranks.ranks[rank];
        let outgoing = of_rank.to.get_mut(&(connection.channel, connection.to));
        let waited = outgoing.and_then(|it| Some((it.waits.take()?, it.posted)));
        if let Some((lane, posted)) = waited {
            if window.plan.config.jobs[of_rank.job].records_messages {
                window.log.message_acks.push(MessageAck {
                    flow,
                    number: posted - 1,
                    at: now,
                });
            }
            let waiting = &mut of_rank.lanes[lane as usize];
            waiting.left -= 1;
            if waiting.left == 0 {
                let nic = self.number;
                self.move_on(now, &mut ranks, rank, Do::EndStep(lane), window);
                self.turn_to(nic);
            }
        }
        self.keep(ranks);
    }

    /// The first of what ranks have set a timer for is due.
    #[cold]
    pub(super) fn on_rank_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let Some(mut ranks) = self.ranks.take() else {
            return;
        };
        let Some(Reverse((_, _, rank, due))) = ranks.timers.pop() else {
            return self.keep(ranks);
        };
        if window.plan.config.jobs[ranks.ranks[rank].job]
            .program
            .is_some()
        {
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
                Due::Ended(_) | Due::Ready(_) => None,
            };
            if let Some(next) = next {
                self.move_on(now, &mut ranks, rank, next, window);
            }
        }
        self.keep(ranks);
    }

    pub(super) fn keep(&mut self, ranks: Box<Ranks>) {
        self.ranks = Some(ranks);
        self.set_start();
        self.set_rare();
    }

    /// A rank does what is next, and all that follows at once.
    fn move_on(
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
                    let lanes = ranks.ranks[rank].begin_lanes(window.plan);
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
                            of_rank.running -= 1;
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
                    let reduce = of_rank.reduce_time(lane, window.plan);
                    if reduce == Time::ZERO {
                        of_rank.lanes[lane as usize].step += 1;
                        todo.push_back(Do::EnterStep(lane));
                    } else {
                        ranks.set(now + reduce, rank, Due::Reduced(lane));
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
        if room.acknowledged {
            for (to, _) in sends.clone() {
                if let Some(outgoing) = of_rank.to.get_mut(&(channel, to)) {
                    outgoing.waits = Some(lane);
                    left += 1;
                }
            }
        }
        let lane_of = &mut of_rank.lanes[lane as usize];
        lane_of.left = left;
        lane_of.reduces = reduces;
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

    /// Hands a message of so many bytes to the connection of a channel to rank `to`.
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
        if job.records_messages {
            window.log.message_starts.push(MessageStart {
                flow: outgoing.flow,
                number: outgoing.posted,
                start: now,
            });
        }
        outgoing.posted += 1;
        let slot = outgoing.slot;
        if let Some(nic) = self.nic_of_sender(slot, plan) {
            self.turn_to(nic);
        }
        let sender = &mut self.senders[slot as usize];
        let from = ranks.outgoing.get_mut(&sender.flow).expect("it is open");
        sender.post(&mut from.posted, &Layout::of(Some(bytes), plan));
        self.after_change(now, slot);
        if self.hpcc_nic {
            self.look(now);
        }
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
