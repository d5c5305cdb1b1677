//! PFC of the inputs: sending PAUSE to hosts.

use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::units::Time;

use super::{Cioq, REFRESH};
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::packet::{Kind, Packet};

impl Cioq {
    /// Sends, or has sent as soon as the port is free, a PFC frame to the host at `port_id`.
    pub(super) fn request_pfc(
        &mut self,
        now: Time,
        port_id: PortId,
        class: u8,
        action: Action,
        window: &mut Window<'_, '_>,
    ) {
        let port = &mut self.ports[usize::from(port_id)];
        let (to_set, to_clear) = match action {
            Action::None => return,
            Action::Xoff => (&mut port.xoff, &mut port.xon),
            Action::Xon => (&mut port.xon, &mut port.xoff),
        };
        *to_set |= 1 << class;
        *to_clear &= !(1 << class);
        if port.busy_until <= now && !port.ready {
            self.send_next(now, port_id, window);
        } else {
            self.schedule_ready(port_id);
        }
        self.arm_refresh(port_id, class);
    }

    fn arm_refresh(&mut self, port_id: PortId, class: u8) {
        let index = self.index(port_id, class);
        let input = &mut self.inputs[index];
        let due = input.pfc.next_timer();
        if !due.is_never() && input.timer_at.is_none_or(|at| due < at) {
            input.timer_at = Some(due);
            self.timers.push(Entry::new(due, index as u32, REFRESH));
        }
    }

    /// A PAUSE may have to be repeated.
    pub(super) fn on_refresh(
        &mut self,
        now: Time,
        port_id: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(port_id, class);
        let input = &mut self.inputs[index];
        if input.timer_at != Some(now) {
            return;
        }
        input.timer_at = None;
        let params = &window.plan.config.switch.pfc.params;
        let action = input.pfc.on_timer(now, input.pause, params);
        match action {
            Action::None => self.arm_refresh(port_id, class),
            action => self.request_pfc(now, port_id, class, action, window),
        }
    }

    /// Sends a PFC frame for every class that waits for one, XOFF before XON.
    pub(super) fn send_pfc(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.ports[usize::from(port_id)];
        let pausing = port.xoff != 0;
        let classes = std::mem::take(if pausing {
            &mut port.xoff
        } else {
            &mut port.xon
        });
        let mut priorities = 0;
        let mut pause = Time::ZERO;
        for class in (0..self.shape.classes as u8).filter(|class| classes >> class & 1 == 1) {
            priorities |= 1 << window.plan.classes.priority(class);
            if pausing {
                let index = self.index(port_id, class);
                self.inputs[index].pause_frames += 1;
                pause = self.inputs[index].pause;
            }
        }
        let frame = Packet {
            aux: priorities,
            stamp: pause.as_ps(),
            ..Packet::new(Kind::Pfc, 7, 0, Kind::Pfc.control_bytes())
        };
        let port = &mut self.ports[usize::from(port_id)];
        port.busy_until = window.transmit(self.first_port + u32::from(port_id), now, &frame, 0);
        if port.eligible() != 0 || port.xoff | port.xon != 0 {
            self.schedule_ready(port_id);
        }
    }
}
