//! PFC state of a switch beside that of each ingress and egress.

use unpause_protocols::state_visitor::Show;

use super::egress::watchdog::Watchdogs;
use crate::fabric::{NodeId, PRIORITIES};
use crate::link::pause::PendingPauses;
use crate::plan::Plan;

/// Which classes have PFC, and the frames that have arrived and are not obeyed yet.
#[derive(Debug, Show)]
pub struct Pfc {
    /// Bit c set: class c has PFC here, both ways.
    #[show(skip)]
    pub lossless: u8,
    /// The priority of the queue that PAUSE of each priority stops, if that is not the same.
    #[show(skip)]
    to_queue: Option<[u8; PRIORITIES]>,
    /// By (port, class): PFC is off there. Empty if it is off nowhere.
    #[show(skip)]
    off: Box<[bool]>,
    /// It sends no PAUSE: an NVSwitch that drops packets.
    #[show(skip)]
    pub never_sends: bool,
    /// Frames that take effect later.
    #[show(nested)]
    pub pending: PendingPauses,
    /// The watchdogs of its ports, if it has any.
    #[show(refuse_if = watchdogs.is_some())]
    pub watchdogs: Option<Box<Watchdogs>>,
}

impl Pfc {
    /// That of switch `id`, before anything has arrived.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> Self {
        let own = plan.switch_settings(id);
        let overrides = plan.overrides(id);
        let is_off = |place| overrides.at(place, |it| it.pfc) == Some(false);
        let off: Vec<bool> = if overrides.is_empty() {
            Vec::new()
        } else {
            plan.places(id)
                .into_iter()
                .map(|(port, class)| is_off((port, plan.classes.priority(class))))
                .collect()
        };
        Self {
            lossless: own.lossless,
            to_queue: own.pfc_to_queue,
            off: if off.contains(&true) {
                off.into()
            } else {
                Box::default()
            },
            never_sends: plan.config.switch.nvlink_drops && plan.config.fabric.is_nvswitch(id),
            pending: PendingPauses::default(),
            watchdogs: Watchdogs::of(id, plan),
        }
    }

    /// The priorities whose queues a PFC frame of these priorities stops: those that have PFC here, by the map.
    pub fn stopped_by(&self, priorities: u8, plan: &Plan<'_>) -> u8 {
        let classes = 0..plan.classes.count() as u8;
        let own = classes.filter(|class| self.lossless >> class & 1 == 1);
        let own = own.map(|class| plan.classes.priority(class));
        let asked = own.filter(|priority| priorities >> priority & 1 == 1);
        let stopped = |priority: u8| match &self.to_queue {
            Some(map) => map[usize::from(priority)],
            None => priority,
        };
        asked.fold(0, |all, priority| all | 1 << stopped(priority))
    }

    /// True if (port, class) `index` has no PFC, by its settings.
    pub fn is_off(&self, index: usize) -> bool {
        self.off.get(index).is_some_and(|is_off| *is_off)
    }

    /// True if (port, class) `index` has no PFC, or a watchdog has switched it off.
    pub fn is_masked(&self, index: usize) -> bool {
        let watchdogs = self.watchdogs.as_ref();
        self.is_off(index) || watchdogs.is_some_and(|watchdogs| watchdogs.masks(index))
    }
}
