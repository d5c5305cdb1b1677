//! The timers of a switch.

use unpause_protocols::units::Time;

use crate::engine::heap::Entry;

/// The purpose of a timer of a switch: the payload of its entry. The key of the entry says which one it is.
///
/// Entries are ordered by time, then key, then payload, so these numbers decide the order of simultaneous timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Timer {
    /// Of the model. The key is a number of its own.
    Model,
    /// An XOFF may have to be repeated. The key is the index of the ingress.
    Refresh,
    /// The time of a PAUSE may be over. The key is the index of the egress.
    Expiry,
    /// The watchdogs poll. The key comes after all others.
    Poll,
    /// An update of credits is due. The key is the port.
    Update,
    /// A link may have to send again. The key is the port.
    Retry,
    /// A shaper releases its class or port. The key is its bucket.
    Shaper,
}

impl Timer {
    const ALL: [Self; 7] = [
        Self::Model,
        Self::Refresh,
        Self::Expiry,
        Self::Poll,
        Self::Update,
        Self::Retry,
        Self::Shaper,
    ];

    /// The entry of such a timer with this key.
    pub fn entry(self, due: Time, key: u32) -> Entry {
        Entry::new(due, key, self as u32)
    }

    /// The purpose of the timer with this entry.
    pub fn of(entry: Entry) -> Self {
        Self::ALL[entry.payload() as usize]
    }
}
