//! Switches with a shared buffer: what their ingress ports may hold, and which settings that defeats.

use std::cmp::Reverse;

use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::Rate;
use unpause_sim::config::{Config, Link, NodeId, NodeKind, PfcThreshold, PortId, SwitchModel};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::run::Run;
use crate::warnings::in_force::{self, Place};
use crate::warnings::room::{self, Links};
use unpause_import::buffers::{Share, fill};
use unpause_text::count::{size, size_at_least, size_at_most};

/// A setting to look at.
pub struct Said<'a> {
    /// For programs, as in [`crate::warnings::Warning`].
    pub kind: &'static str,
    pub message: String,
    pub help: String,
    /// Path of the key in the file; empty if an override sets it.
    pub key: Vec<&'a str>,
}

/// Everything of `run`.
pub fn of(run: &Run) -> Vec<Said<'_>> {
    let Some(switches) = Switches::of(run) else {
        return Vec::new();
    };
    let all = [switches.buffer(), switches.xon()];
    all.into_iter().flatten().collect()
}

/// The longest queue of a lossless priority, if it is known.
pub fn longest_queue(run: &Run) -> Option<u64> {
    let switches = Switches::of(run)?;
    let each = switches.each().flat_map(|node| {
        let priorities = switches.priorities(node);
        let switches = &switches;
        priorities.filter_map(move |priority| switches.most_held_of(node, priority))
    });
    each.max()
}

/// The switches of a run.
pub struct Switches<'a> {
    run: &'a Run,
    config: &'a Config,
    links: Links<'a>,
    /// By node whether lossless data come from it.
    sends: Vec<bool>,
    /// Lossless priorities with traffic.
    used: u8,
    /// By node the memory that queues share, where thresholds are a part of it.
    shared: Option<Vec<u64>>,
}

impl<'a> Switches<'a> {
    /// `None` where PFC is not of ports and priorities of a shared buffer.
    pub fn of(run: &'a Run) -> Option<Self> {
        let config = &run.config;
        let switch = &config.switch;
        let used = switch.lossless & config.data_priorities();
        let is_fixed = matches!(switch.pfc.threshold, PfcThreshold::Static { .. });
        let is_shared = matches!(switch.model, SwitchModel::SharedBuffer);
        // Where packets of a priority wait in other queues, or count in other groups, priorities say too little.
        let mut own = switch.overrides.iter();
        let has_maps = own.any(|it| it.to_queue.is_some() || it.to_group.is_some());
        if used == 0 || !is_shared || has_maps {
            return None;
        }
        Some(Self {
            run,
            config,
            links: Links::of(config),
            sends: senders(config),
            used,
            shared: match is_fixed {
                true => None,
                false => unpause_sim::shared_memory(config).ok(),
            },
        })
    }

    fn is_switch(&self, node: NodeId) -> bool {
        self.config.fabric.nodes[node as usize] == NodeKind::Switch
    }

    fn each(&self) -> impl Iterator<Item = NodeId> {
        let all = 0..self.config.fabric.nodes.len() as NodeId;
        all.filter(|node| self.is_switch(*node))
    }

    /// The priorities with traffic that have PFC at a switch.
    fn priorities(&self, node: NodeId) -> impl Iterator<Item = u8> {
        let all = self.used & in_force::lossless(self.config, node);
        (0..8).filter(move |priority| all >> priority & 1 == 1)
    }

    /// By port the links of a node.
    pub fn ports(&self, node: NodeId) -> impl Iterator<Item = (PortId, &'a Link)> {
        self.links.ports(node)
    }

    /// Those by which lossless data can come.
    pub fn inputs(&self, node: NodeId) -> impl Iterator<Item = (PortId, &'a Link)> {
        self.ports(node).filter(move |(_, link)| {
            let peer = if link.a == node { link.b } else { link.a };
            self.sends[peer as usize]
        })
    }

