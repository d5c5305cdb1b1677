//! `[[event]]` and `[routing]`: links that fail and return, and how soon routes follow.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_spanned::Spanned;
use unpause_protocols::units::Time;
use unpause_sim::config::{Direction, Events, Fabric, LinkEvent, NodeId};

use crate::limits;
use crate::names::Names;
use crate::text::document::{Table, read};
use crate::text::error::{Checked, Problem};
use crate::text::keys::{keys, names};
use crate::text::quantity::Duration;

/// How long a link is down, or up again, before its switches notice, unless the file says.
const DETECTION: Time = Time::from_us(50);

names! {
    /// What happens.
    pub(crate) EventKind { Down = "down", Up = "up" }
}

keys! {
    /// `[[event]]`
    pub(crate) EventKeys at "event" for () {
        ! at: Duration "when it happens";
        ! kind: EventKind "the link fails: what is on the wire and in the queue before it is lost; or it works again";
        link: String = ["-"]
            "which link: `\"S0-S1\"` by the names of its ends, in both directions; `\"S0->S1\"` in one. All parallel links between \
             the two";
        node: String = ["-"] "instead of `link`: every link of this node";
        every: Duration = ["once"] "again after each such time, for links that flap";
        until: Duration = ["the end"] "the last time that it may happen"
            idle ("it happens once", "add every = \"10ms\": again and again");
    }
}

keys! {
    /// `[routing]`
    #[derive(Default)]
    pub(crate) RoutingKeys at "routing" for () {
        detection: Duration = [DETECTION]
            "a link has to be down, or up again, for so long before the switches at its ends notice; until then they send \
             what goes there into nowhere"
            from "ours: a port that sees the loss of signal; hellos take longer, BFD (RFC 5880) a few of its intervals"
            idle ("no link fails", "add [[event]], or remove it");
        convergence: Duration = ["`\"0s\"`"]
            "from then on until every switch has the routes of the fabric as it is; until then only the ends of the link do \
             without it"
            idle ("no link fails", "add [[event]], or remove it");
    }
}

/// One entry of `[[event]]`.
struct Entry {
    place: Range<usize>,
    /// Links and their directions.
    links: Vec<(usize, Direction)>,
    times: Vec<Time>,
    up: bool,
}

/// What happens to links in a run that ends at `stop`.
pub(crate) fn events(
    tables: Vec<Table<'_>>,
    routing: &RoutingKeys,
    (names, fabric): (&Names, &Fabric),
    stop: Time,
) -> Checked<Events> {
    if tables.is_empty() {
        return Ok(Events::default());
    }
    let entries = tables
        .into_iter()
        .map(|table| entry(table, names, fabric, stop));
    let entries = entries.collect::<Checked<Vec<Entry>>>()?;
    let count: usize = entries
        .iter()
        .map(|it| it.links.len() * it.times.len())
        .sum();
    if count > limits::LINK_EVENTS {
        let last = entries.last().map_or(0..0, |it| it.place.clone());
        return Problem::new(format!("{count} changes of links"))
            .at(last, "with those of this entry")
            .help(format!("at most {} are possible", limits::LINK_EVENTS))
            .err();
    }
    check_effect(&entries)?;
    let links = entries.iter().flat_map(|entry| {
        let of = |at: &Time| {
            let at = *at;
            let links = entry.links.iter();
            links.map(move |&(link, direction)| LinkEvent {
                at,
                link,
                direction,
                up: entry.up,
            })
        };
        entry.times.iter().flat_map(of).collect::<Vec<_>>()
    });
    let time = |value: Option<&Duration>, default| value.map_or(default, |it| it.0);
    Ok(Events {
        links: links.collect(),
        detection: time(routing.detection.value(), DETECTION),
        convergence: time(routing.convergence.value(), Time::ZERO),
    })
}

fn entry(table: Table<'_>, names: &Names, fabric: &Fabric, stop: Time) -> Checked<Entry> {
    let place = table.span();
    let keys: EventKeys = read(table, &[])?;
    let links = match (keys.link.get(), keys.node.get()) {
        (Some(link), None) => links_of(link, names, fabric)?,
        (None, Some(node)) => {
            let node = names.node(node.get_ref(), &node.span())?;
            let links = fabric.links.iter().enumerate();
            let own = links.filter(|(_, link)| link.a == node || link.b == node);
            own.map(|(at, _)| (at, Direction::Both)).collect()
        }
        (Some(link), Some(node)) => {
            return Problem::new("an event of a link and of a node")
                .at(link.span(), "either this")
                .at(node.span(), "or this")
                .err();
        }
        (None, None) => {
            return Problem::new("an event of no link")
                .at(place, "this table needs `link` or `node`")
                .help("write link = \"S0-S1\", the names of both ends, or node = \"S0\" for all its links")
                .err();
        }
    };
    let at = keys.at.get_ref().0;
    if at >= stop {
        return Problem::new("the run is over before this happens")
            .at(keys.at.span(), format!("the run ends at {stop}"))
            .err();
    }
    Ok(Entry {
        place,
        links,
        times: times(&keys, stop)?,
        up: *keys.kind.get_ref() == EventKind::Up,
    })
}

