//! `[[event]]` and `[routing]`: links that fail, return, lose frames and change their rate, and how soon routes follow; NICs
//! that send PAUSE.

use serde_spanned::Spanned;
use std::collections::BTreeMap;
use std::ops::Range;
use unpause_text::error::{Checked, Problem};
use unpause_text::limits;
use unpause_text::quantity::{DataRate, Duration};

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{
    Direction, ErrorEvent, Events, Fabric, FrameErrors, LinkEvent, PauseStorm, RateEvent,
};

use super::event_links::links_of;
use super::link_errors::{self, Asked, FecName};
use super::pause_storm::{self, StormKeys};
use crate::text::document::{Table, read};
use crate::text::keys::{Keys, WithDefault, Written, refuse};
use crate::text::kind::OneOf;
use unpause_import::fabric::names::Names;
use unpause_import::fabric::topology::Topology;

/// How long a link is down, or up again, before its switches notice, unless the file says.
const DETECTION: Time = Time::from_us(50);

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, unpause_protocols::names::Names)]
pub(crate) enum EventKind {
    Down,
    Up,
    ErrorRate,
    Rate,
    PauseStorm,
}

/// `[[event]]`
#[derive(Keys)]
#[keys("event")]
pub(crate) struct EventKeys {
    /// the link fails: packets on the wire and in the queue before it are lost; or it works again; or it loses frames to errors; or its rate changes; or (`"pause-storm"`) NICs send PAUSE without a break, for all lossless priorities, whatever they receive: those of the host `node`, or one, by its `link`
    pub(crate) kind: Spanned<OneOf<EventKind>>,
    /// when it happens; optional only for errors
    #[key(unset = "`\"0s\"` for errors")]
    pub(crate) at: Written<Duration>,
    /// which link: `"S0-S1"` by the names of its ends, in both directions; `"S0->S1"` in one. All parallel links between the two. `"all"`: every link of the fabric. Of a PAUSE storm: `"H0->S0"`, the NIC of H0 at this link
    pub(crate) link: Written<String>,
    /// instead of `link`: every link of this node; of a PAUSE storm: the host, all of whose NICs send PAUSE
    pub(crate) node: Written<String>,
    /// repeats the event at this interval, for links that flap
    #[key(unset = "once")]
    pub(crate) every: Written<Duration>,
    /// no event after this time; for errors and PAUSE storms: when they end
    #[key(unset = "the end", idle = ("it happens once", "add every = \"10ms\" to repeat it"))]
    pub(crate) until: Written<Duration>,
    /// new rate, up to that of the topology. The frame that is being sent ends as planned
    #[key(idle = ("the event is of another kind", "write kind = \"rate\""))]
    pub(crate) rate: Written<DataRate>,
    /// for errors: the share of frames of any kind that are lost, independently; 0 ends earlier errors
    #[key(idle = ("the event is of another kind", "write kind = \"error-rate\""))]
    pub(crate) loss: Written<f64>,
    /// instead of `loss`: the share of bits that are wrong on the wire, independently. A frame with a wrong bit is lost; with `fec`, a frame in a codeword that cannot be corrected
    #[key(idle = ("the event is of another kind", "write kind = \"error-rate\""))]
    pub(crate) ber: Written<f64>,
    /// forward error correction: `"rs-544"` is RS(544, 514), which corrects 15 symbols of 10 bits, `"rs-272"` the low-latency RS(272, 257), which corrects 7
    #[key(from = "IEEE 802.3, Ethernet Technology Consortium", idle = ("no bits are wrong", "write ber = 1e-4"))]
    pub(crate) fec: WithDefault<OneOf<FecName>>,
    /// with `fec`: number of codewords over which the bits of a frame are spread; if one cannot be corrected, frames in all of them are lost
    #[key(unset = "1 up to 100 Gb/s, 2 up to 400 Gb/s, 4 above", idle = ("no codewords are sent", "add fec = \"rs-544\""))]
    pub(crate) interleave: Written<u8>,
}

