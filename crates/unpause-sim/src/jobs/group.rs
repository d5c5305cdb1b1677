//! A group of ranks, and the servers that they sit on.
//!
//! A server is an NVSwitch with its hosts. Rings and trees go through the ranks of a server before they go on to the next,
//! as NCCL's do, and channels take turns at its NICs.
//!
//! # Source
//!
//! NCCL 2.30: `graph/trees.cc`, and `graph/connect.cc`, where odd nodes exchange rings so that these stay on their rails.

use std::collections::BTreeMap;
use std::ops::Deref;

/// Ranks that take part in an operation together, in order. Their *places* are numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    ranks: Vec<u32>,
    /// `None` if no server has two of them.
    servers: Option<Servers>,
}

/// The servers of a group, in the order of their first ranks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Servers {
    /// The places of each, in order.
    places: Vec<Vec<u32>>,
    /// By place: its server, and its number there.
    seats: Vec<(u32, u32)>,
    /// How many places the servers before each have.
    before: Vec<u32>,
    /// The places on each rail, in order.
    rails: BTreeMap<u32, Vec<u32>>,
    /// By place: its rail.
    rail_of: Vec<u32>,
}

impl Deref for Group {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.ranks
    }
}

impl FromIterator<u32> for Group {
    /// Each rank sits on a server of its own.
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> Self {
        Self {
            ranks: ranks.into_iter().collect(),
            servers: None,
        }
    }
}

impl Group {
    /// Seats its ranks on the servers and rails that `seat_of` names: a rail is the number of a GPU in its server.
    pub fn sit<S: PartialEq>(&mut self, seat_of: impl Fn(u32) -> Option<(S, u32)>) {
        let mut names: Vec<(Option<S>, Vec<u32>)> = Vec::new();
        let mut rails: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut rail_of = Vec::new();
        for (rank, place) in self.ranks.iter().zip(0..) {
            let (name, rail) = seat_of(*rank).unzip();
            // A host without server has a rail of its own.
            let rail = rail.unwrap_or(u32::MAX - place);
            rails.entry(rail).or_default().push(place);
            rail_of.push(rail);
            let known = names
                .iter_mut()
                .find(|(it, _)| name.is_some() && *it == name);
            match known {
                Some((_, places)) => places.push(place),
                None => names.push((name, vec![place])),
            }
        }
        self.servers = (names.len() < self.ranks.len()).then(|| {
            let places: Vec<Vec<u32>> = names.into_iter().map(|(_, places)| places).collect();
            let mut seats = vec![(0, 0); self.ranks.len()];
            let mut before = Vec::new();
            let mut sum = 0;
            for (of_server, server) in places.iter().zip(0..) {
                before.push(sum);
                sum += of_server.len() as u32;
                for (place, number) in of_server.iter().zip(0..) {
                    seats[*place as usize] = (server, number);
                }
            }
            Servers {
                places,
                seats,
                before,
                rails,
                rail_of,
            }
        });
    }

    /// How many ranks it has.
    pub fn count(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// How many servers it has.
    pub(super) fn servers(&self) -> u32 {
        self.servers
            .as_ref()
            .map_or(self.count(), |it| it.places.len() as u32)
    }

    /// The position of a place in the ring of a channel.
    ///
    /// The ring of channel c enters the first server, the third and so on at its c-th rank, and leaves it at the one before
    /// that. In the servers between it runs backwards, so that it enters a server by the NIC by which it has left the server
    /// before: on rails it stays on one.
    pub(super) fn position(&self, channel: u32, place: u32) -> u32 {
        let Some(it) = &self.servers else {
            return place;
        };
        let (server, number) = it.seats[place as usize];
        let size = it.places[server as usize].len() as u32;
        let forward = (number + size - channel % size) % size;
        it.before[server as usize] + turned(server, forward, size)
    }

    /// The place at a position of the ring of a channel.
    pub(super) fn place(&self, channel: u32, position: u32) -> u32 {
        let Some(it) = &self.servers else {
            return position;
        };
        let server = it.before.partition_point(|it| *it <= position) - 1;
        let places = &it.places[server];
        let size = places.len() as u32;
        let forward = turned(server as u32, position - it.before[server], size);
        places[((forward + channel) % size) as usize]
    }

    /// The server of a place, and how many ranks are before it in the chain of channel `channel` through that, which begins at
    /// the channel's own.
    pub(super) fn link(&self, channel: u32, place: u32) -> (u32, u32) {
        let Some(it) = &self.servers else {
            return (place, 0);
        };
        let (server, number) = it.seats[place as usize];
        let size = it.places[server as usize].len() as u32;
        (server, (number + size - channel % size) % size)
    }

    /// The place of link `number` of the chain of a channel through a server; `None` beyond its end.
    pub(super) fn of_chain(&self, channel: u32, (server, number): (u32, u32)) -> Option<u32> {
        let Some(it) = &self.servers else {
            return (number == 0).then_some(server);
        };
        let places = &it.places[server as usize];
        let size = places.len() as u32;
        (number < size).then(|| places[((number + channel) % size) as usize])
    }
}

/// Where messages go over relays.
impl Group {
    /// True if two of its ranks sit on one server.
    pub fn shares_servers(&self) -> bool {
        self.servers.is_some()
    }

