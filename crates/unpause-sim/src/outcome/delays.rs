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
    /// The rate of its law, its limit or its source.
    Rate,
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

/// A packet that may turn out to have ended its flow, when it left its sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Departure {
    /// Flow.
    pub flow: u32,
    /// Number among such packets of the flow, modulo 128.
    pub number: u8,
    /// When its first bit left.
    pub at: Time,
    /// Its bytes on the wire.
    pub wire_bytes: u32,
    /// It had been sent before.
    pub again: bool,
    /// The time from the start of the flow until then, by reason.
    pub held: Held,
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
}

/// What nodes record about the delays of flows.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Traces {
    /// Packets that may have ended a flow, at senders.
    pub departures: Vec<Departure>,
    /// The same at receivers.
    pub arrivals: Vec<Arrival>,
    /// Their waits in queues.
    pub waits: Vec<QueueWait>,
}

impl Traces {
    /// Adds what another shard has recorded.
    pub fn merge(&mut self, other: Self) {
        self.departures.extend(other.departures);
        self.arrivals.extend(other.arrivals);
        self.waits.extend(other.waits);
    }

    /// The number of records.
    pub fn count(&self) -> usize {
        self.departures.len() + self.arrivals.len() + self.waits.len()
    }
}

/// Where the time of a completed flow went: its FCT is that of the flow alone and the sum of these parts, to the picosecond.
///
/// The parts are read along one packet, the one that ended the flow: from the start of the flow until the sender sent it, and on
/// its way. Where a flow would have waited behind its own packets on a slower link even alone, a wait for its rate, its window or
/// its turn that only replaces this wait is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayRecord {
    /// Flow.
    pub flow: u32,
    /// Waits at the sender for its turn at the NIC.
    pub turn: Time,
    /// Waits for the rate of its law, its limit or its source.
    pub rate: Time,
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
    /// The sum of its parts: FCT less the FCT of the flow alone.
    pub fn total(&self) -> Time {
        let mut record = *self;
        total(&record.parts().map(|part| *part))
    }

    /// The parts; those that a wait behind packets of its own flow may replace come first.
    pub fn parts(&mut self) -> [&mut Time; 12] {
        [
            &mut self.own_queue,
            &mut self.rate,
            &mut self.window,
            &mut self.turn,
            &mut self.switches,
            &mut self.queue,
            &mut self.pause,
            &mut self.credit,
            &mut self.loss,
            &mut self.timeout,
            &mut self.receiver,
            &mut self.other,
        ]
    }

    /// Packets of its own flow were ahead of the last one because they had waited for the same: shares [`Self::own_queue`] between
    /// PAUSE, which lasted for `paused` in queues, and packets of others.
    pub fn share_own_queue(&mut self, paused: Time) {
        let causes = (paused + self.queue).as_ps();
        if causes == 0 {
            return;
        }
        let own = self.own_queue.as_ps();
        let for_pause = u128::from(own) * u128::from(paused.as_ps()) / u128::from(causes);
        let for_pause = Time::from_ps(for_pause as u64);
        self.pause += for_pause;
        self.queue += self.own_queue - for_pause;
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