/// `[routing]`
#[derive(Keys)]
#[keys("routing")]
pub(crate) struct RoutingKeys {
    /// time after which the switches at its ends notice that a link is down, or up again; until then they lose what they send there
    #[key(default = Duration(DETECTION), from = "ours: a port that sees the loss of signal; hellos take longer, BFD (RFC 5880) a few of its intervals", idle = ("no link fails", "add [[event]] with kind = \"down\", or remove it"))]
    pub(crate) detection: WithDefault<Duration>,
    /// further time until every switch has updated routes; until then only the ends of the link avoid it
    #[key(idle = ("no link fails", "add [[event]] with kind = \"down\", or remove it"))]
    pub(crate) convergence: WithDefault<Duration>,
}

/// One entry of `[[event]]`.
struct Entry {
    place: Range<usize>,
    /// Links and their directions.
    links: Vec<(usize, Direction)>,
    steps: Vec<(Time, Step)>,
    storms: Vec<PauseStorm>,
}

/// The events of one instant.
#[derive(Clone, Copy)]
enum Step {
    /// The links fail, or work again.
    Wire(bool),
    /// These are their errors.
    Errors(Asked),
    /// This is their rate.
    Rate(Rate),
}

/// The events of links in a run that ends at `stop`. Some lose frames from the start, by the topology's file, unless an
/// event says otherwise.
pub(crate) fn events(
    tables: Vec<Table<'_>>,
    routing: &RoutingKeys,
    (names, topology): (&Names, &Topology),
    stop: Time,
) -> Checked<Events> {
    let fabric = &topology.fabric;
    let lossy = topology.errors.iter();
    let mut events = Events::default();
    events.errors.extend(lossy.map(|&(link, share)| ErrorEvent {
        at: Time::ZERO,
        link,
        direction: Direction::Both,
        errors: FrameErrors::Frames(share),
    }));
    if tables.is_empty() {
        return Ok(events);
    }
    let entries = tables
        .into_iter()
        .map(|table| entry(table, names, fabric, stop));
    let entries = entries.collect::<Checked<Vec<Entry>>>()?;
    let count: usize = entries
        .iter()
        .map(|it| it.links.len() * it.steps.len())
        .sum();
    if count > limits::LINK_EVENTS {
        let last = entries.last().map_or(0..0, |it| it.place.clone());
        return Problem::new(format!("{count} changes of links"))
            .at(last, "with those of this entry")
            .help(format!("at most {} are possible", limits::LINK_EVENTS))
            .err();
    }
    check_effect(&entries, fabric, &events.errors)?;
    for entry in &entries {
        events.storms.extend(&entry.storms);
        for &(at, step) in &entry.steps {
            for &(link, direction) in &entry.links {
                match step {
                    Step::Wire(up) => events.links.push(LinkEvent {
                        at,
                        link,
                        direction,
                        up,
                    }),
                    Step::Errors(asked) => events.errors.push(ErrorEvent {
                        at,
                        link,
                        direction,
                        errors: asked.at(fabric.links[link].rate),
                    }),
                    Step::Rate(rate) => events.rates.push(RateEvent {
                        at,
                        link,
                        direction,
                        rate,
                    }),
                }
            }
        }
    }
    if !events.links.is_empty() {
        events.detection = routing.detection.value().0;
        events.convergence = routing.convergence.value().0;
    }
    Ok(events)
}

