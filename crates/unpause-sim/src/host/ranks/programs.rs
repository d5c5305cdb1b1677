//! Ranks that run programs: timers, messages and acknowledgements advance them, as they advance ranks with steps
//! ([`super::steps`]).

use unpause_protocols::units::Time;

use super::super::machine::Machine;
use super::super::senders::Senders;
use super::state::{Due, From, Ranks};
use crate::engine::log::MessageAck;
use crate::engine::window::Window;
use crate::jobs::Program;
use crate::jobs::connections::Connection;
use crate::jobs::program::Kind;
use crate::plan::Plan;

/// The program of a rank, and the rank's number.
fn program_of<'p>(ranks: &Ranks, rank: usize, plan: &Plan<'p>) -> (&'p Program, u32) {
    let of_rank = &ranks.ranks[rank];
    let program = plan.config.jobs[of_rank.job].program.as_deref();
    (program.expect("it runs one"), of_rank.number)
}

impl Ranks {
    /// Something is due for a rank that runs a program.
    pub(super) fn on_program_timer(
        &mut self,
        now: Time,
        (rank, due): (usize, Due),
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let (program, number) = program_of(self, rank, window.plan);
        let progress = &mut self.ranks[rank].progress;
        match due {
            Due::Start => progress.begin(program, number),
            Due::Ended(at) => {
                let stream = program.of_rank(number)[at as usize].stream;
                progress.computed(now, stream);
                progress.end(now, (program, number), at);
                self.compute_next(now, (rank, stream), window.plan);
            }
            Due::Ready(at) => {
                progress.ready(at);
                self.post_ready(now, (rank, at), senders, machine, window);
            }
            Due::Came(flow, mark) => {
                return self.hand_over(now, (flow, mark), senders, machine, window);
            }
            Due::Computed | Due::Launched(..) | Due::Reduced(_) | Due::Stop => {
                unreachable!("a program has no steps")
            }
        }
        self.run_program(now, rank, senders, machine, window);
    }

    /// The message of receive `at` has come.
    pub(super) fn on_program_message(
        &mut self,
        now: Time,
        (rank, at): (usize, u32),
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let (program, number) = program_of(self, rank, window.plan);
        let progress = &mut self.ranks[rank].progress;
        if progress.take(at) {
            progress.end(now, (program, number), at);
            self.run_program(now, rank, senders, machine, window);
        }
    }

    /// Packets of the connection in `slot` have been acknowledged, perhaps whole messages. True if its sender is forgotten.
    #[cold]
    pub(super) fn on_sends_acknowledged(
        &mut self,
        now: Time,
        slot: u32,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let flow = senders.flows[slot as usize].flow;
        let (_, posted) = senders.note_acknowledged(slot);
        let all = posted.acknowledged;
        if posted.reported == all {
            return false;
        }
        let reported = std::mem::replace(&mut posted.reported, all);
        let nothing_left = posted.messages.is_empty();
        let From {
            rank,
            connection,
            number: only,
            ..
        } = self.outgoing[&flow];
        if !self.runs_program(rank, window.plan) {
            if !nothing_left {
                return false;
            }
            self.end_wait(now, flow, senders, machine, window);
            return self.close_message(now, slot, senders, machine, window);
        }
        if window.plan.config.jobs[self.ranks[rank].job].records_messages {
            let at = now;
            let acks = (reported..all).map(|number| MessageAck { flow, number, at });
            window.log.message_acks.extend(acks);
        }
        let key = (connection.channel, connection.to);
        let all = match (only, self.ranks[rank].to.get_mut(&key)) {
            (Some(only), Some(outgoing)) => outgoing.acknowledge(only),
            _ => all,
        };
        let (program, number) = program_of(self, rank, window.plan);
        let place = program.connections().binary_search(&connection);
        let place = place.expect("it is one of them") as u32;
        let progress = &mut self.ranks[rank].progress;
        progress.acknowledge(now, program, (number, place), all);
        self.run_program(now, rank, senders, machine, window);
        self.close_message(now, slot, senders, machine, window)
    }

    /// A rank starts all that may start now.
    fn run_program(
        &mut self,
        now: Time,
        rank: usize,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let plan = window.plan;
        let (program, number) = program_of(self, rank, plan);
        loop {
            let of_rank = &mut self.ranks[rank];
            let Some(at) = of_rank.progress.todo.pop_front() else {
                of_rank.record_operations(plan, window.log);
                match of_rank.progress.over() {
                    Some(computed) if of_rank.end_iteration(now, computed, plan, window.log) => {
                        of_rank.progress.begin(program, number);
                        continue;
                    }
                    _ => return,
                }
            };
            let progress = &mut of_rank.progress;
            let operation = &program.of_rank(number)[at as usize];
            match operation.kind {
                Kind::Compute if operation.amount > 0 => {
                    progress.queue(program, number, at);
                    self.compute_next(now, (rank, operation.stream), plan);
                }
                Kind::Compute | Kind::Nothing => {
                    progress.start(now, (program, number), at);
                    progress.end(now, (program, number), at);
                }
                Kind::Receive => {
                    progress.start(now, (program, number), at);
                    if progress.receive(at) {
                        progress.end(now, (program, number), at);
                    }
                }
                Kind::Send => {
                    progress.start(now, (program, number), at);
                    let launch = plan.config.jobs[of_rank.job].launch;
                    if launch > Time::ZERO {
                        self.set(now + launch, rank, Due::Ready(at));
                    } else {
                        progress.ready(at);
                        self.post_ready(now, (rank, at), senders, machine, window);
                    }
                }
            }
        }
    }

    /// A stream that is idle computes its next operation.
    fn compute_next(&mut self, now: Time, (rank, stream): (usize, u8), plan: &Plan<'_>) {
        let (program, number) = program_of(self, rank, plan);
        let progress = &mut self.ranks[rank].progress;
        if let Some(at) = progress.take_next(now, stream) {
            progress.start(now, (program, number), at);
            let takes = Time::from_ps(program.of_rank(number)[at as usize].amount);
            self.set(now.saturating_add(takes), rank, Due::Ended(at));
        }
    }

    /// Posts the messages that may be posted over the connection of send `at`.
    fn post_ready(
        &mut self,
        now: Time,
        (rank, at): (usize, u32),
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let (program, number) = program_of(self, rank, window.plan);
        let operations = program.of_rank(number);
        let place = operations[at as usize].connection;
        let Connection { to, channel, .. } = program.connections()[place as usize];
        while let Some(send) = self.ranks[rank].progress.post_next(program, place) {
            let bytes = operations[send as usize].amount;
            self.post(now, (rank, channel), (to, bytes), senders, machine, window);
        }
    }
}
