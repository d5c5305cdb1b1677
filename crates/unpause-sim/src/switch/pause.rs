//! PFC of a switch: sending PAUSE for its ingress, obeying it at its egress.

use unpause_protocols::flow_control::pfc::{self, Action, Change};
use unpause_protocols::units::Time;

use crate::engine::heap::{Entry, Heap};
use crate::engine::window::Window;
use crate::engine::wire::GlobalPort;
use crate::fabric::{NodeId, PortId};
use crate::packet::{Kind, Packet};
use crate::plan::Plan;
use crate::switch::egress::{Port, Queue};
use crate::throttle::{Place, Reaction, Reactions};

// Payloads of timers; their key is the index of a (port, class).
const REFRESH: u32 = 0;
const EXPIRY: u32 = 1;

/// What PFC has to do with of a switch.
pub struct Parts<'s, I> {
    /// The switch.
    pub id: NodeId,
    /// Its first port.
    pub first_port: GlobalPort,
    /// Classes of each port.
    pub classes: usize,
    /// Its egress ports.
    pub ports: &'s mut [Port],
    /// By port, then class.
    pub queues: &'s mut [Queue],
    /// By port, then class.
    pub ingress: &'s mut [I],
    /// Timers, all of which are PFC's.
    pub timers: &'s mut Heap,
    /// Frames not yet obeyed.
    pub reactions: &'s mut Reactions,
}

/// One (ingress port, class): who decides when to send PAUSE.
pub trait Requester {
    /// When to call [`Requester::on_timer`].
    fn next_timer(&self) -> Time;
    /// Repeats the PAUSE when it is time.
    fn on_timer(&mut self, now: Time, params: &pfc::Params) -> Action;
    /// Of its entries among the timers, the one due then counts.
    fn timer_at(&mut self) -> &mut Option<Time>;
    /// An XOFF is sent; answers what it asks for.
    fn on_xoff_sent(&mut self) -> Time;
}

/// A switch that sends and obeys PAUSE.
pub trait Pausing {
    /// Who sends PAUSE.
    type Ingress: Requester;

    /// What it consists of.
    fn parts(&mut self) -> Parts<'_, Self::Ingress>;
    /// Sends the next frame out of a free port.
    fn send_next(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>);
    /// Has [`Pausing::send_next`] called as soon as the port is free.
    fn schedule_ready(&mut self, port: PortId);

    /// Sends, or has sent as soon as the port is free, a PFC frame to the peer at `port_id`.
    fn request_pfc(
        &mut self,
        now: Time,
        port_id: PortId,
        class: u8,
        action: Action,
        window: &mut Window<'_, '_>,
    ) {
        let port = &mut self.parts().ports[port_id as usize];
        match action {
            Action::None => return,
            Action::Xoff => {
                port.xoff |= 1 << class;
                port.xon &= !(1 << class);
            }
            Action::Xon => {
                port.xon |= 1 << class;
                port.xoff &= !(1 << class);
            }
        }
        if port.busy_until <= now && !port.ready {
            self.send_next(now, port_id, window);
        } else {
            self.schedule_ready(port_id);
        }
        let parts = self.parts();
        let index = port_id as usize * parts.classes + class as usize;
        let ingress = &mut parts.ingress[index];
        let due = ingress.next_timer();
        let timer_at = ingress.timer_at();
        if !due.is_never() && timer_at.is_none_or(|at| due < at) {
            *timer_at = Some(due);
            parts.timers.push(Entry::new(due, index as u32, REFRESH));
        }
    }

    /// Sends the PFC frames that a free port has been asked for.
    fn send_pfc(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let parts = self.parts();
        let port = &mut parts.ports[port_id as usize];
        let pausing = port.xoff != 0;
        let classes = std::mem::take(if pausing {
            &mut port.xoff
        } else {
            &mut port.xon
        });
        let mut priorities = 0;
        let mut pause = Time::ZERO;
        for class in 0..parts.classes as u8 {
            if classes >> class & 1 == 0 {
                continue;
            }
            priorities |= 1 << window.plan.classes.priority(class);
            if pausing {
                let index = port_id as usize * parts.classes + class as usize;
                pause = parts.ingress[index].on_xoff_sent();
            }
        }
        let frame = Packet {
            aux: priorities,
            stamp: pause.as_ps(),
            ..Packet::new(Kind::Pfc, 7, 0, Kind::Pfc.control_bytes())
        };
        port.busy_until = window.transmit(parts.first_port + u32::from(port_id), now, &frame, 0);
        if port.eligible() != 0 || port.xoff | port.xon != 0 {
            self.schedule_ready(port_id);
        }
    }

