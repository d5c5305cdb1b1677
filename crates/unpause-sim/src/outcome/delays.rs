//! Where the time of flows went, beyond what they would have taken alone, as results have it.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use crate::fabric::{NodeId, PortId};

/// Why a sender did not send the next packet of a flow, or what it sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Hold {
    /// Other flows and control packets had their turn at the NIC.
    Turn,
    /// The rate of its law.
    Rate,
    /// Its rate limit, or its source.
    Limit,
    /// Its TCP connection was not open.
    Open,
    /// The window of its law or its host was full.
    Window,
    /// The NIC was paused.
    Pause,
    /// It had no credit of the receiver.
    Credit,
    /// All was sent, or the window full, until a NAK or a count of later ACKs showed a loss.
    Nack,
    /// The same until the header of a trimmed packet showed it.
    Trim,
    /// The same until a timeout.
    Timeout,
    /// The link of the NIC sent frames again.
    Retry,
    /// Packets were sent again.
    Resend,
    /// Packets were sent for the first time.
    Send,
}

impl Hold {
    /// Number of reasons.
    pub const COUNT: usize = Self::Send as usize + 1;
}

/// Time by reason.
pub type Held = [Time; Hold::COUNT];

/// The sum of times.
pub fn total(times: &[Time]) -> Time {
    times.iter().fold(Time::ZERO, |sum, time| sum + *time)
}

/// Time by reason in [`Traces`]: only reasons with any are kept there, one after the other.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// Bit n set: reason n has a time.
    reasons: u16,
    /// Place of the first time.
    first: u32,
}

/// A packet that may turn out to have ended its flow or a message, when it left its sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Departure {
    /// When its first bit left.
    pub at: Time,
    /// Flow.
    pub flow: u32,
    /// Message of a connection that it belongs to, by its number there; 0 of other flows.
    pub message: u32,
    /// Its bytes on the wire.
    pub wire_bytes: u32,
    /// The time from the start of the flow until then, by reason.
    pub held: Kept,
    /// Number among such packets of the flow, modulo 128.
    pub number: u8,
    /// It had been sent before.
    pub again: bool,
}

/// A rank has posted a message.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Posting {
    /// Flow of the connection.
    pub flow: u32,
    /// Number of the message there.
    pub message: u32,
    /// The time from the start of the flow until then, by reason.
    pub held: Kept,
}

/// A flow at its sender at the end of the run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Rest {
    /// Flow.
    pub flow: u32,
    /// When its last packet had left, if it has sent all that it has.
    pub sent: Option<Time>,
    /// The time from the start of the flow until then, or until the end of the run, by reason.
    pub held: Kept,
}

/// The same packet at its receiver.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Arrival {
    /// Flow.
    pub flow: u32,
    /// Number among such packets of the flow, modulo 128.
    pub number: u8,
    /// When its last bit came.
    pub at: Time,
}

/// The wait of such a packet in an egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueWait {
    /// Flow.
    pub flow: u32,
    /// Number among such packets of the flow, modulo 128.
    pub number: u8,
    /// Switch.
    pub node: NodeId,
    /// Its egress port.
    pub port: PortId,
    /// When the packet joined the queue.
    pub joined: Time,
    /// When its first bit left.
    pub left: Time,
    /// Time of this for which the queue was paused.
    pub paused: Time,
    /// Bytes ahead of it in the queue.
    pub ahead_bytes: u64,
    /// Bytes of these that were of its own flow.
    pub own_bytes: u64,
    /// The other flow with most bytes ahead of it, and these bytes.
    pub largest: Option<(u32, u64)>,
    /// Time of the wait for which the link sent frames again.
    pub resent: Time,
}

/// What nodes record about the delays of flows and messages.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Traces {
    /// Packets that may have ended a flow or a message, at senders.
    pub departures: Vec<Departure>,
    /// The same at receivers.
    pub arrivals: Vec<Arrival>,
    /// Their waits in queues.
    pub waits: Vec<QueueWait>,
    /// Messages that were posted.
    pub postings: Vec<Posting>,
    /// Flows that senders had at the end of the run.
    pub rests: Vec<Rest>,
    /// The times of [`Kept`].
    times: Vec<Time>,
}

impl Traces {
    /// Adds what another shard has recorded.
    pub fn merge(&mut self, mut other: Self) {
        let first = self.times.len() as u32;
        let departures = other.departures.iter_mut().map(|it| &mut it.held);
        let postings = other.postings.iter_mut().map(|it| &mut it.held);
        let rests = other.rests.iter_mut().map(|it| &mut it.held);
        for held in departures.chain(postings).chain(rests) {
            held.first += first;
        }
        self.departures.extend(other.departures);
        self.arrivals.extend(other.arrivals);
        self.waits.extend(other.waits);
        self.postings.extend(other.postings);
        self.rests.extend(other.rests);
        self.times.extend(other.times);
    }

    /// The number of records.
    pub fn count(&self) -> usize {
        let at_senders = self.departures.len() + self.postings.len() + self.rests.len();
        at_senders + self.arrivals.len() + self.waits.len()
    }

    /// Keeps times by reason.
    pub fn keep(&mut self, held: &Held) -> Kept {
        let first = self.times.len() as u32;
        let mut reasons = 0;
        for (reason, time) in held.iter().enumerate() {
            if *time > Time::ZERO {
                reasons |= 1 << reason;
                self.times.push(*time);
            }
        }
        Kept { reasons, first }
    }

