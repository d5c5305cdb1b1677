//! The paths of a sprayed flow, at its sender.

use rand_core::Rng;
use unpause_protocols::spraying::{Config, Echo, MOST_PATHS, Spraying};
use unpause_protocols::units::Time;

use crate::fabric::PortId;
use crate::fabric::packet::{ECE, Kind, LAST_HOP, Packet};
use crate::plan::Plan;

/// How the paths of a flow's packets are chosen, and which ones they took.
#[derive(Debug)]
pub struct Sprayed {
    law: Spraying,
    /// The flow's source port. A packet has this port XOR its entropy value.
    port: u16,
    /// The entropy value of each packet in the window, by its number; [`TOLD`] besides, if the law has heard that the
    /// packet was trimmed.
    values: Box<[u16]>,
    /// Packets before this one have been sent.
    sent: u32,
    /// Timeouts that have been reported to the law.
    timeouts: u64,
    /// The NIC by which its last packet has left.
    nic: Option<PortId>,
}

/// No entropy value has this bit: there are fewer of them ([`MOST_PATHS`]).
const TOLD: u16 = 1 << 15;
const _: () = assert!(MOST_PATHS <= TOLD as u32);

impl Sprayed {
    /// For a flow with this source port and at most this number of packets in flight; none if flows are not sprayed.
    pub fn of(port: u16, packets: u32, plan: &Plan<'_>) -> Option<Self> {
        let config = &plan.config.host.spraying;
        (*config != Config::None).then(|| Self {
            law: Spraying::new(config),
            port,
            values: vec![0; packets.next_power_of_two() as usize].into(),
            sent: 0,
            timeouts: 0,
            nic: None,
        })
    }

    /// The NIC by which its last packet has left, if there was one.
    pub fn last_nic(&self) -> Option<PortId> {
        self.nic
    }

    fn value(&mut self, number: u32) -> &mut u16 {
        let place = number as usize & (self.values.len() - 1);
        &mut self.values[place]
    }

    /// Gives a packet that leaves by `nic` its source port. `timeouts`: how often the sender has timed out.
    pub fn send<R: Rng>(
        &mut self,
        now: Time,
        (nic, timeouts): (PortId, u64),
        packet: &mut Packet,
        rng: &mut R,
    ) {
        self.nic = Some(nic);
        let number = packet.seq;
        if number < self.sent && *self.value(number) & TOLD == 0 {
            let echo = if timeouts > self.timeouts {
                Echo::Timeout
            } else {
                Echo::Lost
            };
            let value = *self.value(number);
            self.law.on_echo(now, value, echo);
        }
        self.timeouts = timeouts;
        self.sent = self.sent.max(number + 1);
        let value = self.law.next(now, rng);
        *self.value(number) = value;
        packet.source_port = self.port ^ value;
    }

    /// An ACK or a NAK has arrived.
    pub fn on_feedback(&mut self, now: Time, feedback: &Packet) {
        if feedback.kind == Kind::TrimNak {
            return self.on_trim(now, feedback);
        }
        let echo = if feedback.is(ECE) {
            Echo::Marked
        } else {
            Echo::Clear
        };
        let value = self.port ^ feedback.source_port;
        self.law.on_echo(now, value, echo);
    }

    /// A packet was trimmed. Before the receiver, no other path would have helped.
    #[cold]
    fn on_trim(&mut self, now: Time, nak: &Packet) {
        let number = trimmed_number(nak);
        let value = self.port ^ nak.source_port;
        let echo = if nak.is(LAST_HOP) {
            Echo::Clear
        } else {
            Echo::Lost
        };
        self.law.on_echo(now, value, echo);
        if number < self.sent {
            *self.value(number) |= TOLD;
        }
    }
}

/// The number of the trimmed packet that a NAK reports.
pub fn trimmed_number(nak: &Packet) -> u32 {
    nak.seq.wrapping_add(nak.aux >> 16)
}
