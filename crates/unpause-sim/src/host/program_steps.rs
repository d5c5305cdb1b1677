//! Ranks that run programs, at a host: moved on by timers, messages and acknowledgements, as ranks with phases are
//! ([`super::job_steps`]).

use unpause_protocols::units::Time;

use super::ranks::{Due, From, Ranks};
use super::state::Host;
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

impl Host {
    /// Something is due for a rank that runs a program.
    pub(super) fn on_program_timer(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        (rank, due): (usize, Due),
        window: &mut Window<'_, '_>,
    ) {
        let (program, number) = program_of(ranks, rank, window.plan);
        let progress = &mut ranks.ranks[rank].progress;
        match due {
            Due::Start => progress.begin(program, number),
            Due::Ended(at) => {
                let stream = program.of_rank(number)[at as usize].stream;
                progress.computed(now, stream);
                progress.end(now, (program, number), at);
                self.compute_next(now, ranks, (rank, stream), window);
            }
            Due::Ready(at) => {
                progress.ready(at);
                self.post_ready(now, ranks, (rank, at), window);
            }
            Due::Came(flow, mark) => return self.hand_over(now, ranks, (flow, mark), window),
            Due::Computed | Due::Launched(..) | Due::Reduced(_) => {
                unreachable!("a program has no steps")
            }
        }
        self.run_program(now, ranks, rank, window);
    }

    /// The message of receive `at` has come.
    pub(super) fn on_program_message(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        (rank, at): (usize, u32),
        window: &mut Window<'_, '_>,
    ) {
        let (program, number) = program_of(ranks, rank, window.plan);
        let progress = &mut ranks.ranks[rank].progress;
        if progress.take(at) {
            progress.end(now, (program, number), at);
            self.run_program(now, ranks, rank, window);
        }
    }

    /// Packets of the connection in `slot` have been acknowledged: perhaps whole messages. True if it is over and forgotten.
    #[cold]
    pub(super) fn on_sends_acknowledged(
        &mut self,
        now: Time,
        slot: u32,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let (sender, posted, recovery) = self.connection(slot);
        let flow = sender.flow;
        sender.note_acknowledged(posted, recovery);
        let all = posted.acknowledged;
        if posted.told == all {
            return false;
        }
        let told = std::mem::replace(&mut posted.told, all);
        let nothing_left = posted.messages.is_empty();
        let Some(mut ranks) = self.ranks.take() else {
            return false;
        };
        let From {
            rank,
            connection,
            number: only,
            ..
        } = ranks.outgoing[&flow];
        if !ranks.runs_program(rank, window.plan) {
            self.ranks = Some(ranks);
            if !nothing_left {
                return false;
            }
            self.end_wait(now, flow, window);
            return self.close_message(now, slot, window);
        }
        if window.plan.config.jobs[ranks.ranks[rank].job].records_messages {
            let at = now;
            let acks = (told..all).map(|number| MessageAck { flow, number, at });
            window.log.message_acks.extend(acks);
        }
        let key = (connection.channel, connection.to);
        let all = match (only, ranks.ranks[rank].to.get_mut(&key)) {
            (Some(only), Some(outgoing)) => outgoing.acknowledge(only),
            _ => all,
        };
        let (program, number) = program_of(&ranks, rank, window.plan);
        let place = program.connections().binary_search(&connection);
        let place = place.expect("it is one of them") as u32;
        let progress = &mut ranks.ranks[rank].progress;
        progress.acknowledge(now, program, (number, place), all);
        let nic = self.number;
        self.run_program(now, &mut ranks, rank, window);
        self.turn_to(nic);
        self.keep(ranks);
        self.close_message(now, slot, window)
    }

    /// A rank starts all that may start now.
    fn run_program(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        rank: usize,
        window: &mut Window<'_, '_>,
    ) {
        let plan = window.plan;
        let (program, number) = program_of(ranks, rank, plan);
        loop {
            let of_rank = &mut ranks.ranks[rank];
            let Some(at) = of_rank.progress.todo.pop_front() else {
                of_rank.tell_of_operations(plan, window.log);
                match of_rank.progress.over() {
                    Some(computed) if of_rank.end_iteration(now, computed, plan, window.log) => {
                        of_rank.progress.begin(program, number);
                        continue;
                    }
                    _ => return,
                }
            };
            let progress = &mut of_rank.progress;
            let it = &program.of_rank(number)[at as usize];
            match it.kind {
                Kind::Compute if it.amount > 0 => {
                    progress.queue(program, number, at);
                    self.compute_next(now, ranks, (rank, it.stream), window);
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
                        ranks.set(now + launch, rank, Due::Ready(at));
                    } else {
                        progress.ready(at);
                        self.post_ready(now, ranks, (rank, at), window);
                    }
                }
            }
        }
    }

    /// A stream computes what is next, if it is idle.
    fn compute_next(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        (rank, stream): (usize, u8),
        window: &mut Window<'_, '_>,
    ) {
        let (program, number) = program_of(ranks, rank, window.plan);
        let progress = &mut ranks.ranks[rank].progress;
        if let Some(at) = progress.take_next(now, stream) {
            progress.start(now, (program, number), at);
            let takes = Time::from_ps(program.of_rank(number)[at as usize].amount);
            ranks.set(now.saturating_add(takes), rank, Due::Ended(at));
        }
    }

    /// Posts what may be posted over the connection of send `at`.
    fn post_ready(
        &mut self,
        now: Time,
        ranks: &mut Ranks,
        (rank, at): (usize, u32),
        window: &mut Window<'_, '_>,
    ) {
        let (program, number) = program_of(ranks, rank, window.plan);
        let operations = program.of_rank(number);
        let place = operations[at as usize].connection;
        let Connection { to, channel, .. } = program.connections()[place as usize];
        while let Some(send) = ranks.ranks[rank].progress.post_next(program, place) {
            let bytes = operations[send as usize].amount;
            self.post(now, ranks, (rank, channel), (to, bytes), window);
        }
    }
}
