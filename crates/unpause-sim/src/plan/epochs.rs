//! Changes during a run, with their times: links that fail and return, the routes that follow them, and errors on links.
//!
//! All of it is known before the run. Windows end where something changes, so that every node has come to that time and no
//! further, whoever runs it: what happens then cannot depend on threads or processes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use unpause_protocols::units::{LinkSpeed, Time};

use crate::config::{Config, Events, FrameErrors};
use crate::fabric::ports::{GlobalPort, Ports};
use crate::outcome::results::{LinkChange, LossPlace};
use crate::routing::Routing;

/// A change between two windows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// When.
    pub at: Time,
    /// Transmitters whose wire fails or (true) returns, in order.
    pub wires: Vec<(GlobalPort, bool)>,
    /// Transmitters on whose wire other frames are lost to errors from now on, in order.
    pub errors: Vec<(GlobalPort, FrameErrors)>,
    /// Transmitters whose wire has another speed from now on, in order.
    pub speeds: Vec<(GlobalPort, LinkSpeed)>,
    /// The place of the routes from now on, if there are others.
    pub routes: Option<usize>,
}

/// All changes of a run.
#[derive(Debug, Default)]
pub struct Epochs {
    /// In order of time, each at another.
    pub changes: Vec<Change>,
    /// Routes by their places, from 1 on; at place 0 are those of the fabric with all its links, which the plan has.
    others: Vec<Routing>,
}

/// Links that are down, as switches know it, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Known {
    /// All switches have routes without them.
    by_all: BTreeSet<usize>,
    /// Those at their ends do not use them, others count on them.
    at_ends: BTreeSet<usize>,
}

/// Of each link that changes, by index: when it comes to be up or not.
type Steps = BTreeMap<usize, Vec<(Time, bool)>>;

impl Epochs {
    /// The changes before the run ends; `routing` is that of the fabric with all its links.
    pub fn of(config: &Config, ports: &Ports, routing: &Routing) -> Self {
        let events = &config.events;
        let mut changes: BTreeMap<Time, Change> = BTreeMap::new();
        let ends = ports.ends(&config.fabric);
        let steps = wires(events, &ends, &mut changes);
        errors(events, &ends, &mut changes);
        speeds(events, ports, &ends, &mut changes);
        let local = noticed(&steps, events.detection);
        let places = places(&local, events.convergence, &mut changes);
        let others = places.iter().map(|known| {
            let both_ends = |links: &BTreeSet<usize>| -> Vec<GlobalPort> {
                links.iter().flat_map(|link| ends[*link]).collect()
            };
            let mut dead = vec![false; ports.transmitters.len()];
            for port in both_ends(&known.by_all) {
                dead[port as usize] = true;
            }
            let mut routes = Routing::without(&config.fabric, ports, config.seed, &dead);
            routes.choose_like(routing);
            if routing.goes_by_groups() {
                routes.go_by_groups(&config.fabric, ports, config.seed, &dead);
            }
            for port in both_ends(&known.at_ends) {
                routes.cut(ports, port);
            }
            routes
        });
        let others = others.collect();
        let in_run = |change: &Change| {
            let links = change.wires.is_empty() && change.errors.is_empty();
            let nothing = links && change.speeds.is_empty() && change.routes.is_none();
            change.at < config.stop && !nothing
        };
        let changes = changes.into_iter().map(|(at, it)| Change { at, ..it });
        Self {
            changes: changes.filter(in_run).collect(),
            others,
        }
    }

    /// The routes at `place`, if they are not those of the fabric with all its links.
    pub fn routes(&self, place: usize) -> Option<&Routing> {
        self.others.get(place.checked_sub(1)?)
    }

    /// True if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes as results tell them.
    pub fn told(&self, ports: &Ports) -> Vec<LinkChange> {
        let of = |change: &Change| {
            let at = change.at;
            let wires = change.wires.iter().map(move |&(port, up)| {
                let (node, port) = ports.place(port);
                LinkChange::Wire { at, node, port, up }
            });
            let errors = change.errors.iter().map(move |&(port, errors)| {
                let (node, port) = ports.place(port);
                LinkChange::Errors {
                    at,
                    node,
                    port,
                    errors,
                }
            });
            let rates = change.speeds.iter().map(move |&(port, speed)| {
                let (node, port) = ports.place(port);
                let rate = speed.rate();
                LinkChange::Rate {
                    at,
                    node,
                    port,
                    rate,
                }
            });
            let routes = change.routes.map(|_| LinkChange::Routes { at });
            wires
                .chain(errors)
                .chain(rates)
                .chain(routes)
                .collect::<Vec<_>>()
        };
        self.changes.iter().flat_map(of).collect()
    }