    /// The other places of a server, from the next on.
    pub(super) fn server_mates(&self, me: u32) -> impl Iterator<Item = u32> {
        let servers = self.servers.as_ref();
        let own = servers.map(|it| &it.places[it.seats[me as usize].0 as usize][..]);
        after(me, own.unwrap_or_default())
    }

    /// True if two places are on one server.
    pub(super) fn is_inside(&self, one: u32, other: u32) -> bool {
        let server = |place| self.link(0, place).0;
        server(one) == server(other)
    }

    /// The places of each server but one's own.
    pub(super) fn other_servers(&self, me: u32) -> impl Iterator<Item = &[u32]> {
        let servers = self.servers.iter().flat_map(|it| &it.places);
        let others = servers.filter(move |it| !self.is_inside(me, it[0]));
        others.map(Vec::as_slice)
    }

    /// The places of each rail, in order.
    pub(super) fn rails(&self) -> impl Iterator<Item = &[u32]> {
        let rails = self.servers.iter().flat_map(|it| it.rails.values());
        rails.map(Vec::as_slice)
    }

    /// The places of other servers on the rail of this one, from the next on.
    pub(super) fn rail_mates(&self, me: u32) -> impl Iterator<Item = u32> {
        let servers = self.servers.as_ref();
        let own = servers.map(|it| &it.rails[&it.rail_of[me as usize]][..]);
        after(me, own.unwrap_or_default()).filter(move |it| !self.is_inside(me, *it))
    }

    /// The place by way of which a message goes that leaves its server: on that server, the place on the receiver's rail.
    /// `None` if the sender is on that rail itself, or nobody is.
    pub(super) fn relay(&self, from: u32, to: u32) -> Option<u32> {
        let it = self.servers.as_ref()?;
        let (server, _) = it.seats[from as usize];
        if server == it.seats[to as usize].0 {
            return None;
        }
        let rail = it.rail_of[to as usize];
        let mut own = it.places[server as usize].iter().copied();
        let relay = own.find(|place| it.rail_of[*place as usize] == rail);
        relay.filter(|relay| *relay != from)
    }
}

/// All of these but one, from the next on.
pub(super) fn after(me: u32, all: &[u32]) -> impl Iterator<Item = u32> {
    let at = all.partition_point(|it| *it <= me);
    let in_turn = all[at..].iter().chain(&all[..at]).copied();
    in_turn.filter(move |it| *it != me)
}

/// A position in a server of this size: from the end in every second server.
fn turned(server: u32, position: u32, size: u32) -> u32 {
    if server.is_multiple_of(2) {
        position
    } else {
        size - 1 - position
    }
}

/// Ranks on servers of these sizes.
#[cfg(test)]
pub fn seated(sizes: &[u32]) -> Group {
    let servers = sizes.iter().zip(0..);
    let of: Vec<u32> = servers
        .flat_map(|(size, server)| std::iter::repeat_n(server, *size as usize))
        .collect();
    let mut group = Group::from_iter(0..of.len() as u32);
    let first = |server: u32| sizes[..server as usize].iter().sum::<u32>();
    group.sit(|rank| Some((of[rank as usize], rank - first(of[rank as usize]))));
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_pass_every_rank_once() {
        for sizes in [&[1, 2, 3][..], &[4, 4], &[8, 8, 8], &[5], &[1, 1, 1]] {
            let group = seated(sizes);
            for channel in 0..9 {
                for at in 0..group.count() {
                    assert_eq!(group.position(channel, group.place(channel, at)), at);
                }
            }
        }
    }
}
