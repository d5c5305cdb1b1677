//! The flows of a run that start when others have ended, found before it begins.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::config::Config;
use crate::fabric::NodeId;
use crate::traffic::{Ending, FlowSpec, Following, Matching, Traffic};

/// The flows that start when others have ended, and how many flows end where.
#[derive(Debug, Default)]
pub struct Followers {
    /// Number of the first of them: flows with a start of their own have smaller ones.
    pub first: u32,
    /// All of them by number, that is by entry and by their order there, each with its place in the entry. Times
    /// count from the end of what they wait for.
    pub flows: Vec<(FlowSpec, u32)>,
    /// Flows of an entry that end at a host.
    ends: BTreeMap<(u16, Ending, NodeId), u32>,
    /// Ends of flows of an entry that others wait for, or whoever drives the run.
    watched: BTreeSet<(u16, Ending)>,
    /// The entry whose flows come from whoever drives the run.
    driven: Option<u16>,
}

impl Followers {
    /// Those of `config`; nothing is read if there are none.
    ///
    /// # Errors
    ///
    /// There is no such traffic, or flows wait for what never ends.
    pub fn of(config: &Config) -> Result<Self, Unfollowable> {
        let mut found = Self::default();
        if config.following.is_empty() {
            return Ok(found);
        }
        check_entries(config)?;
        let after = |it: &Following| {
            it.after
                .iter()
                .map(|after| (*after, it.ending))
                .collect::<Vec<_>>()
        };
        found.watched = config.following.iter().flat_map(after).collect();
        let awaited: BTreeSet<u16> = found.watched.iter().map(|(entry, _)| *entry).collect();
        // Flows of entries that others wait for, in order.
        let mut order: BTreeMap<u16, Vec<FlowSpec>> = BTreeMap::new();
        let follows = |entry| config.following.iter().any(|it| it.entry == entry);
        let all = Traffic::new(&config.traffic, &config.fabric, config.seed);
        let all = all.map_err(|why| Unfollowable {
            entry: 0,
            why: Why::Traffic(why),
        })?;
        for flow in all.take_while(|flow| flow.start < config.stop) {
            if awaited.contains(&flow.group) {
                if flow.size_bytes.is_none() {
                    return Err(never_ends(config, flow.group));
                }
                for ending in [Ending::Delivered, Ending::Acknowledged] {
                    let key = (flow.group, ending, ending.host(&flow));
                    *found.ends.entry(key).or_default() += 1;
                }
                order.entry(flow.group).or_default().push(flow);
            }
            if follows(flow.group) {
                found.flows.push((flow, 0))
            } else {
                found.first += 1
            }
        }
        found.number();
        for following in &config.following {
            found.check(following, &order)?;
        }
        Ok(found)
    }

    /// Orders flows by entry, and gives each its place there.
    fn number(&mut self) {
        self.flows.sort_by_key(|(flow, _)| flow.group);
        let mut last = None;
        let mut number = 0;
        for (flow, place) in &mut self.flows {
            number = if last == Some(flow.group) {
                number + 1
            } else {
                0
            };
            last = Some(flow.group);
            *place = number;
        }
    }

    /// Every flow of the entry waits for something, at its own sender.
    fn check(
        &self,
        following: &Following,
        order: &BTreeMap<u16, Vec<FlowSpec>>,
    ) -> Result<(), Unfollowable> {
        let entry = following.entry;
        let refuse = |why| Err(Unfollowable { entry, why });
        let own = self.flows.iter().filter(|(flow, _)| flow.group == entry);
        if following.matching == Matching::All {
            for (flow, _) in own {
                if self.awaited(following, flow.src) == 0 {
                    return refuse(Why::NothingEnds { host: flow.src });
                }
            }
            return Ok(());
        }
        let before = order.get(&following.after[0]);
        let before = before.map_or(&[][..], Vec::as_slice);
        let flows = own.clone().count();
        if flows > 0 && flows != before.len() {
            let before = before.len();
            return refuse(Why::NotAsMany { flows, before });
        }
        for ((flow, number), before) in own.zip(before) {
            let ends = following.ending.host(before);
            if ends != flow.src {
                let (starts, number) = (flow.src, *number);
                return refuse(Why::Elsewhere {
                    number,
                    starts,
                    ends,
                });
            }
        }
        Ok(())
    }

    /// So many flows end at `host` that flows of the entry there wait for.
    pub fn awaited(&self, following: &Following, host: NodeId) -> u32 {
        let count = |entry: &u16| self.ends.get(&(*entry, following.ending, host));
        following.after.iter().filter_map(count).sum()
    }

    /// True if some flow waits for flows of `entry` to end so.
    pub fn watches(&self, entry: u16, ending: Ending) -> bool {
        !self.watched.is_empty() && self.watched.contains(&(entry, ending))
    }

