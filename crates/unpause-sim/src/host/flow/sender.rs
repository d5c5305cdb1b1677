//! A flow at its sender: what is to be sent, and when the next packet may go.

use rand_core::Rng;
use unpause_protocols::congestion_control::{CongestionControl, Mechanism, Settings as _};
use unpause_protocols::loss_recovery::{Repair as _, numbers};
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::{Fraction, LinkSpeed, Rate, Time};

use super::layout::Layout;
use super::selective::Recovery;
use super::window::{HostWindow, path_of};
use crate::config::{NicModel, RateChange};
use crate::engine::batch::FlowStart;
use crate::fabric::NodeId;
use crate::fabric::packet::{ACK_REQUEST, ECT, INT, Kind, MEASURE, Packet};
use crate::fabric::telemetry::Telemetry;
use crate::plan::Plan;
use crate::traffic::Transport;

/// Where a flow is between two packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Show)]
pub enum Pace {
    /// Nothing to send.
    Idle,
    /// In the round-robin of its class.
    Ready,
    /// Waits for its rate limiter until then; other entries of the flow in the heap are out of date.
    Until(#[show(time)] Time),
}

/// The content that a sender carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// A flow, whose losses are repaired.
    Flow,
    /// The messages of a connection of a job.
    Messages,
    /// UDP.
    Datagrams,
}

/// A flow at its sender.
#[derive(Debug, Show)]
#[repr(C, align(64))]
#[show(pub fn show(ack_every: u32))]
pub struct Sender {
    /// Flow.
    #[show(same)]
    pub flow: u32,
    /// Class of its data packets.
    #[show(skip)]
    pub class: u8,
    /// Sampled into the flow series.
    #[show(skip)]
    pub recorded: bool,
    #[show(skip)]
    pub priority: u8,
    /// [`INT`] if its law reads what switches write.
    #[show(refuse_if = *telemetry != 0)]
    pub telemetry: u8,
    /// Where it is.
    #[show(nested)]
    pub pace: Pace,
    /// The rate limiter allows the next packet then.
    #[show(time)]
    pub next_start: Time,
    /// The time of the timer that counts; other entries of the flow among the timers are out of date.
    #[show(time)]
    pub timer_at: Time,
    // Which packets are to be acknowledged.
    #[show(same = recovery.next() % ack_every)]
    #[show(by = recovery.show(*flow, visitor))]
    pub recovery: numbers::Sender,
    /// Its law sets a window, or its host.
    #[show(skip)]
    pub windowed: bool,
    /// An ACK may change its rate or its window.
    #[show(skip)]
    pub hears_acks: bool,
    /// A packet that it sends may change its rate, its window or the state of its law.
    #[show(refuse_if = *hears_sent)]
    pub hears_sent: bool,
    #[show(skip = "shown with `silent_since`")]
    pub burst_over: bool,
    /// The content that it carries.
    #[show(refuse_if = *carries == Carries::Datagrams)]
    pub carries: Carries,
    /// Each acknowledgement of a message is reported to its rank.
    #[show(skip)]
    pub tells: bool,
    #[show(skip)]
    pub rate_change: RateChange,
    #[show(skip)]
    pub source_port: u16,
    #[show(skip)]
    pub full_bytes: u16,
    #[show(skip = "shown with `silent_since`")]
    pub last_bytes: u16,
    /// Of a full packet on the wire, as the law counts.
    #[show(skip)]
    pub packet_bytes: u32,
    #[show(skip)]
    pub dst: NodeId,
    #[show(skip)]
    pub receiver_slot: u32,
    /// Bytes put on the wire.
    #[show(total)]
    pub sent_bytes: u64,
    /// The unit that the rate limiter releases at once: a packet, or a burst.
    #[show(time)]
    pub burst_start: Time,
    #[show(same)]
    pub burst_bytes: u64,
    /// How much that is, if a burst.
    #[show(skip)]
    pub burst_limit: Option<u32>,
    #[show(skip = "shown with `law_timer`")]
    pub stop: Time,
    /// When the source has the next packet.
    #[show(time)]
    pub available: Time,
    #[show(skip)]
    pub offered: Option<Rate>,
    /// When the timer of its law is due.
    #[show(deadline = (*law_timer).min(*stop))]
    pub law_timer: Time,
    /// How long this many bytes last at `rate`; of no bytes if nobody has asked since that changed.
    #[show(same)]
    pub spaced_bytes: u64,
    #[show(same)]
    pub spacing: Time,
    // Fields that the next change touches.
    /// That of its law, or the flow's limit if that is less.
    #[show(same)]
    pub rate: Rate,
    #[show(skip)]
    pub limit: Rate,
    #[show(skip)]
    pub speed: LinkSpeed,
    // A law that hears of packets and acknowledgements cannot be extrapolated. Another law is unchanged if there was no loss, no
    // notification and no timer of its own.
    #[show(refuse_if = law.hears_acks())]
    pub law: CongestionControl,
    // Fields that few packets touch.
    /// Packets sent again.
    #[show(same = *retransmitted + *timeouts + *notifications)]
    pub retransmitted: u64,
    /// Times that the retransmission timer ran out.
    #[show(skip = "shown with `retransmitted`")]
    pub timeouts: u64,
    /// CNPs and CNMs received.
    #[show(skip = "shown with `retransmitted`")]
    pub notifications: u64,
    /// That of its host.
    #[show(skip)]
    pub window: Option<HostWindow>,
    /// Payload that packets in flight lack of full ones, if it sends messages and a window limits it.
    #[show(skip = "follows from messages that are posted, and from packets in flight")]
    pub short_bytes: u32,
    /// When all was acknowledged; kept if that is to be recorded, [`Time::NEVER`] if not or not yet.
    #[show(time)]
    pub acknowledged_at: Time,
    /// Of packets acknowledged when it last timed out, one more; 0 if it never has.
    #[show(same = u64::from(*silent_since) << 32 | u64::from(*last_bytes) << 1 | u64::from(*burst_over))]
    pub silent_since: u32,
}

