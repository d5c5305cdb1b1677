//! A flow at its sender: what is to be sent, and when the next packet may go.

use rand_core::Rng;
use unpause_protocols::notification::Notification;
use unpause_protocols::reaction_point::ReactionPoint;
use unpause_protocols::units::{Rate, Time};

use crate::fabric::NodeId;
use crate::ideal::Frames;
use crate::log::SenderEnd;
use crate::packet::{ACK_REQUEST, ECT, Kind, MEASURE, Packet};
use crate::plan::Plan;
use crate::traffic::FlowSpec;

/// Where a flow is between two packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Nothing to send.
    Idle,
    /// In the round-robin of its class.
    Ready,
    /// Waits for its rate limiter; of its entries in the heap, the one due then counts.
    Until(Time),
}

/// A flow at its sender.
#[derive(Debug)]
pub struct Sender {
    /// Flow.
    pub flow: u32,
    /// Class of its data packets.
    pub class: u8,
    /// Sampled into the flow series.
    pub recorded: bool,
    /// Where it is.
    pub pace: Pace,
    /// The rate limiter allows the next packet then.
    pub next_start: Time,
    /// Of its entries among the timers, the one due then counts.
    pub timer_at: Time,
    /// Packets sent again.
    pub retransmitted: u64,
    /// Times that the retransmission timer ran out.
    pub timeouts: u64,
    /// CNPs and CNMs received.
    pub notifications: u64,
    /// Bytes put on the wire.
    pub sent_bytes: u64,
    dst: NodeId,
    receiver_slot: u32,
    priority: u8,
    source_port: u16,
    full_bytes: u16,
    last_bytes: u16,
    /// Packets of the whole flow; cut short when it is stopped.
    packets: u32,
    next: u32,
    /// One more than the highest packet number ever sent.
    highest: u32,
    unacknowledged: u32,
    stop: Time,
    limit: Rate,
    offered: Option<Rate>,
    /// When the source has the next packet.
    available: Time,
    ps_per_byte: u64,
    reaction_point: ReactionPoint,
    /// What the rate limiter releases at once: a packet, or a segment.
    burst_start: Time,
    burst_bytes: u64,
    burst_over: bool,
    retransmit_at: Time,
}

impl Sender {
    /// A flow that starts at `now` on a link where a byte lasts `ps_per_byte`.
    pub fn new(
        flow: u32,
        spec: &FlowSpec,
        receiver_slot: u32,
        ps_per_byte: u64,
        plan: &Plan<'_>,
        now: Time,
    ) -> Self {
        let line_rate = Rate::from_bps(8_000_000_000_000 / ps_per_byte);
        let layout = Layout::of(spec.size_bytes, plan);
        let uncontrolled = Default::default();
        let reaction = if spec.controlled {
            &plan.config.scheme.reaction_point
        } else {
            &uncontrolled
        };
        Self {
            flow,
            class: plan.classes.of(spec.priority),
            recorded: spec.recorded,
            pace: Pace::Idle,
            next_start: now,
            timer_at: Time::NEVER,
            retransmitted: 0,
            timeouts: 0,
            notifications: 0,
            sent_bytes: 0,
            dst: spec.dst,
            receiver_slot,
            priority: spec.priority,
            source_port: spec.source_port,
            full_bytes: layout.full_bytes as u16,
            last_bytes: layout.last_bytes as u16,
            packets: layout.packets,
            next: 0,
            highest: 0,
            unacknowledged: 0,
            stop: spec.stop,
            limit: spec
                .rate_limit
                .map_or(line_rate, |limit| limit.min(line_rate)),
            offered: spec.offered,
            available: now,
            ps_per_byte,
            reaction_point: ReactionPoint::new(reaction, line_rate, now),
            burst_start: now,
            burst_bytes: 0,
            burst_over: true,
            retransmit_at: Time::NEVER,
        }
    }

    /// The rate it may send at.
    #[inline]
    pub fn rate(&self) -> Rate {
        self.reaction_point.rate().min(self.limit)
    }

    /// True if there is a packet to send; a flow past its stop time has no new one.
    #[inline]
    pub fn has_packet(&mut self, now: Time) -> bool {
        if now >= self.stop {
            self.packets = self.packets.min(self.highest);
        }
        self.next < self.packets
    }