    /// Whoever drives the run adds flows to `entry`, and is notified when they end.
    pub fn drive(&mut self, entry: u16, endings: impl Iterator<Item = Ending>) {
        self.driven = Some(entry);
        self.watched.extend(endings.map(|ending| (entry, ending)));
    }

    /// The entry whose flows come from whoever drives the run.
    pub fn driven(&self) -> Option<u16> {
        self.driven
    }

    /// True if flow `id` is one of them.
    pub fn has(&self, id: u32) -> bool {
        !self.flows.is_empty() && id >= self.first
    }

    /// The flow `id`, if it is one of them.
    pub fn get(&self, id: u32) -> Option<&FlowSpec> {
        let place = id.checked_sub(self.first)?;
        self.flows.get(place as usize).map(|(flow, _)| flow)
    }
}

/// The flows of `config` that have a start of their own.
///
/// # Errors
///
/// As [`Traffic::new`].
pub fn leaders(config: &Config) -> Result<Traffic<'_>, String> {
    Traffic::without(
        (&config.traffic, &config.jitters),
        &config.fabric,
        config.seed,
        &config.following,
    )
}

/// Why the flows of an entry cannot follow others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfollowable {
    /// The entry that follows.
    pub entry: u16,
    /// The fault.
    pub why: Why,
}

/// The fault in an entry that follows others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Traffic cannot be generated at all.
    Traffic(String),
    /// It follows twice, nothing, an entry that is not there, or several flow by flow.
    NotThere,
    /// It waits for itself, at once or by others.
    Circle,
    /// The flows of the entry `after` have no size.
    NeverEnds {
        /// The entry that it follows.
        after: u16,
    },
    /// A host sends, at which none of the flows ends that it would wait for.
    NothingEnds {
        /// The sender.
        host: NodeId,
    },
    /// Each flow follows one, but they are not as many.
    NotAsMany {
        /// Flows of the entry.
        flows: usize,
        /// Flows that they follow.
        before: usize,
    },
    /// A flow starts at another host than that at which the one ends that it follows.
    Elsewhere {
        /// Its place in the entry.
        number: u32,
        /// Its sender.
        starts: NodeId,
        /// Where the other one ends.
        ends: NodeId,
    },
}

impl fmt::Display for Unfollowable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "traffic entry {}: ", self.entry)?;
        match &self.why {
            Why::Traffic(why) => f.write_str(why),
            Why::NotThere => f.write_str("it follows an entry that is not there"),
            Why::Circle => f.write_str("it waits for itself"),
            Why::NeverEnds { after } => {
                write!(f, "flows of entry {after} have no size and never end")
            }
            Why::NothingEnds { host } => write!(
                f,
                "host {host} sends, but none of the flows ends there that it follows"
            ),
            Why::NotAsMany { flows, before } => {
                write!(f, "{flows} flows follow {before}, one by one")
            }
            Why::Elsewhere {
                number,
                starts,
                ends,
            } => {
                write!(
                    f,
                    "flow {number} starts at host {starts}, the one that it follows ends at host {ends}"
                )
            }
        }
    }
}

fn never_ends(config: &Config, after: u16) -> Unfollowable {
    let follows = |it: &&Following| it.after.contains(&after);
    let entry = config
        .following
        .iter()
        .find(follows)
        .map_or(after, |it| it.entry);
    Unfollowable {
        entry,
        why: Why::NeverEnds { after },
    }
}

/// Entries follow others that are there, without a circle.
fn check_entries(config: &Config) -> Result<(), Unfollowable> {
    let is_there = |entry: &u16| usize::from(*entry) < config.traffic.len();
    let mut seen = BTreeSet::new();
    for it in &config.following {
        let entry = it.entry;
        let one = it.matching == Matching::All || it.after.len() == 1;
        let there = is_there(&entry) && it.after.iter().all(is_there);
        if !seen.insert(entry) || it.after.is_empty() || !one || !there {
            return Err(Unfollowable {
                entry,
                why: Why::NotThere,
            });
        }
    }
    match circle(&config.following) {
        None => Ok(()),
        Some(entry) => Err(Unfollowable {
            entry,
            why: Why::Circle,
        }),
    }
}

/// An entry that waits for its own flows, at once or by others.
fn circle(following: &[Following]) -> Option<u16> {
    let mut left: Vec<&Following> = following.iter().collect();
    loop {
        let waiting: BTreeSet<u16> = left.iter().map(|it| it.entry).collect();
        let ready = |it: &&Following| it.after.iter().all(|after| !waiting.contains(after));
        let (ready, rest): (Vec<&Following>, Vec<_>) = left.into_iter().partition(ready);
        if ready.is_empty() {
            return rest.first().map(|it| it.entry);
        }
        left = rest;
    }
}
