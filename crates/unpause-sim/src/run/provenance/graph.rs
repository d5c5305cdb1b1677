//! From PAUSE to PAUSE to the root.
//!
//! An egress that held bytes was congested itself, or it had been paused. Which of the two: while its
//! oldest packet waited, a pause kept it from sending `rate x time paused`. If the ports that filled it
//! cannot send more than it carries, the pause alone is to blame; else it is for that part of the queue.
//! The rest is the egress's own: a root, unless the hosts that filled it cannot send more than it carries and their
//! packets had been held up by a PAUSE before, which let them come at once ([`super::late`]). The part that a pause is to blame for goes where the bytes were
//! that had brought about that PAUSE, which was earlier, and so on.

use std::collections::{HashMap, HashSet};

use super::late::Late;
use crate::fabric::graph::shortest_cycle;
use crate::fabric::{NodeId, PortId};
use crate::outcome::causes::{CauseRecord, Expiry, Holder, Root, RootKind, Taken};
use crate::outcome::held_back::{self, Egress};
use crate::plan::Plan;
use unpause_protocols::units::{LinkSpeed, Time};

/// Roots of a PAUSE that are followed; the others lead to a few bytes.
const MOST_ROOTS: usize = 4;

/// Part of a threshold without which a PAUSE is that of who took it, even where more came than the link carries.
const MOSTLY_TAKEN: f64 = 0.9;

/// Where something began, and what was there.
type Place = (NodeId, Option<PortId>, RootKind);

/// All PAUSEs of a run, and which followed from which.
pub struct Graph<'p> {
    plan: &'p Plan<'p>,
    causes: Vec<CauseRecord>,
    by_ingress: HashMap<(NodeId, PortId, u8), Vec<u32>>,
    cycle: Vec<(NodeId, PortId)>,
    /// By PAUSE where the queues stand that it followed from, whatever had let them pile up.
    queues: Vec<Option<Root>>,
}

impl<'p> Graph<'p> {
    /// Of a run's PAUSEs, what paused egresses held back, flow by flow, and those PAUSEs that ran out, each in any
    /// order.
    pub fn new(
        plan: &'p Plan<'p>,
        mut causes: Vec<CauseRecord>,
        egresses: &[Egress],
        places: &[held_back::Place],
        expiries: &[Expiry],
    ) -> Self {
        causes.sort_by_key(|it| (it.time, it.node, it.port, it.priority));
        let mut by_ingress: HashMap<_, Vec<u32>> = HashMap::new();
        for (number, it) in causes.iter().enumerate() {
            let ingress = (it.node, it.port, it.priority);
            by_ingress.entry(ingress).or_default().push(number as u32);
        }
        let mut graph = Self {
            plan,
            causes,
            by_ingress,
            cycle: Vec::new(),
            queues: Vec::new(),
        };
        graph.link();
        let late = Late::new(plan, egresses, places, &graph.causes);
        graph.queues = graph.followed(None);
        let roots = graph.followed(Some(&late));
        for (cause, root) in graph.causes.iter_mut().zip(roots) {
            cause.root = root;
        }
        graph.find_cycle();
        graph.expire(expiries);
        graph
    }

    /// The PAUSE that stopped egress (`node`, `port`) and had left the peer at `sent`.
    pub(super) fn number(
        &self,
        (node, port, priority): (NodeId, PortId, u8),
        sent: Time,
    ) -> Option<u32> {
        let out = &self.plan.ports.transmitters_of(node)[usize::from(port)];
        let ingress = self.plan.ports.local(out.peer, out.peer_port);
        let of_ingress = self.by_ingress.get(&(out.peer, ingress, priority))?;
        let until = of_ingress.partition_point(|&number| self.causes[number as usize].time <= sent);
        until.checked_sub(1).map(|at| of_ingress[at])
    }

    /// The root of the PAUSE with this number.
    pub fn root(&self, number: u32) -> Option<&Root> {
        self.causes[number as usize].root.as_ref()
    }

    /// Where the queues stand that it followed from: at its root, or where what the root had held up piled up again.
    pub fn queues(&self, number: u32) -> Option<&Root> {
        self.queues[number as usize].as_ref()
    }

    /// By egress and pause the PAUSE that held it, which learns for how long.
    pub fn hold(&mut self, egresses: &[Egress]) -> Vec<Vec<Option<u32>>> {
        let mut numbers = Vec::with_capacity(egresses.len());
        for it in egresses {
            let place = (it.node, it.port, it.priority);
            let mut of_egress = Vec::with_capacity(it.pauses().len());
            for pause in it.pauses() {
                let number = self.number(place, pause.sent);
                if let Some(number) = number {
                    self.causes[number as usize].paused += pause.end - pause.start;
                }
                of_egress.push(number);
            }
            numbers.push(of_egress);
        }
        numbers
    }

    /// Egresses of the cycle, if there is one.
    pub fn cycle(&self) -> &[(NodeId, PortId)] {
        &self.cycle
    }

    /// The PAUSEs by time; their places are their numbers.
    pub fn into_causes(self) -> Vec<CauseRecord> {
        self.causes
    }