    /// The transmitters at which more is to be done with packets than to pass them on: on whose wire frames are lost to
    /// errors, or a byte does not last whole picoseconds, at some time.
    pub fn watched(&self) -> BTreeSet<GlobalPort> {
        let erring = self.changes.iter().flat_map(|change| &change.errors);
        let uneven = self.speeds().filter(|(_, _, speed)| !speed.is_whole());
        let erring = erring.map(|(port, _)| *port);
        erring.chain(uneven.map(|(_, port, _)| port)).collect()
    }

    /// When which transmitter comes to have another speed, in order of time.
    pub fn speeds(&self) -> impl DoubleEndedIterator<Item = (Time, GlobalPort, LinkSpeed)> {
        let of = |change: &Change| {
            let at = change.at;
            let speeds = change.speeds.iter();
            speeds
                .map(move |&(port, speed)| (at, port, speed))
                .collect::<Vec<_>>()
        };
        self.changes.iter().flat_map(of)
    }

    /// The speed that transmitter `port` has at a time, if it has changed before.
    #[cold]
    #[inline(never)]
    pub fn speed_at(&self, port: GlobalPort, time: Time) -> Option<LinkSpeed> {
        let mut before = self.speeds().rev();
        let last = before.find(|(at, of, _)| *of == port && *at <= time);
        last.map(|(_, _, speed)| speed)
    }

    /// When that happened for the last time, if these were the first changes, to which a packet was lost at this place: when
    /// the wire of transmitter `port` failed or came to have the errors that it has, or when the routes in force came.
    pub fn since(&self, changes: u32, place: LossPlace, port: GlobalPort) -> Time {
        let happened = self.changes[..changes as usize].iter().rev();
        let mut at = happened.filter(|change| match place {
            LossPlace::Wire | LossPlace::Queue | LossPlace::Port => {
                change.wires.contains(&(port, false))
            }
            LossPlace::Error => change.errors.iter().any(|(of, _)| *of == port),
            LossPlace::Switch => change.routes.is_some(),
        });
        at.next().map_or(Time::ZERO, |change| change.at)
    }
}

/// Adds what happens to wires; answers what that is for links, which are up if both directions are.
fn wires(events: &Events, ends: &[[GlobalPort; 2]], changes: &mut BTreeMap<Time, Change>) -> Steps {
    let mut at: BTreeMap<Time, BTreeMap<(usize, usize), bool>> = BTreeMap::new();
    for event in &events.links {
        for end in event.direction.senders() {
            let now = at.entry(event.at).or_default();
            now.insert((event.link, end), event.up);
        }
    }
    let mut steps = Steps::new();
    let mut up: BTreeMap<usize, [bool; 2]> = BTreeMap::new();
    for (at, states) in at {
        let mut changed = BTreeMap::new();
        for ((link, end), is_up) in states {
            let of_link = up.entry(link).or_insert([true; 2]);
            changed.entry(link).or_insert(*of_link == [true; 2]);
            if of_link[end] != is_up {
                of_link[end] = is_up;
                let change = changes.entry(at).or_default();
                change.wires.push((ends[link][end], is_up));
            }
        }
        for (link, was_up) in changed {
            let is_up = up[&link] == [true; 2];
            if is_up != was_up {
                steps.entry(link).or_default().push((at, is_up));
            }
        }
    }
    for change in changes.values_mut() {
        change.wires.sort_unstable();
    }
    steps
}

/// Adds which errors there are.
fn errors(events: &Events, ends: &[[GlobalPort; 2]], changes: &mut BTreeMap<Time, Change>) {
    let mut at: BTreeMap<(Time, GlobalPort), FrameErrors> = BTreeMap::new();
    for event in &events.errors {
        for end in event.direction.senders() {
            at.insert((event.at, ends[event.link][end]), event.errors);
        }
    }
    let mut now = BTreeMap::new();
    for ((at, port), errors) in at {
        let before = now.insert(port, errors).unwrap_or_default();
        if before != errors {
            changes.entry(at).or_default().errors.push((port, errors));
        }
    }
}