fn entry(table: Table<'_>, names: &Names, fabric: &Fabric, stop: Time) -> Checked<Entry> {
    let place = table.span();
    let keys: EventKeys = read(table, &[])?;
    if let Some(at) = keys.at.get().filter(|at| at.get_ref().0 >= stop) {
        return Problem::new("the run ends before this event")
            .at(at.span(), format!("the run ends at {stop}"))
            .err();
    }
    if keys.kind.get_ref().0 == EventKind::PauseStorm {
        return of_storm(&keys, place, (names, fabric));
    }
    let links = match (keys.link.get(), keys.node.get()) {
        (Some(link), None) if link.get_ref() == "all" => {
            let links = 0..fabric.links.len();
            links.map(|link| (link, Direction::Both)).collect()
        }
        (Some(link), None) => links_of(link, names, fabric)?,
        (None, Some(node)) => {
            let node = names.node(node.get_ref(), &node.span())?;
            let links = fabric.links.iter().enumerate();
            let own = links.filter(|(_, link)| link.a == node || link.b == node);
            own.map(|(at, _)| (at, Direction::Both)).collect()
        }
        (Some(link), Some(node)) => {
            return Problem::new("both `link` and `node` are set")
                .at(link.span(), "either this")
                .at(node.span(), "or this")
                .err();
        }
        (None, None) => {
            return Problem::new("neither `link` nor `node` is set")
                .at(place, "this table needs `link` or `node`")
                .help("write link = \"S0-S1\", the names of both ends, or node = \"S0\" for all its links")
                .err();
        }
    };
    let steps = match keys.kind.get_ref().0 {
        EventKind::Down | EventKind::Up => {
            let up = keys.kind.get_ref().0 == EventKind::Up;
            let times = times(&keys, place.clone(), stop)?;
            times.into_iter().map(|at| (at, Step::Wire(up))).collect()
        }
        EventKind::ErrorRate => errors(&keys, place.clone(), stop)?,
        EventKind::Rate => {
            let rate = rate(&keys, place.clone(), &links, fabric)?;
            let times = times(&keys, place.clone(), stop)?;
            times.into_iter().map(|at| (at, Step::Rate(rate))).collect()
        }
        EventKind::PauseStorm => unreachable!("storms are of no link"),
    };
    refuse(keys.unread())?;
    Ok(Entry {
        place,
        links,
        steps,
        storms: Vec::new(),
    })
}

/// The entry of NICs that send PAUSE.
fn of_storm(keys: &EventKeys, place: Range<usize>, topology: (&Names, &Fabric)) -> Checked<Entry> {
    let of_storm = StormKeys {
        link: &keys.link,
        node: &keys.node,
        at: &keys.at,
        every: &keys.every,
        until: &keys.until,
    };
    let storms = pause_storm::storms(&of_storm, place.clone(), topology)?;
    refuse(keys.unread())?;
    Ok(Entry {
        place,
        links: Vec::new(),
        steps: Vec::new(),
        storms,
    })
}

/// The rate that links come to have: none is faster than the topology has it.
fn rate(
    keys: &EventKeys,
    place: Range<usize>,
    links: &[(usize, Direction)],
    fabric: &Fabric,
) -> Checked<Rate> {
    let Some(rate) = keys.rate.get() else {
        return Problem::new("missing field `rate`")
            .at(place, "the new rate of the links")
            .help("add rate = \"100Gbps\"")
            .err();
    };
    let to = rate.get_ref().0;
    let own = links.iter().map(|(link, _)| fabric.links[*link].rate);
    let slowest = own.min().unwrap_or(to);
    if to > slowest {
        return Problem::new("a link cannot become faster than in the topology")
            .at(rate.span(), format!("the topology has {slowest}"))
            .help(
                "windows of the engine are as long as packets need at the topology's rates; give the topology the higher rate, \
                 and lower it with an event at = \"0s\"",
            )
            .err();
    }
    if to == Rate::ZERO {
        return Problem::new("the rate of a link is zero")
            .at(rate.span(), "must be above zero")
            .help("write kind = \"down\"")
            .err();
    }
    Ok(to)
}

