//! Groups of switches, every two of them joined.

use unpause_protocols::units::{Rate, Time};
use unpause_text::error::Checked;

use super::builder::{Builder, Places, keys};
use crate::text::document::Table;
use crate::text::keys::Keys;
use unpause_import::fabric::topology::{
    Invalid, Topology, links, nodes, positive, positive_delay, possible_rate,
};

/// A dragonfly (Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008): the
/// switches of a group have a link to one another, and each has `global_links` to other groups. Hosts `H0`, … fill
/// `group0-switch0` first, then `group0-switch1` and so on.
///
/// Global links are arranged as a palm tree (Camarero, Vallejo and Beivide, "Topological Characterization of Hamming and
/// Dragonfly Networks and Its Implications on Routing", TACO 2014): the global ports of a group are numbered switch by switch,
/// and port j of group i leads to group i - j - 1, modulo the number of groups. With fewer groups than ports it goes round
/// again. What then is left for less than a round, goes to the nearest groups on both sides, so that the numbers of links
/// between pairs of groups differ by at most one. If both the groups and the global ports of a group are odd in number, a port
/// of each group has no link.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys("topology")]
pub struct Dragonfly {
    /// switches of each group: a
    pub switches_per_group: u32,
    /// hosts of each switch: p
    pub hosts_per_switch: u32,
    /// links of each switch to other groups: h
    pub global_links: u32,
    /// rate of every host's link
    pub host_rate: Rate,
    /// delay of every link within a group
    pub delay: Time,
    /// number of groups: at least 2, and at most as many as each can have a link to
    #[key(unset = "a h + 1")]
    pub groups: Option<u32>,
    /// rate of every link within a group
    #[key(unset = "`host_rate`")]
    pub local_rate: Option<Rate>,
    /// rate of every link between groups
    #[key(unset = "`local_rate`")]
    pub global_rate: Option<Rate>,
    /// delay of every host's link
    #[key(unset = "`delay`")]
    pub host_delay: Option<Time>,
    /// delay of every link between groups
    #[key(unset = "`delay`")]
    pub global_delay: Option<Time>,
}

/// How the global ports of a group are shared out: by offset, the group of number i - o of group i.
struct Arrangement {
    groups: u32,
    /// Links to each other group.
    rounds: u32,
    /// The offsets at which there is one more, in ascending order.
    more: Vec<u32>,
}

impl Arrangement {
    /// That of `groups`, each with this many `ports`.
    fn of(groups: u32, ports: u32) -> Self {
        let (rounds, left) = (ports / (groups - 1), ports % (groups - 1));
        let half = left / 2;
        let mut more: Vec<u32> = (1..=half).collect();
        // Between two groups that are opposite each other a link is at the same offset for both.
        if left % 2 == 1 && groups.is_multiple_of(2) {
            more.push(groups / 2);
        }
        more.extend(groups - half..groups);
        Self {
            groups,
            rounds,
            more,
        }
    }

    /// The links of a group: the number of its port, the offset of the other group, and the number of the port there.
    fn links(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let others = self.groups - 1;
        let port = move |round: u32, offset: u32| round * others + offset - 1;
        let back = |offset: u32| self.groups - offset;
        let whole = (0..self.rounds).flat_map(move |round| {
            (1..=others).map(move |it| (port(round, it), it, port(round, back(it))))
        });
        let first = self.rounds * others;
        let place = move |offset: u32| first + self.more.partition_point(|it| *it < offset) as u32;
        let more = self.more.iter();
        whole.chain(more.map(move |&it| (place(it), it, place(back(it)))))
    }
}

