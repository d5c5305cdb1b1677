//! A scenario in the making: what later sections must know of earlier ones.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use toml::Table;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, NodeId, NodeKind};

use crate::case::{Case, push, put};
use crate::dice::Dice;

/// A scenario in the making.
pub struct Sketch {
    /// Where choices come from.
    pub dice: Dice,
    /// The document so far.
    pub document: Table,
    /// Files that it names.
    pub files: BTreeMap<String, String>,
    /// Names of hosts, and their numbers.
    pub hosts: Vec<(String, NodeId)>,
    /// Both ends of every link, by name, in both directions.
    pub ports: Vec<(String, String)>,
    /// The rates of these, bit/s.
    pub port_rates: Vec<u64>,
    /// Hosts behind one switch only, so that no host is outside of a leaf.
    pub one_leaf: bool,
    /// There are links between switches.
    pub has_uplinks: bool,
    /// Ports of the switch with most.
    pub most_ports: u64,
    /// The rates of all links, bit/s, each once.
    pub rates: Vec<u64>,
    /// Links of the longest shortest path.
    pub path: u64,
    /// Picoseconds of a byte at the fastest and at the slowest host.
    pub ps_per_byte: (u64, u64),
    /// Rate of the slowest host, bit/s.
    pub slowest_bps: u64,
    /// Payload, and bytes of a frame on the wire.
    pub payload: u64,
    /// Bytes of a full frame with framing.
    pub frame: u64,
    /// Simulated time, ps.
    pub duration: u64,
    /// Round-trip time of the longest path, empty, ps.
    pub rtt: u64,
    /// Payload that may be sent in all.
    pub budget: u64,
    /// Hosts can send all the time without going far beyond the budget.
    pub may_be_endless: bool,
    /// Hosts send to one all the time, and it to them.
    pub crowded: bool,
    /// Priority of ACKs and CNPs.
    pub control: u8,
    /// Priorities of data, and which are lossless.
    pub priorities: Vec<u8>,
    /// Those under PFC.
    pub lossless: Vec<u8>,
    /// Schemes, and whether each is TCP, and has TCP.
    pub schemes: Vec<(String, bool, bool)>,
    /// `[pias]` is there.
    pub pias: bool,
    /// Model of switches.
    pub model: &'static str,
    /// `pfc.xoff` is written.
    pub has_xoff: bool,
}

impl Sketch {
    /// A document with `[host]` and `[topology]`.
    pub fn new(dice: Dice, document: Table, files: BTreeMap<String, String>) -> Self {
        Self {
            dice,
            document,
            files,
            hosts: Vec::new(),
            ports: Vec::new(),
            port_rates: Vec::new(),
            one_leaf: true,
            has_uplinks: false,
            most_ports: 1,
            rates: Vec::new(),
            path: 2,
            ps_per_byte: (80, 80),
            slowest_bps: 100_000_000_000,
            payload: 1000,
            frame: 1048,
            duration: 1_000_000,
            rtt: 1_000_000,
            budget: 1_000,
            may_be_endless: false,
            crowded: false,
            control: 7,
            priorities: vec![3],
            lossless: vec![3],
            schemes: Vec::new(),
            pias: false,
            model: "shared-buffer",
            has_xoff: false,
        }
    }

    /// Finds out about the fabric by having it built, with a scheme and an entry of traffic of no
    /// account. A fabric that the reader refuses stays as it is: it will be refused again.
    pub fn measure(&mut self, seed: u64) {
        let mut document = self.document.clone();
        let mut scheme = Table::new();
        put(&mut scheme, "name", "S");
        push(&mut document, "scheme", scheme);
        let mut entry = Table::new();
        put(&mut entry, "name", "T");
        put(&mut entry, "kind", "permutation");
        push(&mut document, "traffic", entry);
        let case = Case {
            seed,
            document,
            files: self.files.clone(),
        };
        // Most scenarios have no file yet, and a directory costs as much as a run.
        let directory = if case.files.is_empty() {
            None
        } else {
            tempfile::tempdir().ok()
        };
        let place = directory.as_ref().map_or(Path::new("."), |it| it.path());
        if let Ok(scenario) = case.compile(place) {
            let run = &scenario.runs()[0];
            self.read(&run.config, &run.names.nodes);
        }
        if self.hosts.len() < 2 {
            self.hosts = [0, 1].map(|node| (format!("H{node}"), node)).into();
        }
        self.choose_length();
    }

