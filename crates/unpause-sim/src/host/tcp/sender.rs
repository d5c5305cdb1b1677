//! A TCP connection at its sender.
//!
//! `unpause-protocols` says what to send and when; here are the handshake, the rate limiter and the
//! numbers on the wire. The first byte of the flow has number 0, SYN takes none, and there is no FIN:
//! a connection is over when all of its bytes are acknowledged.

use rand_core::Rng;
use unpause_protocols::congestion_control::{CongestionControl, Mechanism as _};
use unpause_protocols::loss_recovery::newreno::{self, Ack};
use unpause_protocols::units::{LinkSpeed, Rate, Time};

use super::number::unwrap;
use super::pool::{Idle, Taken};
use crate::config::TcpConfig;
use crate::engine::batch::FlowStart;
use crate::engine::log::SenderEnd;
use crate::fabric::packet::{ALL, CWR, ECE, ECT, Kind, Packet};
use crate::outcome::results::{Awaits, Stuck};
use crate::plan::{Plan, TcpPlan};
use crate::traffic::{Connections, FlowSpec};

#[derive(Clone, Copy, Debug)]
enum State {
    /// Waits for the answer to its SYN, which it sends again at `due`.
    Connecting {
        tries: u32,
        due: Time,
    },
    Open,
    /// Nobody has answered.
    Failed,
}

/// A TCP connection at its sender.
#[derive(Debug)]
pub struct Sender {
    /// Flow.
    pub flow: u32,
    /// Its specification.
    pub spec: FlowSpec,
    /// It has an entry in the round-robin or behind its rate limiter.
    pub queued: bool,
    /// In the round-robin of this class.
    pub class: u8,
    /// The rate limiter allows the next segment then.
    pub next_start: Time,
    /// The time of the timer that counts; other entries of the flow among the timers are out of date.
    pub timer_at: Time,
    /// Bytes put on the wire.
    pub sent_bytes: u64,
    /// Its connection's number in the pool, if it has not opened one.
    pub pooled: Option<u32>,
    receiver_slot: u32,
    state: State,
    recovery: newreno::Sender<CongestionControl>,
    /// Bytes that had gone over the connection before.
    base: u64,
    /// Bytes of the flow; cut short when it is stopped.
    size: u64,
    /// The first byte never sent.
    sent: u64,
    retransmitted: u64,
    timeouts: u64,
    limit: Option<Rate>,
    line_rate: Rate,
}

impl Sender {
    /// A flow that starts at `now`, and its SYN.
    pub fn new(start: &FlowStart, speed: LinkSpeed, plan: &Plan<'_>, now: Time) -> Self {
        let spec = &start.spec;
        let line_rate = speed.rate();
        let recovery = &plan.config.host.tcp.recovery;
        let law = plan.config.scheme.tcp_law(spec.group);
        let law = CongestionControl::new(law, &recovery.path(line_rate));
        Self {
            flow: start.id,
            spec: *spec,
            queued: false,
            class: 0,
            next_start: now,
            timer_at: Time::NEVER,
            sent_bytes: 0,
            pooled: None,
            receiver_slot: start.receiver_slot,
            state: State::Connecting {
                tries: 1,
                due: now.saturating_add(plan.config.host.tcp.syn_timeout),
            },
            recovery: newreno::Sender::new(recovery, law),
            base: 0,
            size: spec.size_bytes.unwrap_or(u64::MAX),
            sent: 0,
            retransmitted: 0,
            timeouts: 0,
            limit: spec.rate_limit.filter(|limit| *limit < line_rate),
            line_rate,
        }
    }

    /// The same over a connection of a pool, which is open.
    pub fn over(mut self, taken: Taken, plan: &Plan<'_>, now: Time) -> Self {
        self.state = State::Open;
        self.spec.source_port = taken.source_port;
        self.pooled = Some(taken.number);
        let Some(idle) = taken.idle else {
            return self;
        };
        self.recovery = idle.recovery;
        self.base = self.recovery.acknowledged();
        self.recovery.on_write();
        let restarts =
            matches!(self.spec.connections, Connections::Pool(it) if it.slow_start_after_idle);
        if restarts && now.saturating_sub(idle.since) > self.recovery.rto() {
            let path = plan.config.host.tcp.recovery.path(self.line_rate);
            self.recovery.law_mut().on_recovered(path.initial_window);
        }
        self
    }