/// Adds which speeds there are.
fn speeds(
    events: &Events,
    ports: &Ports,
    ends: &[[GlobalPort; 2]],
    changes: &mut BTreeMap<Time, Change>,
) {
    let mut at: BTreeMap<(Time, GlobalPort), LinkSpeed> = BTreeMap::new();
    for event in &events.rates {
        for end in event.direction.senders() {
            let port = ends[event.link][end];
            let speed = ports.clocks.speed(port, event.rate);
            let speed = speed.expect("rates of events are checked");
            at.insert((event.at, port), speed);
        }
    }
    let mut now = BTreeMap::new();
    for ((at, port), speed) in at {
        let fabric = ports.transmitters[port as usize].speed;
        if now.insert(port, speed).unwrap_or(fabric) != speed {
            changes.entry(at).or_default().speeds.push((port, speed));
        }
    }
}

/// When the ends of a link come to know that it is up or not: it has been so for the time of `detection`.
fn noticed(steps: &Steps, detection: Time) -> BTreeMap<Time, Vec<(usize, bool)>> {
    let mut noticed: BTreeMap<Time, Vec<(usize, bool)>> = BTreeMap::new();
    for (&link, steps) in steps {
        for (number, &(at, up)) in steps.iter().enumerate() {
            let when = at.saturating_add(detection);
            let next = steps.get(number + 1);
            if next.is_none_or(|(next, _)| *next > when) {
                noticed.entry(when).or_default().push((link, up));
            }
        }
    }
    noticed
}

