//! Connections between the ranks of jobs, at their hosts.
//!
//! `Host::expect_messages` and `Host::open_connection` tell of the connections that lead to a rank and from it, before the
//! first message. `Host::on_message` says that the last packet of a message has come, `Host::on_messages_acknowledged` that
//! all that a connection has sent has been acknowledged. Where each message has a connection of its own, its flow is known
//! before the run, and its sender is there from when it is posted until it is acknowledged.

use unpause_protocols::units::Time;

use super::flow::layout::Layout;
use super::flow::posted::Posted;
use super::flow::selective::{Recovery, recovery};
use super::flow::sender::Sender;
use super::job_steps::Do;
use super::ranks::{Due, From, Incoming, Outgoing, Ranks};
use super::state::Host;
use crate::engine::batch::FlowStart;
use crate::engine::log::{MessageAck, MessageEnd};
use crate::engine::window::Window;
use crate::jobs::connections::{Connection, Messages};
use crate::jobs::{Completion, Over};
use crate::plan::Plan;
use crate::routing::Direction;

/// What a receiver was of that has got its last packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Was {
    /// A flow that is of no rank.
    Flow,
    /// A connection, which stays.
    Connection,
    /// A message.
    Message,
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
        let (Some(place), Some(ranks)) = (job_of(group, plan), &mut self.ranks) else {
            return;
        };
        let (connection, only) = plan.jobs.connection(place, number);
        let job = &plan.config.jobs[place];
        let rank = ranks.rank_of(place);
        let receiver = &mut self.receivers[slot];
        let answer = match job.completion {
            Completion::Delivered => Time::ZERO,
            Completion::Acknowledged => plan.ack_time(&Direction {
                src: job.host(connection.to),
                dst: job.host(connection.from),
                source_port: receiver.source_port(),
                flow: plan.routing.tells_flows_apart().then_some(flow),
                is_feedback: true,
            }),
        };
        let mut incoming = Incoming {
            rank,
            connection,
            messages: Messages::default(),
            only: None,
            came: None,
            next: None,
            answer,
            delivered: 0,
        };
        match only {
            None => incoming.next = incoming.messages.next(job, &connection, &mut ranks.room),
            Some(number) => {
                let key = (rank, connection.channel, connection.from);
                let order = ranks.orders.entry(key).or_default();
                incoming.next = order.expect(number, (job, &connection), &mut ranks.room);
                incoming.only = Some(number);
            }
        }
        let packets = incoming
            .next
            .map_or(0, |it| Layout::of(Some(it.bytes), plan).packets);
        receiver.recovery.end_at(packets);
        ranks.incoming.insert(flow, incoming);
    }

    /// Flow `start` may be a message from a rank here, whose sender will be there when it is posted: then it is true.
    #[cold]
    pub(super) fn hold_message(&mut self, start: &FlowStart, plan: &Plan<'_>) -> bool {
        let (Some(job), Some(ranks)) = (job_of(start.spec.group, plan), &mut self.ranks) else {
            return false;
        };
        if plan.config.jobs[job].over == Over::Connections {
            return false;
        }
        let (connection, _) = plan.jobs.connection(job, start.number);
        let rank = ranks.rank_of(job);
        let outgoing = ranks.ranks[rank]
            .to
            .entry((connection.channel, connection.to));
        let outgoing = outgoing.or_insert_with(|| Outgoing::new(0, 0));
        outgoing.starts.push_back(*start);
        true
    }

    /// Message `number` over this connection has a flow of its own, which starts now. Answers that, and its place.
    pub(super) fn open_for_message(
        &mut self,
        now: Time,
        mut start: FlowStart,
        ranks: &mut Ranks,
        (rank, connection, number): (usize, Connection, u32),
        plan: &Plan<'_>,
    ) -> (u32, u32) {
        start.spec.start = now;
        let own = (start.id, start.spec.source_port);
        self.turn_to(self.nic_towards(start.spec.dst, own, false, plan));
        let slot = self.open(now, &start, plan);
        let tells = ranks.runs_program(rank, plan) || self.selective.is_some();
        self.senders[slot as usize].open_for_messages(tells);
        let from = From {
            rank,
            connection,
            number: Some(number),
            posted: Posted::default(),
        };
        ranks.outgoing.insert(start.id, from);
        let key = (connection.channel, connection.to);
        if let Some(outgoing) = ranks.ranks[rank].to.get_mut(&key) {
            (outgoing.slot, outgoing.flow) = (slot, start.id);
        }
        self.line_up(now, slot, true);
        (start.id, slot)
    }

    /// The flow in `slot`, number `number` of its entry, has started: true if it is a connection from a rank here.
    #[cold]
    pub(super) fn open_connection(
        &mut self,
        (slot, number, group): (u32, u32, u16),
        plan: &Plan<'_>,
    ) -> bool {
        let (Some(job), Some(ranks)) = (job_of(group, plan), &mut self.ranks) else {
            return false;
        };
        let (connection, _) = plan.jobs.connection(job, number);
        let sender = &mut self.senders[slot as usize];
        let by_message = plan.config.jobs[job].program.is_some();
        sender.open_for_messages(by_message || self.selective.is_some());
        let rank = ranks.rank_of(job);
        let from = From {
            rank,
            connection,
            number: None,
            posted: Posted::default(),
        };
        ranks.outgoing.insert(sender.flow, from);
        let key = (connection.channel, connection.to);
        ranks.ranks[rank]
            .to
            .insert(key, Outgoing::new(slot, sender.flow));
        true
    }

    /// The last packet of a message has come to the receiver in `slot`. Messages after it may have come as a whole before.
    #[cold]
    pub(super) fn on_message(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) -> Was {
        let flow = self.receivers[slot as usize].flow;
        let Some(mut ranks) = self.ranks.take_if(|it| it.incoming.contains_key(&flow)) else {
            return Was::Flow;
        };
        let was = match ranks.incoming[&flow].only {
            None => Was::Connection,
            Some(_) => Was::Message,
        };
        let nic = self.number;
        while self.take_message(now, (slot, flow), &mut ranks, window) {}
        self.turn_to(nic);
        self.keep(ranks);
        was
    }

    /// The first message that the receiver in `slot` has not handed over has come; true if so has the next one.
    fn take_message(
        &mut self,
        now: Time,
        (slot, flow): (u32, u32),
        ranks: &mut Ranks,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let plan = window.plan;
        let incoming = ranks.incoming.get_mut(&flow).expect("it is there");
        let (connection, answer, rank) = (incoming.connection, incoming.answer, incoming.rank);
        let job = &plan.config.jobs[ranks.ranks[rank].job];
        let message = incoming.next.take().expect("a message has come");
        if job.records_messages {
            let record = MessageEnd {
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
                received: now + answer,
            };
            match incoming.only.is_some() && job.program.is_none() {
                true => incoming.came = Some(record),
                false => window.log.message_ends.push(record),
            }
        }
        incoming.delivered += 1;
        self.receivers[slot as usize].count_message(message.bytes, plan);
        if incoming.only.is_none() {
            incoming.next = incoming.messages.next(job, &connection, &mut ranks.room);
        }
        let mut more = false;
        if let Some(next) = &incoming.next {
            let recovery = &mut self.receivers[slot as usize].recovery;
            let packets = Layout::of(Some(next.bytes), plan).packets;
            recovery.end_at(recovery.packets() + packets);
            more = recovery.expected() >= recovery.packets();
        }
        let mark = match job.program {
            Some(_) => message.step,
            None => message.slice,
        };
        match answer == Time::ZERO {
            true => self.hand_over(now, ranks, (flow, mark), window),
            false => ranks.set(now + answer, rank, Due::Came(flow, mark)),
        }
        more
    }

    /// A message that has come over `flow` counts now: one of this slice, or for this receive of a program.
    pub(super) fn hand_over(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        (flow, mark): (u32, u32),
        window: &mut Window<'_, '_>,
    ) {
        let incoming = ranks.incoming.get_mut(&flow).expect("it has come");
        let (rank, connection, only) = (incoming.rank, incoming.connection, incoming.only);
        let came = incoming.came.take();
        if only.is_some() {
            ranks.incoming.remove(&flow);
        }
        let job = &window.plan.config.jobs[ranks.ranks[rank].job];
        if job.program.is_some() {
            return self.on_program_message(now, ranks, (rank, mark), window);
        }
        let Some(number) = only else {
            return self.count(now, ranks, (rank, connection, mark), window);
        };
        let key = (rank, connection.channel, connection.from);
        let order = ranks.orders.entry(key).or_default();
        order.put(number, (mark, came));
        while let Some((slice, record)) = ranks.orders.entry(key).or_default().take() {
            let record = record.map(|it| MessageEnd {
                received: now,
                ..it
            });
            window.log.message_ends.extend(record);
            self.count(now, ranks, (rank, connection, slice), window);
        }
    }

    /// A rank that does steps has received a message of this slice.
    fn count(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        (rank, connection, slice): (usize, Connection, u32),
        window: &mut Window<'_, '_>,
    ) {
        let job = &window.plan.config.jobs[ranks.ranks[rank].job];
        if let Some(lane) = ranks.ranks[rank].take(&connection, slice, job) {
            self.move_on(now, ranks, rank, Do::EndStep(lane), window);
        }
    }

    /// All that has been sent over the connection in `slot` has been acknowledged. True if it is over and forgotten.
    #[cold]
    pub(super) fn on_messages_acknowledged(
        &mut self,
        now: Time,
        slot: u32,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let (sender, posted, recovery) = self.connection(slot);
        let flow = sender.flow;
        if sender.note_acknowledged(posted, recovery) == 0 || sender.has_left() {
            return false;
        }
        self.end_wait(now, flow, window);
        self.close_message(now, slot, window)
    }

    /// All that has been sent over the connection that is flow `flow` has been acknowledged: a lane may wait for that.
    pub(super) fn end_wait(&mut self, now: Time, flow: u32, window: &mut Window<'_, '_>) {
        let Some(mut ranks) = self.ranks.take() else {
            return;
        };
        let From {
            rank,
            connection,
            number,
            ..
        } = ranks.outgoing[&flow];
        let of_rank = &mut ranks.ranks[rank];
        let outgoing = of_rank.to.get_mut(&(connection.channel, connection.to));
        let waited = outgoing.and_then(|it| {
            let all = number.is_none_or(|number| it.acknowledge(number) == it.posted);
            // What is still to be launched has not been sent.
            let all = all && it.posted == it.begun;
            let lane = all.then(|| it.waits.take()).flatten()?;
            Some((lane, it.flow, it.posted))
        });
        if let Some((lane, last, posted)) = waited {
            if window.plan.config.jobs[of_rank.job].records_messages {
                window.log.message_acks.push(MessageAck {
                    flow: last,
                    number: number.map_or(posted - 1, |_| 0),
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

    /// All that has been sent over the connection in `slot` has been acknowledged: if that was made for a message, it is over.
    /// True if it is forgotten.
    pub(super) fn close_message(
        &mut self,
        now: Time,
        slot: u32,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let sender = &mut self.senders[slot as usize];
        let flow = sender.flow;
        let ranks = self.ranks.as_mut();
        let Some(ranks) = ranks.filter(|it| it.outgoing[&flow].number.is_some()) else {
            return false;
        };
        ranks.outgoing.remove(&flow);
        sender.close();
        self.end_sender(now, slot, window)
    }
}

impl Host {
    /// The last packet of a message has left, or a packet of selective repeat: another one of the connection in `slot`
    /// follows, or one of another message.
    #[cold]
    pub(super) fn end_message(&mut self, slot: u32) {
        let (sender, posted, recovery) = self.connection(slot);
        posted.at += 1;
        sender.turn_to_message(posted, recovery);
    }

    /// The connection in `slot` has gone back: what was lost may be of an earlier message.
    #[cold]
    pub(super) fn rewind(&mut self, slot: u32) {
        let (sender, posted, recovery) = self.connection(slot);
        posted.forget(sender.recovery.unacknowledged());
        posted.at = 0;
        sender.turn_to_message(posted, recovery);
    }

    /// The sender of a connection, its messages, and how its losses are repaired, of which nothing times out here.
    pub(super) fn connection(&mut self, slot: u32) -> (&mut Sender, &mut Posted, Recovery<'_>) {
        let sender = &mut self.senders[slot as usize];
        let posted = posted(&mut self.ranks, sender.flow);
        let recovery = recovery(&mut self.selective, slot, Time::NEVER);
        (sender, posted, recovery)
    }
}

/// The messages of the connection that flow `flow` is.
fn posted(ranks: &mut Option<Box<Ranks>>, flow: u32) -> &mut Posted {
    let outgoing = ranks.as_mut().and_then(|it| it.outgoing.get_mut(&flow));
    &mut outgoing.expect("it is of a rank").posted
}
