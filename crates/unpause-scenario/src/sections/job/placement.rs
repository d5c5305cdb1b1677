//! Which hosts the ranks of a job get.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_sim::config::NodeId;

use super::keys::Placement;
use unpause_import::fabric::names::Names;

/// So many of the hosts `free`, in the order of ranks: there are as many.
pub(super) fn place(
    placement: Placement,
    count: usize,
    free: &[NodeId],
    names: &Names,
    seed: u64,
) -> Vec<NodeId> {
    let mut hosts = match placement {
        Placement::Packed => free.to_vec(),
        Placement::Spread => in_turn(free, names),
        Placement::Random => shuffled(free, seed),
    };
    hosts.truncate(count);
    hosts
}

/// One host at each leaf switch in turn: the switch that a host's first link to a switch leads to.
fn in_turn(free: &[NodeId], names: &Names) -> Vec<NodeId> {
    let leaf = |host: &NodeId| {
        let peers = names.peers[*host as usize].iter();
        peers.copied().find(|peer| !names.is_host(*peer))
    };
    let mut leaves: Vec<(Option<NodeId>, Vec<NodeId>)> = Vec::new();
    for host in free {
        let of = leaf(host);
        match leaves.iter_mut().find(|(known, _)| *known == of) {
            Some((_, hosts)) => hosts.push(*host),
            None => leaves.push((of, vec![*host])),
        }
    }
    let most = leaves.iter().map(|(_, hosts)| hosts.len()).max();
    (0..most.unwrap_or(0))
        .flat_map(|turn| {
            leaves
                .iter()
                .filter_map(move |(_, hosts)| hosts.get(turn).copied())
        })
        .collect()
}

/// By Fisher and Yates.
fn shuffled(free: &[NodeId], seed: u64) -> Vec<NodeId> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut hosts = free.to_vec();
    for at in (1..hosts.len()).rev() {
        let other = (u128::from(rng.next_u64()) * (at as u128 + 1)) >> 64;
        hosts.swap(at, other as usize);
    }
    hosts
}