impl Sender {
    /// A flow that starts at `now` on a link of this speed.
    pub fn new(start: &FlowStart, speed: LinkSpeed, plan: &Plan<'_>, now: Time) -> Self {
        let spec = &start.spec;
        let line_rate = speed.rate();
        let layout = Layout::of(spec.size_bytes, plan);
        let uncontrolled = Default::default();
        let law = if spec.obeys_roce() {
            &plan.config.scheme.roce
        } else {
            &uncontrolled
        };
        let framing = plan.ports.framing_bytes as u32;
        let telemetry = if law.reads_telemetry() { INT } else { 0 };
        let path = path_of(law, spec, line_rate, layout.full_bytes + framing, plan);
        let law = CongestionControl::new(law, &path);
        let port = plan.ports.of(spec.src).start;
        let by_clock = |rate| plan.ports.clocks.rate(port, rate);
        let mut sender = Self {
            flow: start.id,
            class: plan.classes.of(spec.priority),
            recorded: spec.recorded,
            pace: Pace::Idle,
            tells: false,
            next_start: now,
            timer_at: Time::NEVER,
            retransmitted: 0,
            timeouts: 0,
            notifications: 0,
            sent_bytes: 0,
            dst: spec.dst,
            receiver_slot: start.receiver_slot,
            priority: spec.priority,
            source_port: spec.source_port,
            full_bytes: layout.full_bytes as u16,
            last_bytes: layout.last_bytes as u16,
            recovery: numbers::Sender::new(layout.packets),
            windowed: false,
            hears_acks: true,
            hears_sent: true,
            burst_limit: law.burst_bytes(),
            rate: Rate::ZERO,
            law_timer: Time::NEVER,
            spaced_bytes: 0,
            spacing: Time::ZERO,
            window: HostWindow::new(spec, line_rate, plan),
            short_bytes: 0,
            carries: match spec.transport {
                Transport::Udp => Carries::Datagrams,
                _ => Carries::Flow,
            },
            rate_change: plan.config.host.rate_change,
            telemetry,
            acknowledged_at: Time::NEVER,
            silent_since: 0,
            stop: spec.stop,
            limit: spec.rate_limit.map_or(line_rate, by_clock).min(line_rate),
            offered: spec.offered.map(by_clock),
            available: now,
            speed,
            law,
            burst_start: now,
            burst_bytes: 0,
            burst_over: true,
            packet_bytes: path.packet_bytes,
        };
        sender.windowed = sender.window.is_some() || sender.law.window().is_some();
        sender.hears_acks =
            sender.windowed || sender.law.hears_acks() || plan.config.host.nic.hears_every_ack();
        sender.apply_rate();
        sender
    }

