//! How switches choose among equal next hops.

use unpause_protocols::units::Time;

/// How a switch chooses among equal next hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balancing {
    /// By a hash of addresses and source port, or as [`crate::fabric::Ecmp`] says.
    #[default]
    Ecmp,
    /// Each in turn, regardless of the flow.
    RoundRobin,
    /// At random.
    Random,
    /// At random among the least loaded.
    Adaptive(AdaptiveBalancing),
    /// By the same hash, but flows between two groups of switches ([`crate::fabric::Fabric::groups`]) first go to a third one,
    /// which is drawn by the flow's hash (Valiant's routing, as in Kim et al., ISCA 2008).
    Valiant,
    /// That of the flow's last packet; at random if that was longer ago than the gap (LetFlow, NSDI 2017).
    Flowlet {
        /// The gap.
        gap: Time,
    },
}

impl Balancing {
    /// True if packets of a flow may take different paths.
    pub fn sprays(&self) -> bool {
        !matches!(self, Self::Ecmp | Self::Valiant)
    }
}

/// Adaptive load balancing of DeTail (SIGCOMM 2012): ports are in three classes by the bytes that a
/// packet would wait behind, those of its own and of more urgent priorities; a packet takes one of the
/// best class at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveBalancing {
    /// A port with fewer bytes is of the best class.
    pub min_bytes: u64,
    /// A port with fewer bytes is of the second class.
    pub max_bytes: u64,
}

impl Default for AdaptiveBalancing {
    fn default() -> Self {
        Self {
            min_bytes: 16_000,
            max_bytes: 32_000,
        }
    }
}