    /// The times that were kept.
    pub fn held(&self, kept: Kept) -> Held {
        let mut held = Held::default();
        let mut at = kept.first as usize;
        for (reason, time) in held.iter_mut().enumerate() {
            if kept.reasons >> reason & 1 == 1 {
                *time = self.times[at];
                at += 1;
            }
        }
        held
    }
}

/// Where the time of a flow or a message went, to the picosecond: its FCT is that of the flow alone and the sum of these parts. The
/// time of a flow that did not finish, from its start to the end of the run, is [`Self::sending`] and the sum of these parts.
///
/// The parts are read along one packet, the one that ended the flow: from the start of the flow until the sender sent it, and on
/// its way. Where a flow would have waited behind its own packets on a slower link even alone, a wait for its rate, its window or
/// its turn that only replaces this wait is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayRecord {
    /// Flow.
    pub flow: u32,
    /// The number of a message on its connection; `None`: it is a whole flow.
    pub message: Option<u32>,
    /// The time in which it was sent, and its last packet on links, if it did not finish.
    pub sending: Option<Time>,
    /// Waits at the sender for its turn at the NIC: a message, also for those before it on its connection.
    pub turn: Time,
    /// Waits for the rate of its law.
    pub rate: Time,
    /// Waits for its rate limit or its source.
    pub limit: Time,
    /// Waits for its TCP connection to open, beyond what that takes alone.
    pub open: Time,
    /// Waits for a window that was full.
    pub window: Time,
    /// Waits for PAUSE: at the NIC, and of the last packet in egress queues.
    pub pause: Time,
    /// Waits for credit of the receiver.
    pub credit: Time,
    /// Packets lost until NAKs, counts of ACKs or trimmed headers showed it, and packets sent again.
    pub loss: Time,
    /// Waits for a timeout.
    pub timeout: Time,
    /// Waits for links that sent frames again: at the NIC, and of the last packet on its way.
    pub retry: Time,
    /// Waits of the last packet in egress queues behind packets of others, and behind those of its own flow that had waited so.
    pub queue: Time,
    /// The same behind packets of its own flow, where it waited neither for others nor for PAUSE, beyond what the flow has alone.
    pub own_queue: Time,
    /// Waits of the last packet inside switches, and longer paths.
    pub switches: Time,
    /// Waits at the receiver, after that packet: for packets that came out of order, or for a slow host.
    pub receiver: Time,
    /// What no other part explains.
    pub other: Time,
    /// The longest wait of the last packet in a queue.
    pub longest: Option<QueueWait>,
}

impl DelayRecord {
    /// The record of a flow from the time at its sender, by reason.
    pub fn at_sender(flow: u32, held: &Held) -> Self {
        let of = |hold: Hold| held[hold as usize];
        Self {
            flow,
            turn: of(Hold::Turn),
            rate: of(Hold::Rate),
            limit: of(Hold::Limit),
            open: of(Hold::Open),
            window: of(Hold::Window),
            pause: of(Hold::Pause),
            credit: of(Hold::Credit),
            loss: of(Hold::Nack) + of(Hold::Trim) + of(Hold::Resend),
            timeout: of(Hold::Timeout),
            retry: of(Hold::Retry),
            ..Self::default()
        }
    }

    /// The sum of its parts: FCT less the FCT of the flow alone, or the time so far less [`Self::sending`].
    pub fn total(&self) -> Time {
        let mut record = *self;
        total(&record.parts().map(|part| *part))
    }

    /// The parts; those that a wait behind packets of its own flow may replace come first.
    pub fn parts(&mut self) -> [&mut Time; 15] {
        [
            &mut self.own_queue,
            &mut self.open,
            &mut self.rate,
            &mut self.limit,
            &mut self.window,
            &mut self.turn,
            &mut self.switches,
            &mut self.queue,
            &mut self.pause,
            &mut self.credit,
            &mut self.loss,
            &mut self.timeout,
            &mut self.retry,
            &mut self.receiver,
            &mut self.other,
        ]
    }

    /// Packets of its own flow were ahead of the last one because they had waited for the same: shares [`Self::own_queue`] between
    /// PAUSE, which lasted for `paused` in queues, links that sent frames again, and packets of others.
    pub fn share_own_queue(&mut self, paused: Time) {
        let causes = (paused + self.retry + self.queue).as_ps();
        if causes == 0 {
            return;
        }
        let own = self.own_queue.as_ps();
        let part = |cause: Time| {
            let part = u128::from(own) * u128::from(cause.as_ps()) / u128::from(causes);
            Time::from_ps(part as u64)
        };
        let (for_pause, for_retry) = (part(paused), part(self.retry));
        self.pause += for_pause;
        self.retry += for_retry;
        self.queue += self.own_queue - for_pause - for_retry;
        self.own_queue = Time::ZERO;
    }

    /// Makes the sum of its parts `total`: parts in excess are taken off in their order, a remainder is [`Self::other`].
    pub fn settle(&mut self, total: Time) {
        let sum = self.total();
        if sum <= total {
            self.other += total - sum;
            return;
        }
        let mut excess = sum - total;
        for part in self.parts() {
            let taken = excess.min(*part);
            *part = *part - taken;
            excess = excess - taken;
        }
    }
}
