//! The round-trip time of an empty fabric.

use std::collections::BTreeMap;
use std::ops::Range;

use unpause_protocols::units::Time;
use unpause_sim::config::{Balancing, Fabric, NodeKind};

use unpause_text::error::{Checked, Problem};
use unpause_text::limits;

/// The longest of the shortest paths between hosts: propagation there and back, no serialisation. Where flows go by a third
/// group, a link within a group and one between groups more.
/// `place` is that of the scheme that needs it, `key` the one that says it otherwise.
pub(crate) fn base_rtt(
    fabric: &Fabric,
    balancing: Balancing,
    place: &Range<usize>,
    key: &str,
) -> Checked<Time> {
    let mut search = Search::new(fabric);
    let racks = std::mem::take(&mut search.racks);
    let steps = racks.len() as u64 * (search.switches() + search.links.len()) as u64;
    if steps > limits::PATH_STEPS {
        return Problem::new("computing the base RTT of this fabric would take too long")
            .at(place.clone(), "this scheme needs it")
            .help(format!(
                "{} switches with hosts and {} links between switches take {steps} steps, at most {} are \
                 possible: set {key}",
                racks.len(),
                search.links.len() / 2,
                limits::PATH_STEPS
            ))
            .err();
    }
    let mut longest = search.between_hosts;
    for from in &racks {
        search.run(from);
        let ways = racks.iter().filter_map(|to| search.way_to(to));
        longest = ways.fold(longest, Time::max);
    }
    if balancing == Balancing::Valiant {
        longest += detour(fabric);
    }
    Ok(longest * 2)
}

/// The longest link within a group and the longest between groups.
fn detour(fabric: &Fabric) -> Time {
    let is_switch = |node: u32| fabric.nodes[node as usize] == NodeKind::Switch;
    let links = fabric.links.iter();
    let links = links.filter(|link| is_switch(link.a) && is_switch(link.b));
    let (mut within, mut between) = (Time::ZERO, Time::ZERO);
    for link in links {
        let longest = if fabric.group(link.a) == fabric.group(link.b) {
            &mut within
        } else {
            &mut between
        };
        *longest = link.delay.max(*longest);
    }
    within + between
}

/// A search over links between switches, which have numbers of their own.
struct Search {
    /// For each switch: where its links begin.
    first: Vec<u32>,
    /// Links: the peer, how long, and how many links within a group it counts for.
    links: Vec<(u32, Time, u32)>,
    /// Hosts with links to the same switches, as those: each with the longest link to one of them.
    racks: Vec<Rack>,
    /// The longest link from a host to another.
    between_hosts: Time,
    /// For each switch: links from where the search began, and the shortest delay over this many.
    hops: Vec<u32>,
    delay: Vec<Time>,
    /// Switches to go on from, by their links from where the search began.
    left: BTreeMap<u32, Vec<u32>>,
}

/// Switches, and how long the links are to hosts that are linked to all of them.
type Rack = Vec<(u32, Time)>;

const UNKNOWN: u32 = u32::MAX;

impl Search {
    fn new(fabric: &Fabric) -> Self {
        let mut number = vec![UNKNOWN; fabric.nodes.len()];
        let switches = (0..number.len()).filter(|&node| fabric.nodes[node] == NodeKind::Switch);
        let mut count = 0;
        for node in switches {
            number[node] = count;
            count += 1;
        }
        let mut links_of = vec![Vec::new(); count as usize];
        // As routes have it: more than the links of a path within groups.
        let far = count.clamp(1, u32::from(u16::MAX));
        let mut of_host: BTreeMap<u32, BTreeMap<u32, Time>> = BTreeMap::new();
        let mut between_hosts = Time::ZERO;
        for link in &fabric.links {
            let mut join = |host, switch| {
                let longest = of_host.entry(host).or_default().entry(switch).or_default();
                *longest = link.delay.max(*longest);
            };
            match (number[link.a as usize], number[link.b as usize]) {
                (UNKNOWN, UNKNOWN) => between_hosts = between_hosts.max(link.delay),
                (UNKNOWN, switch) => join(link.a, switch),
                (switch, UNKNOWN) => join(link.b, switch),
                (a, b) => {
                    let same = fabric.group(link.a) == fabric.group(link.b);
                    let counts = if same { 1 } else { far };
                    links_of[a as usize].push((b, link.delay, counts));
                    links_of[b as usize].push((a, link.delay, counts));
                }
            }
        }
        let mut racks: BTreeMap<Vec<u32>, Vec<Time>> = BTreeMap::new();
        for links in of_host.values() {
            let switches = links.keys().copied().collect();
            let delays = racks
                .entry(switches)
                .or_insert_with(|| vec![Time::ZERO; links.len()]);
            for (longest, delay) in delays.iter_mut().zip(links.values()) {
                *longest = (*delay).max(*longest);
            }
        }
        let racks = racks
            .into_iter()
            .map(|(switches, delays)| -> Rack { switches.into_iter().zip(delays).collect() });
        let mut first = vec![0];
        let mut links = Vec::new();
        for of_switch in links_of {
            links.extend(of_switch);
            first.push(links.len() as u32);
        }
        Self {
            first,
            links,
            racks: racks.collect(),
            between_hosts,
            hops: vec![UNKNOWN; count as usize],
            delay: vec![Time::ZERO; count as usize],
            left: BTreeMap::new(),
        }
    }

    fn switches(&self) -> usize {
        self.hops.len()
    }

