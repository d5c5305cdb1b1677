//! `[topology]`: every builder, random graphs written out, and files of the HPCC simulator.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::links::{link_delay, link_rate};
use crate::case::{push, put, table};
use crate::dice::Dice;

/// Builders that are known here, and files; with how often each comes.
const SHAPES: [(u64, &str); 11] = [
    (4, "single-switch"),
    (2, "two-switch"),
    (3, "dumbbell"),
    (3, "parking-lot"),
    (3, "leaf-spine"),
    (2, "clos"),
    (2, "fat-tree"),
    (2, "rails"),
    (2, "dragonfly"),
    (5, "explicit"),
    (3, "file"),
];

/// Writes `[topology]`. `one_switch`: a single switch with hosts on it.
pub fn topology(
    document: &mut Table,
    files: &mut BTreeMap<String, String>,
    one_switch: bool,
    dice: &mut Dice,
) {
    let shape = if one_switch {
        dice.weighted(&[(6, "single-switch"), (1, "explicit"), (1, "file")])
    } else {
        dice.weighted(&SHAPES)
    };
    let topology = table(document, "topology");
    match shape {
        "file" => {
            put(topology, "file", "topology.txt");
            let graph = Graph::random(one_switch, dice);
            if graph.links.iter().any(|link| link.parallel > 1) {
                put(topology, "parallel", 3);
            }
            files.insert("topology.txt".into(), graph.hpcc(dice));
            if dice.percent(50) {
                put(topology, "ecmp", dice.pick(&["own", "hpcc", "hpcc"]));
            }
        }
        "explicit" => Graph::random(one_switch, dice).explicit(topology, dice),
        _ => builder(topology, shape, dice),
    }
}

fn builder(topology: &mut Table, shape: &str, dice: &mut Dice) {
    put(topology, "builder", shape);
    let number = |topology: &mut Table, dice: &mut Dice, key: &str, low, high| {
        let number = dice.between(low, high);
        put(topology, key, number as i64);
    };
    let host_rate = match shape {
        "single-switch" | "two-switch" | "dumbbell" | "parking-lot" | "rails" => "rate",
        _ => "host_rate",
    };
    match shape {
        "single-switch" => number(topology, dice, "hosts", 2, 9),
        "two-switch" => {
            let (left, right) = (dice.between(1, 4), dice.between(1, 4));
            put(topology, "left", format!("L0..L{left}"));
            let right: Vec<String> = (0..right).map(|n| format!("right{n}")).collect();
            put(topology, "right", right);
        }
        "dumbbell" => {
            number(topology, dice, "left", 1, 5);
            number(topology, dice, "right", 1, 5);
        }
        "parking-lot" => number(topology, dice, "bottlenecks", 1, 4),
        "leaf-spine" => {
            number(topology, dice, "leaves", 1, 3);
            number(topology, dice, "spines", 1, 3);
            number(topology, dice, "hosts_per_leaf", 2, 4);
            if dice.percent(30) {
                number(topology, dice, "parallel", 1, 3);
            }
        }
        "rails" => rails(topology, dice),
        "dragonfly" => dragonfly(topology, dice),
        "clos" => {
            number(topology, dice, "pods", 1, 2);
            number(topology, dice, "tors_per_pod", 1, 2);
            number(topology, dice, "leaves_per_pod", 1, 2);
            number(topology, dice, "spines", 1, 2);
            number(topology, dice, "hosts_per_tor", 2, 3);
            if dice.percent(30) {
                number(topology, dice, "tor_leaf_links", 1, 2);
            }
        }
        _ => {
            let k: i64 = if dice.percent(70) { 2 } else { 4 };
            put(topology, "k", k);
            if dice.percent(40) {
                number(topology, dice, "edge_uplinks", 1, k as u64 / 2);
                number(topology, dice, "agg_uplinks", 1, k as u64 / 2);
            }
            if dice.percent(30) {
                put(topology, "core_rate", link_rate(dice));
            }
        }
    }
    put(topology, host_rate, link_rate(dice));
    put(topology, "delay", link_delay(dice));
    of_other_links(topology, shape, dice);
}

/// Rates and delays of links that are not all alike.
fn of_other_links(topology: &mut Table, shape: &str, dice: &mut Dice) {
    if dice.percent(40) {
        match shape {
            "two-switch" | "dumbbell" => put(topology, "bottleneck_rate", link_rate(dice)),
            "leaf-spine" | "clos" | "fat-tree" => put(topology, "fabric_rate", link_rate(dice)),
            "dragonfly" => put(topology, "global_rate", link_rate(dice)),
            _ => {}
        }
    }
    if shape == "dragonfly" && dice.percent(40) {
        put(topology, "global_delay", link_delay(dice));
    }
    if matches!(shape, "leaf-spine" | "clos" | "fat-tree" | "dragonfly") && dice.percent(40) {
        put(topology, "host_delay", link_delay(dice));
    }
}

/// At most five groups.
fn dragonfly(topology: &mut Table, dice: &mut Dice) {
    let (switches, links) = (dice.between(1, 2), dice.between(1, 2));
    put(topology, "switches_per_group", switches as i64);
    put(topology, "global_links", links as i64);
    put(topology, "hosts_per_switch", dice.between(1, 2) as i64);
    if dice.percent(60) {
        let groups = dice.between(2, switches * links + 1);
        put(topology, "groups", groups as i64);
    }
    if switches > 1 && dice.percent(30) {
        put(topology, "local_rate", link_rate(dice));
    }
}

