//! Shapers of ports and queues. A class that a shaper holds back counts as one that may not send, as under PAUSE; each packet of
//! such a switch takes the path that comes here.

use unpause_protocols::units::{LinkSpeed, Time};

use super::chassis::{Chassis, Model, Way};
use crate::config::Shaper;
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::{NodeId, PortId};
use crate::plan::Plan;

/// Payload of the timer of a shaper that lets go.
pub(super) const SHAPER: u32 = 6;

/// A token bucket, as the time at which it will be full.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    shaper: Shaper,
    full: Time,
}

impl Bucket {
    fn new(shaper: Shaper) -> Self {
        Self {
            shaper,
            full: Time::ZERO,
        }
    }

    /// A frame of so many bytes starts; answers from when on the next may.
    fn take(&mut self, now: Time, bytes: u64) -> Time {
        let Shaper { rate, burst_bytes } = self.shaper;
        self.full = self.full.max(now) + rate.time_for(bytes);
        self.full.saturating_sub(rate.time_for(burst_bytes))
    }
}

/// The shapers of a switch.
#[derive(Debug)]
pub(super) struct Shapers {
    /// By port, then class; after all of these by port.
    buckets: Vec<Option<Bucket>>,
    /// By port: the classes whose own shapers hold them.
    classes: Vec<u8>,
    /// By port: its shaper holds it.
    ports: Vec<bool>,
}

impl Shapers {
    /// Those of switch `id`, if it has any.
    pub fn of(id: NodeId, plan: &Plan<'_>) -> Option<Box<Self>> {
        let overrides = plan.overrides(id);
        let ports = plan.ports.transmitters_of(id).len();
        let places = plan.places(id).into_iter();
        let queues = places.map(|(port, class)| {
            let priority = plan.classes.priority(class);
            let own = overrides.queue_shaper((port, priority));
            own.filter(|_| class != plan.classes.control)
        });
        let of_ports = (0..ports as PortId).map(|port| overrides.port_shaper(port));
        let buckets: Vec<Option<Bucket>> = queues
            .chain(of_ports)
            .map(|shaper| shaper.map(Bucket::new))
            .collect();
        buckets.iter().any(Option::is_some).then(|| {
            Box::new(Self {
                buckets,
                classes: vec![0; ports],
                ports: vec![false; ports],
            })
        })
    }

    /// Bit c set: class c of a port is held.
    pub fn held(&self, port: PortId) -> u8 {
        match self.ports[usize::from(port)] {
            true => u8::MAX,
            false => self.classes[usize::from(port)],
        }
    }

    /// The slower one of a link and the shapers before it.
    pub fn slowest(&self, port: PortId, index: usize, link: LinkSpeed) -> LinkSpeed {
        let of_port = self.buckets.len() - self.ports.len() + usize::from(port);
        let own = [index, of_port].into_iter();
        let own = own.filter_map(|bucket| self.buckets[bucket]);
        own.filter_map(|it| LinkSpeed::of(it.shaper.rate))
            .fold(link, LinkSpeed::min)
    }
}

impl<M: Model> Chassis<M> {
    /// A frame has started to leave: its shapers may hold back the next.
    #[cold]
    #[inline(never)]
    pub(super) fn shape(&mut self, now: Time, wire_bytes: u64, way: Way) {
        let index = self.index(way.to, way.class);
        let Some(shapers) = &mut self.shapers else {
            return;
        };
        let (port, end) = (usize::from(way.to), &mut self.ports[usize::from(way.to)]);
        let of_port = shapers.buckets.len() - shapers.ports.len() + port;
        for bucket in [index, of_port] {
            let own = shapers.buckets[bucket].as_mut();
            let due = own.map_or(Time::ZERO, |it| it.take(now, wire_bytes));
            if due <= end.busy_until {
                continue;
            }
            match bucket == index {
                true => shapers.classes[port] |= 1 << way.class,
                false => shapers.ports[port] = true,
            }
            self.timers.push(Entry::new(due, bucket as u32, SHAPER));
        }
        end.paused |= shapers.held(way.to);
    }

    /// A shaper lets its class or its port go on.
    #[cold]
    #[inline(never)]
    pub(super) fn let_go(&mut self, now: Time, bucket: usize, window: &mut Window<'_, '_>) {
        let Some(shapers) = &mut self.shapers else {
            return;
        };
        let port = match bucket.checked_sub(self.queues.len()) {
            Some(port) => {
                shapers.ports[port] = false;
                port
            }
            None => {
                let (port, class) = (bucket / self.classes, bucket % self.classes);
                shapers.classes[port] &= !(1 << class);
                port
            }
        };
        let held = shapers.held(port as PortId);
        let first = port * self.classes;
        let of_port = &self.egress[first..first + self.classes];
        let paused = of_port.iter().enumerate();
        let paused = paused.filter(|(_, it)| it.transmitter.is_paused());
        let end = &mut self.ports[port];
        end.paused = paused.fold(held, |all, (class, _)| all | 1 << class);
        if end.eligible() == 0 || end.ready {
            return;
        }
        match end.busy_until <= now {
            true => self.send_next(now, port as PortId, window),
            false => self.ports[port].schedule(port as PortId, &mut self.ready),
        }
    }
}