    fn read(&mut self, config: &Config, names: &[String]) {
        let fabric = &config.fabric;
        let is_host = |node: NodeId| fabric.nodes[node as usize] == NodeKind::Host;
        let mut degree = vec![0; names.len()];
        let mut neighbours = vec![Vec::new(); names.len()];
        let mut leaves = Vec::new();
        let (mut fastest, mut slowest) = (u64::MAX, 1);
        let mut delay = 0;
        for link in &fabric.links {
            for (a, b) in [(link.a, link.b), (link.b, link.a)] {
                self.ports
                    .push((names[a as usize].clone(), names[b as usize].clone()));
                self.port_rates.push(link.rate.as_bps());
                degree[a as usize] += 1;
                neighbours[a as usize].push(b as usize);
                if is_host(a) {
                    leaves.push(b);
                }
                self.has_uplinks |= !is_host(a) && !is_host(b);
            }
            if !self.rates.contains(&link.rate.as_bps()) {
                self.rates.push(link.rate.as_bps());
            }
            let ps = link.rate.time_for(1).as_ps();
            if is_host(link.a) || is_host(link.b) {
                fastest = fastest.min(ps);
            }
            slowest = slowest.max(ps);
            delay = delay.max(link.delay.as_ps());
        }
        self.hosts = (0..names.len() as NodeId)
            .filter(|&node| is_host(node))
            .map(|node| (names[node as usize].clone(), node))
            .collect();
        self.one_leaf = leaves.iter().all(|leaf| *leaf == leaves[0]);
        self.most_ports = degree.into_iter().max().unwrap_or(1);
        self.path = self
            .hosts
            .iter()
            .map(|host| farthest(&neighbours, host.1 as usize))
            .max()
            .unwrap_or(2);
        self.ps_per_byte = (fastest, slowest);
        self.slowest_bps = Rate::of(1, Time::from_ps(slowest)).as_bps();
        self.payload = u64::from(config.host.payload_bytes);
        self.frame = self.payload + u64::from(config.host.header_bytes + fabric.framing_bytes);
        self.control = config.host.control_priority;
        self.rtt = 2 * self.path * (delay + self.frame * slowest);
    }

    /// Packets, and how long hosts have for them: the cost of the run.
    fn choose_length(&mut self) {
        let hops = self.dice.scale(200, 4_000);
        self.budget = (hops * self.payload / (2 * self.path)).max(self.payload);
        let hosts = self.hosts.len().max(1) as u64;
        let at_line_rate = self.budget * self.ps_per_byte.0 / hosts + 1;
        let stretched = at_line_rate * self.dice.between(1, 3);
        self.crowded = self.dice.percent(10);
        self.duration = match self.dice.weighted(&[(4, 0), (5, 1), (1, 2)]) {
            _ if self.crowded => stretched,
            0 => stretched,
            1 => stretched.max(self.rtt * self.dice.between(1, 12)),
            _ => stretched.max(self.rtt * self.dice.between(12, 60)),
        };
        // A round end is a time at which something else happens, too.
        if self.dice.percent(30) && self.duration > 2_000_000 {
            self.duration -= self.duration % 1_000_000;
        }
        self.may_be_endless = self.duration <= 3 * at_line_rate;
    }

    /// The rate of the slowest link between two nodes, bit/s.
    pub fn rate_of(&self, from: &str, to: &str) -> Option<u64> {
        let ports = self.ports.iter().zip(&self.port_rates);
        let own = ports.filter(|((a, b), _)| a == from && b == to);
        own.map(|(_, rate)| *rate).min()
    }

    /// A time that has to do with this run: of a few packets, a round trip, or the whole.
    pub fn time(&mut self) -> u64 {
        let packet = self.frame * self.ps_per_byte.0;
        let (rtt, duration) = (self.rtt, self.duration);
        match self.dice.below(4) {
            0 => self.dice.between(1, 20) * packet,
            1 => self.dice.scale(packet, rtt),
            2 => self.dice.scale(rtt, duration),
            _ => self.dice.scale(duration / 50 + 1, duration),
        }
    }

    /// A period of something that costs an event each: at most 400 in the run.
    pub fn period(&mut self) -> u64 {
        let time = self.time();
        time.max(self.duration / 400 + 1)
    }

    /// Bytes of a few to some dozens of packets.
    pub fn bytes(&mut self) -> u64 {
        if self.dice.percent(50) {
            self.dice.between(1, 30) * self.frame
        } else {
            self.dice.scale(1, 100 * self.frame)
        }
    }

    /// A rate up to that of the slowest host.
    pub fn rate(&mut self) -> u64 {
        if self.dice.percent(50) {
            (self.slowest_bps / self.dice.between(1, 10)).max(1_000)
        } else {
            self.dice.scale(1_000_000, self.slowest_bps.max(2_000_000))
        }
    }

    /// The finished case.
    pub fn into_case(self, seed: u64) -> Case {
        Case {
            seed,
            document: self.document,
            files: self.files,
        }
    }
}

/// Links from a node to the one farthest from it.
fn farthest(neighbours: &[Vec<usize>], from: usize) -> u64 {
    let mut distance = vec![None; neighbours.len()];
    distance[from] = Some(0);
    let mut waiting = VecDeque::from([from]);
    let mut most = 0;
    while let Some(node) = waiting.pop_front() {
        most = distance[node].unwrap_or(0);
        for &next in &neighbours[node] {
            if distance[next].is_none() {
                distance[next] = Some(most + 1);
                waiting.push_back(next);
            }
        }
    }
    most
}