    /// XOFF of a priority at each input of a switch.
    fn xoffs(&self, node: NodeId, priority: u8) -> impl Iterator<Item = u64> {
        self.inputs(node).filter_map(move |(port, _)| {
            let at = Place {
                node,
                port,
                priority,
            };
            Some(in_force::fixed(self.config, at)?.0)
        })
    }

    /// Headroom of a priority at these ports.
    fn headroom(
        &self,
        node: NodeId,
        priority: u8,
        ports: impl Iterator<Item = (PortId, &'a Link)>,
    ) -> u64 {
        let each = ports.map(|(port, link)| {
            let at = Place {
                node,
                port,
                priority,
            };
            in_force::headroom(self.config, at, link)
        });
        each.sum()
    }

    fn pool(&self) -> u64 {
        let pool = self.config.switch.pfc.headroom_pool_bytes;
        pool.unwrap_or(u64::MAX)
    }

    /// XOFF of all inputs of a switch, if it is the same, and what sets it.
    pub fn same_xoff(&self, node: NodeId) -> Option<(u64, &'static str)> {
        let mut all = self
            .priorities(node)
            .flat_map(|priority| self.xoffs(node, priority));
        let first = all.next()?;
        let is_same = all.all(|xoff| xoff == first);
        let own = self.config.switch.overrides.iter();
        let mut own = own.filter(|it| it.switches.contains(&node));
        let key = match own.any(|it| it.fixed.is_some()) {
            true => "xoff of its override",
            false => "pfc.xoff",
        };
        is_same.then_some((first, key))
    }

    /// The buffer is full before every ingress has reached XOFF.
    fn buffer(&self) -> Option<Said<'a>> {
        let all = self
            .each()
            .filter_map(|node| Some((node, self.wanted(node), self.left(node)?)));
        let (node, wanted, left) = all
            .filter(|(_, wanted, left)| wanted > left)
            .max_by_key(|(node, wanted, _)| (*wanted, Reverse(*node)))?;
        let name = self.run.names.name(node);
        let (inputs, priorities) = (self.inputs(node).count(), self.priorities(node).count());
        let is_own = in_force::buffer(self.config, node) != self.config.switch.buffer_bytes;
        let buffer = if is_own {
            "its buffer"
        } else {
            "switch.buffer"
        };
        let same = self.same_xoff(node);
        let message = match same {
            Some((xoff, key)) if xoff > left => format!(
                "{key} {} is more than the {} of {buffer} that headroom leaves: {name} is full before it sends PAUSE, \
                 and drops lossless packets",
                size(xoff),
                size(left)
            ),
            _ => {
                let each = same.map(|(xoff, key)| format!("{key} {}", size(xoff)));
                format!(
                    "{inputs} ingress ports of {name} may hold {} in each of {priorities} lossless priorities, {} \
                     together, and headroom leaves {} of {buffer}: PFC cannot prevent drops",
                    each.unwrap_or_else(|| "XOFF".to_owned()),
                    size(wanted),
                    size(left)
                )
            }
        };
        let key = same.map_or("xoff", |(_, key)| key);
        Some(Said {
            kind: "small-buffer",
            message,
            help: self.help(node, key, buffer),
            key: match is_own {
                true => Vec::new(),
                false => vec!["switch", "buffer"],
            },
        })
    }

    /// XOFF of all inputs of a switch together, in all priorities.
    fn wanted(&self, node: NodeId) -> u64 {
        let priorities = self.priorities(node);
        priorities
            .flat_map(|priority| self.xoffs(node, priority))
            .sum()
    }

    /// The frames that exceed XOFF at all inputs, and what is not lossless: they take shared memory, too.
    fn beside(&self, node: NodeId) -> u64 {
        let frame = u64::from(self.config.largest_frame_bytes());
        let places = self.inputs(node).count() * self.priorities(node).count();
        room::of_others(self.config, &self.links, node).saturating_add(frame * places as u64)
    }

