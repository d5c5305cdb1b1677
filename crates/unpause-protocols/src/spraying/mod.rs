//! Packet spraying: the path of each packet of a flow.
//!
//! A sender that sprays gives every packet an *entropy value*, which switches hash to choose among equal next hops; a
//! receiver sends it back with its acknowledgement. So one flow uses many paths, and the sender learns which have room.
//! Packets arrive out of order: loss recovery must stand that ([`crate::loss_recovery::selective_repeat`]).
//!
//! One state machine a flow, at its sender. The owner calls `next` for each packet that it sends, and `on_echo` for what
//! comes back of it.
//!
//! - [`oblivious`]: all values in turn;
//! - [`bitmap`]: in turn, but for those of congested paths;
//! - [`reps`]: those again that have come back without a mark.

use rand_core::Rng;

use crate::dispatch::mechanisms;
use crate::parameters::named;
use crate::units::Time;

pub mod bitmap;
mod mechanism;
pub mod oblivious;
pub mod reps;

pub use mechanism::{DEFAULT_PATHS, Echo, MOST_PATHS, Mechanism, OnePath};

mechanisms! {
    ($)
    /// How a flow is sprayed.
    Spraying:
    /// It is not: all its packets have the same value.
    None(OnePath),
    /// All values in turn.
    Oblivious(oblivious::Oblivious),
    /// In turn, but for those of congested paths.
    Bitmap(bitmap::Bitmap),
    /// REPS: values that have come back without a mark.
    Reps(reps::Reps),
}

// For C and the test vectors.
named! {
    spraying:
    c"oblivious" Oblivious of oblivious { paths },
    c"bitmap" Bitmap of bitmap { paths },
    c"reps" Reps of reps { paths, freeze },
}

impl Config {
    /// Entropy values of a flow.
    pub fn paths(&self) -> u32 {
        match self {
            Self::None => 1,
            Self::Oblivious(params) => params.paths,
            Self::Bitmap(params) => params.paths,
            Self::Reps(params) => params.paths,
        }
    }
}

impl Spraying {
    /// A flow that has sent nothing.
    pub fn new(config: &Config) -> Self {
        build!(config, OnePath)
    }
    /// The value of the next packet, below the number of paths.
    pub fn next<R: Rng>(&mut self, now: Time, rng: &mut R) -> u16 {
        dispatch!(self, it => it.next(now, rng))
    }
    /// Reports the echo of a packet with this value.
    pub fn on_echo(&mut self, now: Time, value: u16, echo: Echo) {
        dispatch!(self, it => it.on_echo(now, value, echo));
    }
}
