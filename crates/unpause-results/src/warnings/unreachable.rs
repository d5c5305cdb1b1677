//! Marking thresholds that no queue reaches: the queue ends below them, at a limit of its own or since PAUSE stops its
//! senders before.

use unpause_protocols::congestion_point::{Config as Marking, dctcp_red, ecn_sharp, qcn};
use unpause_protocols::units::Rate;
use unpause_sim::config::{Config, NodeKind, QueueMarking};
use unpause_sim::results::PortRecord;

use crate::run::Run;
use crate::run::measured::Measured;
use crate::warnings::buffers::Switches;
use crate::warnings::ecn;
use crate::warnings::in_force::{self, Place};
use crate::warnings::limits::{Limit, Limits, Setting};
use crate::warnings::said::Foreseen;
use unpause_text::count::{count, counted, size, size_at_most};

/// For programs, as in [`crate::warnings::Warning`].
pub const KIND: &str = "unreachable-threshold";

/// No frame is smaller, bytes.
const SMALLEST: u64 = unpause_sim::config::MIN_FRAME_BYTES as u64;

/// The queue length at which a congestion point begins to act.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Threshold {
    /// As people call it.
    name: &'static str,
    /// Its key in the table of the marking, and that of what is above it.
    keys: (&'static str, Option<&'static str>),
    /// A queue that is no longer than this is not marked, bytes.
    bytes: u64,
    /// The same in packets, if it is set in packets.
    packets: Option<u32>,
    /// An override sets it.
    is_own: bool,
}

impl Threshold {
    /// That of `point` at a link of this rate; `None` of points that look at time, or at nothing that a queue's end limits.
    fn of(point: &Marking, rate: Rate) -> Option<Self> {
        let new = |name, keys, bytes| Self {
            name,
            keys,
            bytes,
            packets: None,
            is_own: false,
        };
        Some(match point {
            // A packet has to find K.
            Marking::DctcpRed(red) => match red.threshold {
                dctcp_red::Threshold::Bytes(k) => new("K", ("k", None), k),
                dctcp_red::Threshold::Packets(k) => Self {
                    packets: Some(k),
                    ..new("K", ("threshold_packets", None), u64::from(k) * SMALLEST)
                },
            },
            Marking::Red(red) => new("kmin", ("kmin", Some("kmax")), red.kmin),
            Marking::Wred(wred) => new("kmin", ("kmin", Some("kmax")), wred.kmin),
            Marking::NpEcn(point) => new("mark_above", ("mark_above", None), point.mark_above),
            Marking::EcnSharp(point)
                if matches!(point.signal, ecn_sharp::Signal::QueueLength(_)) =>
            {
                let bytes = rate.bytes_in(point.pst_target);
                new(
                    "pst_target as bytes at the link's rate,",
                    ("pst_target", None),
                    bytes,
                )
            }
            // Feedback is negative from (1 + w) q > q_eq on, for a queue that has grown from nothing.
            Marking::Qcn(point) if point.mode == qcn::Mode::OutputArrival => {
                let least = u64::from(point.q_eq) / (1 + u64::from(point.weight));
                new("q_eq / (1 + w)", ("q_eq", None), least)
            }
            _ => return None,
        })
    }

    fn value(&self) -> String {
        match self.packets {
            Some(packets) => counted(packets, "packet"),
            None => size(self.bytes),
        }
    }

    /// True if a queue that holds at most this much never reaches it.
    fn is_beyond(&self, limit: &Limit) -> bool {
        match (self.packets, limit.setting) {
            (Some(packets), Setting::LossyPackets(most)) => packets >= most,
            // A packet that finds the threshold is in the queue as well.
            _ if self.keys.0 != "kmin" => self.bytes + SMALLEST > limit.bytes,
            _ => self.bytes >= limit.bytes,
        }
    }
}

/// The threshold of the queue at `at`, before a link of this rate.
fn threshold(config: &Config, at: Place, rate: Rate) -> Option<Threshold> {
    let scheme = &config.scheme;
    let by_rate = scheme.congestion_points.iter().find(|(of, _)| *of == rate);
    let point = by_rate.map_or(&scheme.congestion_point, |(_, point)| point);
    let general = Threshold::of(point, rate);
    match in_force::own(config, at, |it| it.marking) {
        Some(QueueMarking::Off) => None,
        Some(QueueMarking::Curve(curve)) if matches!(point, Marking::Red(_) | Marking::Wred(_)) => {
            general.map(|it| Threshold {
                bytes: curve.kmin,
                is_own: true,
                ..it
            })
        }
        _ => general,
    }
}

/// Queues that end below one threshold, for one reason.
struct Beyond<'a> {
    threshold: Threshold,
    limit: Limit,
    is_lossy: bool,
    /// The first of them.
    first: (&'a str, &'a str),
    queues: usize,
}

