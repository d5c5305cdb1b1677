//! The packet: a value of 48 bytes that moves from queue to wire to queue.

use serde::{Deserialize, Serialize};
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::state_visitor::StateVisitor;
use unpause_protocols::units::Time;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

use crate::fabric::NodeId;

/// The kind of a packet.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    TryFromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
)]
#[repr(u8)]
pub enum Kind {
    /// RoCEv2 data.
    Data,
    /// TCP data.
    Segment,
    /// TCP's acknowledgement without data.
    TcpAck,
    /// TCP's first packet.
    Syn,
    /// The answer to it.
    SynAck,
    /// TCP's last packet of a receiver.
    Fin,
    /// Cumulative acknowledgement.
    Ack,
    /// Go-back-N: sequence error.
    Nak,
    /// The header of a data packet whose payload a switch has cut off.
    Trimmed,
    /// The receiver's answer to it.
    TrimNak,
    /// DCQCN's CNP.
    Cnp,
    /// PCN's CNP, decrease.
    PcnDecrease,
    /// PCN's CNP, increase.
    PcnIncrease,
    /// QCN's congestion notification message.
    Cnm,
    /// PFC frame; exists on one link only.
    Pfc,
    /// CBFC: what a receiver has freed; exists on one link only, and overtakes the frame in transmission.
    Credit,
    /// RCCC: credit of a receiver.
    Pull,
    /// RCCC: a request to send, of a flow without credit.
    Request,
    /// UDP data.
    Datagram,
}

/// Wire sizes of control packets without framing, bytes. Ethernet 14, IPv4 20, UDP 8, BTH 12,
/// ICRC 4, FCS 4; AETH 4 for ACK and NAK, 16 reserved bytes for the CNP (RoCEv2 annex); 802.1Qau's
/// CNM and 802.1Qbb's frame are padded to Ethernet's minimum.
impl Kind {
    /// Size of a control packet of RoCE or Ethernet; other packets have their own.
    pub const fn control_bytes(self) -> u16 {
        match self {
            Self::Ack | Self::Nak | Self::TrimNak | Self::Pull | Self::Request => 66,
            Self::Cnp | Self::PcnDecrease | Self::PcnIncrease => 78,
            Self::Cnm | Self::Pfc => 64,
            Self::Credit => 8,
            // Theirs follows from the headers configured.
            Self::Data
            | Self::Trimmed
            | Self::Segment
            | Self::Datagram
            | Self::TcpAck
            | Self::Syn
            | Self::SynAck
            | Self::Fin => 0,
        }
    }

    /// True of what exists on one link only.
    #[inline(always)]
    pub const fn is_of_link(self) -> bool {
        matches!(self, Self::Pfc | Self::Credit)
    }

    /// True of what carries bytes of a flow.
    #[inline]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Segment | Self::Datagram)
    }
}

/// Smallest Ethernet frame, bytes.
pub const MIN_FRAME_BYTES: u32 = 64;

/// Largest control frame of RoCE or Ethernet, bytes: a CNP. TCP's are no larger than its segments.
pub const LARGEST_CONTROL_BYTES: u32 = Kind::Cnp.control_bytes() as u32;

/// Bits of the priority.
pub const PRIORITY: u8 = 0b0000_0111;
/// ECN field is ECT: switches may mark it.
pub const ECT: u8 = 0b0000_1000;
/// ECN field is Congestion Experienced.
pub const CE: u8 = 0b0001_0000;
/// The acknowledgement of this packet measures an RTT (every packet, or the last of a segment).
pub const MEASURE: u8 = 0b0010_0000;
/// The receiver is to acknowledge this packet (AckReq of the BTH), and so any with [`MEASURE`].
pub const ACK_REQUEST: u8 = 0b0100_0000;

/// RoCE data, ACK, NAK: `stamp` is the place of what switches have written into it.
pub const INT: u8 = 0b1000_0000;

/// Trimmed packet and its NAK: the switch before the receiver has trimmed it.
pub const LAST_HOP: u8 = 0b1000_0000;

/// TCP segment: the sender has cut its window (CWR).
pub const CWR: u8 = 0b0010_0000;
/// TCP acknowledgement: it goes the way of the data, to the receiver.
pub const FORWARD: u8 = 0b0010_0000;
/// Acknowledgement: of TCP, the receiver has seen a mark (ECE); of RoCE, its packet had one.
pub const ECE: u8 = 0b0100_0000;
/// TCP acknowledgement: the receiver has the whole flow, whatever the number says. It keeps nothing
/// of a flow that is over, not even its size.
pub const ALL: u8 = 0b1000_0000;

