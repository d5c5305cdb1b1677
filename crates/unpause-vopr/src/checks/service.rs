//! In which order a switch with a shared buffer serves what waits, by the packets that came and went.

use std::collections::BTreeMap;

use unpause_protocols::scheduler::{self, dwrr};
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeId, PortId, Queueing, SwitchModel};
use unpause_sim::results::{PacketKind, PacketRecord, Results};

use super::facts::{Answer, is_host, largest, maps_classes, ports, records_all};

/// A packet in a switch.
#[derive(Clone, Copy, Debug)]
struct Visit {
    came: Time,
    by: PortId,
    left: Time,
}

/// A packet that left a switch, and its visit if there is no other like it.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Time,
    priority: u8,
    bytes: u64,
    visit: Option<Visit>,
}

type Place = (NodeId, PortId);
/// Identifies a packet: flow, kind, number, priority, destination.
pub(super) type Name = (u32, u8, u32, u8, NodeId);

pub(super) fn name(packet: &PacketRecord) -> Name {
    let kind = packet.kind as u8;
    let (flow, seq) = (packet.flow, packet.seq);
    (flow, kind, seq, packet.priority, packet.dst)
}

/// The packets that left by a port, in order, and those that wait for it at the end.
#[derive(Debug, Default)]
struct Queues {
    departures: Vec<Departure>,
    rest: Vec<(u8, Visit)>,
}

/// The queues of every port of a switch. A packet that came or left twice under the same name, sent again or
/// acknowledging the same, has no visit; nor has one that waits at the end, unless its host is at the port.
fn queues(config: &Config, results: &Results) -> BTreeMap<Place, Queues> {
    let mut far_end: BTreeMap<Place, Place> = BTreeMap::new();
    for pair in ports(config).chunks(2) {
        let [a, b] = pair else { continue };
        far_end.insert((a.node, a.number), (b.node, b.number));
        far_end.insert((b.node, b.number), (a.node, a.number));
    }
    let mut came: BTreeMap<(NodeId, Name), Option<(Time, PortId)>> = BTreeMap::new();
    let mut often: BTreeMap<(NodeId, Name), u32> = BTreeMap::new();
    let packets = || results.packets.iter().filter(|p| p.kind != PacketKind::Pfc);
    for packet in packets() {
        *often.entry((packet.node, name(packet))).or_default() += 1;
        if packet.arrival < results.totals.simulated {
            let (node, by) = far_end[&(packet.node, packet.port)];
            let key = (node, name(packet));
            // A switch may have made the header that leaves it, of another copy of the packet.
            let only = !came.contains_key(&key) && packet.kind != PacketKind::Trimmed;
            came.insert(key, only.then_some((packet.arrival, by)));
        }
    }
    let mut all: BTreeMap<Place, Queues> = BTreeMap::new();
    for packet in packets().filter(|packet| !is_host(config, packet.node)) {
        let key = (packet.node, name(packet));
        let is_only = often[&key] == 1;
        let known = came.get(&key).copied().flatten().filter(|_| is_only);
        let queues = all.entry((packet.node, packet.port)).or_default();
        queues.departures.push(Departure {
            at: packet.time,
            priority: packet.priority,
            bytes: u64::from(packet.bytes),
            visit: known.map(|(came, by)| Visit {
                came,
                by,
                left: packet.time,
            }),
        });
    }
    let rows = results.ports.iter();
    let dropping = rows.filter(|row| row.dropped_packets + row.trimmed_packets > 0);
    let mut dropping: Vec<_> = dropping.map(|r| (r.node, r.port, r.priority)).collect();
    // Drops by a watchdog count with its storm: on the way to the port, and from there.
    let storms = results.storms.iter();
    let storms = storms.filter(|storm| storm.dropped_packets > 0);
    let storms: Vec<_> = storms
        .map(|storm| (storm.node, storm.port, storm.priority))
        .collect();
    dropping.extend(&storms);
    for ((port, number), (host, _)) in far_end.iter().map(|(at, far)| (*at, *far)) {
        if is_host(config, port) || !is_host(config, host) {
            continue;
        }
        let stayed = came
            .iter()
            .filter(|(key, _)| key.0 == port && key.1.4 == host);
        let stayed = stayed.filter(|(key, _)| !often.contains_key(*key));
        for ((_, (.., priority, _)), visit) in stayed {
            let from_storm = visit.is_some_and(|(_, by)| storms.contains(&(port, by, *priority)));
            let dropped = from_storm || dropping.contains(&(port, number, *priority));
            let visit = visit.filter(|_| !dropped).map(|(came, by)| Visit {
                came,
                by,
                left: Time::NEVER,
            });
            let queues = all.entry((port, number)).or_default();
            queues.rest.extend(visit.map(|visit| (*priority, visit)));
        }
    }
    all
}