    /// Goes from hosts of `rack` to every switch by the fewest links, and the shortest of ways of as many.
    fn run(&mut self, rack: &Rack) {
        self.hops.fill(UNKNOWN);
        for &(switch, delay) in rack {
            self.hops[switch as usize] = 0;
            self.delay[switch as usize] = delay;
        }
        let switches = rack.iter().map(|(switch, _)| *switch).collect();
        self.left.insert(0, switches);
        while let Some((hops, switches)) = self.left.pop_first() {
            for switch in switches {
                if self.hops[switch as usize] == hops {
                    self.go_on(switch, hops);
                }
            }
        }
    }

    /// Goes on by the links of a switch.
    fn go_on(&mut self, switch: u32, hops: u32) {
        let delay = self.delay[switch as usize];
        let links = self.first[switch as usize]..self.first[switch as usize + 1];
        for &(peer, link, counts) in &self.links[links.start as usize..links.end as usize] {
            let known = &mut self.hops[peer as usize];
            let shortest = &mut self.delay[peer as usize];
            let over = hops + counts;
            if over < *known {
                (*known, *shortest) = (over, delay + link);
                self.left.entry(over).or_default().push(peer);
            } else if over == *known {
                *shortest = (*shortest).min(delay + link);
            }
        }
    }

    /// How long the way is that it has found to hosts of `rack`, if there is one.
    fn way_to(&self, rack: &Rack) -> Option<Time> {
        let ways = rack.iter().map(|&(switch, last)| {
            (
                self.hops[switch as usize],
                self.delay[switch as usize] + last,
            )
        });
        let (hops, delay) = ways.min()?;
        (hops != UNKNOWN).then_some(delay)
    }
}

#[cfg(test)]
mod tests {
    use unpause_protocols::units::Rate;
    use unpause_sim::config::Link;

    use super::*;

    /// Switches 0 to 3 and hosts 4 to 6; links and their delays in microseconds.
    fn rtt(links: &[(u32, u32, u64)]) -> u64 {
        let mut nodes = vec![NodeKind::Switch; 4];
        nodes.extend([NodeKind::Host; 3]);
        let rate = Rate::from_gbps(10);
        let links = links.iter().map(|&(a, b, us)| Link {
            a,
            b,
            rate,
            delay: Time::from_us(us),
        });
        let fabric = Fabric {
            nodes,
            links: links.collect(),
            ..Fabric::default()
        };
        let base_rtt = base_rtt(&fabric, Balancing::Ecmp, &(0..0), "scheme.timely.min_rtt");
        base_rtt.expect("it is small").as_ps() / 1_000_000
    }

    #[test]
    fn the_fewest_links_then_the_shortest_of_them() {
        // Over one long link rather than over two short ones.
        let triangle = [(4, 0, 1), (5, 1, 2), (0, 1, 9), (0, 2, 1), (2, 1, 1)];
        assert_eq!(rtt(&triangle), 2 * (1 + 9 + 2));
        // Over the shorter of two pairs.
        let square = [
            (4, 0, 1),
            (5, 3, 1),
            (0, 1, 5),
            (1, 3, 5),
            (0, 2, 5),
            (2, 3, 2),
        ];
        assert_eq!(rtt(&square), 2 * (1 + 5 + 2 + 1));
    }

    #[test]
    fn hosts_with_two_links_take_the_nearest() {
        // From 4 to 5, by switch 0 or by 1; the link between these is no way for them.
        let planes = [(4, 0, 1), (4, 1, 1), (5, 0, 2), (5, 1, 2), (0, 1, 50)];
        assert_eq!(rtt(&planes), 2 * (2 + 2));
        // 6 is at switch 1 only, and all have a link there.
        let one = [
            (4, 0, 1),
            (4, 1, 3),
            (5, 0, 2),
            (5, 1, 2),
            (6, 1, 4),
            (0, 1, 50),
        ];
        assert_eq!(rtt(&one), 2 * (4 + 4));
    }

    /// Switches 0, 1 and 2, 3 in two groups.
    #[test]
    fn fewest_links_between_groups_then_the_fewest_links() {
        let links = [
            (4, 0, 1),
            (5, 3, 2),
            (0, 1, 4),
            (1, 2, 30),
            (2, 3, 6),
            (0, 6, 1),
        ];
        let mut nodes = vec![NodeKind::Switch; 4];
        nodes.extend([NodeKind::Host; 2]);
        nodes.push(NodeKind::Switch);
        // Switch 6 is a group by itself, two links from 3: over it are two links between groups.
        let links = links.into_iter().chain([(6, 3, 1)]);
        let fabric = Fabric {
            nodes,
            links: links
                .map(|(a, b, us)| Link {
                    a,
                    b,
                    rate: Rate::from_gbps(10),
                    delay: Time::from_us(us),
                })
                .collect(),
            groups: vec![0, 0, 1, 1, 0, 1, 2],
            ..Fabric::default()
        };
        let rtt = |balancing| {
            let rtt = base_rtt(&fabric, balancing, &(0..0), "scheme.timely.min_rtt");
            rtt.expect("it is small").as_ps() / 1_000_000
        };
        assert_eq!(rtt(Balancing::Ecmp), 2 * (1 + 4 + 30 + 6 + 2));
        // By a third group, a link within one and one between them more.
        assert_eq!(rtt(Balancing::Valiant), 2 * (1 + 4 + 30 + 6 + 2 + 6 + 30));
    }

    #[test]
    fn hosts_of_one_switch_and_of_none() {
        assert_eq!(rtt(&[(4, 0, 3), (5, 0, 1)]), 2 * (3 + 3));
        assert_eq!(rtt(&[(4, 5, 7)]), 2 * 7);
    }
}
