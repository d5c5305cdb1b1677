//! A TCP connection at its receiver.

use unpause_protocols::loss_recovery::echo::{Echo, Mode};
use unpause_protocols::units::Time;

use super::number::unwrap;
use super::ranges::Ranges;
use crate::config::{Config, DelayedAck, TcpConfig};
use crate::engine::log::FlowEnd;
use crate::fabric::packet::{CE, CWR, Kind, Packet};
use crate::plan::Plan;
use crate::traffic::{Connections, ExtraDelay, FlowSpec};

/// The content of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The first byte that has not arrived.
    pub number: u64,
    /// There have been marks.
    pub ece: bool,
    /// When the first of the segments acknowledged was sent, in ps.
    pub stamp: u64,
}

/// A TCP connection at its receiver.
#[derive(Debug)]
pub struct Receiver {
    /// Flow.
    pub flow: u32,
    /// Its specification.
    pub spec: FlowSpec,
    /// Its slot at the sender, known from its first packet on.
    pub sender_slot: u32,
    /// The time of the timer that counts; other entries of the flow among the timers are out of date.
    pub timer_at: Time,
    /// The first byte that has not arrived.
    expected: u64,
    ahead: Ranges,
    echo: Echo,
    mode: Mode,
    /// Segments not acknowledged; of the first, when it was sent, and of the last, what to echo.
    pending: u32,
    stamp: u64,
    ece: bool,
    ack_at: Time,
    /// SYN-ACKs scheduled, and when to send the next.
    answers: u32,
    answer_at: Time,
}

impl Receiver {
    /// A flow before its first packet.
    pub fn new(flow: u32, spec: &FlowSpec, plan: &Plan<'_>) -> Self {
        let mode = Mode::of(plan.config.scheme.tcp_law(spec.group));
        Self {
            flow,
            spec: *spec,
            sender_slot: 0,
            timer_at: Time::NEVER,
            expected: 0,
            ahead: Ranges::default(),
            echo: Echo::new(mode),
            mode,
            pending: 0,
            stamp: 0,
            ece: false,
            ack_at: Time::NEVER,
            answers: 0,
            answer_at: Time::NEVER,
        }
    }

    /// A packet of the flow tells which connection of a pool it goes over.
    pub fn meet(&mut self, packet: &Packet, config: &Config) {
        let Connections::Pool(pool) = &mut self.spec.connections else {
            return;
        };
        self.spec.source_port = packet.source_port;
        if let Some(from) = pool.delays.take() {
            let (src, dst) = (u64::from(self.spec.src), u64::from(self.spec.dst));
            let connection = src << 40 ^ dst << 16 ^ u64::from(packet.source_port);
            let delays = &config.host.extra_delays[usize::from(from)];
            let delay = delays.draw(config.seed, self.spec.group, connection);
            self.spec.extra_delay = ExtraDelay::Fixed(delay);
        }
    }

    /// A SYN has come and is answered. Only of a flow without bytes is the answer repeated: else the
    /// sender has a timer, for its SYN or for its data.
    pub fn on_syn(&mut self, now: Time, packet: &Packet, config: &TcpConfig) {
        self.sender_slot = packet.aux;
        self.stamp = packet.stamp;
        if self.spec.size_bytes == Some(0) {
            self.schedule_answer(now, config);
        }
    }

    fn schedule_answer(&mut self, now: Time, config: &TcpConfig) {
        self.answer_at = Time::NEVER;
        if self.answers < config.syn_tries {
            let factor = 1_u64.checked_shl(self.answers).unwrap_or(u64::MAX);
            let wait = config.syn_timeout.as_ps().saturating_mul(factor);
            self.answer_at = now.saturating_add(Time::from_ps(wait));
            self.answers += 1;
        }
    }

    /// A segment of `bytes` has come. Answers an ACK of what came before it, if its mark differs and
    /// must not be mixed up with theirs, and an ACK that includes it, if it is not to wait.
    pub fn on_segment(
        &mut self,
        now: Time,
        packet: &Packet,
        plan: &Plan<'_>,
    ) -> (Option<Reply>, Option<Reply>) {
        let start = unwrap(packet.seq, self.expected);
        let end = start + u64::from(plan.tcp.segment_bytes(start, self.spec.size_bytes));
        let ece = self.echo.on_data(packet.is(CE), packet.is(CWR));
        let differs = self.mode == Mode::PerPacket && ece != self.ece;
        let before = (self.pending > 0 && differs).then(|| self.flush());
        let in_order = start == self.expected && self.ahead.is_empty();
        if start > self.expected {
            self.ahead.insert(start, end);
        } else if end > self.expected {
            self.expected = self.ahead.take_from(end);
        }
        if self.pending == 0 {
            self.stamp = packet.stamp;
        }
        self.pending += 1;
        self.ece = ece;
        match plan.config.host.tcp.delayed_ack {
            Some(DelayedAck { every, timeout })
                if in_order && !self.is_complete() && self.pending < every =>
            {
                self.ack_at = self.ack_at.min(now.saturating_add(timeout));
                (before, None)
            }
            _ => (before, Some(self.flush())),
        }
    }

    /// An ACK of all that is pending.
    fn flush(&mut self) -> Reply {
        self.pending = 0;
        self.ack_at = Time::NEVER;
        self.reply()
    }

    /// The content of an ACK sent now.
    pub fn reply(&self) -> Reply {
        Reply {
            number: self.expected,
            ece: self.ece,
            stamp: self.stamp,
        }
    }

    /// When [`Self::on_timer`] is due.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.ack_at.min(self.answer_at)
    }

    /// Handles what is due, and answers what to send.
    pub fn on_timer(&mut self, now: Time, config: &TcpConfig) -> (Kind, Reply) {
        if self.ack_at <= now {
            return (Kind::TcpAck, self.flush());
        }
        self.schedule_answer(now, config);
        (Kind::SynAck, self.reply())
    }

    /// True when all bytes have arrived.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.spec.size_bytes == Some(self.expected)
    }

    /// True if all bytes may have arrived when this many more have.
    pub fn may_complete(&self, bytes: u64) -> bool {
        let left = self.spec.size_bytes.map(|size| size - self.expected);
        !self.ahead.is_empty() || left.is_some_and(|left| left <= bytes)
    }

    /// Bytes that have arrived in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.expected
    }

    /// Its record at the end.
    pub fn end(&self, completed: Option<Time>) -> FlowEnd {
        FlowEnd {
            id: self.flow,
            group: self.spec.group,
            src: self.spec.src,
            dst: self.spec.dst,
            source_port: self.spec.source_port,
            destination_port: self.spec.destination_port,
            priority: self.spec.priority,
            size_bytes: self.spec.size_bytes,
            start: self.spec.start,
            fct: completed.map(|now| now - self.spec.start),
            delivered_bytes: self.expected,
            transport: self.spec.transport,
            extra_delay: self.spec.extra_delay.time(),
            opened: !self.spec.is_pooled(),
        }
    }
}