    /// Finds the number of each PAUSE that is spoken of.
    fn link(&mut self) {
        let mut causes = std::mem::take(&mut self.causes);
        let times: Vec<Time> = causes.iter().map(|it| it.time).collect();
        for cause in &mut causes {
            let (node, priority) = (cause.node, cause.priority);
            for holder in &mut cause.holders {
                let (Some(egress), Some(sent)) = (holder.egress, holder.sent) else {
                    continue;
                };
                let out = &self.plan.ports.transmitters_of(node)[usize::from(egress)];
                let ingress = self.plan.ports.local(out.peer, out.peer_port);
                let of_ingress = self.by_ingress.get(&(out.peer, ingress, priority));
                holder.paused_by = of_ingress.and_then(|of_ingress| {
                    let until = of_ingress.partition_point(|&it| times[it as usize] <= sent);
                    until.checked_sub(1).map(|at| of_ingress[at])
                });
            }
        }
        self.causes = causes;
    }

    /// Says which PAUSEs ran out before their ingress went to XON. The last time that one does, with none after it,
    /// is its end.
    fn expire(&mut self, expiries: &[Expiry]) {
        for expiry in expiries {
            let egress = (expiry.node, expiry.port, expiry.priority);
            let Some(number) = self.number(egress, expiry.sent) else {
                continue;
            };
            let next = expiry.next_sent.and_then(|sent| self.number(egress, sent));
            let cause = &mut self.causes[number as usize];
            if expiry.time >= cause.until {
                continue;
            }
            cause.expired = true;
            if next != Some(number) {
                cause.until = expiry.time;
            }
        }
    }

    /// Follows each PAUSE to where it began, of which those before it are done; without `late` to the queues that
    /// stood there.
    fn followed(&self, late: Option<&Late>) -> Vec<Option<Root>> {
        let mut all: Vec<Vec<(Place, f64)>> = Vec::with_capacity(self.causes.len());
        for cause in &self.causes {
            let mut blamed: Vec<(Place, f64)> = Vec::new();
            let first = cause.holders.iter().filter(|it| it.at == cause.time);
            let total: u64 = first.clone().map(|it| it.bytes).sum();
            // A NIC in a PAUSE storm sends PAUSE for nothing.
            let for_nothing = total == 0 && self.plan.is_host(cause.node);
            for holder in first {
                let weight = if for_nothing {
                    1.0
                } else {
                    holder.bytes as f64 / total.max(1) as f64
                };
                let (own, paused) = self.split(cause.node, holder);
                self.blame(&mut blamed, cause, holder, (weight * own, late), &all);
                let before = holder.paused_by.and_then(|by| all.get(by as usize));
                for &(place, share) in before.into_iter().flatten() {
                    add(&mut blamed, place, weight * paused * share);
                }
            }
            blamed.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            blamed.truncate(MOST_ROOTS);
            all.push(blamed);
        }
        all.iter().map(|blamed| main(blamed)).collect()
    }

    /// Adds who is to blame for the part `weight` that is the egress's own: others who have the memory, what had held
    /// up the packets before, or the egress.
    fn blame(
        &self,
        blamed: &mut Vec<(Place, f64)>,
        cause: &CauseRecord,
        holder: &Holder,
        (weight, late): (f64, Option<&Late>),
        all: &[Vec<(Place, f64)>],
    ) {
        let place = self.place(cause, holder);
        if let Some(taken) = taken(cause, holder, place.2) {
            let pool = (cause.node, Some(taken.port), RootKind::Pool);
            add(blamed, pool, weight * taken.share);
            return add(blamed, place, weight * (1.0 - taken.share));
        }
        let late = late.filter(|_| holder.hosts_fit && place.2 != RootKind::Busy);
        let named = holder.flows.iter().filter(|it| it.flow.is_some());
        let total: u64 = named.clone().map(|it| it.queue_bytes).sum();
        let Some(late) = late.filter(|_| total > 0) else {
            return add(blamed, place, weight);
        };
        for share in named {
            let weight = weight * share.queue_bytes as f64 / total as f64;
            let wait = share.flow.and_then(|flow| late.last(flow, holder.at));
            let number = wait.and_then(|(egress, sent)| self.number(egress, sent));
            match number.and_then(|it| all.get(it as usize)) {
                Some(before) if !before.is_empty() => {
                    for &(place, part) in before {
                        add(blamed, place, weight * part);
                    }
                }
                _ => add(blamed, place, weight),
            }
        }
    }

    /// How much of a queue is the egress's own fault, and how much that of the pauses.
    fn split(&self, node: NodeId, holder: &Holder) -> (f64, f64) {
        let (Some(egress), Some(_)) = (holder.egress, holder.sent) else {
            return (1.0, 0.0);
        };
        let speed = self.speed(node, egress, holder.at);
        if holder.input_bps <= speed.rate().as_bps() {
            return (0.0, 1.0);
        }
        let unsent = speed.bytes_in(holder.paused);
        let paused = unsent as f64 / holder.queue_bytes.max(1) as f64;
        let paused = paused.min(1.0);
        (1.0 - paused, paused)
    }