    /// The buffer that no switch with the same setting fills before every ingress has sent PAUSE, with enough headroom then.
    pub fn enough(&self, node: NodeId) -> u64 {
        let each = self.alike(node).map(|node| {
            let shared = self.wanted(node).saturating_add(self.beside(node));
            shared.saturating_add(room::all_headroom(self.config, &self.links, node, true))
        });
        each.max().unwrap_or(0)
    }

    /// The switches with the buffer of this one.
    fn alike(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let buffer = in_force::buffer(self.config, node);
        self.each()
            .filter(move |it| in_force::buffer(self.config, *it) == buffer)
    }

    /// What headroom leaves of the buffer of a switch.
    fn left(&self, node: NodeId) -> Option<u64> {
        let headroom = room::all_headroom(self.config, &self.links, node, false);
        let buffer = in_force::buffer(self.config, node)?;
        Some(buffer.saturating_sub(headroom.min(self.pool())))
    }

    /// The XOFF at which no input of these switches finds the buffer full before it has sent PAUSE.
    fn fits(&self, node: NodeId) -> u64 {
        let each = self.alike(node).filter_map(|node| {
            let places = self.inputs(node).count() * self.priorities(node).count();
            let left = self.left(node)?.saturating_sub(self.beside(node));
            left.checked_div(places as u64)
        });
        each.min().unwrap_or(0)
    }

    /// Such an XOFF, or a larger buffer.
    fn help(&self, node: NodeId, xoff: &str, buffer: &str) -> String {
        let larger = format!(
            "raise {buffer} to {} or more",
            size_at_least(self.enough(node))
        );
        let fits = self.fits(node);
        let two_frames = 2 * u64::from(self.config.largest_frame_bytes());
        if fits <= two_frames {
            return larger;
        }
        let priorities = self.priorities(node);
        let places = priorities.flat_map(|priority| {
            let ports = self.inputs(node).map(|(port, _)| port);
            ports.map(move |port| Place {
                node,
                port,
                priority,
            })
        });
        let all = places.filter_map(|at| in_force::fixed(self.config, at));
        // By default XON is two frames below.
        let mut written = all.filter(|(xoff, xon)| xon + two_frames != *xoff);
        let xon = match written.any(|(_, xon)| xon > fits - two_frames) {
            true => format!(
                ", {} to {} or less",
                xoff.replacen("xoff", "xon", 1),
                size_at_most(fits - two_frames)
            ),
            false => String::new(),
        };
        format!(
            "set {xoff} to {} or less{xon}, or {larger}",
            size_at_most(fits)
        )
    }

    /// What each input of a switch may hold before it sends PAUSE, and what may come after that, bytes; `but` one port.
    pub fn shares(&self, node: NodeId, priority: u8, but: Option<PortId>) -> Vec<(Share, u64)> {
        let config = self.config;
        let share = |port: PortId, link: &Link| {
            let at = Place {
                node,
                port,
                priority,
            };
            if let Some((xoff, _)) = in_force::fixed(config, at) {
                return Share::Bytes(xoff);
            }
            let shift = in_force::shift(config, at, link).unwrap_or_default();
            Share::Alpha(f64::powi(2.0, -shift))
        };
        let inputs = self.inputs(node).filter(|(port, _)| Some(*port) != but);
        let each = inputs.map(|(port, link)| {
            let at = Place {
                node,
                port,
                priority,
            };
            let late = needed_late(config, at, link);
            (share(port, link), late)
        });
        each.collect()
    }

    /// The most that a lossless priority may hold at a switch: every input at XOFF, and its headroom full.
    pub fn most_held_of(&self, node: NodeId, priority: u8) -> Option<u64> {
        let headroom = self.headroom(node, priority, self.inputs(node));
        let shares = self.shares(node, priority, None);
        let shares: Vec<Share> = shares.into_iter().map(|(share, _)| share).collect();
        let pool = match &self.shared {
            None => u64::MAX >> 1,
            Some(shared) => shared[node as usize],
        };
        let reserve = match self.config.switch.pfc.threshold {
            PfcThreshold::Reserved { reserve_bytes, .. } => reserve_bytes,
            _ => 0,
        };
        let held = fill(pool, &shares) + reserve * shares.len() as u64;
        Some(held + headroom.min(self.pool()))
    }

