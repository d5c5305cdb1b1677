//! Operations in which ranks send to each other directly, and chains.

use super::step::{Part, Step};

/// A message of one block.
fn block(peer: u32, first: u32, reduces: bool) -> Part {
    Part {
        peer,
        first,
        count: 1,
        reduces,
        bytes: None,
    }
}

/// The others, from the next on.
fn others((me, n): (u32, u32)) -> impl Iterator<Item = u32> {
    (1..n).map(move |by| (me + by) % n)
}

/// Reduce-scatter: each gives every other its block.
pub fn direct_scatter((me, n): (u32, u32), to: &mut Step) {
    to.sends
        .extend(others((me, n)).map(|peer| block(peer, peer, true)));
    to.receives
        .extend(others((me, n)).map(|peer| block(peer, me, true)));
}

/// All-gather: each gives its block to all.
pub fn direct_gather((me, n): (u32, u32), to: &mut Step) {
    to.sends
        .extend(others((me, n)).map(|peer| block(peer, me, false)));
    to.receives
        .extend(others((me, n)).map(|peer| block(peer, peer, false)));
}

/// All-reduce: both, one after the other.
pub fn direct_reduce(rank: (u32, u32), step: u32, to: &mut Step) {
    match step {
        0 => direct_scatter(rank, to),
        _ => direct_gather(rank, to),
    }
}

/// All-to-all: block p of each is for p.
pub fn direct((me, n): (u32, u32), to: &mut Step) {
    to.sends
        .extend(others((me, n)).map(|peer| block(peer, peer, false)));
    to.receives
        .extend(others((me, n)).map(|peer| block(peer, me, false)));
}

/// All-to-all with one partner after the other.
pub fn pairwise((me, n): (u32, u32), step: u32, to: &mut Step) {
    let (next, last) = ((me + step + 1) % n, (me + n - step - 1) % n);
    to.sends.push(block(next, next, false));
    to.receives.push(block(last, me, false));
    to.acknowledged = true;
}

/// Each sends to the next.
pub fn neighbours((me, n): (u32, u32), to: &mut Step) {
    to.sends.push(block((me + 1) % n, 0, false));
    to.receives.push(block((me + n - 1) % n, 0, false));
}

/// Broadcast, from the root to the next, and from that to its next.
pub fn chain((me, n): (u32, u32), root: u32, step: u32, to: &mut Step) {
    match step {
        0 if me != root => to.receives.push(block((me + n - 1) % n, 0, false)),
        1 if (me + 1) % n != root => to.sends.push(block((me + 1) % n, 0, false)),
        _ => {}
    }
}