impl Dragonfly {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        let (groups, ports) = self.counts()?;
        let (a, h) = (self.switches_per_group, self.global_links);
        let switches = nodes("switches_per_group", &[groups, a])?;
        let hosts = nodes("hosts_per_switch", &[switches, self.hosts_per_switch])?;
        links("switches_per_group", &[switches, a])?;
        links("global_links", &[switches, h])?;
        let [host, local, global] = self.kinds()?;
        let mut topology = Topology::default();
        let hosts = topology.add_hosts(hosts);
        let switches: Vec<u32> = (0..groups)
            .flat_map(|group| topology.add_switches(&format!("group{group}-switch"), a))
            .collect();
        let group_of = |hosts_or_switches: usize, each: u32| {
            (0..hosts_or_switches as u32).map(move |number| number / each)
        };
        topology.fabric.groups = group_of(hosts.len(), self.hosts_per_switch * a)
            .chain(group_of(switches.len(), a))
            .collect();
        for (number, &at) in hosts.iter().enumerate() {
            let switch = switches[number / self.hosts_per_switch as usize];
            topology.connect(at, switch, host.0, host.1);
        }
        for group in switches.chunks(a as usize) {
            for (place, &at) in group.iter().enumerate() {
                for &other in &group[place + 1..] {
                    topology.connect(at, other, local.0, local.1);
                }
            }
        }
        let arrangement = Arrangement::of(groups, ports);
        let switch = |group: u32, port: u32| switches[(group * a + port / h) as usize];
        for group in 0..groups {
            for (port, offset, far_port) in arrangement.links() {
                let other = (group + groups - offset) % groups;
                if group < other {
                    let ends = (switch(group, port), switch(other, far_port));
                    topology.connect(ends.0, ends.1, global.0, global.1);
                }
            }
        }
        topology.validate()
    }

    /// The number of groups, and of global ports of each.
    fn counts(&self) -> Result<(u32, u32), Invalid> {
        positive("switches_per_group", self.switches_per_group)?;
        positive("hosts_per_switch", self.hosts_per_switch)?;
        positive("global_links", self.global_links)?;
        let ports = links(
            "global_links",
            &[self.switches_per_group, self.global_links],
        )? as u32;
        let most = ports + 1;
        let groups = self.groups.unwrap_or(most);
        if groups < 2 {
            let message = "must be at least 2: links between groups need two";
            return Err(Invalid::new("groups", message));
        }
        if groups > most {
            let message = format!(
                "must be at most {most}: a group has `switches_per_group` x `global_links` = {ports} links, and needs \
                 one to every other"
            );
            return Err(Invalid::new("groups", message));
        }
        Ok((groups, ports))
    }

    /// Rate and delay of the links of hosts, within groups and between them.
    fn kinds(&self) -> Result<[(Rate, Time); 3], Invalid> {
        let local_rate = self.local_rate.unwrap_or(self.host_rate);
        let kinds = [
            (self.host_rate, self.host_delay.unwrap_or(self.delay)),
            (local_rate, self.delay),
            (
                self.global_rate.unwrap_or(local_rate),
                self.global_delay.unwrap_or(self.delay),
            ),
        ];
        let names = [
            ("host_rate", "host_delay"),
            ("local_rate", "delay"),
            ("global_rate", "global_delay"),
        ];
        if self.switches_per_group == 1 && self.local_rate.is_some() && self.global_rate.is_some() {
            let message = "no link has this rate: a group of one switch has no links within";
            return Err(Invalid::new("local_rate", message));
        }
        positive_delay("delay", self.delay)?;
        for ((rate, delay), name) in kinds.into_iter().zip(names) {
            possible_rate(name.0, rate)?;
            positive_delay(name.1, delay)?;
        }
        Ok(kinds)
    }
}

impl Builder for Dragonfly {
    type Keys = Self;
    const NAME: &'static str = "dragonfly";
    const NODES: &'static str = "`H0`, … fill `group0-switch0` first; `group0-switch0`, … of each group. The switches of a group \
        have a link to one another, and h each to other groups, arranged as a palm tree: global port j of group i leads to \
        group i - j - 1. With fewer groups than a h + 1, pairs of groups have several links, in numbers that differ by at most \
        one. [Routes](#groups) take as few links between groups as possible";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use unpause_sim::config::NodeKind;

    use super::*;
    use crate::sections::topology::tests::{count, neighbours};

    fn dragonfly(groups: Option<u32>, [a, p, h]: [u32; 3]) -> Dragonfly {
        Dragonfly {
            groups,
            switches_per_group: a,
            hosts_per_switch: p,
            global_links: h,
            host_rate: Rate::from_gbps(100),
            local_rate: Some(Rate::from_gbps(200)),
            global_rate: Some(Rate::from_gbps(400)),
            delay: Time::from_ns(500),
            host_delay: Some(Time::from_ns(100)),
            global_delay: Some(Time::from_us(2)),
        }
    }

    /// How many links there are between which groups.
    fn between_groups(topology: &Topology) -> BTreeMap<(u32, u32), u32> {
        let mut between = BTreeMap::new();
        let group = |node: u32| topology.fabric.groups[node as usize];
        for link in &topology.fabric.links {
            let (a, b) = (group(link.a), group(link.b));
            if a != b {
                *between.entry((a.min(b), a.max(b))).or_default() += 1;
            }
        }
        between
    }

    /// Most links between two switches.
    fn diameter(topology: &Topology) -> u32 {
        let mut peers = vec![Vec::new(); topology.names.len()];
        for link in &topology.fabric.links {
            peers[link.a as usize].push(link.b as usize);
            peers[link.b as usize].push(link.a as usize);
        }
        let is_switch = |at: &usize| topology.fabric.nodes[*at] == NodeKind::Switch;
        let mut most = 0;
        for root in (0..peers.len()).filter(is_switch) {
            let mut far = vec![u32::MAX; peers.len()];
            far[root] = 0;
            let mut found = vec![root];
            let mut at = 0;
            while let Some(&node) = found.get(at) {
                at += 1;
                for &peer in peers[node].iter().filter(|peer| is_switch(peer)) {
                    if far[peer] == u32::MAX {
                        far[peer] = far[node] + 1;
                        found.push(peer);
                    }
                }
            }
            most = found.iter().map(|node| far[*node]).fold(most, u32::max);
        }
        most
    }

