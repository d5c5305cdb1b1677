//! The timers of a host, and their encoding in the entries of [`Machine::timers`](super::machine::Machine).
//!
//! An entry has a payload of 32 bits: 4 for the kind of timer and 28 for its number. So there are up to 16 kinds (11 are in use) and
//! 2^28 slots, more than the flows at one host that fit into memory.
//!
//! Entries are ordered by time, then key, then payload. Therefore the numbers of kinds are part of the model: timers of one
//! flow that are due at the same time run in the order of [`Timer`].

use unpause_protocols::units::Time;

use crate::engine::heap::Entry;
use crate::fabric::PortId;

/// Where the kind begins.
const SHIFT: u32 = 28;

/// The bits below.
const WHICH: u32 = (1 << SHIFT) - 1;

/// Bits for the class of a PAUSE, below its NIC.
const CLASS_BITS: u32 = 3;

/// Bits for a NIC, below which timer of its buffer.
const NIC_BITS: u32 = PortId::BITS;

/// A timer of a host. The key of its entry is the flow, unless it says otherwise here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// Of a flow's law and loss recovery: the slot of its sender.
    Sender(u32),
    /// Of a flow's notification point: the slot of its receiver.
    Receiver(u32),
    /// The time of a PAUSE may have run out. The key is the class.
    Pause { nic: PortId, class: u8 },
    /// A link with retry may have to resend. The key is the NIC.
    Retry { nic: PortId },
    /// An update of a link's credits is to be sent. The key is the NIC.
    CreditUpdate { nic: PortId },
    /// The pacer of credits may send a pull. Its key comes after every flow.
    Pull,
    /// The first notification that has arrived takes effect.
    Notification,
    /// Of a TCP connection: the slot of its sender.
    TcpSender(u32),
    /// Of a TCP connection: the slot of its receiver.
    TcpReceiver(u32),
    /// The extra delay of a packet is over: its place among those held back.
    Delayed(u32),
    /// Of the receive buffer of a NIC of a slow host. The key is [`BufferTimer::number`].
    Buffer { nic: PortId, what: BufferTimer },
}

/// A timer of a receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BufferTimer {
    /// The first packet has been taken.
    Taken,
    /// The port is free for a PFC frame.
    Pfc,
    /// The PAUSE of a class is to be repeated.
    Refresh { class: u8 },
    /// A PAUSE storm begins.
    StormBegins,
    /// A PAUSE storm ends.
    StormEnds,
}

impl Timer {
    /// An entry for this timer.
    #[inline(always)]
    pub fn entry(self, due: Time, key: u32) -> Entry {
        Entry::new(due, key, self.encode())
    }

    /// The timer of an entry.
    #[inline(always)]
    pub fn of(entry: Entry) -> Self {
        Self::decode(entry.payload())
    }

    #[inline(always)]
    const fn encode(self) -> u32 {
        let (kind, which) = match self {
            Self::Sender(slot) => (0, slot),
            Self::Receiver(slot) => (1, slot),
            Self::Pause { nic, class } => (2, (nic as u32) << CLASS_BITS | class as u32),
            Self::Retry { nic } => (3, nic as u32),
            Self::CreditUpdate { nic } => (4, nic as u32),
            Self::Pull => (5, 0),
            Self::Notification => (6, 0),
            Self::TcpSender(slot) => (7, slot),
            Self::TcpReceiver(slot) => (8, slot),
            Self::Delayed(place) => (9, place),
            Self::Buffer { nic, what } => (10, what.number() << NIC_BITS | nic as u32),
        };
        debug_assert!(which >> SHIFT == 0, "a host has fewer flows");
        kind << SHIFT | which
    }

    #[inline(always)]
    const fn decode(payload: u32) -> Self {
        match payload >> SHIFT {
            0 => Self::Sender(payload),
            1 => Self::Receiver(payload & WHICH),
            _ => Self::decode_seldom(payload),
        }
    }