impl Queues {
    /// Visits of each priority, in the order in which they ended.
    fn by_priority(&self) -> BTreeMap<u8, Vec<Visit>> {
        let mut all: BTreeMap<u8, Vec<Visit>> = BTreeMap::new();
        for departure in &self.departures {
            let visits = all.entry(departure.priority).or_default();
            visits.extend(departure.visit);
        }
        let mut rest = self.rest.clone();
        rest.sort_by_key(|(_, visit)| (visit.came, visit.by));
        for (priority, visit) in rest {
            all.entry(priority).or_default().push(visit);
        }
        all
    }
}

/// An egress queue is a FIFO: packets leave it in the order in which they came, those of one instant by the
/// port by which they came. None leaves while a more urgent one waits that is not paused. Queues that take
/// turns get their shares.
pub fn service(config: &Config, results: &Results) -> Answer {
    let has_order = matches!(config.switch.model, SwitchModel::SharedBuffer);
    if !has_order || !records_all(config) || !config.probes.pauses {
        return Ok(());
    }
    for (place, queues) in queues(config, results) {
        let port = Port {
            config,
            results,
            place,
            visits: queues.by_priority(),
            departures: queues.departures,
        };
        port.fifo()?;
        // When credits or shapers hold a priority back is not recorded.
        let shaped = config.switch.overrides.iter().any(|it| it.shaper.is_some());
        if config.switch.cbfc.is_none() && !shaped && !maps_classes(config) {
            port.urgency()?;
            port.shares()?;
        }
    }
    Ok(())
}

/// A port of a switch.
struct Port<'r> {
    config: &'r Config,
    results: &'r Results,
    place: Place,
    visits: BTreeMap<u8, Vec<Visit>>,
    departures: Vec<Departure>,
}

