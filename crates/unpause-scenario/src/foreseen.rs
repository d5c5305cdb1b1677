//! Warnings that follow from the configuration alone: settings that cannot do what they are meant to.

use unpause_protocols::congestion_point;
use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, Link, NodeId, NodeKind, PfcThreshold, SwitchModel};
use unpause_sim::traffic::{FlowSpec, TrafficSpec, Transport};

use crate::blind_watchdog;
use crate::fast_watchdog;
use crate::headroom;
use crate::run::Run;
use crate::text::setting::size;
use crate::thresholds;

/// A setting to look at.
#[derive(Clone)]
pub(crate) struct Foreseen {
    /// For programs, as in [`crate::Warning`].
    pub kind: &'static str,
    pub message: String,
    pub help: String,
    /// Path of the key in the file; the entry of an array of tables by its name.
    pub key: Vec<String>,
}

/// Everything of `run`.
pub(crate) fn of(run: &Run) -> Vec<Foreseen> {
    let mut found = late(run);
    found.extend(wrong_class(run));
    found.extend(blind_watchdog(run));
    found.extend(fast_watchdog(run));
    found.extend(default_thresholds(run));
    let Some(switches) = Switches::of(&run.config) else {
        return found;
    };
    found.extend(switches.buffer(run));
    found.extend(switches.kmin(run));
    found.extend(switches.xon(run));
    found
}

fn path(steps: &[&str]) -> Vec<String> {
    steps.iter().map(|step| (*step).to_owned()).collect()
}

/// A PFC watchdog that cannot see a storm.
fn blind_watchdog(run: &Run) -> Option<Foreseen> {
    let (message, help) = blind_watchdog::why(run)?;
    Some(Foreseen {
        kind: "blind-watchdog",
        message,
        help: help.to_owned(),
        key: path(&["switch", "watchdog"]),
    })
}

/// A PFC watchdog that polls so often that the run takes long.
fn fast_watchdog(run: &Run) -> Option<Foreseen> {
    let (message, help) = fast_watchdog::why(run)?;
    Some(Foreseen {
        kind: fast_watchdog::KIND,
        message,
        help,
        key: path(&["switch", "watchdog", "poll_interval"]),
    })
}

/// Thresholds of slower links than there are.
fn default_thresholds(run: &Run) -> Option<Foreseen> {
    let (message, help) = thresholds::why(run)?;
    Some(Foreseen {
        kind: thresholds::KIND,
        message,
        help,
        key: path(&["scheme", &run.scheme]),
    })
}

/// Flows that start when the run is over.
fn late(run: &Run) -> Vec<Foreseen> {
    let stop = run.config.stop;
    let of_entry = |(entry, (spec, name)): (usize, (&TrafficSpec, &String))| {
        if run.follows(entry) {
            return None;
        }
        let (first, late, all) = match spec {
            TrafficSpec::Flows(flows) => {
                let late = flows.iter().filter(|flow| flow.start >= stop);
                let first = late.clone().map(|flow| flow.start).min()?;
                (first, late.count(), flows.len())
            }
            generated => (Some(first_of(generated)).filter(|it| *it >= stop)?, 0, 0),
        };
        let message = match (late, all) {
            (1, 1) | (0, 0) => {
                format!(
                    "traffic `{name}` starts at {first}, the run ends at {stop}: no flow of it runs"
                )
            }
            (late, all) if late == all => format!(
                "all {all} flows of traffic `{name}` start after the run's end: the first at {first}, the run ends at \
                 {stop}"
            ),
            (late, all) => format!(
                "{late} of {all} flows of traffic `{name}` start after the run's end at {stop}, the first of them at \
                 {first}: they do not run"
            ),
        };
        Some(Foreseen {
            kind: "late-traffic",
            message,
            help: format!("set a duration longer than {first}, or let the flows start earlier"),
            key: path(&["duration"]),
        })
    };
    run.config
        .traffic
        .iter()
        .zip(&run.names.traffic)
        .enumerate()
        .filter_map(of_entry)
        .collect()
}

/// When its first flow may start.
pub(crate) fn first_of(spec: &TrafficSpec) -> Time {
    match spec {
        TrafficSpec::Flows(flows) => flows.iter().map(|it| it.start).min().unwrap_or(Time::ZERO),
        TrafficSpec::Burst(burst) => burst.arrivals.start,
        TrafficSpec::OnOff(on_off) => on_off.start,
        TrafficSpec::Poisson(poisson) => poisson.arrivals.start,
        TrafficSpec::Incast(incast) => incast.arrivals.start,
        TrafficSpec::Permutation(permutation) => permutation.start,
    }
}