    /// It may begin, with losses repaired so; says how much it may have in flight.
    #[inline]
    pub fn begin(&mut self, recovery: &mut Recovery<'_>) {
        if let Recovery::SelectiveRepeat(_) = recovery {
            // Any acknowledgement may let it send, or say what is lost.
            self.hears_acks = true;
            recovery.open_window(&mut self.recovery, u32::MAX);
        }
        self.open_window(recovery);
    }

    /// The rate it may send at.
    #[inline]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// True if its limit or its source holds it rather than its law.
    pub fn is_limited(&self) -> bool {
        let limit = self.offered.map_or(self.limit, |it| it.min(self.limit));
        limit <= self.law.rate()
    }

    /// Takes over what its law says now.
    #[inline]
    pub fn apply_law(&mut self, recovery: &mut Recovery<'_>) {
        self.apply_rate();
        self.open_window(recovery);
    }

    #[inline]
    fn apply_rate(&mut self) {
        let rate = self.law.rate().min(self.limit);
        if rate != self.rate {
            self.rate = rate;
            self.spaced_bytes = 0;
        }
        self.law_timer = self.law.next_timer();
        self.hears_sent = self.law.hears_sent();
    }

    /// Bytes that may be in flight, if its law says so.
    pub fn window(&self) -> Option<u64> {
        self.law.window()
    }

    /// True if there is a packet to send; a flow past its stop time has no new one.
    #[inline]
    pub fn has_packet(&mut self, now: Time) -> bool {
        if now >= self.stop {
            self.recovery.stop();
        }
        self.recovery.has_packet()
    }

    /// True if there is a packet to send, or will be when the window lets it go.
    pub fn has_left(&self) -> bool {
        self.recovery.has_left()
    }

    /// True if an acknowledgement of all packets before `seq` acknowledges the whole flow.
    pub fn ends_at(&self, seq: u32) -> bool {
        self.recovery.ends_at(seq)
    }