/// Bits of [`Packet::stamp`] below RCCC's pull target. With credits no run is longer than they count, 4.4 s; two targets of a
/// flow that are in flight together differ by less than half of what the other bits count.
pub const SENT_BITS: u32 = 42;

/// In [`Packet::slot`] of data: its delays are recorded. The bits between this one and those of the slot have its number among such
/// packets of its flow.
const TRACED: u32 = 1 << 31;

/// Bits of [`Packet::slot`] that are those of the slot if delays are recorded.
const SLOT_BITS: u32 = 24;

/// A packet in a queue or on a wire.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// On a wire: arrival of its last bit, or when a switch that cuts through takes it. In a queue: when it entered.
    pub time: Time,
    /// Data, SYN: start of transmission; ACK, SYN-ACK: the same, echoed. PFC: pause duration in ps.
    /// CNM: offsets. Pull: units granted. With RCCC, data and requests have their pull target above it
    /// ([`Packet::set_target`]).
    pub stamp: u64,
    /// Flow.
    pub flow: u32,
    /// Data, whole or trimmed: packet number. ACK and NAKs: next packet number expected. TCP: the same of bytes,
    /// modulo 2^32.
    pub seq: u32,
    /// Host that sent it.
    pub src: NodeId,
    /// Host that it goes to.
    pub dst: NodeId,
    /// The flow's place in the tables of `dst`.
    pub slot: u32,
    /// Data, SYN: the flow's place in the tables of `src`. Otherwise by kind.
    pub aux: u32,
    /// Frame size without framing.
    pub bytes: u16,
    /// Entropy of ECMP.
    pub source_port: u16,
    /// Port by which it entered the switch that holds it.
    pub ingress: u16,
    /// The kind of packet.
    pub kind: Kind,
    /// Priority and flags; read them by the methods.
    pub bits: u8,
}

const _: () = assert!(size_of::<Packet>() == 48);

impl Packet {
    /// A packet of `priority` with the given flag bits.
    #[inline]
    pub fn new(kind: Kind, priority: u8, flags: u8, bytes: u16) -> Self {
        Self {
            time: Time::ZERO,
            stamp: 0,
            flow: 0,
            seq: 0,
            src: 0,
            dst: 0,
            slot: 0,
            aux: 0,
            bytes,
            source_port: 0,
            ingress: 0,
            kind,
            bits: priority & PRIORITY | flags,
        }
    }
    /// 0 to 7.
    #[inline]
    pub fn priority(&self) -> u8 {
        self.bits & PRIORITY
    }
    /// Gives it another priority.
    #[inline]
    pub fn set_priority(&mut self, priority: u8) {
        self.bits = self.bits & !PRIORITY | priority & PRIORITY;
    }
    /// True if any of `flags` is set.
    #[inline]
    pub fn is(&self, flags: u8) -> bool {
        self.bits & flags != 0
    }
    /// True of RoCE's data sent again because nothing came back, by a NIC like that of HPCC's simulator: who has it already
    /// answers none the less. [`MEASURE`] without [`ACK_REQUEST`], which no other data have, says so.
    #[inline]
    pub fn is_retry(&self) -> bool {
        self.bits & (MEASURE | ACK_REQUEST) == MEASURE
    }
    /// Has its delays recorded, as number `number` of such packets of its flow, below 128. Its slot must be small enough.
    pub fn trace(&mut self, number: u8) {
        if self.slot < 1 << SLOT_BITS {
            self.slot |= TRACED | u32::from(number) << SLOT_BITS;
        }
    }
    /// Its number, if its delays are recorded.
    #[inline]
    pub fn trace_number(&self) -> Option<u8> {
        let traced = self.slot & TRACED != 0;
        traced.then_some((self.slot >> SLOT_BITS & 127) as u8)
    }
    /// The same packet for its receiver.
    pub fn untraced(&self) -> Self {
        let bits = if self.slot & TRACED != 0 {
            SLOT_BITS
        } else {
            u32::BITS
        };
        Self {
            slot: (u64::from(self.slot) & ((1 << bits) - 1)) as u32,
            ..*self
        }
    }
    /// True of RoCE's packets with a record of what switches have written.
    #[inline]
    pub fn has_telemetry(&self) -> bool {
        self.is(INT) && matches!(self.kind, Kind::Data | Kind::Ack | Kind::Nak)
    }
    /// Has it tell RCCC's pull target, in units since the start of the flow.
    #[inline]
    pub fn set_target(&mut self, units: u64) {
        self.stamp = self.stamp & ((1 << SENT_BITS) - 1) | units << SENT_BITS;
    }
    /// The pull target that it tells, if that is near this many units; what is left of the stamp is the time.
    #[inline]
    pub fn take_target(&mut self, near: u64) -> u64 {
        let low = self.stamp >> SENT_BITS;
        self.stamp &= (1 << SENT_BITS) - 1;
        let ahead = (low.wrapping_sub(near) << SENT_BITS) as i64 >> SENT_BITS;
        near.saturating_add_signed(ahead)
    }
    /// The control packet that carries `notification`; addresses are the caller's to fill in.
    pub fn from_notification(notification: &Notification, priority: u8) -> Self {
        let (kind, aux, stamp) = match *notification {
            Notification::Cnp => (Kind::Cnp, 0, 0),
            Notification::Pcn {
                congested: true,
                rec_rate,
            } => (Kind::PcnDecrease, rec_rate, 0),
            Notification::Pcn {
                congested: false,
                rec_rate,
            } => (Kind::PcnIncrease, rec_rate, 0),
            Notification::Qcn(QcnFeedback {
                qfb,
                q_offset,
                q_delta,
            }) => {
                let stamp = u64::from(q_offset as u32) << 32 | u64::from(q_delta as u32);
                (Kind::Cnm, u32::from(qfb), stamp)
            }
        };
        Self {
            aux,
            stamp,
            ..Self::new(kind, priority, 0, kind.control_bytes())
        }
    }