/// RoCE in a lossy class, while no traffic uses the class under PFC.
fn wrong_class(run: &Run) -> Vec<Foreseen> {
    let config = &run.config;
    let lossless = config.switch.lossless;
    if lossless == 0 || lossless & config.data_priorities() != 0 {
        return Vec::new();
    }
    let guarded: Vec<String> = (0..8)
        .filter(|priority| lossless & 1 << priority != 0)
        .map(|priority| priority.to_string())
        .collect();
    let guarded = guarded.join(", ");
    let of_entry = |(spec, name): (&TrafficSpec, &String)| {
        let used = spec.priorities();
        if used == 0 || !spec.uses(Transport::Roce) {
            return None;
        }
        let priority = used.trailing_zeros();
        Some(Foreseen {
            kind: "lossy-roce",
            message: format!(
                "`{name}` has priority {priority}, which is not in switch.lossless [{guarded}]: no traffic is under PFC"
            ),
            help: format!(
                "set priority = {guarded} in [[traffic]] `{name}`, or lossless = [{priority}] in [switch]; lossless = [] declares that loss is intended"
            ),
            key: path(&["traffic", name, "priority"]),
        })
    };
    config
        .traffic
        .iter()
        .zip(&run.names.traffic)
        .filter_map(of_entry)
        .collect()
}

/// A switch by what its ingress ports can hold.
#[derive(Default)]
struct Ports {
    /// Ingress ports by which lossless data can come.
    inputs: u64,
    /// Their headroom, and the rest's.
    headroom: u64,
    headroom_of_all: u64,
}

/// Shared-buffer switches under static thresholds.
struct Switches {
    ports: Vec<Ports>,
    xoff: u64,
    xon: u64,
    /// Lossless priorities with traffic.
    priorities: u64,
}

impl Switches {
    fn of(config: &Config) -> Option<Self> {
        let switch = &config.switch;
        let used = switch.lossless & config.data_priorities();
        let PfcThreshold::Static {
            xoff_bytes,
            xon_bytes,
        } = switch.pfc.threshold
        else {
            return None;
        };
        if used == 0 || !matches!(switch.model, SwitchModel::SharedBuffer) {
            return None;
        }
        let sends = senders(config);
        let mut ports: Vec<Ports> = Vec::new();
        ports.resize_with(config.fabric.nodes.len(), Ports::default);
        for link in &config.fabric.links {
            for (here, there) in [(link.a, link.b), (link.b, link.a)] {
                let port = &mut ports[here as usize];
                let headroom = headroom(config, link);
                port.headroom_of_all += headroom;
                if sends[there as usize] {
                    port.inputs += 1;
                    port.headroom += headroom;
                }
            }
        }
        Some(Self {
            ports,
            xoff: xoff_bytes,
            xon: xon_bytes,
            priorities: u64::from(used.count_ones()),
        })
    }

