//! Credits of links: what both ends of each link count. It lies here, not with the nodes, so that nodes without it have nothing
//! more to look at: their packets are counted where all go that need more than to be passed on.

use unpause_protocols::flow_control::credits::{CHANNELS, Credits, Mechanism as _, UPDATE_BYTES};
use unpause_protocols::units::Time;

use crate::fabric::NodeId;
use crate::fabric::packet::{Kind, Packet};
use crate::fabric::ports::GlobalPort;
use crate::plan::{Plan, smallest_on_wire};

/// The ports of a shard's nodes.
#[derive(Debug, Default)]
pub struct LinkCredits {
    /// By port of the fabric; empty if the run has PFC.
    of: Vec<Option<Box<PortCredits>>>,
    /// Bit c set: class c has credits.
    lossless: u8,
    /// Bytes of the largest frame.
    largest: u32,
    /// There are frames that a wire takes less time for than for an update.
    overtaken: bool,
}

/// Of one port.
#[derive(Debug)]
struct PortCredits {
    /// By class.
    credits: Credits,
    /// A timer runs for the next update.
    armed: bool,
}

impl LinkCredits {
    /// Those of the ports of nodes that are in the shard.
    pub fn new(plan: &Plan<'_>, owns: impl Fn(NodeId) -> bool) -> Self {
        let Some(config) = &plan.config.switch.cbfc else {
            return Self::default();
        };
        let of = (0..plan.ports.transmitters.len() as GlobalPort).map(|port| {
            let (node, _) = plan.ports.place(port);
            owns(node).then(|| {
                let link = &plan.ports.transmitters[port as usize];
                let buffer = plan.credit_buffer(link.speed, link.delay);
                Box::new(PortCredits {
                    credits: Credits::new(&config.params, buffer, link.speed.rate()),
                    armed: false,
                })
            })
        });
        Self {
            of: of.collect(),
            lossless: plan.classes.lossless,
            largest: plan.config.largest_frame_bytes(),
            overtaken: smallest_on_wire(plan.config) < UPDATE_BYTES,
        }
    }

    /// True if the run has no credits.
    #[inline]
    pub fn are_unused(&self) -> bool {
        self.of.is_empty()
    }

    /// True if a packet may arrive before others that were put onto its wire earlier: an update, or a frame that is smaller
    /// than an update.
    #[inline]
    pub fn may_overtake(&self, packet: &Packet) -> bool {
        self.overtaken || packet.kind == Kind::Credit
    }

    fn port(&mut self, port: GlobalPort) -> Option<&mut PortCredits> {
        self.of.get_mut(port as usize)?.as_deref_mut()
    }

    /// True if no packet of `class` needs credits.
    pub fn lets_pass(&self, class: u8) -> bool {
        self.are_unused() || self.lossless >> class & 1 == 0
    }

    /// True if a packet of this many bytes of `class` may start at `port`, once another of `before` bytes has; 0: once none has.
    pub fn may_send(&mut self, port: GlobalPort, class: u8, before: u32, bytes: u32) -> bool {
        if self.lets_pass(class) {
            return true;
        }
        let before = (before > 0).then_some(before);
        let port = self.port(port);
        port.is_none_or(|it| it.credits.may_send(class, before, bytes))
    }

    /// True if the largest frame of `class` may start at `port`.
    pub fn may_send_any(&mut self, port: GlobalPort, class: u8) -> bool {
        let largest = self.largest;
        let port = self.port(port);
        port.is_none_or(|it| it.credits.may_send(class, None, largest))
    }

    /// A packet starts at `port`.
    pub fn on_sent(&mut self, port: GlobalPort, class: u8, bytes: u32) {
        if self.lets_pass(class) {
            return;
        }
        if let Some(port) = self.port(port) {
            port.credits.on_sent(class, bytes);
        }
    }

    /// A packet that had started at `port` is given up by the link.
    pub fn on_lost(&mut self, port: GlobalPort, class: u8, bytes: u32) {
        if self.lets_pass(class) {
            return;
        }
        if let Some(port) = self.port(port) {
            port.credits.on_lost(class, bytes);
        }
    }

    /// A packet has come in by `port`.
    pub fn on_packet(&mut self, port: GlobalPort, class: u8, bytes: u32) {
        if let Some(port) = self.port(port) {
            port.credits.on_packet(class, bytes);
        }
    }

    /// A packet that came in by `port` leaves the buffer: answers when a timer for the update has to run out, if one has to
    /// be set.
    pub fn on_freed(&mut self, now: Time, port: GlobalPort, class: u8, bytes: u32) -> Option<Time> {
        let port = self.port(port)?;
        port.credits.on_freed(now, class, bytes);
        let arms = !std::mem::replace(&mut port.armed, true);
        arms.then(|| port.credits.next_timer())
    }

    /// An update has come in by `port`.
    pub fn on_update(&mut self, port: GlobalPort, class: u8, says: u32) {
        if let Some(port) = self.port(port) {
            port.credits.on_update(class, says);
        }
    }

    /// The update of these classes that `port` sent at `now` is lost: answers when to send the next one.
    pub fn repeat_update(
        &mut self,
        now: Time,
        port: GlobalPort,
        classes: &[(u8, u32)],
    ) -> Option<Time> {
        let port = self.port(port)?;
        for (class, said) in classes {
            port.credits.on_update_lost(now, *class, *said);
        }
        port.armed = true;
        // Later than this one even if updates need no distance.
        Some(port.credits.next_timer().max(now + Time::from_ns(1)))
    }

    /// The update that is due at `port`: what it says of each class of which it speaks.
    pub fn take_update(&mut self, now: Time, port: GlobalPort) -> Vec<(u8, u32)> {
        let Some(port) = self.port(port) else {
            return Vec::new();
        };
        port.armed = false;
        let due = port.credits.on_timer(now);
        let classes = (0..CHANNELS as u8).filter(|class| due >> class & 1 == 1);
        classes
            .map(|class| (class, port.credits.update(class)))
            .collect()
    }
}