    /// Between XON and the first byte that follows it, an ingress runs dry.
    fn xon(&self) -> Option<Said<'a>> {
        let config = self.config;
        let fastest = fastest_two(config);
        let needs = |link: &Link| {
            let reaction = config.switch.pfc.reaction;
            let out = |node: NodeId| {
                let (first, second) = fastest[node as usize];
                if first == link.rate { second } else { first }
            };
            // Which way data go is not known: it is low for both.
            let drained = out(link.a).min(out(link.b)).min(link.rate);
            pfc::headroom(drained, link.delay, 0, 0, reaction)
        };
        let inner = |node| {
            let ports = self.ports(node);
            ports.filter(|(_, link)| self.is_switch(link.a) && self.is_switch(link.b))
        };
        let places = self.each().flat_map(|node| {
            inner(node).flat_map(move |(port, link)| {
                self.priorities(node).map(move |priority| {
                    let at = Place {
                        node,
                        port,
                        priority,
                    };
                    (at, link)
                })
            })
        });
        let low = places.filter_map(|(at, link)| {
            let xon = in_force::fixed(config, at)?.1;
            let needed = needs(link);
            (needed > xon).then_some((needed, xon, at, link))
        });
        let (needed, xon, at, link) = low.max_by_key(|(needed, ..)| *needed)?;
        let (a, b) = (self.run.names.name(link.a), self.run.names.name(link.b));
        let is_own = in_force::own(config, at, |it| it.fixed).is_some();
        let (what, xoff) = match is_own {
            true => ("xon of its override", "xoff"),
            false => ("pfc.xon", "pfc.xoff"),
        };
        Some(Said {
            kind: "low-xon",
            message: format!(
                "{what} {} is too low for the link {a} to {b}: its ingress drains {needed} in the round trip of {} before the first byte after XON arrives, and the link behind it then idles",
                size(xon),
                link.delay.saturating_add(link.delay),
                needed = size(needed),
            ),
            help: format!(
                "set {what} to {} or more, and {xoff} above it",
                size_at_least(needed)
            ),
            key: match is_own {
                true => Vec::new(),
                false => vec!["pfc", "xon"],
            },
        })
    }
}

/// The bytes that still come after XOFF: what the link needs, as far as there is headroom.
fn needed_late(config: &Config, at: Place, link: &Link) -> u64 {
    in_force::needed(config, link).min(in_force::headroom(config, at, link))
}

/// By node the rates of its two fastest links, the second that of the first if there are two of them.
fn fastest_two(config: &Config) -> Vec<(Rate, Rate)> {
    let mut fastest = vec![(Rate::ZERO, Rate::ZERO); config.fabric.nodes.len()];
    for link in &config.fabric.links {
        for node in [link.a, link.b] {
            let (first, second) = &mut fastest[node as usize];
            if link.rate > *first {
                (*first, *second) = (link.rate, *first);
            } else if link.rate > *second {
                *second = link.rate;
            }
        }
    }
    fastest
}

/// By node whether lossless data come from it: switches forward them, hosts if they have flows.
fn senders(config: &Config) -> Vec<bool> {
    let lossless = config.switch.lossless;
    let nodes = config.fabric.nodes.iter();
    let mut sends: Vec<bool> = nodes.map(|node| *node == NodeKind::Switch).collect();
    for spec in &config.traffic {
        if spec.priorities() & lossless == 0 {
            continue;
        }
        let from: Vec<NodeId> = match spec {
            TrafficSpec::Flows(flows) => {
                let guarded = |flow: &&FlowSpec| lossless & 1 << flow.priority != 0;
                flows.iter().filter(guarded).map(|flow| flow.src).collect()
            }
            TrafficSpec::Pattern(pattern) => pattern.pairs.senders().to_vec(),
        };
        for node in from {
            sends[node as usize] = true;
        }
    }
    sends
}