impl Port<'_> {
    fn fifo(&self) -> Answer {
        if self.config.switch.queueing != Queueing::Fifo {
            return Ok(());
        }
        for (priority, visits) in &self.visits {
            let order = |visit: &Visit| (visit.came, visit.by);
            let wrong = visits
                .windows(2)
                .find(|pair| order(&pair[0]) > order(&pair[1]));
            if let Some([first, second]) = wrong {
                return Err(format!(
                    "{:?} sends of priority {priority} what came at {} by port {} before what came at {} by port {}",
                    self.place, first.came, first.by, second.came, second.by
                ));
            }
        }
        Ok(())
    }

    /// How urgent a priority is; those that take turns are as urgent as one another.
    fn urgency_of(&self, priority: u8) -> u8 {
        match &self.config.switch.scheduler {
            scheduler::Config::Strict(_) => priority,
            scheduler::Config::Dwrr(_) if priority == self.config.host.control_priority => u8::MAX,
            scheduler::Config::Dwrr(params) => params.group[usize::from(priority)],
        }
    }

    fn urgency(&self) -> Answer {
        for departure in &self.departures {
            let own = self.urgency_of(departure.priority);
            let more_urgent = self.visits.iter();
            let more_urgent = more_urgent.filter(|(priority, _)| self.urgency_of(**priority) > own);
            for (&priority, visits) in more_urgent {
                let next = visits.partition_point(|visit| visit.left <= departure.at);
                let waits = visits
                    .get(next)
                    .is_some_and(|visit| self.waits(visit, departure));
                if waits && !self.is_paused(priority, departure.at) {
                    return Err(format!(
                        "{:?} sends of priority {} at {}, while {:?} of priority {priority} waits",
                        self.place, departure.priority, departure.at, visits[next]
                    ));
                }
            }
        }
        Ok(())
    }

    /// A visit that ends later has begun when a port chooses what to send. Arrivals come before that at one
    /// instant, unless the port sends because of one of them: of the packet itself, or of an XON.
    fn waits(&self, visit: &Visit, departure: &Departure) -> bool {
        let waited = departure.visit.is_some_and(|own| own.came < departure.at);
        let is_resumed = || self.pauses().any(|pause| pause.1 == departure.at);
        visit.came < departure.at || (visit.came == departure.at && waited && !is_resumed())
    }

    /// From when, until when, and of which priority the port was paused.
    fn pauses(&self) -> impl Iterator<Item = (Time, Time, u8)> {
        let pauses = self.results.pauses.iter();
        let own = pauses.filter(|pause| (pause.node, pause.port) == self.place);
        own.map(|pause| (pause.obeyed, pause.end, pause.priority))
    }

    fn is_paused(&self, priority: u8, at: Time) -> bool {
        self.pauses()
            .any(|(start, end, of)| of == priority && start <= at && at <= end)
    }

    fn shares(&self) -> Answer {
        let scheduler::Config::Dwrr(params) = &self.config.switch.scheduler else {
            return Ok(());
        };
        let priorities: Vec<u8> = self.visits.keys().copied().collect();
        for (number, &a) in priorities.iter().enumerate() {
            for &b in &priorities[number + 1..] {
                let same = self.urgency_of(a) == self.urgency_of(b);
                let paused = self.pauses().any(|pause| pause.2 == a || pause.2 == b);
                if same && !paused {
                    self.share(params, a, b)?;
                }
            }
        }
        Ok(())
    }

    /// While two queues are never empty, what they send in quanta differs by three at most, and by the
    /// largest packet of each: a turn may be cut off at either end, one may have had a turn more, and each
    /// carries less than a packet and a quantum over.
    fn share(&self, params: &dwrr::Params, a: u8, b: u8) -> Answer {
        let quantum = |priority: u8| i128::from(params.quantum[usize::from(priority)].max(1));
        // A waiting packet may be larger than all that left.
        let largest = i128::from(largest(self.config));
        let (qa, qb) = (quantum(a), quantum(b));
        // Everything times both quanta.
        let most = 3 * qa * qb + largest * (qa + qb);
        // How much more `a` than `b` has sent since both have had packets, with its minimum and maximum.
        let mut more: Option<(i128, i128, i128)> = None;
        for departure in &self.departures {
            if let Some((now, low, high)) = &mut more {
                let bytes = i128::from(departure.bytes);
                match departure.priority {
                    it if it == a => *now += bytes * qb,
                    it if it == b => *now -= bytes * qa,
                    _ => {}
                }
                *low = (*low).min(*now);
                *high = (*high).max(*now);
                if *high - *low > most {
                    return Err(format!(
                        "{:?} has sent too much of priority {} by {}: while {a} and {b} were never empty they \
                         drifted apart by {} B times quanta of {qa} B and {qb} B, at most {most}",
                        self.place,
                        departure.priority,
                        departure.at,
                        *high - *low
                    ));
                }
            }
            more = if self.has_more(a, departure.at) && self.has_more(b, departure.at) {
                more.or(Some((0, 0, 0)))
            } else {
                None
            };
        }
        Ok(())
    }

    /// Something of the priority waits, behind what leaves then.
    fn has_more(&self, priority: u8, at: Time) -> bool {
        let visits = &self.visits[&priority];
        let next = visits.partition_point(|visit| visit.left <= at);
        visits.get(next).is_some_and(|visit| visit.came < at)
    }
}
