//! Which of several equal next hops a packet takes, where that is no hash: it is chosen when the packet arrives, or when a
//! packet processor takes it.

use std::collections::HashMap;

use rand_core::Rng;
use unpause_protocols::units::Time;

use super::Queue;
use super::scheduler::urgency;
use crate::config::{AdaptiveBalancing, Balancing};
use crate::fabric::PortId;
use crate::fabric::packet::{Kind, Packet};
use crate::plan::Plan;

/// How a switch chooses among next hops, if not by a hash of those that are nearest.
#[derive(Debug)]
pub enum Balance {
    /// Flows by a third group, as routes say.
    Groups,
    /// For each packet.
    Packets(ByPacket),
}

/// State of a switch that chooses a next hop for each packet.
#[derive(Debug)]
pub enum ByPacket {
    /// In turn: for each set of next hops, how many packets have gone.
    RoundRobin(HashMap<Box<[PortId]>, u32>),
    /// Each packet at random.
    Random,
    /// One of those with least before the packet.
    Adaptive(Adaptive),
    /// Each burst of a flow at random.
    Flowlet(Flowlets),
}

/// The least loaded next hops.
#[derive(Debug)]
pub struct Adaptive {
    thresholds: AdaptiveBalancing,
    /// For each class, bit c set: class c is as urgent or more.
    ahead: Vec<u8>,
}

/// Bursts of flows, and the next hops that they take.
#[derive(Debug)]
pub struct Flowlets {
    gap: Time,
    /// By flow and direction; when the last packet came, and where it went. Nobody asks in which order they are.
    last: HashMap<(u32, bool), (Time, PortId)>,
    /// With this many, those that are over are forgotten.
    most: usize,
}

/// Flows with a flowlet in a switch, before those are looked for that are over.
const FEW_FLOWLETS: usize = 1024;

impl Balance {
    /// That of switches of `plan`; none where a hash chooses.
    pub fn of(plan: &Plan<'_>) -> Option<Box<Self>> {
        let by_packet = match plan.config.switch.balancing {
            Balancing::Ecmp => return None,
            Balancing::Valiant => return Some(Box::new(Self::Groups)),
            Balancing::RoundRobin => ByPacket::RoundRobin(HashMap::new()),
            Balancing::Random => ByPacket::Random,
            Balancing::Adaptive(thresholds) => ByPacket::Adaptive(Adaptive::new(thresholds, plan)),
            Balancing::Flowlet { gap } => ByPacket::Flowlet(Flowlets {
                gap,
                last: HashMap::new(),
                most: FEW_FLOWLETS,
            }),
        };
        Some(Box::new(Self::Packets(by_packet)))
    }
}

impl ByPacket {
    /// One of `choices` for a packet of `class` that comes now. Each port has a queue for each class.
    pub fn choose<R: Rng>(
        &mut self,
        now: Time,
        choices: &[PortId],
        (packet, class): (&Packet, u8),
        queues: &[Queue],
        rng: &mut R,
    ) -> Option<PortId> {
        if let [] | [_] = choices {
            return choices.first().copied();
        }
        match self {
            Self::RoundRobin(turns) => {
                // The first is drawn, so that switches do not take turns in step.
                let turn = match turns.get_mut(choices) {
                    Some(turn) => turn,
                    None => turns.entry(choices.into()).or_insert(rng.next_u32()),
                };
                *turn = turn.wrapping_add(1);
                Some(choices[*turn as usize % choices.len()])
            }
            Self::Random => draw(choices.iter(), rng),
            Self::Adaptive(adaptive) => adaptive.choose(choices, class, queues, rng),
            Self::Flowlet(flowlets) => flowlets.choose(now, choices, packet, rng),
        }
    }
}

/// One of these at random.
fn draw<'a, R: Rng>(
    among: impl Iterator<Item = &'a PortId> + Clone,
    rng: &mut R,
) -> Option<PortId> {
    let random = u64::from(rng.next_u32());
    let nth = (random * among.clone().count() as u64) >> 32;
    among.copied().nth(nth as usize)
}

impl Adaptive {
    fn new(thresholds: AdaptiveBalancing, plan: &Plan<'_>) -> Self {
        let classes = plan.classes.count();
        let urgency = |class: usize| urgency(class as u8, plan);
        let ahead = |class: usize| {
            (0..classes)
                .filter(|&other| urgency(other) >= urgency(class))
                .fold(0, |mask, other| mask | 1 << other)
        };
        Self {
            thresholds,
            ahead: (0..classes).map(ahead).collect(),
        }
    }

    fn choose<R: Rng>(
        &self,
        choices: &[PortId],
        class: u8,
        queues: &[Queue],
        rng: &mut R,
    ) -> Option<PortId> {
        let classes = self.ahead.len();
        let grade = |port: PortId| {
            let first = port as usize * classes;
            let ahead = self.ahead[class as usize];
            let bytes: u64 = (0..classes)
                .filter(|class| ahead >> class & 1 == 1)
                .map(|class| queues[first + class].bytes)
                .sum();
            u8::from(bytes >= self.thresholds.min_bytes)
                + u8::from(bytes >= self.thresholds.max_bytes)
        };
        let best = choices.iter().map(|&port| grade(port)).min()?;
        draw(choices.iter().filter(|&&port| grade(port) == best), rng)
    }
}

impl Flowlets {
    fn choose<R: Rng>(
        &mut self,
        now: Time,
        choices: &[PortId],
        packet: &Packet,
        rng: &mut R,
    ) -> Option<PortId> {
        let forward = packet.kind.is_data() || packet.kind == Kind::Syn;
        let key = (packet.flow, forward);
        let is_over = |last: Time| last.saturating_add(self.gap) < now;
        let known = self.last.get(&key).filter(|(last, _)| !is_over(*last));
        let port = match known {
            Some((_, port)) if choices.contains(port) => *port,
            _ => draw(choices.iter(), rng)?,
        };
        if self.last.len() >= self.most {
            self.last.retain(|_, (last, _)| !is_over(*last));
            self.most = FEW_FLOWLETS.max(2 * self.last.len());
        }
        self.last.insert(key, (now, port));
        Some(port)
    }
}