/// Servers without NVSwitches, which only one model of switches has.
fn rails(topology: &mut Table, dice: &mut Dice) {
    let tors = dice.between(1, 2) as i64;
    put(topology, "servers", dice.between(2, 3) as i64);
    put(topology, "gpus_per_server", 2);
    put(topology, "servers_per_leaf", dice.between(1, 2) as i64);
    let planes = if tors == 2 && dice.percent(50) { 2 } else { 1 };
    put(topology, "spines", planes * dice.between(1, 2) as i64);
    put(topology, "tors", tors);
    put(topology, "planes", planes);
    if dice.percent(30) {
        put(topology, "uplinks", dice.between(1, 2) as i64);
    }
    if dice.percent(30) {
        put(topology, "spine_rate", link_rate(dice));
    }
}

/// A connected graph of switches with hosts on them.
struct Graph {
    hosts: usize,
    switches: usize,
    links: Vec<GraphLink>,
}

/// A link between nodes; switches come after hosts.
struct GraphLink {
    a: usize,
    b: usize,
    parallel: u64,
}

impl Graph {
    fn random(one_switch: bool, dice: &mut Dice) -> Self {
        let switches = if one_switch {
            1
        } else {
            dice.between(1, 5) as usize
        };
        let hosts = dice.between(2, 8) as usize;
        let mut links = Vec::new();
        let several = switches > 1 && dice.percent(30);
        for host in 0..hosts {
            // At one switch, or some at two.
            let count = if several && dice.percent(60) { 2 } else { 1 };
            let at = dice.some(&Vec::from_iter(hosts..hosts + switches), count);
            links.extend(at.into_iter().map(|at| (host, at)));
        }
        if switches > 2 && dice.percent(40) {
            // A ring: its routes can wait for one another.
            links.extend((0..switches).map(|n| (hosts + n, hosts + (n + 1) % switches)));
        } else {
            for switch in 1..switches {
                links.push((hosts + dice.below(switch as u64) as usize, hosts + switch));
            }
            for _ in 0..dice.below(3) {
                let ends = dice.some(&Vec::from_iter(hosts..hosts + switches), 2);
                if let [a, b] = ends[..] {
                    links.push((a.min(b), a.max(b)));
                }
            }
        }
        let mut seen = Vec::new();
        links.retain(|&(a, b)| {
            let pair = (a.min(b), a.max(b));
            let new = !seen.contains(&pair);
            seen.push(pair);
            new
        });
        let links = links
            .into_iter()
            .map(|(a, b)| GraphLink {
                a,
                b,
                parallel: if a >= hosts && dice.percent(15) {
                    dice.between(2, 3)
                } else {
                    1
                },
            })
            .collect();
        Self {
            hosts,
            switches,
            links,
        }
    }

    fn explicit(&self, topology: &mut Table, dice: &mut Dice) {
        let stem = dice.pick(&["host", "n", "a-"]);
        let name = |node: usize| {
            if node < self.hosts {
                format!("{stem}{node}")
            } else {
                format!("sw{}", node - self.hosts)
            }
        };
        put(topology, "builder", "explicit");
        put(
            topology,
            "hosts",
            format!("{stem}0..{stem}{}", self.hosts - 1),
        );
        let switches = self.hosts..self.hosts + self.switches;
        put(topology, "switches", Vec::from_iter(switches.map(name)));
        put(topology, "rate", link_rate(dice));
        put(topology, "delay", link_delay(dice));
        for link in &self.links {
            let mut entry = Table::new();
            put(&mut entry, "a", name(link.a));
            put(&mut entry, "b", name(link.b));
            if dice.percent(20) {
                put(&mut entry, "rate", link_rate(dice));
            }
            if dice.percent(20) {
                put(&mut entry, "delay", link_delay(dice));
            }
            if link.parallel > 1 {
                put(&mut entry, "parallel", link.parallel as i64);
            }
            push(topology, "link", entry);
        }
        // Every link may say its own; then nothing is left for the table to say.
        let all = |key: &str| {
            let links = topology["link"].as_array().into_iter().flatten();
            links
                .into_iter()
                .all(|link: &Value| link.get(key).is_some())
        };
        let unused: Vec<&str> = ["rate", "delay"].into_iter().filter(|k| all(k)).collect();
        for key in unused {
            topology.remove(key);
        }
    }

    /// The same as a file of the HPCC simulator, nodes in random order.
    fn hpcc(&self, dice: &mut Dice) -> String {
        let nodes = self.hosts + self.switches;
        let id = dice.some(&Vec::from_iter(0..nodes), nodes);
        let count: u64 = self.links.iter().map(|link| link.parallel).sum();
        let mut text = format!("{nodes} {} {count}\n", self.switches);
        for switch in &id[self.hosts..] {
            text += &format!("{switch} ");
        }
        text += "\n";
        let (rate, delay) = (link_rate(dice), link_delay(dice));
        for link in &self.links {
            let mixed = dice.percent(20);
            for _ in 0..link.parallel {
                let (rate, delay) = if mixed {
                    (link_rate(dice), link_delay(dice))
                } else {
                    (rate.clone(), delay.clone())
                };
                text += &format!("{} {} {rate} {delay} 0\n", id[link.a], id[link.b]);
            }
        }
        text
    }
}