/// All queues of a run that marks by queue length.
struct Queues<'a> {
    run: &'a Run,
    beyond: Vec<Beyond<'a>>,
    /// Those that are held below their threshold by PAUSE, and how many.
    paused: Option<(Threshold, Place)>,
    held: usize,
    /// Those that may reach it.
    reached: usize,
    /// The lowest threshold of all.
    lowest: Option<Threshold>,
}

impl<'a> Queues<'a> {
    fn of(run: &'a Run) -> Option<Self> {
        let config = &run.config;
        let scheme = &config.scheme;
        let mut points = scheme.congestion_points.iter().map(|(_, point)| point);
        let marks = |point: &Marking| Threshold::of(point, Rate::from_gbps(1)).is_some();
        if !marks(&scheme.congestion_point) && !points.any(marks) {
            return None;
        }
        let limits = Limits::of(run)?;
        let switches = Switches::of(run);
        let mut queues = Self {
            run,
            beyond: Vec::new(),
            paused: None,
            held: 0,
            reached: 0,
            lowest: None,
        };
        let priorities = ecn::marked(run);
        let mut ports = vec![0; config.fabric.nodes.len()];
        for link in &config.fabric.links {
            for node in [link.a, link.b] {
                let port = ports[node as usize];
                ports[node as usize] += 1;
                let is_switch = config.fabric.nodes[node as usize] == NodeKind::Switch;
                if !is_switch || config.fabric.is_nvswitch(node) {
                    continue;
                }
                for priority in (0..8).filter(|it| priorities >> it & 1 == 1) {
                    let at = Place {
                        node,
                        port,
                        priority,
                    };
                    queues.add(at, link.rate, &limits, switches.as_ref());
                }
            }
        }
        Some(queues)
    }

    fn add(&mut self, at: Place, rate: Rate, limits: &Limits<'_>, switches: Option<&Switches<'_>>) {
        let config = &self.run.config;
        let queue = in_force::queue(config, at.node, at.priority);
        let group = in_force::group(config, at.node, at.priority);
        let Some(threshold) = threshold(
            config,
            Place {
                priority: queue,
                ..at
            },
            rate,
        ) else {
            return;
        };
        if self
            .lowest
            .is_none_or(|lowest| threshold.bytes < lowest.bytes)
        {
            self.lowest = Some(threshold);
        }
        let is_lossy = in_force::lossless(config, at.node) >> group & 1 == 0;
        if let Some(limit) = limits.at(at).filter(|limit| threshold.is_beyond(limit)) {
            let same = |it: &&mut Beyond<'_>| (it.threshold, it.limit) == (threshold, limit);
            match self.beyond.iter_mut().find(same) {
                Some(group) => group.queues += 1,
                None => {
                    let names = &self.run.names;
                    let peer = names.peers[at.node as usize][usize::from(at.port)];
                    self.beyond.push(Beyond {
                        threshold,
                        limit,
                        is_lossy,
                        first: (names.name(at.node), names.name(peer)),
                        queues: 1,
                    });
                }
            }
            return;
        }
        // Lossless packets that WRED would drop are to be held by PAUSE before.
        let is_spared = ecn::unmarked(self.run) >> at.priority & 1 == 1;
        let held = switches.filter(|_| !is_lossy && !is_spared);
        let held = held.and_then(|it| it.most_held_of(at.node, at.priority));
        if held.is_some_and(|most| most > 0 && threshold.bytes >= most) {
            self.held += 1;
            self.paused.get_or_insert((threshold, at));
        } else {
            self.reached += 1;
        }
    }

    fn count(&self) -> usize {
        let beyond: usize = self.beyond.iter().map(|it| it.queues).sum();
        beyond + self.held + self.reached
    }

