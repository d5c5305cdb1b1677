//! The interface of tagging.

/// A way to tag the packets of a flow.
pub trait Mechanism {
    /// The level of a packet that carries the flow's bytes from `offset` to `offset + bytes`.
    fn level(&self, offset: u64, bytes: u32) -> u8;
}

/// All packets are equally urgent.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneLevel;

impl Mechanism for OneLevel {
    #[inline]
    fn level(&self, _offset: u64, _bytes: u32) -> u8 {
        0
    }
}
