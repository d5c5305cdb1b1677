//! The items of the round-robin of a class, and of the heap behind rate limiters.
//!
//! An item takes 32 bits there, a [`Handle`]: room for 2^31 RoCE flows at a host and 2^30 TCP connections. Flows that rate limiters
//! hold back until the same time go by flow, then by handle.

use unpause_protocols::state_visitor::{Same, StateVisitor};
use unpause_protocols::units::Time;

use crate::engine::heap::Entry;

/// In a handle: not the slot of a RoCE flow.
const OTHER: u32 = 1 << 31;
/// Together with it: not the slot of a TCP connection, but a class.
const CLASS: u32 = 1 << 30;
/// Together with both: not TCP's replies of the class, but RoCE's.
const ACKS: u32 = 1 << 29;

/// An item that gets its turn at the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// A RoCE flow: the slot of its sender.
    Roce(u32),
    /// A TCP connection: the slot of its sender.
    Tcp(u32),
    /// Packets that wait in TCP's FIFO of a class.
    Replies(u8),
    /// ACKs and NAKs of RoCE that wait in a class. No rate limiter applies to them.
    Acks(u8),
}

/// An [`Item`] in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

impl Item {
    /// The handle of this item.
    #[inline(always)]
    pub const fn handle(self) -> Handle {
        Handle(match self {
            Self::Roce(slot) => {
                debug_assert!(slot & OTHER == 0, "a host has fewer flows");
                slot
            }
            Self::Tcp(slot) => {
                debug_assert!(slot & (OTHER | CLASS) == 0, "a host has fewer connections");
                OTHER | slot
            }
            Self::Replies(class) => OTHER | CLASS | class as u32,
            Self::Acks(class) => OTHER | CLASS | ACKS | class as u32,
        })
    }

    /// An entry for a flow that its rate limiter holds back until `start`.
    #[inline(always)]
    pub fn entry(self, start: Time, flow: u32) -> Entry {
        Entry::new(start, flow, self.handle().0)
    }
}

impl Handle {
    /// The item that it stands for.
    #[inline(always)]
    pub const fn item(self) -> Item {
        if self.0 & OTHER == 0 {
            return Item::Roce(self.0);
        }
        match (self.0 & CLASS != 0, self.0 & ACKS != 0) {
            (false, _) => Item::Tcp(self.0 & !OTHER),
            (true, false) => Item::Replies(self.0 as u8),
            (true, true) => Item::Acks(self.0 as u8),
        }
    }

    /// That of a flow that its rate limiter held back.
    #[inline(always)]
    pub fn of(entry: Entry) -> Self {
        Self(entry.payload())
    }
}

impl Same for Handle {
    fn show_same<L: StateVisitor>(&self, visitor: &mut L) {
        self.0.show_same(visitor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_survives_its_handle() {
        let roce = [0, 1, !OTHER].map(Item::Roce);
        let tcp = [0, 1, !(OTHER | CLASS)].map(Item::Tcp);
        let replies = [0, 1, 7].map(Item::Replies);
        let acks = [0, 1, 7].map(Item::Acks);
        let all = [roce, tcp, replies, acks].concat();
        for &item in &all {
            let entry = item.entry(Time::from_ns(3), 5);
            assert_eq!(Handle::of(entry).item(), item);
            assert_eq!(item.handle().item(), item);
        }
        assert!(all.is_sorted_by(|a, b| a.handle().0 < b.handle().0));
        assert!(all.is_sorted());
    }
}
