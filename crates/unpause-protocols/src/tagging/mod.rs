//! Tagging: the priority that a sender gives the packets of a flow.
//!
//! Level 0 is the most urgent; the owner maps levels to traffic classes. The level depends on where a
//! packet's bytes lie in the flow and on nothing else, so a retransmission has that of the original.

use crate::dispatch::mechanisms;

mod mechanism;
pub mod pias;

pub use mechanism::{Mechanism, OneLevel};

mechanisms! {
    ($)
    /// How the packets of flows are tagged.
    Tagging:
    /// Every packet has level 0.
    None(OneLevel),
    /// PIAS: the more a flow has sent, the less urgent.
    Pias(pias::Pias),
}

impl Tagging {
    /// Tagging with these parameters.
    pub fn new(config: &Config) -> Self {
        build!(config, OneLevel)
    }
    /// The level of a packet that carries the flow's bytes from `offset` to `offset + bytes`.
    #[inline]
    pub fn level(&self, offset: u64, bytes: u32) -> u8 {
        dispatch!(self, it => it.level(offset, bytes))
    }
}
