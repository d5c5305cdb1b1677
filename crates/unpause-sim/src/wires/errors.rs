//! Wires on which frames are lost to errors. Each has a random stream of its own, from which one number is drawn for each
//! frame while there are errors: frames of a wire are sent in the same order on any number of threads.

use std::collections::BTreeMap;

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::FrameErrors;
use crate::fabric::ports::GlobalPort;
use crate::fabric::rng;

/// The wires out of a shard's nodes that lose frames, by the port that receives.
#[derive(Debug, Default)]
pub struct ErringWires(BTreeMap<GlobalPort, Wire>);

#[derive(Debug)]
struct Wire {
    errors: FrameErrors,
    /// For frames, answers of link-level retry, and updates of credits.
    streams: [Xoshiro256PlusPlus; 3],
}

impl ErringWires {
    /// Which frames are lost from now on that are on the wire to `port`, in a run of this `seed`.
    pub fn set(&mut self, seed: u64, port: GlobalPort, errors: FrameErrors) {
        let wire = self.0.entry(port).or_insert_with(|| Wire {
            errors,
            streams: [0, 1, 2].map(|stream| rng::of_wire(seed, port, stream)),
        });
        wire.errors = errors;
    }

    /// True if a frame to `port` is lost, of this many `bytes` and this many on the wire.
    pub fn hit(&mut self, port: GlobalPort, bytes: u64, wire_bytes: u64) -> bool {
        self.hits(port, 0, (bytes, wire_bytes))
    }

    /// True if an answer of link-level retry to `port` is lost: whoever owns that port draws.
    pub fn hits_answer(&mut self, port: GlobalPort, bytes: u64) -> bool {
        self.hits_message(port, 1, bytes)
    }

    /// True if an update of credits to `port` is lost: the far end draws.
    pub fn hits_update(&mut self, port: GlobalPort, bytes: u64) -> bool {
        self.hits_message(port, 2, bytes)
    }

    /// The same of a message, which is no frame.
    fn hits_message(&mut self, port: GlobalPort, stream: usize, bytes: u64) -> bool {
        let wire = self.0.get(&port);
        let by_frame = wire.is_some_and(|it| matches!(it.errors, FrameErrors::Frames(_)));
        !by_frame && self.hits(port, stream, (bytes, bytes))
    }

    fn hits(&mut self, port: GlobalPort, stream: usize, (bytes, on_wire): (u64, u64)) -> bool {
        const ONE: f64 = (1_u64 << 53) as f64;
        let Some(wire) = self.0.get_mut(&port) else {
            return false;
        };
        if wire.errors == FrameErrors::None {
            return false;
        }
        let drawn = (wire.streams[stream].next_u64() >> 11) as f64 / ONE;
        drawn < wire.errors.loss(bytes, on_wire)
    }

    /// True if nothing is drawn.
    pub fn are_quiet(&self) -> bool {
        self.0.values().all(|it| it.errors == FrameErrors::None)
    }
}