    /// True when all that it will ever send has been acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.recovery.is_done()
    }

    /// The next packet, sent at `now`; `slot` is this flow's place in the table of `src`.
    #[inline(always)]
    pub fn send<R: Rng>(
        &mut self,
        now: Time,
        src: NodeId,
        slot: u32,
        plan: &Plan<'_>,
        mut recovery: Recovery<'_>,
        rng: &mut R,
    ) -> Packet {
        let host = &plan.config.host;
        let numbers::Sent {
            number: seq,
            is_last,
            again,
        } = recovery.send(&mut self.recovery, now);
        let bytes = if is_last {
            self.last_bytes
        } else {
            self.full_bytes
        };
        let wire_bytes = u64::from(bytes) + plan.ports.framing_bytes;
        self.sent_bytes += wire_bytes;
        let stamp = self.count(now, wire_bytes);
        let burst = self.burst_limit;
        self.burst_over = is_last || burst.is_none_or(|limit| self.burst_bytes >= u64::from(limit));

        let every = host.ack_every;
        // Of a flow that will be stopped, any packet may turn out to be the last.
        let on_the_count = every == 1 || !self.stop.is_never() || (seq + 1).is_multiple_of(every);
        // The flow is over, or waits for an ACK to open its window.
        let pauses = !self.recovery.has_packet();
        let measured = self.burst_over && (burst.is_some() || on_the_count || pauses);
        let mut flags = ECT | self.telemetry;
        if measured {
            flags |= MEASURE;
        }
        if measured || on_the_count {
            flags |= ACK_REQUEST;
        }
        if again {
            flags = self.sent_again(flags, host.nic);
        }

        if self.hears_sent {
            self.law.on_sent(now, wire_bytes as u32, !is_last, rng);
            self.apply_rate();
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

    /// Counts a packet sent again; answers its flags, if they would be these: whether it [is a retry](Packet::is_retry).
    #[cold]
    fn sent_again(&mut self, flags: u8, nic: NicModel) -> u8 {
        self.retransmitted += 1;
        if self.is_silent() && nic == NicModel::Hpcc {
            flags & !ACK_REQUEST | MEASURE
        } else {
            flags
        }
    }

    /// Nothing has been acknowledged since it last timed out.
    #[inline]
    pub fn is_silent(&self) -> bool {
        self.silent_since == self.recovery.unacknowledged() + 1
    }

    /// Counts a packet to its burst, or as the first of the next; answers its stamp.
    #[inline(always)]
    fn count(&mut self, now: Time, wire_bytes: u64) -> u64 {
        if self.burst_over {
            self.burst_start = now;
            self.burst_bytes = wire_bytes;
            return now.as_ps();
        }
        // A burst is measured as if its last packet ended it unbroken.
        let before = self.speed.time_for(self.burst_bytes).as_ps();
        self.burst_bytes += wire_bytes;
        self.burst_start.as_ps() + before
    }

    /// The stamp and the bits of a packet for whose law switches write: the stamp has the place of their records, or room for a
    /// code.
    #[inline(never)]
    pub fn ask<R: Rng>(
        &self,
        (stamp, bits): (u64, u8),
        telemetry: &mut Telemetry,
        rng: &mut R,
    ) -> (u64, u8) {
        match self.law.digests() {
            None => (telemetry.open(), bits),
            Some(share) if share == Fraction::ONE || u64::from(rng.next_u32()) < share.as_q32() => {
                (0, bits)
            }
            Some(_) => (stamp, bits & !INT),
        }
    }

    /// A packet leaves of a source that makes one in each `interval`. Packets that it could not send in time are lost, except the
    /// last one.
    #[cold]
    fn take_offered(&mut self, now: Time, interval: Time) {
        self.available = self.available.max(now.saturating_sub(interval)) + interval;
    }

    /// Its rate or its window may have changed.
    #[inline]
    pub fn after_change(&mut self, now: Time) {
        match self.rate_change {
            RateChange::AtOnce => self.repace(now),
            RateChange::NextPacket => self.next_start = self.next_start.max(now),
        }
    }

    /// True if another rate changes when the next packet may go.
    pub fn repaces(&self) -> bool {
        self.rate_change == RateChange::AtOnce
    }

    /// Computes anew when the rate limiter allows the next packet: the last burst's bytes at the
    /// present rate after the last burst's start, but not before `now`.
    #[inline]
    pub fn repace(&mut self, now: Time) {
        if !self.burst_over || self.burst_bytes == 0 {
            self.next_start = self.available.max(now);
            return;
        }
        if self.spaced_bytes != self.burst_bytes {
            (self.spaced_bytes, self.spacing) = (self.burst_bytes, self.spacing());
        }
        let allowed = self.burst_start.saturating_add(self.spacing);
        self.next_start = allowed.max(self.available).max(now);
    }

    /// How long the last burst takes at the present rate.
    #[inline(never)]
    pub fn spacing(&self) -> Time {
        if self.rate >= self.speed.rate() {
            self.speed.time_for(self.burst_bytes)
        } else {
            self.rate.time_for(self.burst_bytes)
        }
    }
}
