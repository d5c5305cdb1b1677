//! The shapers of a switch: token buckets that hold a port or a queue below a rate.

use unpause_protocols::units::{LinkSpeed, Time};

use crate::chassis::timer::Timer;
use crate::config::Shaper;
use crate::engine::heap::Entry;
use crate::fabric::{NodeId, PortId};
use crate::plan::Plan;

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

    /// A frame of this many bytes starts; answers from when on the next may.
    fn take(&mut self, now: Time, bytes: u64) -> Time {
        let Shaper { rate, burst_bytes } = self.shaper;
        self.full = self.full.max(now) + rate.time_for(bytes);
        self.full.saturating_sub(rate.time_for(burst_bytes))
    }
}

/// The shapers of a switch.
#[derive(Debug)]
pub struct Shapers {
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
        if overrides.is_empty() {
            return None;
        }
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
        if self.ports[usize::from(port)] {
            u8::MAX
        } else {
            self.classes[usize::from(port)]
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

    /// A frame has started to leave by queue `index`, of `class` at `port`, which is busy with it until `busy`: returns the timers at
    /// which shapers release what they hold behind it.
    pub fn on_leave(
        &mut self,
        (now, busy): (Time, Time),
        wire_bytes: u64,
        (index, port, class): (usize, PortId, u8),
    ) -> impl Iterator<Item = Entry> + use<> {
        let number = usize::from(port);
        let of_port = self.buckets.len() - self.ports.len() + number;
        let entries = [index, of_port].map(|bucket| {
            let due = self.buckets[bucket].as_mut()?.take(now, wire_bytes);
            if due <= busy {
                return None;
            }
            if bucket == index {
                self.classes[number] |= 1 << class
            } else {
                self.ports[number] = true
            }
            Some(Timer::Shaper.entry(due, bucket as u32))
        });
        entries.into_iter().flatten()
    }

    /// The timer of a bucket is due: it holds nothing more. Returns its port.
    pub fn release(&mut self, bucket: usize) -> PortId {
        let queues = self.buckets.len() - self.ports.len();
        let classes = queues / self.ports.len();
        match bucket.checked_sub(queues) {
            Some(port) => {
                self.ports[port] = false;
                port as PortId
            }
            None => {
                let (port, class) = (bucket / classes, bucket % classes);
                self.classes[port] &= !(1 << class);
                port as PortId
            }
        }
    }
}