    fn each<'a>(&'a self, config: &'a Config) -> impl Iterator<Item = (NodeId, &'a Ports)> {
        let numbered = (0..).zip(&self.ports);
        numbered.filter(|(node, _)| config.fabric.nodes[*node as usize] == NodeKind::Switch)
    }

    /// The buffer is full before every ingress has reached XOFF.
    fn buffer(&self, run: &Run) -> Option<Foreseen> {
        let config = &run.config;
        let buffer = config.switch.buffer_bytes?;
        let lossless = u64::from(config.switch.lossless.count_ones());
        let wanted = |ports: &Ports| ports.inputs * self.priorities * self.xoff;
        let shared = |ports: &Ports| buffer.saturating_sub(ports.headroom_of_all * lossless);
        let (node, ports) = self
            .each(config)
            .filter(|(_, ports)| wanted(ports) > shared(ports))
            .max_by_key(|(node, ports)| (wanted(ports), std::cmp::Reverse(*node)))?;
        let name = run.names.name(node);
        let (xoff, left) = (size(self.xoff), size(shared(ports)));
        let message = match self.xoff > shared(ports) {
            true => format!(
                "pfc.xoff {xoff} is more than the {left} of switch.buffer that headroom leaves: {name} is full \
                 before it sends PAUSE, and drops lossless packets"
            ),
            false => format!(
                "{} ingress ports of {name} may hold pfc.xoff {xoff} in each of {} lossless priorities, {} together, \
                 and headroom leaves {left} of switch.buffer: PFC cannot prevent drops",
                ports.inputs,
                self.priorities,
                size(wanted(ports)),
            ),
        };
        let fits = shared(ports) / (ports.inputs * self.priorities).max(1);
        Some(Foreseen {
            kind: "small-buffer",
            message,
            help: format!(
                "set pfc.xoff to {} or less, or remove switch.buffer: enough for every port is the default",
                size(fits)
            ),
            key: path(&["switch", "buffer"]),
        })
    }

    /// Marking begins at a queue that no number of senders builds up: PAUSE holds them before.
    fn kmin(&self, run: &Run) -> Option<Foreseen> {
        let config = &run.config;
        if config.data_priorities() & !config.switch.lossless != 0 {
            return None;
        }
        let points = config
            .scheme
            .congestion_points
            .iter()
            .map(|(_, point)| point);
        let kmins = points
            .chain([&config.scheme.congestion_point])
            .map(|point| match point {
                congestion_point::Config::Red(red) => Some(red.kmin),
                congestion_point::Config::Wred(wred) => Some(wred.kmin),
                _ => None,
            });
        let kmin = kmins.min().flatten()?;
        let held = |ports: &Ports| ports.inputs * self.xoff + ports.headroom;
        let (node, ports) = self.each(config).max_by_key(|(_, ports)| held(ports))?;
        let most = held(ports);
        (most > 0 && kmin >= most).then(|| Foreseen {
            kind: "unreachable-kmin",
            message: format!(
                "no queue reaches kmin {}: with all {} ingress ports of {} at XOFF ({}) and their headroom full, it \
                 holds {}; PAUSE comes before any mark",
                size(kmin),
                ports.inputs,
                run.names.name(node),
                size(self.xoff),
                size(most),
            ),
            help: format!(
                "lower kmin below {}, what two ingress ports hold at XOFF, or raise pfc.xoff",
                size(2 * self.xoff)
            ),
            key: self.kmin_key(run),
        })
    }

    fn kmin_key(&self, run: &Run) -> Vec<String> {
        let table = match run.marking {
            Some(marking) => marking.name(),
            None => run.congestion_control.name(),
        };
        path(&["scheme", &run.scheme, table, "kmin"])
    }

    /// Between XON and the first byte that follows it, an ingress runs dry.
    fn xon(&self, run: &Run) -> Option<Foreseen> {
        let config = &run.config;
        let is_switch = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Switch;
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
        let between = config.fabric.links.iter();
        let between = between.filter(|link| is_switch(link.a) && is_switch(link.b));
        let (needed, link) = between
            .map(|link| (needs(link), link))
            .max_by_key(|(needed, _)| *needed)?;
        (needed > self.xon).then(|| {
            let (a, b) = (run.names.name(link.a), run.names.name(link.b));
            Foreseen {
                kind: "low-xon",
                message: format!(
                    "pfc.xon {} is too low for the link {a} to {b}: its ingress drains {needed} in the round trip of {} before the first byte after XON arrives, and the link behind it then idles",
                    size(self.xon),
                    link.delay.saturating_add(link.delay),
                    needed = size(needed),
                ),
                help: format!(
                    "set pfc.xon to {} or more, and pfc.xoff above it",
                    size(needed)
                ),
                key: path(&["pfc", "xon"]),
            }
        })
    }
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
            TrafficSpec::Burst(burst) => burst.from.clone(),
            TrafficSpec::OnOff(on_off) => on_off.from.clone(),
            TrafficSpec::Poisson(poisson) => poisson.from.clone(),
            TrafficSpec::Incast(incast) => incast.from.clone(),
            TrafficSpec::Permutation(permutation) => permutation.hosts.clone(),
        };
        for node in from {
            sends[node as usize] = true;
        }
    }
    sends
}

/// Headroom of one lossless priority at an end of `link`, as switches set it apart.
fn headroom(config: &Config, link: &Link) -> u64 {
    let pfc = &config.switch.pfc;
    if let Some(delays) = pfc.headroom_delays {
        return link.rate.bytes_in(link.delay) * u64::from(delays);
    }
    let by_rate = pfc.headrooms.iter().find(|(rate, _)| *rate == link.rate);
    let set = by_rate.map(|(_, bytes)| *bytes).or(pfc.headroom_bytes);
    set.unwrap_or_else(|| headroom::needed(config, link))
}