/// When errors begin, and when they end.
fn errors(keys: &EventKeys, place: Range<usize>, stop: Time) -> Checked<Vec<(Time, Step)>> {
    let at = keys.at.value().map_or(Time::ZERO, |at| at.0);
    let asked = link_errors::asked(
        (&keys.loss, &keys.ber),
        (&keys.fec, &keys.interleave),
        place,
    )?;
    let mut steps = vec![(at, Step::Errors(asked))];
    if let Some(every) = keys.every.get() {
        return Problem::new("an error event cannot repeat")
            .at(every.span(), "`every` is for links that flap")
            .help("write an event for each time, with `at` and `until`")
            .err();
    }
    let Some(until) = keys.until.get() else {
        return Ok(steps);
    };
    let end = until.get_ref().0;
    if end <= at {
        return Problem::new("errors end before they begin")
            .at(until.span(), format!("they begin at {at}"))
            .err();
    }
    if end < stop {
        steps.push((end, Step::Errors(Asked::Same(FrameErrors::None))));
    }
    Ok(steps)
}

/// When an event happens that happens again and again.
fn times(keys: &EventKeys, place: Range<usize>, stop: Time) -> Checked<Vec<Time>> {
    let Some(first) = keys.at.get() else {
        return Problem::new("missing field `at`")
            .at(place, "an event needs a time")
            .help("add at = \"1ms\"")
            .err();
    };
    let at = first.get_ref().0;
    let Some(every) = keys.every.get() else {
        return Ok(vec![at]);
    };
    if every.get_ref().0 == Time::ZERO {
        return Problem::new("`every` is zero")
            .at(every.span(), "must be above zero")
            .err();
    }
    let until = keys.until.get();
    if let Some(until) = until.filter(|until| until.get_ref().0 < at) {
        return Problem::new("`until` is before `at`")
            .at(until.span(), "the last time")
            .at(first.span(), "the first")
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

/// Refuses what changes nothing: a link that is down does not fail.
fn check_effect(entries: &[Entry], fabric: &Fabric, lossy: &[ErrorEvent]) -> Checked<()> {
    let mut order: BTreeMap<(Time, usize), (&Entry, Step)> = BTreeMap::new();
    for (number, entry) in entries.iter().enumerate() {
        let steps = entry.steps.iter();
        order.extend(steps.map(|&(at, step)| ((at, number), (entry, step))));
    }
    let mut acts: Vec<bool> = entries.iter().map(|it| !it.storms.is_empty()).collect();
    let mut down: BTreeMap<(usize, usize), ()> = BTreeMap::new();
    let mut errors: BTreeMap<(usize, usize), FrameErrors> = BTreeMap::new();
    let mut rates: BTreeMap<(usize, usize), Rate> = BTreeMap::new();
    for at_first in lossy {
        let senders = at_first.direction.senders();
        errors.extend(senders.map(|sender| ((at_first.link, sender), at_first.errors)));
    }
    for ((_, number), (entry, step)) in order {
        for &(link, direction) in &entry.links {
            for sender in direction.senders() {
                let key = (link, sender);
                acts[number] |= match step {
                    Step::Wire(true) => down.remove(&key).is_some(),
                    Step::Wire(false) => down.insert(key, ()).is_none(),
                    Step::Errors(asked) => {
                        let now = asked.at(fabric.links[link].rate);
                        errors.insert(key, now).unwrap_or_default() != now
                    }
                    Step::Rate(now) => {
                        let own = fabric.links[link].rate;
                        rates.insert(key, now).unwrap_or(own) != now
                    }
                };
            }
        }
    }
    let Some((entry, _)) = entries.iter().zip(acts).find(|(_, acts)| !acts) else {
        return Ok(());
    };
    let (is, help) = match entry.steps.first() {
        Some((_, Step::Wire(true))) => (
            "the link is up already",
            "an earlier event with kind = \"down\" makes it fail",
        ),
        Some((_, Step::Wire(false))) => (
            "the link is down already",
            "an earlier event with kind = \"up\" lets it return",
        ),
        Some((_, Step::Rate(_))) => (
            "the link has this rate already",
            "initially it is that of the topology; an earlier event with kind = \"rate\" lowers it",
        ),
        Some((_, Step::Errors(_))) | None => (
            "the link has these errors already",
            "initially there are none; set another `loss` or `ber`, or remove the event",
        ),
    };
    Problem::new("this event changes nothing")
        .at(entry.place.clone(), is)
        .help(help)
        .err()
}
