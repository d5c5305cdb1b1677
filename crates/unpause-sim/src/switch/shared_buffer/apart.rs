//! What ports, priorities and classes of a switch have otherwise than the rest of it. A switch without such settings takes none
//! of these paths.

use unpause_protocols::units::Time;

use super::SharedBuffer;
use super::memory::{LossyLimit, Pool, Shift};
use crate::config::{PRIORITIES, PfcThreshold, QueueLimit};
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId};
use crate::plan::{Overrides, Plan};
use crate::port::{Chassis, Way};

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
pub struct Apart {
    /// When each ingress sends PAUSE.
    thresholds: Vec<PfcThreshold>,
    /// The most that each egress queue may hold.
    limits: Vec<Option<LossyLimit>>,
    /// By class of a packet, the class of its queue.
    queues: [u8; PRIORITIES],
    /// By class of a packet, the class in which it counts at its ingress.
    groups: [u8; PRIORITIES],
}

impl Apart {
    /// Those of switch `id`, if it has such settings.
    pub fn of(id: NodeId, plan: &Plan<'_>) -> Option<Box<Self>> {
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

impl SharedBuffer {
    /// The most that the lossy egress queue with this index among all may hold, bytes.
    pub(super) fn most(&self, index: usize) -> u64 {
        let own = self.apart.as_ref();
        let own = own.and_then(|it| it.most(index, &self.pool));
        own.unwrap_or_else(|| self.lossy.of(&self.pool))
    }
}

impl Chassis<SharedBuffer> {
    /// [`Chassis::take_in`] where places differ.
    #[cold]
    #[inline(never)]
    pub(super) fn take_in_apart(
        &mut self,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let Some(apart) = &self.model.apart else {
            return;
        };
        let own = usize::from(window.plan.classes.of(packet.priority()));
        let group = apart.groups[own];
        let way = Way {
            class: apart.queues[own],
            ..way
        };
        let index = self.index(way.to, way.class);
        let terms = Terms {
            group,
            threshold: apart.threshold(self.index(way.from, group)),
            most: apart.most(index, &self.model.pool),
        };
        let fits = |most| self.queues[index].bytes + u64::from(packet.bytes) <= most;
        if self.is_closed(way.to, way.class) {
            self.lose_at_port(packet, way, window);
        } else if terms.most.is_none_or(fits) && self.admit(now, packet, way, terms, window) {
            if self.watches_inputs() {
                self.accuse_at_input(now, packet, way, window);
            }
            self.join(now, packet, way, window);
        } else {
            self.refuse(now, packet, way, window);
        }
    }

    /// [`SharedBuffer::left`] where places differ.
    #[cold]
    #[inline(never)]
    pub(super) fn left_apart(
        &mut self,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let bytes = u32::from(packet.bytes);
        let model = &mut self.model;
        let Some(apart) = &model.apart else { return };
        let group = apart.groups[usize::from(window.plan.classes.of(packet.priority()))];
        if model.lossless >> group & 1 == 0 {
            return model.pool.give(u64::from(bytes));
        }
        let index = usize::from(way.from) * self.classes + usize::from(group);
        let threshold = apart.threshold(index);
        let account = &mut self.ingress[index].source;
        let action = account.release(now, bytes, &mut model.pool, &threshold);
        self.request_pfc(now, way.from, group, action, window);
    }
}