    /// The table of the scheme that has its thresholds.
    fn table(&self) -> &'a str {
        let mechanisms = &self.run.mechanisms;
        mechanisms.marking.unwrap_or(mechanisms.control)
    }

    /// The key of a threshold in the file.
    fn key(&self, threshold: &Threshold) -> &'static str {
        match (threshold.keys.0, self.table()) {
            ("k", "dctcp-red") => "threshold",
            (key, _) => key,
        }
    }

    fn path(&self, threshold: &Threshold) -> Vec<String> {
        let (scheme, table) = (self.run.scheme.as_str(), self.table());
        let path = match threshold.is_own {
            true => Vec::new(),
            false => vec!["scheme", scheme, table, self.key(threshold)],
        };
        path.into_iter().map(str::to_owned).collect()
    }

    /// The sentence about queues that end at a limit, without its consequence.
    fn ends(&self, it: &Beyond<'_>) -> String {
        let threshold = &it.threshold;
        let than = match threshold.bytes > it.limit.bytes || threshold.packets.is_some() {
            true => "is above",
            false => "is not below",
        };
        let mut text = format!(
            "{} {} {than} {}",
            threshold.name,
            threshold.value(),
            it.limit.name()
        );
        if it.queues < self.count() {
            let (node, peer) = it.first;
            let others = match it.queues - 1 {
                0 => String::new(),
                others => format!(" and {} more", count(others as u64)),
            };
            text += &format!(
                ", at {node}->{peer}{others} of {}",
                counted(self.count(), "queue")
            );
        }
        text
    }

    fn of_limit(&self, it: &Beyond<'_>) -> Foreseen {
        let trims = self.run.config.switch.trimming.is_some();
        let then = match (it.is_lossy, trims) {
            (true, false) => "packets are dropped before any is marked",
            (true, true) => "packets are trimmed before any is marked",
            (false, _) => "no queue reaches it",
        };
        Foreseen {
            kind: KIND,
            message: format!("{}: {then}", self.ends(it)),
            help: self.lower(it),
            key: self.path(&it.threshold),
        }
    }

    /// Half of what a queue may hold leaves room for what comes until senders have slowed down.
    fn lower(&self, it: &Beyond<'_>) -> String {
        let (threshold, most) = (&it.threshold, it.limit.bytes);
        let of = match threshold.is_own {
            true => "of its [[override]]".to_owned(),
            false => format!("of [scheme.{}]", self.table()),
        };
        let key = self.key(threshold);
        let set = match (threshold.packets, threshold.keys) {
            (Some(_), _) => {
                let frame = u64::from(self.run.config.largest_frame_bytes());
                format!("{key} {of} to {} or less", count((most / frame / 2).max(1)))
            }
            (None, (_, Some(above))) => format!(
                "{key} {of} to {} or less, {above} to {} or less",
                size_at_most(most / 4),
                size_at_most(most / 2)
            ),
            (None, ("pst_target", _)) => format!("shorter times in [scheme.{}]", self.table()),
            (None, ("q_eq", _)) => format!("q_eq {of} to {} or less", size_at_most(most / 2)),
            (None, _) => format!("{key} {of} to {} or less", size_at_most(most / 2)),
        };
        let raised = match threshold.packets {
            Some(packets) => {
                let frame = u64::from(self.run.config.largest_frame_bytes());
                2 * u64::from(packets) * frame
            }
            None => 2 * threshold.bytes,
        };
        format!("set {set}, or raise {}", it.limit.raise(raised))
    }

    /// PAUSE holds all senders before any queue reaches its threshold.
    fn of_pause(&self) -> Option<Foreseen> {
        let (threshold, at) = self.paused.filter(|_| self.reached == 0)?;
        let switches = Switches::of(self.run)?;
        let node = self.run.names.name(at.node);
        let most = switches.most_held_of(at.node, at.priority)?;
        let inputs = switches.inputs(at.node).count();
        let (name, value) = (threshold.name, threshold.value());
        let xoff = switches.same_xoff(at.node);
        let at_xoff = xoff.map_or(String::new(), |(xoff, _)| format!(" ({})", size(xoff)));
        let key = self.key(&threshold);
        let help = match xoff {
            Some((xoff, of)) => format!(
                "lower {key} below {}, what two ingress ports hold at XOFF, or raise {of}",
                size(2 * xoff)
            ),
            None => format!("lower {key} below {}, or raise XOFF there", size(most)),
        };
        Some(Foreseen {
            kind: KIND,
            message: format!(
                "no queue reaches {name} {value}: with all {inputs} ingress ports of {node} at XOFF{at_xoff} and their \
                 headroom full, it holds {}; PAUSE comes before any mark",
                size(most),
            ),
            help,
            key: self.path(&threshold),
        })
    }
}

/// Thresholds of `run` that no queue reaches.
pub fn of(run: &Run) -> Vec<Foreseen> {
    let Some(queues) = Queues::of(run) else {
        return Vec::new();
    };
    let limited = queues.beyond.iter().map(|it| queues.of_limit(it));
    limited.chain(queues.of_pause()).collect()
}

/// Why no packet of a run was marked, if that is known; with advice if a setting is the reason.
pub fn why_unmarked(measured: &Measured) -> Option<Foreseen> {
    let Measured { run, results, .. } = measured;
    let reason = |message: String| Foreseen {
        kind: "never-triggered",
        message,
        help: String::new(),
        key: Vec::new(),
    };
    if ecn::capable(run) == 0 {
        return Some(reason("no packet is ECN-capable".to_owned()));
    }
    let queues = Queues::of(run)?;
    if queues.reached == 0
        && let Some(it) = queues.beyond.first()
    {
        return Some(Foreseen {
            message: queues.ends(it),
            ..queues.of_limit(it)
        });
    }
    if let Some(paused) = queues.of_pause() {
        return Some(paused);
    }
    let lowest = queues.lowest?;
    let marked = ecn::marked(run);
    let is_theirs = |port: &&PortRecord| {
        run.config.fabric.nodes[port.node as usize] == NodeKind::Switch
            && marked >> port.priority & 1 == 1
    };
    let of_switches = results.ports.iter().filter(is_theirs);
    let longest = of_switches.map(|port| port.max_queue_bytes).max()?;
    (longest <= lowest.bytes).then(|| {
        let (name, value) = (lowest.name, lowest.value());
        reason(format!(
            "no queue was longer than {}, {name} is {value}",
            size(longest)
        ))
    })
}
