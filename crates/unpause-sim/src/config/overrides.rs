//! Settings that differ between switches, ports and queues.

use unpause_protocols::units::{Fraction, Rate};

use super::{SwitchConfig, WatchdogConfig};
use crate::fabric::{NodeId, PRIORITIES, PortId};

/// Settings of some switches with a shared buffer, in place of [`super::SwitchConfig`]'s, or of some of their ports and
/// priorities. If several apply to one place, the last one that has a setting decides it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwitchOverride {
    /// Which.
    pub switches: Vec<NodeId>,
    /// Their ports that it applies to: only [`SwitchOverride::of_places`] can be set then. `None`: all.
    pub ports: Option<Vec<(NodeId, PortId)>>,
    /// Bit p set: it applies to priority p, with the same restriction. `None`: to all.
    pub priorities: Option<u8>,
    /// Bit p set: priority p has PFC there, both ways. Only priorities that have it elsewhere can.
    pub lossless: Option<u8>,
    /// XOFF and XON, bytes, where thresholds are fixed.
    pub fixed: Option<(u64, u64)>,
    /// The shift of thresholds that are dynamic.
    pub shift: Option<i32>,
    /// Bytes that each lossless (ingress port, priority) takes after XOFF, in place of [`super::PfcConfig`]'s.
    pub headroom_bytes: Option<u64>,
    /// False: PFC is off there. The port neither sends nor obeys PAUSE, and what comes in by it has no headroom unless an
    /// override sets one.
    pub pfc: Option<bool>,
    /// The PFC watchdog there, in place of [`super::SwitchConfig`]'s. All ports of a switch are polled at once.
    pub watchdog: Option<WatchdogConfig>,
    /// Packet memory of the whole switch.
    pub buffer_bytes: Option<u64>,
    /// Largest lossy queue.
    pub lossy_queue_bytes: Option<u64>,
    /// PAUSE of priority p stops the queue of the priority at place p, for all p; by default each stops its own queue.
    pub pfc_to_queue: Option<[u8; PRIORITIES]>,
    /// A packet of priority p waits in the queue of the priority at place p, for all p; by default each in its own.
    pub to_queue: Option<[u8; PRIORITIES]>,
    /// A packet of priority p counts at its ingress in the group of the priority at place p, for all p; by default each in its
    /// own. PFC of a group asks for PAUSE of the priority of that number.
    pub to_group: Option<[u8; PRIORITIES]>,
    /// The most that an egress queue may hold, in place of the limit of lossy queues; lossless packets are dropped, too.
    pub queue_limit: Option<QueueLimit>,
    /// The highest rate: of each queue if `priorities` are set, else of each port.
    pub shaper: Option<Shaper>,
    /// Whether, and at which queue lengths, the scheme's congestion points mark.
    pub marking: Option<QueueMarking>,
}

impl SwitchOverride {
    /// True if it sets what a whole switch has.
    pub fn of_switch(&self) -> bool {
        self.lossless.is_some()
            || self.buffer_bytes.is_some()
            || self.lossy_queue_bytes.is_some()
            || self.pfc_to_queue.is_some()
            || self.to_queue.is_some()
            || self.to_group.is_some()
    }

    /// True if it sets what ports and priorities can have each for itself.
    pub fn of_places(&self) -> bool {
        self.fixed.is_some()
            || self.shift.is_some()
            || self.headroom_bytes.is_some()
            || self.marking.is_some()
            || self.queue_limit.is_some()
            || self.shaper.is_some()
            || self.pfc.is_some()
            || self.watchdog.is_some()
    }

    /// True if it applies to some ports or priorities of its switches only.
    pub fn is_of_some(&self) -> bool {
        self.ports.is_some() || self.priorities.is_some()
    }

    /// True if it applies to a priority at a port of a switch.
    pub fn applies(&self, node: NodeId, port: PortId, priority: u8) -> bool {
        let of_port = |ports: &Vec<(NodeId, PortId)>| ports.contains(&(node, port));
        self.switches.contains(&node)
            && self.ports.as_ref().is_none_or(of_port)
            && self.priorities.is_none_or(|all| all >> priority & 1 == 1)
    }
}

impl SwitchConfig {
    /// The PFC watchdogs of all switches and of those that have another one.
    pub fn watchdogs(&self) -> impl Iterator<Item = WatchdogConfig> {
        let own = self.overrides.iter().filter_map(|it| it.watchdog);
        self.watchdog.into_iter().chain(own)
    }
}

/// The most that an egress queue may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// Bytes.
    Bytes(u64),
    /// The free shared memory divided by 2 to the power of this.
    Shift(i32),
}

/// A token bucket: it fills at `rate` up to `burst_bytes`. A frame may start while it is not below zero, and takes its bytes on
/// the wire out of it, framing included. With a burst of zero frames start at least as far apart as they take at `rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// Bits per second on the wire.
    pub rate: Rate,
    /// Bytes that may go out at the rate of the link after a pause.
    pub burst_bytes: u64,
}

/// The congestion point of a queue, where it is not simply the scheme's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueMarking {
    /// There is none.
    Off,
    /// These thresholds, under every scheme that marks by queue length.
    Curve(RedThresholds),
}

/// No marks up to `kmin`, all above `kmax`, with probability `pmax` just below that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedThresholds {
    /// Bytes.
    pub kmin: u64,
    /// Bytes.
    pub kmax: u64,
    /// Probability at `kmax`.
    pub pmax: Fraction,
}