    /// The kinds that are due less often. In a function of its own, so that a match on the two frequent kinds builds no [`Timer`].
    #[inline(never)]
    const fn decode_seldom(payload: u32) -> Self {
        let which = payload & WHICH;
        match payload >> SHIFT {
            2 => Self::Pause {
                nic: (which >> CLASS_BITS) as PortId,
                class: which as u8 & ((1 << CLASS_BITS) - 1),
            },
            3 => Self::Retry {
                nic: which as PortId,
            },
            4 => Self::CreditUpdate {
                nic: which as PortId,
            },
            5 => Self::Pull,
            6 => Self::Notification,
            7 => Self::TcpSender(which),
            8 => Self::TcpReceiver(which),
            9 => Self::Delayed(which),
            10 => Self::Buffer {
                nic: which as PortId,
                what: BufferTimer::numbered(which >> NIC_BITS),
            },
            _ => unreachable!(),
        }
    }
}

impl BufferTimer {
    /// The order of those that are due at the same time.
    pub const fn number(self) -> u32 {
        match self {
            Self::Taken => 0,
            Self::Pfc => 1,
            Self::Refresh { class } => 2 + class as u32,
            Self::StormBegins => 100,
            Self::StormEnds => 101,
        }
    }

    const fn numbered(number: u32) -> Self {
        match number {
            0 => Self::Taken,
            1 => Self::Pfc,
            100 => Self::StormBegins,
            101 => Self::StormEnds,
            _ => Self::Refresh {
                class: (number - 2) as u8,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST_NIC: PortId = PortId::MAX;

    /// The timer after this one, by kind, with the smallest value and the largest.
    fn after(timer: Timer) -> Option<[Timer; 2]> {
        let buffer = |first, last| {
            let first = Timer::Buffer {
                nic: 0,
                what: first,
            };
            let last = Timer::Buffer {
                nic: LAST_NIC,
                what: last,
            };
            Some([first, last])
        };
        match timer {
            Timer::Sender(_) => Some([Timer::Receiver(0), Timer::Receiver(WHICH)]),
            Timer::Receiver(_) => Some([
                Timer::Pause { nic: 0, class: 0 },
                Timer::Pause {
                    nic: LAST_NIC,
                    class: 7,
                },
            ]),
            Timer::Pause { .. } => Some([0, LAST_NIC].map(|nic| Timer::Retry { nic })),
            Timer::Retry { .. } => Some([0, LAST_NIC].map(|nic| Timer::CreditUpdate { nic })),
            Timer::CreditUpdate { .. } => Some([Timer::Pull; 2]),
            Timer::Pull => Some([Timer::Notification; 2]),
            Timer::Notification => Some([0, WHICH].map(Timer::TcpSender)),
            Timer::TcpSender(_) => Some([0, WHICH].map(Timer::TcpReceiver)),
            Timer::TcpReceiver(_) => Some([0, WHICH].map(Timer::Delayed)),
            Timer::Delayed(_) => buffer(BufferTimer::Taken, BufferTimer::Taken),
            Timer::Buffer {
                what: BufferTimer::Taken,
                ..
            } => buffer(BufferTimer::Pfc, BufferTimer::Pfc),
            Timer::Buffer {
                what: BufferTimer::Pfc,
                ..
            } => buffer(
                BufferTimer::Refresh { class: 0 },
                BufferTimer::Refresh { class: 7 },
            ),
            Timer::Buffer {
                what: BufferTimer::Refresh { .. },
                ..
            } => buffer(BufferTimer::StormBegins, BufferTimer::StormBegins),
            Timer::Buffer {
                what: BufferTimer::StormBegins,
                ..
            } => buffer(BufferTimer::StormEnds, BufferTimer::StormEnds),
            Timer::Buffer {
                what: BufferTimer::StormEnds,
                ..
            } => None,
        }
    }

    fn all() -> Vec<Timer> {
        let mut all = vec![Timer::Sender(0), Timer::Sender(WHICH)];
        while let Some(next) = after(all[all.len() - 1]) {
            all.extend(next);
        }
        all.dedup();
        all
    }

    #[test]
    fn every_kind_survives_its_encoding() {
        for timer in all() {
            let entry = timer.entry(Time::from_ns(3), 5);
            assert_eq!(Timer::of(entry), timer);
        }
    }

    #[test]
    fn simultaneous_timers_of_a_flow_run_in_the_order_of_kinds() {
        let all = all();
        assert!(all.is_sorted_by(|a, b| a.encode() < b.encode()));
    }
}