/// When an event happens that happens again and again.
fn times(keys: &EventKeys, stop: Time) -> Checked<Vec<Time>> {
    let at = keys.at.get_ref().0;
    let Some(every) = keys.every.get() else {
        crate::text::keys::refuse(crate::text::keys::Keys::<()>::unread(keys))?;
        return Ok(vec![at]);
    };
    if every.get_ref().0 == Time::ZERO {
        return Problem::new("`every` is zero")
            .at(every.span(), "must be longer than nothing")
            .err();
    }
    let until = keys.until.get();
    if let Some(until) = until.filter(|until| until.get_ref().0 < at) {
        return Problem::new("`until` is before `at`")
            .at(until.span(), "the last time")
            .at(keys.at.span(), "the first")
            .err();
    }
    let last = until.map_or(Time::NEVER, |until| until.get_ref().0);
    let mut times = Vec::new();
    let mut next = at;
    while next <= last && next < stop && times.len() <= limits::LINK_EVENTS {
        times.push(next);
        next = next.saturating_add(every.get_ref().0);
    }
    Ok(times)
}

/// The links of `"S0-S1"`, or of `"S0->S1"` that direction.
fn links_of(
    text: &Spanned<String>,
    names: &Names,
    fabric: &Fabric,
) -> Checked<Vec<(usize, Direction)>> {
    let (a, b, one_way) = ends(text, names)?;
    let links = fabric.links.iter().enumerate();
    let found: Vec<_> = links
        .filter_map(|(at, link)| {
            let direction = match (link.a == a && link.b == b, link.a == b && link.b == a) {
                (true, _) => Direction::Forward,
                (_, true) => Direction::Backward,
                (false, false) => return None,
            };
            Some((at, if one_way { direction } else { Direction::Both }))
        })
        .collect();
    if found.is_empty() {
        let peers = names.peers[a as usize].iter();
        let peers: Vec<&str> = peers.take(8).map(|peer| names.name(*peer)).collect();
        return Problem::new(format!(
            "there is no link between {} and {}",
            names.name(a),
            names.name(b)
        ))
        .at(text.span(), "not a link of this topology")
        .help(format!(
            "{} has links to {}",
            names.name(a),
            peers.join(", ")
        ))
        .err();
    }
    Ok(found)
}

/// Both ends of a link, and whether only the direction from the first to the second is meant. Names may have hyphens.
fn ends(text: &Spanned<String>, names: &Names) -> Checked<(NodeId, NodeId, bool)> {
    let written = text.get_ref().as_str();
    if let Some((from, to)) = written.split_once("->") {
        let node = |name: &str| names.node(name.trim(), &text.span());
        return Ok((node(from)?, node(to)?, true));
    }
    let hyphens = written.match_indices('-').map(|(at, _)| at);
    let split = |at: usize| (written[..at].trim(), written[at + 1..].trim());
    let pairs: Vec<(&str, &str)> = hyphens.map(split).collect();
    let known = pairs
        .iter()
        .find_map(|(a, b)| Some((names.index(a)?, names.index(b)?, false)));
    match (known, &pairs[..]) {
        (Some(known), _) => Ok(known),
        (None, [(a, b), ..]) => {
            let node = |name: &str| names.node(name, &text.span());
            Ok((node(a)?, node(b)?, false))
        }
        (None, []) => Problem::new(format!("`{written}` is not a link"))
            .at(text.span(), "here")
            .help("write the names of both ends: \"S0-S1\", or \"S0->S1\" for the one direction")
            .err(),
    }
}

/// Refuses what changes nothing: a link that is down does not fail.
fn check_effect(entries: &[Entry]) -> Checked<()> {
    let mut order: BTreeMap<(Time, usize), &Entry> = BTreeMap::new();
    for (number, entry) in entries.iter().enumerate() {
        order.extend(entry.times.iter().map(|at| ((*at, number), entry)));
    }
    let mut acts = vec![false; entries.len()];
    let mut down: BTreeMap<(usize, bool), ()> = BTreeMap::new();
    for ((_, number), entry) in order {
        for &(link, direction) in &entry.links {
            let directions = match direction {
                Direction::Both => &[true, false][..],
                Direction::Forward => &[true],
                Direction::Backward => &[false],
            };
            for forward in directions {
                let key = (link, *forward);
                acts[number] |= match entry.up {
                    true => down.remove(&key).is_some(),
                    false => down.insert(key, ()).is_none(),
                };
            }
        }
    }
    let Some((entry, _)) = entries.iter().zip(acts).find(|(_, acts)| !acts) else {
        return Ok(());
    };
    let (is, help) = match entry.up {
        true => ("up", "an earlier event with kind = \"down\" makes it fail"),
        false => ("down", "an earlier event with kind = \"up\" lets it return"),
    };
    Problem::new("this event changes nothing")
        .at(entry.place.clone(), format!("the link is {is} already"))
        .help(help)
        .err()
}
