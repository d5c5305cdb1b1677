//! Settings of ports, priorities and classes that differ from those of their switch.

use super::memory::{LossyLimit, Pool, Shift};
use crate::config::{PRIORITIES, PfcThreshold, QueueLimit};
use crate::fabric::{NodeId, PortId};
use crate::plan::{Overrides, Plan};

/// On what terms a packet is admitted.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The class at the ingress in which it counts.
    pub group: u8,
    /// When that sends PAUSE.
    pub threshold: PfcThreshold,
    /// The most that the queue may hold, if it has a limit of its own; bytes.
    pub most: Option<u64>,
}

/// Settings of each (port, class) of a switch, and which classes its queues and ingresses have for those of packets.
#[derive(Debug)]
pub struct OwnSettings {
    /// When each ingress sends PAUSE.
    thresholds: Vec<PfcThreshold>,
    /// The most that each egress queue may hold.
    limits: Vec<Option<LossyLimit>>,
    /// By class of a packet, the class of its queue.
    queues: [u8; PRIORITIES],
    /// By class of a packet, the class in which it counts at its ingress.
    groups: [u8; PRIORITIES],
}

impl OwnSettings {
    /// Those of switch `id`, if it has such settings.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> Option<Box<Self>> {
        let overrides = plan.overrides(id);
        if !overrides.differ_within() {
            return None;
        }
        let own = plan.switch_settings(id);
        let places = plan.places(id);
        let places = places.iter().map(|(port, class)| (*port, *class));
        let thresholds = places.clone().map(|(port, class)| {
            let place = (port, plan.classes.priority(class));
            threshold(place, &overrides, plan)
        });
        let limits = places.map(|(port, class)| {
            let limit = overrides.at((port, plan.classes.priority(class)), |it| it.queue_limit);
            limit
                .filter(|_| class != plan.classes.control)
                .map(LossyLimit::of_queue)
        });
        Some(Box::new(Self {
            thresholds: thresholds.collect(),
            limits: limits.collect(),
            queues: by_class(own.to_queue, plan),
            groups: by_class(own.to_group, plan),
        }))
    }

    /// When the ingress with this index among all sends PAUSE.
    pub fn threshold(&self, index: usize) -> PfcThreshold {
        self.thresholds[index]
    }

    /// The classes of the queue and of the group of a packet of this class.
    pub fn of(&self, class: u8) -> (u8, u8) {
        let class = usize::from(class);
        (self.queues[class], self.groups[class])
    }

    /// The most that the egress queue with this index among all may hold, bytes, if that has a limit of its own.
    pub fn most(&self, index: usize, pool: &Pool) -> Option<u64> {
        self.limits[index].as_ref().map(|limit| limit.of(pool))
    }
}

/// When the ingress of a priority at a port sends PAUSE.
fn threshold(place: (PortId, u8), overrides: &Overrides<'_>, plan: &Plan<'_>) -> PfcThreshold {
    let same = plan.config.switch.pfc.threshold;
    let fixed = overrides.at(place, |it| it.fixed);
    match (fixed, same) {
        (Some((xoff_bytes, xon_bytes)), PfcThreshold::Static { .. }) => PfcThreshold::Static {
            xoff_bytes,
            xon_bytes,
        },
        _ => same,
    }
}

/// A map of priorities as one of classes.
fn by_class(map: Option<[u8; PRIORITIES]>, plan: &Plan<'_>) -> [u8; PRIORITIES] {
    let mut all = std::array::from_fn(|class| class as u8);
    if let Some(map) = map {
        for class in 0..plan.classes.count() as u8 {
            let to = map[usize::from(plan.classes.priority(class))];
            all[usize::from(class)] = plan.classes.of(to);
        }
    }
    all
}

impl LossyLimit {
    fn of_queue(limit: QueueLimit) -> Self {
        match limit {
            QueueLimit::Bytes(bytes) => Self { bytes, shift: None },
            QueueLimit::Shift(shift) => Self {
                bytes: u64::MAX,
                shift: Some(Shift::new(shift)),
            },
        }
    }
}