/// Adds when routes change; answers what switches know then, by the places of routes, from 1 on.
fn places(
    local: &BTreeMap<Time, Vec<(usize, bool)>>,
    convergence: Time,
    changes: &mut BTreeMap<Time, Change>,
) -> Vec<Known> {
    let later = |at: &Time| at.saturating_add(convergence);
    let times: BTreeSet<Time> = local.keys().flat_map(|at| [*at, later(at)]).collect();
    let mut remote = local
        .iter()
        .map(|(at, links)| (later(at), links))
        .peekable();
    let (mut at_ends, mut by_all) = (BTreeSet::new(), BTreeSet::new());
    let set = |of: &mut BTreeSet<usize>, links: &[(usize, bool)]| {
        for &(link, up) in links {
            if up {
                of.remove(&link)
            } else {
                of.insert(link)
            };
        }
    };
    let mut place_of = HashMap::from([(Known::default(), 0)]);
    let (mut all, mut now) = (Vec::new(), 0);
    for at in times {
        if let Some(links) = local.get(&at) {
            set(&mut at_ends, links);
        }
        while let Some((_, links)) = remote.next_if(|(when, _)| *when == at) {
            set(&mut by_all, links);
        }
        let known = Known {
            at_ends: at_ends.difference(&by_all).copied().collect(),
            by_all: by_all.clone(),
        };
        let place = *place_of.entry(known.clone()).or_insert_with(|| {
            all.push(known);
            all.len()
        });
        if place != now {
            now = place;
            changes.entry(at).or_default().routes = Some(place);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        Direction, HostConfig, LinkEvent, Probes, SchemeConfig, Skipping, SwitchConfig,
    };
    use crate::fabric::{Fabric, NodeId, NodeKind};
    use proptest::prelude::*;

    const HOSTS: u32 = 4;
    const SWITCHES: u32 = 5;

    /// Hosts on the first switches, and links between switches, some of them parallel.
    /// Hosts at three switches, the first of them with a second link if it is `dual`-homed, and random links between switches.
    fn fabric(across: &[(u32, u32)], dual: bool) -> Fabric {
        let mut nodes = vec![NodeKind::Host; HOSTS as usize];
        nodes.resize((HOSTS + SWITCHES) as usize, NodeKind::Switch);
        let mut links: Vec<_> = (0..HOSTS).map(|host| (host, HOSTS + host % 3, 1)).collect();
        let switch = |at: u32| HOSTS + at % SWITCHES;
        let across = across.iter().map(|&(a, b)| (switch(a), switch(b), 1));
        links.extend(across.filter(|(a, b, _)| a != b));
        links.extend(dual.then_some((0, HOSTS + 1, 1)));
        Fabric::of(nodes, &links)
    }

    fn nothing() -> Config {
        Config {
            fabric: Fabric::default(),
            host: HostConfig::default(),
            switch: SwitchConfig::default(),
            scheme: SchemeConfig::default(),
            traffic: Vec::new(),
            following: Vec::new(),
            jitters: Vec::new(),
            jobs: Vec::new(),
            events: Events::default(),
            probes: Probes::default(),
            seed: 1,
            stop: Time::from_ms(1),
            skipping: Skipping::default(),
        }
    }

    /// The links by which a switch sends to a host, in the order in which they are chosen among; `of` says which link a port
    /// is at.
    fn links(
        routing: &Routing,
        ports: &Ports,
        of: &[usize],
        switch: NodeId,
        host: NodeId,
    ) -> Vec<usize> {
        let first = ports.of(switch).start;
        let choices = routing.choices(switch, host).iter();
        choices
            .map(|port| of[(first + u32::from(*port)) as usize])
            .collect()
    }

    /// The link of each port, if `numbers` are those of the links of the fabric.
    fn link_of(ports: &Ports, fabric: &Fabric, numbers: &[usize]) -> Vec<usize> {
        let mut of = vec![0; ports.transmitters.len()];
        for (ends, number) in ports.ends(fabric).into_iter().zip(numbers) {
            for port in ends {
                of[port as usize] = *number;
            }
        }
        of
    }

    proptest! {
        /// Whatever fails and returns, when all know of it routes are those of a fabric that was built without what is
        /// down, and chosen in the same way.
        #[test]
        fn routes_are_those_of_a_fabric_without_the_links(
            across in prop::collection::vec((0_u32..5, 0_u32..5), 0..10),
            flips in prop::collection::vec(0_usize..14, 1..12),
            convergence in prop::bool::ANY,
            dual in prop::bool::ANY,
        ) {
            let fabric = fabric(&across, dual);
            let mut up = vec![true; fabric.links.len()];
            let mut events = Events {
                convergence: Time::from_us(u64::from(convergence)),
                ..Events::default()
            };
            let mut states = Vec::new();
            for (flip, at) in flips.iter().zip(1..) {
                let link = flip % up.len();
                up[link] = !up[link];
                let at = Time::from_us(10 * at);
                events.links.push(LinkEvent { at, link, direction: Direction::Both, up: up[link] });
                states.push((at + Time::from_us(5), up.clone()));
            }
            let config = Config {
                fabric: fabric.clone(),
                events,
                ..nothing()
            };
            let ports = Ports::new(&fabric);
            let routing = Routing::new(&fabric, &ports, config.seed);
            let epochs = Epochs::of(&config, &ports, &routing);
            for (at, up) in states {
                let all: Vec<usize> = (0..up.len()).collect();
                let left: Vec<usize> = all.iter().copied().filter(|link| up[*link]).collect();
                let built = Fabric {
                    links: left.iter().map(|link| fabric.links[*link]).collect(),
                    ..fabric.clone()
                };
                let built_ports = Ports::new(&built);
                let expected = Routing::new(&built, &built_ports, config.seed);
                let before = epochs.changes.iter().rev().filter(|change| change.at <= at);
                let place = before.filter_map(|change| change.routes).next().unwrap_or(0);
                let found = epochs.routes(place).unwrap_or(&routing);
                let of = link_of(&ports, &fabric, &all);
                let of_built = link_of(&built_ports, &built, &left);
                for switch in HOSTS..HOSTS + SWITCHES {
                    for host in 0..HOSTS {
                        prop_assert_eq!(
                            links(found, &ports, &of, switch, host),
                            links(&expected, &built_ports, &of_built, switch, host),
                            "switch {} to host {} at {}", switch, host, at
                        );
                    }
                }
                for dst in (1..HOSTS).filter(|_| dual) {
                    let way = crate::routing::Direction { src: 0, dst, source_port: 7, flow: None, is_feedback: false };
                    let link = |routing: &Routing, ports: &Ports, of: &[usize]| {
                        let nic = routing.nic(&way).filter(|_| routing.reaches(ports, 0, dst))?;
                        ports.of(0).nth(usize::from(nic)).map(|port| of[port as usize])
                    };
                    prop_assert_eq!(
                        link(found, &ports, &of),
                        link(&expected, &built_ports, &of_built),
                        "host 0 to host {} at {}", dst, at
                    );
                }
            }
        }
    }
}