    /// The speed of the link of an egress at a time.
    fn speed(&self, node: NodeId, egress: PortId, at: Time) -> LinkSpeed {
        let port = self.plan.ports.of(node).start + u32::from(egress);
        self.plan.speed_at(port, at)
    }

    /// The root that an egress is by itself, or the NIC that has sent the PAUSE.
    fn place(&self, cause: &CauseRecord, holder: &Holder) -> Place {
        let node = cause.node;
        let Some(egress) = holder.egress else {
            if !self.plan.is_host(node) {
                return (node, None, RootKind::Switch);
            }
            let has_several = self.plan.ports.of(node).len() > 1;
            return (node, has_several.then_some(cause.port), RootKind::Nic);
        };
        let out = self.speed(node, egress, holder.at);
        let overloaded = holder.input_bps > out.rate().as_bps();
        if !overloaded && !holder.is_shared && holder.queue_bytes == 0 {
            // All that is meant for it waits at inputs.
            return (node, None, RootKind::Switch);
        }
        let kind = match holder.senders {
            _ if !overloaded || holder.is_shared => RootKind::Busy,
            0 | 1 => RootKind::SlowLink,
            _ => RootKind::Incast,
        };
        (node, Some(egress), kind)
    }

    /// PAUSEs in force at the end of which nothing can be released any more: all that they wait for is
    /// paused by one of them. Nobody among them will ever go on.
    fn find_cycle(&mut self) {
        let last = |it: &CauseRecord| -> Vec<(Option<PortId>, Option<u32>)> {
            let at_end = it.holders.iter().filter(|holder| holder.at > it.time);
            at_end
                .map(|it| (it.egress, it.paused_by.filter(|_| it.is_paused)))
                .collect()
        };
        let mut waits: HashMap<u32, Vec<(PortId, u32)>> = HashMap::new();
        for (number, cause) in self.causes.iter().enumerate() {
            let behind: Option<Vec<(PortId, u32)>> = last(cause)
                .into_iter()
                .map(|(port, by)| port.zip(by))
                .collect();
            if let Some(behind) = behind.filter(|behind| !behind.is_empty()) {
                waits.insert(number as u32, behind);
            }
        }
        loop {
            let before = waits.len();
            let known: HashSet<u32> = waits.keys().copied().collect();
            waits.retain(|_, behind| behind.iter().all(|(_, by)| known.contains(by)));
            if waits.len() == before {
                break;
            }
        }
        let mut numbers: Vec<u32> = waits.keys().copied().collect();
        numbers.sort_unstable();
        let place = |number: &u32| numbers.binary_search(number).ok().map(|at| at as u32);
        let successors: Vec<Vec<u32>> = numbers
            .iter()
            .map(|number| {
                waits[number]
                    .iter()
                    .filter_map(|(_, by)| place(by))
                    .collect()
            })
            .collect();
        let Some(cycle) = shortest_cycle(&successors) else {
            return;
        };
        let next = cycle.iter().cycle().skip(1);
        for (&at, &next) in cycle.iter().zip(next) {
            let (at, next) = (numbers[at as usize], numbers[next as usize]);
            let egress = waits[&at].iter().find(|(_, by)| *by == next);
            let node = self.causes[at as usize].node;
            self.cycle.extend(egress.map(|(port, _)| (node, *port)));
        }
        let Some(&(node, port)) = self.cycle.iter().min() else {
            return;
        };
        let root = Some(Root {
            kind: RootKind::Cycle,
            node,
            port: Some(port),
            share: 1.0,
        });
        for number in numbers {
            self.causes[number as usize].root = root;
            self.queues[number as usize] = root;
        }
    }
}

/// Who had the memory, if that is why there was a PAUSE: the egress itself could send all that came, or would have
/// held ten times as much before a PAUSE, so that a packet more or less of its flows decides nothing.
fn taken(cause: &CauseRecord, holder: &Holder, kind: RootKind) -> Option<Taken> {
    cause.taken.filter(|it| match kind {
        RootKind::Busy if !holder.is_shared => true,
        RootKind::Busy | RootKind::SlowLink | RootKind::Incast => it.share > MOSTLY_TAKEN,
        _ => false,
    })
}

/// The egress with the largest share, and what it mostly was.
fn main(blamed: &[(Place, f64)]) -> Option<Root> {
    let of = |place: &Place| -> f64 {
        let same = blamed
            .iter()
            .filter(|it| (it.0.0, it.0.1) == (place.0, place.1));
        same.map(|it| it.1).sum()
    };
    // The first of equal ones: they are sorted.
    let mut best: Option<Root> = None;
    for &(place @ (node, port, kind), _) in blamed {
        let share = of(&place);
        if best.is_none_or(|best| share > best.share) {
            best = Some(Root {
                kind,
                node,
                port,
                share,
            });
        }
    }
    best
}

fn add(blamed: &mut Vec<(Place, f64)>, place: Place, share: f64) {
    if share <= 0.0 {
        return;
    }
    match blamed.iter_mut().find(|(known, _)| *known == place) {
        Some((_, known)) => *known += share,
        None => blamed.push((place, share)),
    }
}