    /// True when all that it will ever send has been acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.unacknowledged >= self.packets
    }

    /// The next packet, sent at `now`; `slot` is this flow's place in the table of `src`.
    pub fn send<R: Rng>(
        &mut self,
        now: Time,
        src: NodeId,
        slot: u32,
        plan: &Plan<'_>,
        rng: &mut R,
    ) -> Packet {
        let seq = self.next;
        let is_last = seq + 1 == self.packets;
        let bytes = if is_last {
            self.last_bytes
        } else {
            self.full_bytes
        };
        let wire_bytes = u64::from(bytes) + plan.ports.framing_bytes;
        self.next += 1;
        self.retransmitted += u64::from(seq < self.highest);
        self.highest = self.highest.max(self.next);
        self.sent_bytes += wire_bytes;
        if self.burst_over {
            self.burst_start = now;
            self.burst_bytes = 0;
        }
        // A segment is measured as if its last packet ended an unbroken burst.
        let stamp = self.burst_start.as_ps() + self.burst_bytes * self.ps_per_byte;
        self.burst_bytes += wire_bytes;
        let segment = self.reaction_point.segment_bytes();
        self.burst_over =
            is_last || segment.is_none_or(|limit| self.burst_bytes >= u64::from(limit));

        let every = plan.config.host.ack_every;
        // Of a flow that will be stopped, any packet may turn out to be the last.
        let on_the_count = every == 1 || !self.stop.is_never() || (seq + 1).is_multiple_of(every);
        let measured = self.burst_over && (segment.is_some() || on_the_count || is_last);
        let mut flags = ECT;
        if measured {
            flags |= MEASURE;
        }
        if measured || on_the_count {
            flags |= ACK_REQUEST;
        }

        self.reaction_point
            .on_sent(now, wire_bytes as u32, !is_last, rng);
        if self.retransmit_at.is_never() {
            self.retransmit_at = now + plan.config.host.retransmit_timeout;
        }
        if let Some(rate) = self.offered {
            self.take_offered(now, rate.time_for(wire_bytes));
        }
        self.repace(now);
        Packet {
            stamp,
            flow: self.flow,
            seq,
            src,
            dst: self.dst,
            slot: self.receiver_slot,
            aux: slot,
            source_port: self.source_port,
            ..Packet::new(Kind::Data, self.priority, flags, bytes)
        }
    }

    /// A packet goes of those that the source makes at `interval`. What it could not send meanwhile is lost
    /// to the source, but for one packet.
    #[cold]
    fn take_offered(&mut self, now: Time, interval: Time) {
        self.available = self.available.max(now.saturating_sub(interval)) + interval;
    }

    /// Computes anew when the rate limiter allows the next packet: the last burst's bytes at the
    /// present rate after the last burst's start, but not before `now`.
    #[inline]
    pub fn repace(&mut self, now: Time) {
        if !self.burst_over || self.burst_bytes == 0 {
            self.next_start = self.available.max(now);
            return;
        }
        let at_line_rate = Time::from_ps(self.burst_bytes * self.ps_per_byte);
        let rate = self.rate();
        let span = if rate.as_bps() * self.ps_per_byte >= 8_000_000_000_000 {
            at_line_rate
        } else {
            rate.time_for(self.burst_bytes)
        };
        let allowed = self.burst_start.saturating_add(span);
        self.next_start = allowed.max(self.available).max(now);
    }

    /// Packets before `seq` have arrived; `rtt` if this acknowledgement measures one.
    pub fn on_ack(&mut self, now: Time, seq: u32, rtt: Option<Time>, timeout: Time) {
        if seq > self.unacknowledged {
            self.unacknowledged = seq;
            self.next = self.next.max(seq);
            let outstanding = self.unacknowledged < self.highest;
            self.retransmit_at = if outstanding {
                now + timeout
            } else {
                Time::NEVER
            };
        }
        if let Some(rtt) = rtt {
            self.reaction_point.on_ack(now, rtt);
        }
    }

    /// The receiver misses `seq`: go back to it.
    pub fn on_nak(&mut self, now: Time, seq: u32, timeout: Time) {
        if seq >= self.unacknowledged && seq < self.highest {
            self.unacknowledged = seq;
            self.go_back(now, timeout);
        }
    }

    fn go_back(&mut self, now: Time, timeout: Time) {
        self.next = self.unacknowledged;
        self.burst_over = true;
        self.retransmit_at = now + timeout;
    }

    /// What is to be said of it at the end, if anything.
    pub fn end(&self) -> Option<SenderEnd> {
        (self.retransmitted + self.timeouts + self.notifications > 0).then_some(SenderEnd {
            flow: self.flow,
            retransmitted: self.retransmitted,
            timeouts: self.timeouts,
            gave_up: false,
            notifications: self.notifications,
        })
    }

    /// A congestion notification has arrived.
    pub fn on_notification<R: Rng>(&mut self, now: Time, notification: &Notification, rng: &mut R) {
        self.notifications += 1;
        self.reaction_point.on_notification(now, notification, rng);
    }

    /// When [`Sender::on_timer`] is due.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.reaction_point.next_timer().min(self.retransmit_at)
    }

    /// Runs what is due.
    pub fn on_timer<R: Rng>(&mut self, now: Time, timeout: Time, rng: &mut R) {
        if self.reaction_point.next_timer() <= now {
            self.reaction_point.on_timer(now, rng);
        }
        if self.retransmit_at <= now {
            self.timeouts += 1;
            self.go_back(now, timeout);
        }
    }
}

impl Layout {
    /// What is on a wire, with `framing` bytes for each frame.
    pub fn frames(&self, framing: u64) -> Frames {
        Frames {
            full: u64::from(self.packets) - 1,
            full_bytes: u64::from(self.full_bytes) + framing,
            last_bytes: u64::from(self.last_bytes) + framing,
        }
    }
}

/// How a flow is cut into frames.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Packets; `u32::MAX` for a flow without end.
    pub packets: u32,
    /// Bytes of every frame but the last.
    pub full_bytes: u32,
    /// Bytes of the last frame.
    pub last_bytes: u32,
}

impl Layout {
    /// The frames of a flow of so many payload bytes.
    pub fn of(size_bytes: Option<u64>, plan: &Plan<'_>) -> Self {
        let payload = u64::from(plan.config.host.payload_bytes);
        let full_bytes = plan.frame_bytes(payload as u32);
        match size_bytes {
            None => Self {
                packets: u32::MAX,
                full_bytes,
                last_bytes: full_bytes,
            },
            Some(size) => {
                let packets = size.div_ceil(payload).max(1);
                let last = size - (packets - 1) * payload;
                Self {
                    packets: packets as u32,
                    full_bytes,
                    last_bytes: plan.frame_bytes(last as u32),
                }
            }
        }
    }
}