    /// A PFC frame has arrived at port `from`.
    fn on_pfc(&mut self, now: Time, from: PortId, packet: &Packet, window: &mut Window<'_, '_>) {
        let reaction = Reaction {
            time: now + window.plan.config.switch.pfc.reaction,
            port: from,
            priorities: packet.aux as u8,
            pause: Time::from_ps(packet.stamp),
        };
        if reaction.time == now {
            self.obey(now, reaction, window);
        } else {
            self.parts().reactions.push(reaction);
        }
    }

    /// A PFC frame takes effect.
    fn obey(&mut self, now: Time, reaction: Reaction, window: &mut Window<'_, '_>) {
        let classes = self.parts().classes;
        for class in 0..classes as u8 {
            if reaction.priorities >> window.plan.classes.priority(class) & 1 == 1 {
                let parts = self.parts();
                let place = place(parts.id, reaction.port, class, window.plan);
                let index = reaction.port as usize * classes + class as usize;
                let throttle = &mut parts.queues[index].throttle;
                let change = throttle.on_frame(now, reaction.pause, place, window.log);
                let expiry = throttle.next_timer();
                if !expiry.is_never() {
                    parts.timers.push(Entry::new(expiry, index as u32, EXPIRY));
                }
                self.after_pause_change(now, reaction.port, class, change, window);
            }
        }
    }

    /// A queue has been paused or resumed.
    fn after_pause_change(
        &mut self,
        now: Time,
        port_id: PortId,
        class: u8,
        change: Change,
        window: &mut Window<'_, '_>,
    ) {
        let parts = self.parts();
        let index = port_id as usize * parts.classes + class as usize;
        let queue = &mut parts.queues[index];
        let port = &mut parts.ports[port_id as usize];
        match change {
            Change::None => {}
            Change::Paused => {
                port.paused |= 1 << class;
                queue.congestion_point.on_pause(now);
            }
            Change::Resumed => {
                port.paused &= !(1 << class);
                let state = queue.state(0);
                queue.congestion_point.on_resume(now, state);
                if port.eligible() == 0 || port.ready {
                    return;
                }
                if port.busy_until <= now {
                    self.send_next(now, port_id, window);
                } else {
                    self.schedule_ready(port_id);
                }
            }
        }
    }

    /// A timer is due.
    fn on_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let parts = self.parts();
        let entry = parts.timers.pop().expect("a timer is due");
        let index = entry.key() as usize;
        let (port, class) = (
            (index / parts.classes) as PortId,
            (index % parts.classes) as u8,
        );
        if entry.payload() == REFRESH {
            let ingress = &mut parts.ingress[index];
            if *ingress.timer_at() != Some(now) {
                return;
            }
            *ingress.timer_at() = None;
            let due = ingress.next_timer();
            if due <= now {
                let action = ingress.on_timer(now, &window.plan.config.switch.pfc.params);
                self.request_pfc(now, port, class, action, window);
            } else if !due.is_never() {
                *ingress.timer_at() = Some(due);
                parts.timers.push(Entry::new(due, index as u32, REFRESH));
            }
        } else {
            let place = place(parts.id, port, class, window.plan);
            let throttle = &mut parts.queues[index].throttle;
            if throttle.next_timer() <= now {
                let change = throttle.on_timer(now, place, window.log);
                self.after_pause_change(now, port, class, change, window);
            }
        }
    }
}

/// Where the egress queue of `class` at `port` of switch `node` is.
pub fn place(node: NodeId, port: PortId, class: u8, plan: &Plan<'_>) -> Place {
    Place {
        node,
        port,
        priority: plan.classes.priority(class),
        record: plan.config.probes.pauses,
    }
}
