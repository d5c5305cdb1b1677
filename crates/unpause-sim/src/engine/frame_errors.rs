//! Wires on which frames are lost to errors. Each has a random stream of its own, from which one number is drawn for each
//! frame while there are errors: frames of a wire are sent in the same order on any number of threads.

use std::collections::BTreeMap;

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::FrameErrors;
use crate::ports::GlobalPort;
use crate::rng;

/// The wires out of a shard's nodes that lose frames, by the port that receives.
#[derive(Debug, Default)]
pub struct ErringWires(BTreeMap<GlobalPort, Wire>);

#[derive(Debug)]
struct Wire {
    errors: FrameErrors,
    rng: Xoshiro256PlusPlus,
}

impl ErringWires {
    /// Which frames are lost from now on that are on the wire to `port`, in a run of this `seed`.
    pub fn set(&mut self, seed: u64, port: GlobalPort, errors: FrameErrors) {
        let wire = self.0.entry(port).or_insert_with(|| Wire {
            errors,
            rng: rng::of_wire(seed, port),
        });
        wire.errors = errors;
    }

    /// True if a frame to `port` is lost, of so many `bytes` and so many on the wire.
    pub fn hit(&mut self, port: GlobalPort, bytes: u64, wire_bytes: u64) -> bool {
        const ONE: f64 = (1_u64 << 53) as f64;
        let Some(wire) = self.0.get_mut(&port) else {
            return false;
        };
        if wire.errors == FrameErrors::None {
            return false;
        }
        let drawn = (wire.rng.next_u64() >> 11) as f64 / ONE;
        drawn < wire.errors.loss(bytes, wire_bytes)
    }

    /// True if nothing is drawn.
    pub fn are_quiet(&self) -> bool {
        self.0.values().all(|it| it.errors == FrameErrors::None)
    }
}
