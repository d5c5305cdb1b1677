//! The next hops of a switch.

use crate::fabric::rng::mix;
use crate::fabric::{NodeId, PortId};

/// Marks the number of a set of next hops, where otherwise the only next hop stands.
pub const SET: u16 = 1 << 15;

/// The next hops of one switch, or of a host with several links; another host has none.
#[derive(Clone, Debug)]
pub struct SwitchRoutes {
    /// Its own index as an edge switch.
    pub edge: u32,
    /// By which it chooses.
    pub seed: u64,
    /// For each edge switch: the port that leads there, or, with [`SET`], which set of ports.
    pub next_hops: Vec<u16>,
    /// Each set of ports that lead equally far, as a range of `ports`. The first is empty.
    pub sets: Vec<(u16, u16)>,
    /// The ports of all sets: `sets` are ranges of them.
    pub ports: Vec<PortId>,
}

impl SwitchRoutes {
    /// How `next_hops` says that these ports lead somewhere; most destinations share a few sets.
    pub fn entry(&mut self, ports: &[PortId]) -> u16 {
        if let [only] = ports
            && only & SET == 0
        {
            return *only;
        }
        let known = self
            .sets
            .iter()
            .position(|&(start, count)| self.ports[start as usize..][..count as usize] == *ports);
        let set = known.unwrap_or_else(|| {
            self.sets
                .push((self.ports.len() as u16, ports.len() as u16));
            self.ports.extend(ports);
            self.sets.len() - 1
        }) as u16;
        debug_assert!(set < SET, "a fabric with so many sets of ports is refused");
        set | SET
    }

    /// Takes a port out of every set, and out of use where it is the only one.
    pub fn cut(&mut self, port: PortId) {
        for edge in 0..self.next_hops.len() {
            let ports = self.towards(edge);
            if ports.contains(&port) {
                let left: Vec<PortId> = ports.iter().copied().filter(|it| *it != port).collect();
                self.next_hops[edge] = self.entry(&left);
            }
        }
    }

    /// One port of a set, by a hash.
    #[inline(always)]
    pub fn choose(&self, set: u16, src: NodeId, dst: NodeId, source_port: u16) -> Option<PortId> {
        let (start, count) = self.sets[usize::from(set)];
        let addresses = u64::from(src) << 32 | u64::from(dst);
        let hash = mix(addresses ^ u64::from(source_port) << 16 ^ self.seed);
        let choice = ((hash >> 32) * u64::from(count)) >> 32;
        let in_set = count > 0;
        in_set.then(|| self.ports[usize::from(start) + choice as usize])
    }

    /// The port of a set that a number stands for.
    #[cold]
    pub fn at(&self, set: u16, number: u32) -> Option<PortId> {
        let (start, count) = self.sets[usize::from(set)];
        let choice = number.checked_rem(count.into())?;
        Some(self.ports[usize::from(start) + choice as usize])
    }

    /// The ports that lead to the edge switch of index `edge`.
    pub fn towards(&self, edge: usize) -> &[PortId] {
        match self.next_hops.get(edge) {
            None => &[],
            Some(entry) if entry & SET == 0 => std::slice::from_ref(entry),
            Some(entry) => {
                let (start, count) = self.sets[usize::from(entry & !SET)];
                &self.ports[usize::from(start)..][..usize::from(count)]
            }
        }
    }
}
