//! Rings, recursive halving and doubling, and reductions over rails.

use super::step::{Part, Step};

/// The block at distance `by` before `at`, of `n`.
fn before(at: u32, by: u32, n: u32) -> u32 {
    (at + n - by % n) % n
}

/// Sends block `own` to the next of `n`, and receives the block before it from the one before.
fn around((me, n): (u32, u32), own: u32, reduces: bool, to: &mut Step) {
    to.sends.push(Part {
        peer: (me + 1) % n,
        first: own,
        count: 1,
        reduces,
        bytes: None,
    });
    to.receives.push(Part {
        peer: before(me, 1, n),
        first: before(own, 1, n),
        count: 1,
        reduces,
        bytes: None,
    });
}

/// All-reduce: rank r sends block r - s and adds what it gets; then it passes on what is complete.
pub fn ring((me, n): (u32, u32), step: u32, to: &mut Step) {
    if step < n - 1 {
        around((me, n), before(me, step, n), true, to)
    } else {
        around((me, n), before(me + 1, step - (n - 1), n), false, to)
    }
}

/// Reduce-scatter: rank r ends with block r.
pub fn ring_scatter((me, n): (u32, u32), step: u32, to: &mut Step) {
    around((me, n), before(me, step + 1, n), true, to);
}

/// All-gather: rank r begins with block r.
pub fn ring_gather((me, n): (u32, u32), step: u32, to: &mut Step) {
    around((me, n), before(me, step, n), false, to);
}

/// The largest power of two up to `n`.
pub fn powers(n: u32) -> u32 {
    1 << n.ilog2()
}

/// Steps of an all-reduce by halving and doubling.
pub fn halving_doubling_steps(n: u32) -> u32 {
    let p = powers(n);
    2 * p.ilog2() + 2 * u32::from(p < n)
}

/// All-reduce. If `n` is no power of two, the first ranks come together in pairs before, and share the result after.
pub fn halving_doubling((me, n): (u32, u32), step: u32, to: &mut Step) {
    let p = powers(n);
    let pairs = n - p;
    let paired = me < 2 * pairs;
    let whole = |peer, reduces| Part {
        peer,
        first: 0,
        count: p,
        reduces,
        bytes: None,
    };
    let steps = halving_doubling_steps(n);
    let Some(inner) = step.checked_sub(u32::from(pairs > 0)) else {
        // The odd one gives all it has to the even one.
        match (paired, me % 2) {
            (true, 1) => to.sends.push(whole(me - 1, true)),
            (true, _) => to.receives.push(whole(me + 1, true)),
            _ => {}
        }
        return;
    };
    if pairs > 0 && step == steps - 1 {
        match (paired, me % 2) {
            (true, 1) => to.receives.push(whole(me - 1, false)),
            (true, _) => to.sends.push(whole(me + 1, false)),
            _ => {}
        }
        return;
    }
    if paired && me % 2 == 1 {
        return;
    }
    // Its place among those that are left, and whose place that is.
    let at = if paired { me / 2 } else { me - pairs };
    let rank = |at: u32| if at < pairs { 2 * at } else { at + pairs };
    let levels = p.ilog2();
    let (level, reduces) = if inner < levels {
        (inner, true)
    } else {
        (2 * levels - 1 - inner, false)
    };
    let distance = p >> (level + 1);
    let partner = at ^ distance;
    // Blocks with the same upper bits as one of the two, down to the one in which they differ.
    let part_of = |owner: u32, peer: u32| Part {
        peer: rank(peer),
        first: owner & !(distance - 1),
        count: distance,
        reduces,
        bytes: None,
    };
    let (sent, received) = if reduces {
        (partner, at)
    } else {
        (at, partner)
    };
    to.sends.push(part_of(sent, partner));
    to.receives.push(part_of(received, partner));
}

/// Steps of an all-reduce over rails.
pub fn rails_steps(n: u32, per_server: u32) -> u32 {
    2 * (per_server - 1) + 2 * (n / per_server - 1)
}

/// All-reduce: reduce-scatter in each server, all-reduce between servers among ranks of the same place in theirs, all-gather
/// in each server; all of them rings. The block of place g has those from g x servers on.
pub fn rails((me, n): (u32, u32), per_server: u32, step: u32, to: &mut Step) {
    let servers = n / per_server;
    let (server, place) = (me / per_server, me % per_server);
    let inside = per_server - 1;
    let between = 2 * (servers - 1);
    if step < inside || step >= inside + between {
        if step < inside {
            ring_scatter((place, per_server), step, to)
        } else {
            ring_gather((place, per_server), step - inside - between, to)
        }
        for part in to.sends.iter_mut().chain(&mut to.receives) {
            part.peer += server * per_server;
            part.first *= servers;
            part.count *= servers;
        }
        return;
    }
    ring((server, servers), step - inside, to);
    for part in to.sends.iter_mut().chain(&mut to.receives) {
        part.peer = part.peer * per_server + place;
        part.first += place * servers;
    }
}
