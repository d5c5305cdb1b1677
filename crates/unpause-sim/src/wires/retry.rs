//! Link-level retry: both ends of each direction of a link, at the port that transmits.
//!
//! The transmitting port draws which frames are corrupted, so it also knows what the receiver does with each frame and what it
//! answers. The receiver's state machine is therefore beside the transmitter's, and runs ahead by the time that frames take.
//! Only delivered frames go to the far node.

use std::collections::VecDeque;

use unpause_protocols::loss_recovery::llr::{
    Expiry, MESSAGE_BYTES, Message, Receiver, Sender, Slot, Verdict,
};
use unpause_protocols::units::Time;

use super::errors::ErringWires;
use crate::fabric::packet::Packet;
use crate::fabric::ports::{GlobalPort, Transmitter};
use crate::fabric::{NodeId, PortId};
use crate::outcome::results::PortRecord;
use crate::plan::{Plan, smallest_on_wire};

/// The ports of a shard's nodes.
#[derive(Debug, Default)]
pub struct LinkRetries {
    /// By port of the fabric; empty if links have no retry.
    of: Vec<Option<Box<PortRetry>>>,
    /// Timers that the running node has yet to set: when which of its ports may have to resend.
    pub wakes: Vec<(Time, PortId)>,
}

/// Frames that a port has sent.
#[derive(Debug, Default)]
pub struct Sent {
    /// Frames that are delivered, with their times of arrival.
    pub delivered: Vec<Packet>,
    /// Frames that have been given up.
    pub lost: Vec<Packet>,
}

impl LinkRetries {
    /// Those of the ports of nodes that are in the shard.
    pub fn new(plan: &Plan<'_>, owns: impl Fn(NodeId) -> bool) -> Self {
        if plan.config.switch.retry.is_none() {
            return Self::default();
        }
        let of = (0..plan.ports.transmitters.len() as GlobalPort).map(|port| {
            let (node, _) = plan.ports.place(port);
            owns(node).then(|| Box::new(PortRetry::new(plan, port)))
        });
        Self {
            of: of.collect(),
            wakes: Vec::new(),
        }
    }

    /// True if links have no retry.
    #[inline]
    pub fn are_unused(&self) -> bool {
        self.of.is_empty()
    }

    /// State of `port`, if links have retry.
    pub fn port(&mut self, port: GlobalPort) -> Option<&mut PortRetry> {
        self.of.get_mut(port as usize)?.as_deref_mut()
    }

    /// Adds the number of frames that each port resent.
    pub fn record(&mut self, records: &mut [PortRecord], plan: &Plan<'_>) {
        for record in records {
            let port = plan.ports.of(record.node).start + GlobalPort::from(record.port);
            let retry = self.port(port);
            record.replayed_packets = retry.map_or(0, |it| it.replayed(record.priority));
        }
    }

    /// Data packets that have been sent and not delivered.
    pub fn held_data_packets(&self) -> u64 {
        let ports = self.of.iter().flatten();
        ports.map(|it| it.held_data_packets()).sum()
    }
}

/// A frame that a transmitter keeps.
#[derive(Clone, Copy, Debug)]
struct Kept {
    packet: Packet,
    wire_bytes: u64,
    delivered: bool,
}

/// Both ends of one direction of a link.
#[derive(Debug)]
pub struct PortRetry {
    sender: Sender,
    slots: Vec<Slot>,
    receiver: Receiver,
    /// The frames that are not acknowledged yet, oldest first.
    kept: VecDeque<Kept>,
    /// Messages of the receiver on their way back, with their times of arrival.
    messages: VecDeque<(Time, Message)>,
    /// Port that messages come back to.
    own: GlobalPort,
    /// How long a message takes.
    message_time: Time,
    /// The largest frame that may come next.
    largest_bytes: u32,
    /// When the port is free.
    free: Time,
    /// The timer that its node has set last.
    wake: Time,
    /// Resent frames, by priority.
    replayed: [u64; 8],
    /// For how long it has sent frames again, and waited for room to keep others.
    resent: Time,
}

impl PortRetry {
    fn new(plan: &Plan<'_>, port: GlobalPort) -> Self {
        let link = &plan.ports.transmitters[port as usize];
        let params = plan.retry_params(link);
        let most = u64::from(params.max_bytes) / smallest_on_wire(plan.config) + 1;
        Self {
            sender: Sender::new(&params),
            slots: vec![Slot::default(); most as usize],
            receiver: Receiver::new(params.message_spacing(link.speed.rate())),
            kept: VecDeque::new(),
            messages: VecDeque::new(),
            own: port,
            message_time: link.speed.time_for(MESSAGE_BYTES) + link.delay,
            largest_bytes: plan.largest_on_wire(),
            free: Time::ZERO,
            wake: Time::NEVER,
            replayed: [0; 8],
            resent: Time::ZERO,
        }
    }

    /// For how long it has sent frames again, and waited for room to keep others; until the port is free.
    pub fn resent(&self) -> Time {
        self.resent
    }

    /// Resent frames of a priority.
    fn replayed(&self, priority: u8) -> u64 {
        self.replayed[usize::from(priority & 7)]
    }

    fn held_data_packets(&self) -> u64 {
        let kept = self.kept.iter();
        kept.filter(|it| !it.delivered && it.packet.kind.is_data())
            .count() as u64
    }

