//! Seeds: one random stream for each node, each wire with errors and each traffic entry, all of the run's seed.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::state_visitor::StateVisitor;

use crate::fabric::NodeId;
use crate::fabric::ports::GlobalPort;

/// The generator of node `id` in a run of `seed`.
pub fn of_node(seed: u64, id: NodeId) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(mix(seed ^ mix(u64::from(id) + 1)))
}

/// One of the generators of the wire to `port`, which say what is lost to errors.
pub fn of_wire(seed: u64, port: GlobalPort, stream: u64) -> Xoshiro256PlusPlus {
    // No node has such a number.
    const WIRES: u64 = 1 << 32;
    let wire = WIRES * (1 + stream) + 1 + u64::from(port);
    Xoshiro256PlusPlus::seed_from_u64(mix(seed ^ mix(wire)))
}

/// The finaliser of SplitMix64: spreads every input bit over all output bits.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Shows the state of a generator: by what it draws next.
pub fn show<L: StateVisitor>(rng: &Xoshiro256PlusPlus, visitor: &mut L) {
    let mut copy = rng.clone();
    for _ in 0..4 {
        visitor.same(copy.next_u64());
    }
}