    /// Its connection, for a pool, when the flow is over; `None` if nobody has answered.
    pub fn idle(self, now: Time) -> Option<Idle> {
        (!self.has_given_up()).then_some(Idle {
            recovery: self.recovery,
            since: now,
        })
    }

    /// Bytes of the flow that are acknowledged.
    #[inline]
    fn acknowledged(&self) -> u64 {
        self.recovery.acknowledged() - self.base
    }

    /// Segments sent again.
    pub fn repeated(&self) -> u64 {
        self.retransmitted
    }

    /// Times that it has timed out.
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// True if there are bytes that it has never sent.
    pub fn has_unsent(&self) -> bool {
        self.sent < self.size
    }

    /// True if an acknowledgement with this number on the wire acknowledges the whole flow.
    pub fn ends_at(&self, seq: u32) -> bool {
        unwrap(seq, self.acknowledged()) >= self.size
    }

    /// Its SYN; `slot` is this flow's place in the tables here.
    pub fn syn(&self, now: Time, slot: u32, plan: &Plan<'_>) -> Packet {
        let bytes = plan.tcp.control_bytes;
        self.address(
            now,
            slot,
            Packet::new(Kind::Syn, self.spec.priority, 0, bytes),
        )
    }

    fn address(&self, now: Time, slot: u32, packet: Packet) -> Packet {
        Packet {
            stamp: now.as_ps(),
            flow: self.flow,
            src: self.spec.src,
            dst: self.spec.dst,
            slot: self.receiver_slot,
            aux: slot,
            source_port: self.spec.source_port,
            ..packet
        }
    }

    /// The answer to its SYN has come; true the first time.
    pub fn on_syn_ack(&mut self, rtt: Time) -> bool {
        if !matches!(self.state, State::Connecting { .. }) {
            return false;
        }
        self.state = State::Open;
        self.recovery.on_rtt(rtt);
        true
    }

    /// Bytes that the application has written and the buffers have room for. What is past the stop
    /// time is never written.
    fn written(&mut self, now: Time, plan: &TcpPlan) -> u64 {
        if now >= self.spec.stop {
            self.size = self.size.min(self.sent);
        }
        let room = self.acknowledged().saturating_add(plan.buffer_bytes);
        self.size.min(room)
    }

    /// Priority of the segment that may be sent now, if one may.
    #[inline]
    pub fn next_priority(&mut self, now: Time, plan: &TcpPlan) -> Option<u8> {
        if !matches!(self.state, State::Open) {
            return None;
        }
        let written = self.base.saturating_add(self.written(now, plan));
        let start = self.recovery.next_start(written)? - self.base;
        let bytes = plan.segment_bytes(start, self.spec.size_bytes);
        Some(plan.priority(self.spec.priority, start, bytes))
    }

    /// Bytes on the wire that it has yet to send, or to send again.
    pub fn left(&self, plan: &Plan<'_>) -> u64 {
        let end = self.base.saturating_add(self.size);
        let next = self.recovery.next_start(end);
        match next.map_or(0, |start| self.size.saturating_sub(start - self.base)) {
            0 => 0,
            payload => plan.tcp.frames(payload, plan.ports.framing_bytes).bytes(),
        }
    }

    /// The next segment, sent at `now`.
    pub fn send<R: Rng>(
        &mut self,
        now: Time,
        slot: u32,
        plan: &Plan<'_>,
        rng: &mut R,
    ) -> Option<Packet> {
        let tcp = &plan.tcp;
        let written = self.written(now, tcp);
        let base = self.base;
        let mut segment = self
            .recovery
            .next_segment(now, base.saturating_add(written))?;
        segment.start -= base;
        debug_assert_eq!(
            segment.bytes,
            tcp.segment_bytes(segment.start, self.spec.size_bytes),
            "the receiver can tell a segment's length from its number"
        );
        self.sent = self.sent.max(segment.end());
        self.retransmitted += u64::from(segment.retransmission);
        let mut flags = 0;
        if segment.ect {
            flags |= ECT;
        }
        if segment.cwr {
            flags |= CWR;
        }
        let bytes = tcp.frame_bytes(segment.bytes) as u16;
        let wire_bytes = u64::from(bytes) + plan.ports.framing_bytes;
        self.sent_bytes += wire_bytes;
        if let Some(limit) = self.limit {
            self.next_start = now.saturating_add(limit.time_for(wire_bytes));
        }
        let law = self.recovery.law_mut();
        law.on_sent(now, segment.bytes, segment.end() < written, rng);
        let rate = law.rate();
        if rate < self.line_rate {
            let allowed = now.saturating_add(rate.time_for(u64::from(segment.bytes)));
            self.next_start = self.next_start.max(allowed);
        }
        let priority = tcp.priority(self.spec.priority, segment.start, segment.bytes);
        let packet = Packet::new(Kind::Segment, priority, flags, bytes);
        Some(Packet {
            seq: segment.start as u32,
            ..self.address(now, slot, packet)
        })
    }