    /// Sends a frame at `now`, or after the frames that the port has to resend first. Returns when that is, and when the port may
    /// send the next one.
    pub fn send(
        &mut self,
        now: Time,
        (packet, wire_bytes): (&Packet, u64),
        link: (&Transmitter, &mut ErringWires),
        sent: &mut Sent,
    ) -> (Time, Time) {
        let (transmitter, erring) = link;
        self.come_to(now, (transmitter, erring), sent);
        let kept = Kept {
            packet: *packet,
            wire_bytes,
            delivered: false,
        };
        self.kept.push_back(kept);
        let start = self.free.max(now);
        let number = self
            .sender
            .on_sent(start, wire_bytes as u32, &mut self.slots);
        let place = self.kept.len() - 1;
        self.put_on_wire(start, (place, number), (transmitter, erring), sent);
        // Messages that arrive during its transmission, and until the buffer has room for another frame.
        self.come_to(self.free, (transmitter, erring), sent);
        (start, self.free)
    }

    /// Handles all events until `now`, and until the buffer has room for another frame. Returns when the port is free.
    fn come_to(
        &mut self,
        now: Time,
        link: (&Transmitter, &mut ErringWires),
        sent: &mut Sent,
    ) -> Time {
        let (transmitter, erring) = link;
        loop {
            let next = self.next_event();
            let is_full = !self.sender.may_send(self.largest_bytes, &self.slots);
            if next > now.max(self.free) && !is_full {
                return self.free;
            }
            if is_full {
                self.resent += next.saturating_sub(self.free);
            }
            self.free = self.free.max(next);
            self.on_event(next, erring, sent);
            while let Some(place) = self.sender.next_again() {
                // Messages that have arrived by now come before the next frame.
                if self.next_event() <= self.free {
                    break;
                }
                let number = self.sender.on_sent_again();
                let priority = self.kept[place as usize].packet.priority();
                self.replayed[usize::from(priority)] += 1;
                let start = self.free;
                self.put_on_wire(start, (place as usize, number), (transmitter, erring), sent);
                self.resent += self.free - start;
            }
        }
    }

    /// The timer that the node has to set: when the port may have to resend if nothing else is sent. `None` if it is set, or an
    /// earlier one is, after which this is asked again.
    pub fn takes_wake(&mut self) -> Option<Time> {
        let misses = self.kept.iter().any(|it| !it.delivered);
        let due = match (misses, self.kept.is_empty()) {
            (true, _) => self.next_event(),
            (false, true) => Time::NEVER,
            // What has arrived is resent, too, if no answer comes in time; until then the port is not free.
            (false, false) => self.sender.next_timer(),
        };
        let is_new = due < self.wake;
        self.wake = self.wake.min(due);
        is_new.then_some(due)
    }

    /// That timer has expired. Returns until when the port is busy.
    pub fn on_wake(
        &mut self,
        now: Time,
        link: (&Transmitter, &mut ErringWires),
        sent: &mut Sent,
    ) -> Time {
        self.wake = Time::NEVER;
        self.come_to(now, link, sent)
    }

    /// The next event if nothing is sent.
    fn next_event(&self) -> Time {
        let message = self.messages.front().map_or(Time::NEVER, |it| it.0);
        let answer = self.receiver.next_timer().saturating_add(self.message_time);
        message.min(answer).min(self.sender.next_timer())
    }

    /// Handles what is due at `now`: a message of the receiver, or a timer.
    fn on_event(&mut self, now: Time, erring: &mut ErringWires, sent: &mut Sent) {
        self.speak(now - self.message_time.min(now), erring);
        if let Some(&(at, message)) = self.messages.front()
            && at <= now
        {
            self.messages.pop_front();
            let freed = match message {
                Message::Ack(number) => self.sender.on_ack(now, number, &self.slots),
                Message::Nack(number) => self.sender.on_nack(now, number, &self.slots),
            };
            self.forget(freed as usize, sent);
            return;
        }
        if self.sender.next_timer() <= now
            && let Expiry::Flush(_) = self.sender.on_timer(now)
        {
            self.forget(self.kept.len(), sent);
            self.receiver.restart(self.sender.restart());
            self.messages.clear();
        }
    }

    /// Drops the oldest `count` frames. Those that have not been delivered are lost.
    fn forget(&mut self, count: usize, sent: &mut Sent) {
        let lost = self.kept.drain(..count).filter(|it| !it.delivered);
        sent.lost.extend(lost.map(|it| it.packet));
    }

    /// Sends the receiver's messages that are due until `now`.
    fn speak(&mut self, now: Time, erring: &mut ErringWires) {
        loop {
            let at = self.receiver.next_timer();
            if at > now {
                return;
            }
            let Some(message) = self.receiver.on_timer(at) else {
                return;
            };
            // It takes the other direction of the link.
            if !erring.hits_answer(self.own, MESSAGE_BYTES) {
                self.messages.push_back((at + self.message_time, message));
            }
        }
    }

    /// Transmits the kept frame at `place`.
    fn put_on_wire(
        &mut self,
        start: Time,
        (place, number): (usize, u32),
        link: (&Transmitter, &mut ErringWires),
        sent: &mut Sent,
    ) {
        let (transmitter, erring) = link;
        let kept = &mut self.kept[place];
        self.free = start + transmitter.speed.time_for(kept.wire_bytes);
        let arrival = self.free + transmitter.delay;
        let bytes = u64::from(kept.packet.bytes);
        let is_good = !erring.hit(transmitter.peer_port, bytes, kept.wire_bytes);
        self.speak(arrival - Time::from_ps(1), erring);
        if self.receiver.on_frame(arrival, number, is_good) == Verdict::Deliver {
            let kept = &mut self.kept[place];
            debug_assert!(!kept.delivered, "no frame is delivered twice");
            kept.delivered = true;
            let time = arrival;
            sent.delivered.push(Packet {
                time,
                ..kept.packet
            });
        }
        self.speak(arrival, erring);
    }
}
