//! Connections between ranks of jobs: the messages that they carry, and their acknowledgements.
//!
//! [`Ranks::expect_messages`] and [`Ranks::open_connection`] announce the connections that lead to a rank and from it, before the
//! first message. Where each message has a connection of its own, its flow is known before the run
//! ([`Ranks::hold_message`]), and its sender exists from when the message is posted until it is acknowledged.

use unpause_protocols::units::Time;

use super::super::flow::layout::Layout;
use super::super::flow::receiver::Receiver;
use super::super::machine::Machine;
use super::super::senders::Senders;
use super::rank::Outgoing;
use super::state::{Due, From, Incoming, Ranks};
use super::steps::Do;
use crate::engine::batch::FlowStart;
use crate::engine::log::{MessageAck, MessageEnd, MessageStart};
use crate::engine::window::Window;
use crate::jobs::connections::{Connection, Messages};
use crate::jobs::{Completion, Over};
use crate::plan::Plan;
use crate::routing::Direction;

/// The job that has `group` as its entry.
fn job_of(group: u16, plan: &Plan<'_>) -> Option<usize> {
    plan.config.jobs.iter().position(|job| job.entry == group)
}

impl Ranks {
    /// A flow, number `number` of its entry, is to arrive at `receiver`. If it is a connection to a rank here, its first message is
    /// known.
    #[cold]
    pub fn expect_messages(
        &mut self,
        (flow, number, group): (u32, u32, u16),
        receiver: &mut Receiver,
        plan: &Plan<'_>,
    ) {
        let Some(place) = job_of(group, plan) else {
            return;
        };
        let (connection, only) = plan.jobs.connection(place, number);
        let job = &plan.config.jobs[place];
        let rank = self.rank_of(place);
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
            None => incoming.next = incoming.messages.next(job, &connection, &mut self.room),
            Some(number) => {
                let key = (rank, connection.channel, connection.from);
                let order = self.orders.entry(key).or_default();
                incoming.next = order.expect(number, (job, &connection), &mut self.room);
                incoming.only = Some(number);
            }
        }
        let packets = incoming
            .next
            .map_or(0, |it| Layout::of(Some(it.bytes), plan).packets);
        receiver.recovery.end_at(packets);
        self.incoming.insert(flow, incoming);
    }

    /// Keeps flow `start` until its message is posted, if it is a message from a rank here. True then.
    #[cold]
    pub fn hold_message(&mut self, start: &FlowStart, plan: &Plan<'_>) -> bool {
        let Some(job) = job_of(start.spec.group, plan) else {
            return false;
        };
        if plan.config.jobs[job].over == Over::Connections {
            return false;
        }
        let (connection, _) = plan.jobs.connection(job, start.number);
        let rank = self.rank_of(job);
        let outgoing = self.ranks[rank]
            .to
            .entry((connection.channel, connection.to));
        let outgoing = outgoing.or_insert_with(|| Outgoing::new(0, 0));
        outgoing.starts.push_back(*start);
        true
    }

    /// Message `number` over this connection has a flow of its own, which starts now. Answers that flow, and the slot of its sender.
    fn open_for_message(
        &mut self,
        now: Time,
        mut start: FlowStart,
        (rank, connection, number): (usize, Connection, u32),
        senders: &mut Senders,
        machine: &mut Machine,
        plan: &Plan<'_>,
    ) -> (u32, u32) {
        start.spec.start = now;
        let from = From {
            rank,
            connection,
            number: Some(number),
        };
        self.outgoing.insert(start.id, from);
        let own = (start.id, start.spec.source_port);
        let nic = machine.nics.towards(start.spec.dst, own, false, plan);
        let tells = self.runs_program(rank, plan);
        let slot = machine.at(nic, |machine| {
            let slot = senders.open(now, &start, &machine.nics, plan);
            senders.open_connection(slot, tells);
            senders.line_up(now, slot, true, machine);
            slot
        });
        let key = (connection.channel, connection.to);
        if let Some(outgoing) = self.ranks[rank].to.get_mut(&key) {
            (outgoing.slot, outgoing.flow) = (slot, start.id);
        }
        (start.id, slot)
    }

    /// The flow in `slot`, number `number` of its entry, has started. True if it is a connection from a rank here.
    #[cold]
    pub fn open_connection(
        &mut self,
        (slot, number, group): (u32, u32, u16),
        senders: &mut Senders,
        plan: &Plan<'_>,
    ) -> bool {
        let Some(job) = job_of(group, plan) else {
            return false;
        };
        let (connection, _) = plan.jobs.connection(job, number);
        senders.open_connection(slot, plan.config.jobs[job].program.is_some());
        let flow = senders.flows[slot as usize].flow;
        let rank = self.rank_of(job);
        let from = From {
            rank,
            connection,
            number: None,
        };
        self.outgoing.insert(flow, from);
        let key = (connection.channel, connection.to);
        self.ranks[rank].to.insert(key, Outgoing::new(slot, flow));
        true
    }

    /// The last packet of a message has arrived at `receiver`. Messages after it may have arrived completely before. True if it is a
    /// connection, whose receiver stays; `None` if the flow belongs to no rank.
    #[cold]
    pub fn on_message(
        &mut self,
        now: Time,
        receiver: &mut Receiver,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> Option<bool> {
        let stays = self.incoming.get(&receiver.flow)?.only.is_none();
        while self.take_message(now, receiver, senders, machine, window) {}
        machine.set_rank(self.next_timer());
        Some(stays)
    }

    /// Takes the first message that `receiver` has not handed over. True if the next one has arrived, too.
    fn take_message(
        &mut self,
        now: Time,
        receiver: &mut Receiver,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let plan = window.plan;
        let flow = receiver.flow;
        let incoming = self.incoming.get_mut(&flow).expect("it is there");
        let (connection, answer, rank) = (incoming.connection, incoming.answer, incoming.rank);
        let job = &plan.config.jobs[self.ranks[rank].job];
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
            if incoming.only.is_some() && job.program.is_none() {
                incoming.came = Some(record);
            } else {
                window.log.message_ends.push(record);
            }
        }
        incoming.delivered += 1;
        receiver.count_message(message.bytes, plan);
        if incoming.only.is_none() {
            incoming.next = incoming.messages.next(job, &connection, &mut self.room);
        }
        let mut more = false;
        if let Some(next) = &incoming.next {
            let recovery = &mut receiver.recovery;
            let packets = Layout::of(Some(next.bytes), plan).packets;
            recovery.end_at(recovery.packets() + packets);
            more = recovery.expected() >= recovery.packets();
        }
        let mark = match job.program {
            Some(_) => message.step,
            None => message.slice,
        };
        if answer == Time::ZERO {
            self.hand_over(now, (flow, mark), senders, machine, window);
        } else {
            self.set(now + answer, rank, Due::Came(flow, mark));
        }
        more
    }

    /// A message that has arrived over `flow` counts now: one of this slice, or for this receive of a program.
    pub(super) fn hand_over(
        &mut self,
        now: Time,
        (flow, mark): (u32, u32),
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let incoming = self.incoming.get_mut(&flow).expect("it has come");
        let (rank, connection, only) = (incoming.rank, incoming.connection, incoming.only);
        let came = incoming.came.take();
        if only.is_some() {
            self.incoming.remove(&flow);
        }
        if self.ranks[rank].stopped {
            return;
        }
        let job = &window.plan.config.jobs[self.ranks[rank].job];
        if job.program.is_some() {
            return self.on_program_message(now, (rank, mark), senders, machine, window);
        }
        let Some(number) = only else {
            return self.count(now, (rank, connection, mark), senders, machine, window);
        };
        let key = (rank, connection.channel, connection.from);
        let order = self.orders.entry(key).or_default();
        order.put(number, (mark, came));
        while let Some((slice, record)) = self.orders.entry(key).or_default().take() {
            let record = record.map(|record| MessageEnd {
                received: now,
                ..record
            });
            window.log.message_ends.extend(record);
            self.count(now, (rank, connection, slice), senders, machine, window);
        }
    }

    /// A rank that does steps has received a message of this slice.
    fn count(
        &mut self,
        now: Time,
        (rank, connection, slice): (usize, Connection, u32),
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let job = &window.plan.config.jobs[self.ranks[rank].job];
        if let Some(lane) = self.ranks[rank].take(&connection, slice, job) {
            self.move_on(now, rank, Do::EndStep(lane), senders, machine, window);
        }
    }

    /// Packets of the connection in `slot` have been acknowledged. True if its sender is forgotten.
    #[cold]
    pub fn on_acknowledged(
        &mut self,
        now: Time,
        slot: u32,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let forgotten = if senders.flows[slot as usize].tells {
            self.on_sends_acknowledged(now, slot, senders, machine, window)
        } else {
            self.on_all_acknowledged(now, slot, senders, machine, window)
        };
        machine.set_rank(self.next_timer());
        forgotten
    }

    /// All packets that the connection in `slot` has sent have been acknowledged. True if its sender is forgotten.
    fn on_all_acknowledged(
        &mut self,
        now: Time,
        slot: u32,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let (messages, _) = senders.note_acknowledged(slot);
        let sender = &senders.flows[slot as usize];
        if messages == 0 || sender.has_left() {
            return false;
        }
        self.end_wait(now, sender.flow, senders, machine, window);
        self.close_message(now, slot, senders, machine, window)
    }

    /// All packets of the connection that is flow `flow` have been acknowledged: a lane may wait for that.
    pub(super) fn end_wait(
        &mut self,
        now: Time,
        flow: u32,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let From {
            rank,
            connection,
            number,
            ..
        } = self.outgoing[&flow];
        let of_rank = &mut self.ranks[rank];
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
                self.move_on(now, rank, Do::EndStep(lane), senders, machine, window);
            }
        }
    }

    /// All packets of the connection in `slot` have been acknowledged. If it was made for one message, it is over. True if its sender
    /// is forgotten.
    pub(super) fn close_message(
        &mut self,
        now: Time,
        slot: u32,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let flow = senders.flows[slot as usize].flow;
        if self.outgoing[&flow].number.is_none() {
            return false;
        }
        self.outgoing.remove(&flow);
        senders.close_connection(now, slot, machine, window)
    }

    /// Hands a message of this many bytes to the connection of a channel to rank `to`.
    pub(super) fn post(
        &mut self,
        now: Time,
        (rank, channel): (usize, u32),
        (to, bytes): (u32, u64),
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let plan = window.plan;
        let of_rank = &mut self.ranks[rank];
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
                let message = (rank, connection, number);
                self.open_for_message(now, start, message, senders, machine, plan)
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
        let layout = Layout::of(Some(bytes), plan);
        let nic = senders.nic_of(slot, &machine.nics, plan);
        machine.at(nic.unwrap_or(machine.nics.number()), |machine| {
            if job.records_messages {
                senders.note_post(now, slot, machine, window);
            }
            senders.post(now, slot, &layout, machine);
        });
    }
}