    /// An ACK has come.
    pub fn on_ack(&mut self, now: Time, packet: &Packet) {
        if !matches!(self.state, State::Open) {
            return;
        }
        let number = if packet.is(ALL) {
            self.sent
        } else {
            unwrap(packet.seq, self.acknowledged())
        };
        let ack = Ack {
            number: self.base.saturating_add(number),
            ece: packet.is(ECE),
            rtt: Some(now.saturating_sub(Time::from_ps(packet.stamp))),
        };
        self.recovery.on_ack(now, &ack);
    }

    /// When [`Self::on_timer`] is due.
    #[inline]
    pub fn next_timer(&self) -> Time {
        match self.state {
            State::Connecting { due, .. } => due,
            State::Open => self
                .recovery
                .next_timer()
                .min(self.recovery.law().next_timer()),
            State::Failed => Time::NEVER,
        }
    }

    /// Handles a timeout that is due; true if the SYN is to be sent again.
    pub fn on_timer<R: Rng>(&mut self, now: Time, config: &TcpConfig, rng: &mut R) -> bool {
        if matches!(self.state, State::Open) {
            self.recovery.law_mut().on_timer(now, rng);
            if self.recovery.next_timer() > now {
                return false;
            }
        }
        self.timeouts += 1;
        match &mut self.state {
            State::Connecting { tries, due } if *tries < config.syn_tries => {
                let factor = 1_u64.checked_shl(*tries).unwrap_or(u64::MAX);
                let wait = config.syn_timeout.as_ps().saturating_mul(factor);
                *due = now.saturating_add(Time::from_ps(wait));
                *tries += 1;
                true
            }
            State::Connecting { .. } => {
                self.state = State::Failed;
                false
            }
            _ => {
                self.recovery.on_timer(now);
                false
            }
        }
    }

    /// True when it ends because nobody answers.
    pub fn has_given_up(&self) -> bool {
        matches!(self.state, State::Failed) || self.recovery.has_given_up()
    }

    /// True when it will never send or expect anything any more.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.has_given_up() || matches!(self.state, State::Open) && self.acknowledged() >= self.size
    }

    /// Its next segments leave with the last one.
    #[inline]
    pub fn is_in_burst(&self) -> bool {
        self.recovery.is_in_burst()
    }

    /// The congestion window.
    pub fn cwnd(&self) -> u64 {
        self.recovery.cwnd()
    }

    /// True if its limit holds it rather than its law.
    pub fn is_limited(&self) -> bool {
        let rate = self.recovery.law().rate();
        self.limit.is_some_and(|limit| limit <= rate)
    }

    /// True if its connection is open.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Its wait, if it can send nothing before an ACK or its retransmission timer.
    pub fn wait(&self) -> Option<Stuck> {
        let due = match self.state {
            State::Open if !self.is_done() && self.recovery.next_start(self.size).is_none() => {
                self.recovery.next_timer()
            }
            _ => return None,
        };
        let since = due.saturating_sub(self.recovery.rto());
        let awaits = Awaits::Timer { due };
        (!due.is_never()).then_some(Stuck { since, awaits })
    }

    /// Its losses, its failure if it has failed, and its wait at the end of the run.
    pub fn end(&self, stuck: Option<Stuck>) -> Option<SenderEnd> {
        let gave_up = self.has_given_up();
        let happened = self.retransmitted > 0 || self.timeouts > 0 || gave_up;
        (happened || stuck.is_some()).then_some(SenderEnd {
            acknowledged: None,
            stuck,
            flow: self.flow,
            retransmitted: self.retransmitted,
            timeouts: self.timeouts,
            gave_up,
            gave_up_at: None,
            notifications: 0,
        })
    }
}