    /// Shows what it says; of TCP's packets, and those that switches write into, it cannot be extrapolated.
    pub fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        let Self {
            time,
            stamp,
            flow,
            seq,
            src,
            dst,
            slot,
            aux,
            bytes,
            source_port,
            ingress,
            kind,
            bits,
        } = self;
        visitor.time(time);
        match kind {
            Kind::Data | Kind::Ack | Kind::Nak if *bits & INT == 0 => {
                let mut sent = Time::from_ps(*stamp);
                visitor.time(&mut sent);
                *stamp = sent.as_ps();
                visitor.number(*flow, seq);
            }
            Kind::Cnp | Kind::PcnDecrease | Kind::PcnIncrease | Kind::Cnm | Kind::Pfc => {
                visitor.same(*stamp);
            }
            _ => visitor.refuse(),
        }
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        visitor.same(pair(*src, *dst));
        visitor.same(pair(*slot, *aux));
        visitor.same(pair(
            *flow,
            u32::from(*bytes) << 16 | u32::from(*source_port),
        ));
        visitor.same(pair(
            u32::from(*ingress),
            u32::from(*kind as u8) << 8 | u32::from(*bits),
        ));
    }

    /// The notification that it carries, if it is of such a kind.
    pub fn notification(&self) -> Option<Notification> {
        Some(match self.kind {
            Kind::Cnp => Notification::Cnp,
            Kind::PcnDecrease => Notification::Pcn {
                congested: true,
                rec_rate: self.aux,
            },
            Kind::PcnIncrease => Notification::Pcn {
                congested: false,
                rec_rate: self.aux,
            },
            Kind::Cnm => Notification::Qcn(QcnFeedback {
                qfb: self.aux as u8,
                q_offset: (self.stamp >> 32) as u32 as i32,
                q_delta: self.stamp as u32 as i32,
            }),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_survive_the_wire() {
        let all = [
            Notification::Cnp,
            Notification::Pcn {
                congested: true,
                rec_rate: 2499,
            },
            Notification::Pcn {
                congested: false,
                rec_rate: 0,
            },
            Notification::Qcn(QcnFeedback {
                qfb: 63,
                q_offset: -130_000,
                q_delta: -7,
            }),
        ];
        for notification in all {
            let packet = Packet::from_notification(&notification, 7);
            assert_eq!(packet.notification(), Some(notification));
            assert_eq!(packet.priority(), 7);
        }
    }

    #[test]
    fn a_pull_target_goes_with_the_time_of_sending() {
        let mut packet = Packet::new(Kind::Data, 3, ECT, 1048);
        for (target, near) in [
            (0, 0),
            (1_027, 0),
            (5, 1_032),
            (1 << 23, (1 << 23) - 900),
            (3 << 30, (3 << 30) + 9),
        ] {
            packet.stamp = 4_000_000_000_000;
            packet.set_target(target);
            assert_eq!(packet.take_target(near), target);
            assert_eq!(packet.stamp, 4_000_000_000_000);
        }
    }

    #[test]
    fn flags_do_not_touch_the_priority() {
        let mut packet = Packet::new(Kind::Data, 3, ECT, 1048);
        packet.bits |= CE;
        assert!(packet.is(CE) && packet.is(ECT) && !packet.is(MEASURE));
        assert_eq!(packet.priority(), 3);
    }
}
