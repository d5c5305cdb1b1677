//! Paths of flows that go by a third group.

use unpause_protocols::units::{LinkSpeed, Time};

use super::search::Search;
use super::valiant::Valiant;
use super::{Direction, Routing};
use crate::fabric::packet::Packet;
use crate::fabric::ports::{GlobalPort, Ports};
use crate::fabric::{Fabric, NodeId, PortId};

impl Routing {
    /// Has flows between groups go by a third one, over the links of which none is marked in `dead`.
    pub fn go_by_groups(&mut self, fabric: &Fabric, ports: &Ports, seed: u64, dead: &[bool]) {
        let is_dead = |port: GlobalPort| dead.get(port as usize).is_some_and(|dead| *dead);
        let search = Search::new(fabric, ports, is_dead);
        self.valiant = Some(Box::new(Valiant::new(fabric, seed, &search)));
    }

    /// The port by which `switch` sends on a packet, by a third group where packets go by one; if there is a path.
    pub fn next_hop(&self, switch: NodeId, packet: &Packet) -> Option<PortId> {
        match &self.valiant {
            Some(valiant) if valiant.is_with(switch, packet.src) => {
                let flow = (packet.src, packet.dst, packet.source_port);
                match valiant.between(flow) {
                    Some(group) => valiant.towards(switch, group, flow),
                    None => self.way(switch, packet),
                }
            }
            _ => self.way(switch, packet),
        }
    }

    /// True if flows between groups go by a third one.
    pub fn goes_by_groups(&self) -> bool {
        self.valiant.is_some()
    }

    /// How many groups there are, if flows go by a third one.
    pub fn groups(&self) -> u32 {
        self.valiant.as_ref().map_or(0, |it| it.groups)
    }

    /// True if flows between two groups may go by a third.
    pub fn may_join(&self, ends: (u32, u32), between: u32) -> bool {
        let valiant = self.valiant.as_ref();
        ends.0 != ends.1 && valiant.is_some_and(|it| it.may_join(ends, between))
    }

    /// The ports by which `switch` sends towards a third group.
    pub fn towards_group(&self, switch: NodeId, group: u32) -> &[PortId] {
        let valiant = self.valiant.as_deref();
        valiant.map_or(&[], |it| it.all_towards(switch, group))
    }

    /// The third group by which a flow goes, if it goes by one.
    pub fn group_between(&self, flow: &Direction) -> Option<u32> {
        let valiant = self.valiant.as_ref()?;
        valiant.between((flow.src, flow.dst, flow.source_port))
    }

    /// All groups by which packets from one host to another may go, whatever their source ports are.
    pub fn groups_between(&self, src: NodeId, dst: NodeId) -> Vec<u32> {
        let of = |valiant: &Valiant| {
            let ends = valiant.ends(src, dst)?;
            let may_join = |group: &u32| valiant.may_join(ends, *group);
            Some((0..valiant.groups).filter(may_join).collect())
        };
        self.valiant.as_deref().and_then(of).unwrap_or_default()
    }

    /// The port by which `switch` sends on a flow that goes by a third group, or by none.
    pub fn port_by(
        &self,
        switch: NodeId,
        flow: &Direction,
        between: Option<u32>,
    ) -> Option<PortId> {
        match self.towards(switch, flow.src, between) {
            Some((valiant, group)) => {
                valiant.towards(switch, group, (flow.src, flow.dst, flow.source_port))
            }
            None => self.port(switch, flow.src, flow.dst, flow),
        }
    }

    /// All ports by which `switch` may send from one host to another by a third group, or by none.
    pub fn choices_by(
        &self,
        switch: NodeId,
        (src, dst): (NodeId, NodeId),
        between: Option<u32>,
    ) -> &[PortId] {
        match self.towards(switch, src, between) {
            Some((_, group)) => self.towards_group(switch, group),
            None => self.choices(switch, dst),
        }
    }

    /// Ways to that group, if `switch` sends towards it what comes from `src`.
    fn towards(
        &self,
        switch: NodeId,
        src: NodeId,
        between: Option<u32>,
    ) -> Option<(&Valiant, u32)> {
        let valiant = self.valiant.as_deref()?;
        between
            .filter(|_| valiant.is_with(switch, src))
            .map(|group| (valiant, group))
    }