    #[test]
    fn the_example_of_the_paper() {
        // Fig. 6 of Kim et al.: p = h = 2, a = 4, 72 hosts.
        let topology = dragonfly(None, [4, 2, 2]).build().unwrap();
        assert_eq!(topology.hosts().count(), 72);
        assert_eq!(count(&topology, "group"), 36);
        assert_eq!(diameter(&topology), 3);
        let first = neighbours(&topology, "group0-switch0");
        assert_eq!(first[..2], ["H0", "H1"]);
        assert_eq!(
            first[2..5],
            [1, 2, 3].map(|at| format!("group0-switch{at}"))
        );
        // Ports 0 and 1 of group 0 lead to groups 8 and 7, where they are ports 7 and 6.
        let mut far = first[5..].to_vec();
        far.sort_unstable();
        assert_eq!(far, ["group7-switch3", "group8-switch3"]);
        let between = between_groups(&topology);
        assert_eq!(between.len(), 9 * 8 / 2);
        assert!(between.values().all(|links| *links == 1));
        let of_kind = |gbps| {
            let links = topology.fabric.links.iter();
            let links = links.filter(|link| link.rate == Rate::from_gbps(gbps));
            let delays: Vec<Time> = links.map(|link| link.delay).collect();
            assert!(delays.iter().all(|it| *it == delays[0]));
            (delays.len(), delays[0])
        };
        assert_eq!(of_kind(100), (72, Time::from_ns(100)));
        assert_eq!(of_kind(200), (9 * 6, Time::from_ns(500)));
        assert_eq!(of_kind(400), (36, Time::from_us(2)));
    }

    #[test]
    fn global_links_are_spread_evenly() {
        for (a, h) in [(1, 3), (2, 1), (2, 2), (3, 1), (3, 3), (4, 2), (5, 3)] {
            let ports = a * h;
            for groups in 2..=ports + 1 {
                let what = format!("{groups} groups of {a}, {h} global links");
                let topology = dragonfly(Some(groups), [a, 1, h]);
                let topology = Dragonfly {
                    local_rate: None,
                    ..topology
                }
                .build()
                .unwrap();
                let between = between_groups(&topology);
                assert_eq!(between.len() as u32, groups * (groups - 1) / 2, "{what}");
                let least = between.values().min().copied().unwrap();
                assert!(between.values().all(|links| *links - least <= 1), "{what}");
                let used = if groups % 2 == 1 && ports % 2 == 1 {
                    ports - 1
                } else {
                    ports
                };
                assert_eq!(between.values().sum::<u32>(), groups * used / 2, "{what}");
                for group in 0..groups {
                    for switch in 0..a {
                        let name = format!("group{group}-switch{switch}");
                        let own = format!("group{group}-");
                        let peers = neighbours(&topology, &name);
                        let of = |test: &dyn Fn(&str) -> bool| {
                            peers.iter().filter(|it| test(it)).count() as u32
                        };
                        assert_eq!(of(&|it| it.starts_with('H')), 1, "{what}: {name}");
                        assert_eq!(of(&|it| it.starts_with(&own)), a - 1, "{what}: {name}");
                        let global = peers.len() as u32 - a;
                        let last = used < ports && switch == a - 1;
                        assert_eq!(global, h - u32::from(last), "{what}: {name}");
                    }
                }
                assert!(diameter(&topology) <= 3, "{what}");
            }
        }
    }

    #[test]
    fn hosts_are_in_the_groups_of_their_switches() {
        let topology = dragonfly(Some(3), [2, 3, 2]).build().unwrap();
        let groups = &topology.fabric.groups;
        for link in &topology.fabric.links {
            if topology.fabric.nodes[link.a as usize] == NodeKind::Host {
                assert_eq!(groups[link.a as usize], groups[link.b as usize]);
            }
        }
        assert_eq!(groups.len(), topology.names.len());
    }

    #[test]
    fn what_cannot_be_is_explained() {
        let field = |dragonfly: Dragonfly| dragonfly.build().unwrap_err().field;
        assert_eq!(field(dragonfly(Some(10), [4, 2, 2])), "groups");
        assert_eq!(field(dragonfly(Some(1), [4, 2, 2])), "groups");
        assert_eq!(field(dragonfly(None, [0, 2, 2])), "switches_per_group");
        assert_eq!(field(dragonfly(None, [4, 0, 2])), "hosts_per_switch");
        assert_eq!(field(dragonfly(None, [4, 2, 0])), "global_links");
        assert_eq!(field(dragonfly(None, [1, 2, 2])), "local_rate");
        assert_eq!(field(dragonfly(None, [10_000, 1, 10_000])), "global_links");
        assert_eq!(
            field(dragonfly(None, [100_000, 1, 1])),
            "switches_per_group"
        );
    }
}