    /// The links of the path of a flow by a third group, or by none, as (speed, delay); `None` if there is none.
    pub fn path_by(
        &self,
        ports: &Ports,
        flow: &Direction,
        between: Option<u32>,
    ) -> Option<Vec<(LinkSpeed, Time)>> {
        self.walk(ports, flow, |switch| self.port_by(switch, flow, between))
    }

    /// The links of the longest path that packets from one host to another may take: of those with the most links, the one with
    /// the longest delay.
    pub fn longest_path(&self, ports: &Ports, flow: &Direction) -> Option<Vec<(LinkSpeed, Time)>> {
        let groups = self.groups_between(flow.src, flow.dst).into_iter();
        let paths = groups.filter_map(|group| self.path_by(ports, flow, Some(group)));
        let longest = paths.max_by_key(|path| {
            let delay: u64 = path.iter().map(|(_, delay)| delay.as_ps()).sum();
            (path.len(), delay)
        });
        longest.or_else(|| self.path(ports, flow))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unpause_protocols::units::Rate;

    use super::*;
    use crate::fabric::packet::Kind;
    use crate::fabric::{Link, NodeKind};
    use crate::routing::valiant::Flow;

    /// Groups of switches in a ring or all joined, with a host each, and random links between them.
    fn fabric(groups: u32, each: u32, ring: bool, across: &[(u32, u32)]) -> Fabric {
        let switches = groups * each;
        let link = |a: u32, b: u32| Link {
            a,
            b,
            rate: Rate::from_gbps(100),
            delay: Time::from_us(1),
        };
        let mut links: Vec<Link> = (0..switches).map(|at| link(at, switches + at)).collect();
        for group in 0..groups {
            let of = |at: u32| switches + group * each + at % each;
            let pairs = (0..each).flat_map(|a| (a + 1..each).map(move |b| (a, b)));
            let near = |&(a, b): &(u32, u32)| !ring || b == a + 1 || b - a == each - 1;
            links.extend(pairs.filter(near).map(|(a, b)| link(of(a), of(b))));
        }
        let across = across.iter().map(|(a, b)| (a % switches, b % switches));
        let across = across.filter(|(a, b)| a / each != b / each);
        links.extend(across.map(|(a, b)| link(switches + a, switches + b)));
        let mut nodes = vec![NodeKind::Host; switches as usize];
        nodes.resize(2 * switches as usize, NodeKind::Switch);
        Fabric {
            nodes,
            links,
            groups: (0..2 * switches).map(|at| at % switches / each).collect(),
            ..Fabric::default()
        }
    }

    /// Four groups of three switches, of which each has a link to another group.
    fn four() -> Fabric {
        let across = [(0, 3), (1, 6), (2, 9), (4, 7), (5, 10), (8, 11)];
        fabric(4, 3, false, &across)
    }

    fn routing(fabric: &Fabric, ports: &Ports, dead: &[bool]) -> Routing {
        let mut routing = Routing::without(fabric, ports, 1, dead);
        routing.go_by_groups(fabric, ports, 1, dead);
        routing
    }

    /// The switches of the path of a flow; stops after 40.
    fn switches(routing: &Routing, ports: &Ports, (src, dst, port): Flow) -> Vec<NodeId> {
        let mut packet = Packet::new(Kind::Data, 0, 0, 64);
        (packet.src, packet.dst, packet.source_port) = (src, dst, port);
        let mut passed = Vec::new();
        let mut at = ports.transmitters_of(src)[0].peer;
        while at != dst && passed.len() < 40 {
            passed.push(at);
            match routing.next_hop(at, &packet) {
                Some(port) => at = ports.transmitters_of(at)[usize::from(port)].peer,
                None => break,
            }
        }
        passed
    }

    /// The groups that switches are in, one after the other.
    fn groups(fabric: &Fabric, switches: &[NodeId]) -> Vec<u32> {
        let mut groups: Vec<u32> = switches.iter().map(|at| fabric.group(*at)).collect();
        groups.dedup();
        groups
    }

    #[test]
    fn flows_go_by_a_third_group_and_cross_five_links_at_most() {
        let fabric = four();
        let ports = Ports::new(&fabric);
        let routing = routing(&fabric, &ports, &[]);
        for src in 0..12 {
            for dst in (0..12).filter(|dst| *dst != src) {
                for port in 0..50 {
                    let passed = switches(&routing, &ports, (src, dst, port));
                    let by = groups(&fabric, &passed);
                    let (from, to) = (src / 3, dst / 3);
                    if from == to {
                        assert_eq!((passed.len(), by), (2, vec![from]));
                        continue;
                    }
                    assert!(passed.len() <= 6, "{passed:?}");
                    let flow = Direction {
                        src,
                        dst,
                        source_port: port,
                        flow: None,
                        is_feedback: false,
                    };
                    let between = routing.group_between(&flow).unwrap();
                    assert_eq!(by, [from, between, to]);
                    assert_ne!((between, between), (from, to));
                    let path = routing.path_by(&ports, &flow, Some(between)).unwrap();
                    assert_eq!(path.len(), passed.len() + 1);
                    assert!(routing.longest_path(&ports, &flow).unwrap().len() >= path.len());
                    assert!(routing.path(&ports, &flow).unwrap().len() <= 5);
                }
            }
        }
    }

    #[test]
    fn each_third_group_is_drawn_as_often() {
        let all: Vec<(u32, u32)> = (0..10).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        let fabric = fabric(10, 1, false, &all);
        let ports = Ports::new(&fabric);
        let routing = routing(&fabric, &ports, &[]);
        let mut drawn = [0; 10];
        for source_port in 0..8_000 {
            let flow = Direction {
                src: 2,
                dst: 7,
                source_port,
                flow: None,
                is_feedback: false,
            };
            drawn[routing.group_between(&flow).unwrap() as usize] += 1;
        }
        assert_eq!((drawn[2], drawn[7]), (0, 0));
        let others = drawn.iter().filter(|it| **it > 0);
        // 1,000 each; a standard deviation is 30.
        assert!(
            others.clone().all(|it| (880..1_120).contains(it)),
            "{drawn:?}"
        );
        assert_eq!(others.count(), 8);
    }

    /// Two links between groups are fewer than one, though with links within groups the one is longer.
    #[test]
    fn shortest_paths_cross_one_link_between_groups() {
        // From switch 0 to 8: by 0-1-7-8 within two groups, or by 0-3-8 over a third one.
        let fabric = fabric(3, 3, true, &[(1, 7), (0, 3), (3, 8), (2, 5)]);
        let ports = Ports::new(&fabric);
        let routing = Routing::new(&fabric, &ports, 1);
        let passed = switches(&routing, &ports, (0, 8, 0));
        assert_eq!(passed, [9, 10, 16, 17]);
    }

    proptest! {
        /// Whatever links are left, flows arrive where there is a path, by three groups at most if they go by a third one.
        #[test]
        fn no_flow_goes_in_circles(
            count in 2_u32..6,
            each in 1_u32..5,
            ring in any::<bool>(),
            across in prop::collection::vec((0_u32..30, 0_u32..30), 0..25),
            dead in prop::collection::vec(0_usize..60, 0..12),
            source_port in 0_u16..100,
        ) {
            let fabric = fabric(count, each, ring, &across);
            let ports = Ports::new(&fabric);
            let mut is_dead = vec![false; ports.transmitters.len()];
            let hosts = (count * each) as usize;
            let ends = ports.ends(&fabric);
            for ends in dead.iter().filter_map(|link| ends.get(hosts + link)) {
                ends.iter().for_each(|port| is_dead[*port as usize] = true);
            }
            let routing = routing(&fabric, &ports, &is_dead);
            let hosts = hosts as u32;
            for (src, dst) in (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b))) {
                if src == dst {
                    continue;
                }
                let passed = switches(&routing, &ports, (src, dst, source_port));
                let arrives = passed.last() == Some(&(hosts + dst)) && passed.len() < 40;
                prop_assert_eq!(arrives, routing.reaches(&ports, src, dst));
                let mut seen = passed.clone();
                seen.sort_unstable();
                seen.dedup();
                let flow = Direction { src, dst, source_port, flow: None, is_feedback: false };
                if let Some(between) = routing.group_between(&flow) {
                    let by = groups(&fabric, &passed);
                    prop_assert_eq!(by, [fabric.group(src), between, fabric.group(dst)]);
                }
                prop_assert_eq!(seen.len(), passed.len());
            }
        }
    }
}
