//! Input buffers of a fixed size for each (port, class), with PFC at fixed thresholds.

use unpause_protocols::flow_control::pfc::{self, Action};
use unpause_protocols::units::Time;

use super::causes::Counted;
use super::chassis::{Chassis, Model, Way};
use crate::config::PfcThreshold;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;
use crate::plan::Plan;

/// The limits of each (port, class).
#[derive(Clone, Copy, Debug)]
pub struct InputBuffer {
    bytes: u64,
    xoff: u64,
    xon: u64,
}

impl InputBuffer {
    /// Buffers of this many bytes.
    pub fn new(bytes: u64, plan: &Plan<'_>) -> Self {
        let PfcThreshold::Static {
            xoff_bytes,
            xon_bytes,
        } = plan.config.switch.pfc.threshold
        else {
            unreachable!("the plan refuses shares of a buffer that is not shared")
        };
        Self {
            bytes,
            xoff: xoff_bytes,
            xon: xon_bytes,
        }
    }
}

impl<M: Model<PauseSource = pfc::Ingress>> Chassis<M> {
    /// Takes `bytes` for a packet that comes in; may send an XOFF. If there is no room, the packet is dropped
    /// and counted.
    pub fn take_input(
        &mut self,
        now: Time,
        packet: &Packet,
        way: Way,
        (bytes, buffer): (u32, InputBuffer),
        window: &mut Window<'_, '_>,
    ) -> bool {
        let lossless = window.plan.classes.is_lossless(way.class);
        let (index, queue) = (
            self.index(way.from, way.class),
            self.index(way.to, way.class),
        );
        let ingress = &mut self.ingress[index];
        if ingress.source.bytes() + u64::from(bytes) > buffer.bytes {
            self.ingress_totals[index].dropped_packets += u64::from(lossless);
            self.discard(queue, packet, window);
            return false;
        }
        let xoff = if lossless { buffer.xoff } else { u64::MAX };
        let params = &window.plan.config.switch.pfc.params;
        let was_off = ingress.source.is_xoff();
        let pause = ingress.pause;
        let action = ingress.source.on_admit(now, bytes, xoff, pause, params);
        ingress.note_admission();
        if action != Action::None {
            self.ingress_totals[index].pause_events += u64::from(!was_off);
            self.request_pfc(now, way.from, way.class, action, window);
            self.note_xoff(
                now,
                way.from,
                way.class,
                Counted::Before(Some((packet, way.to))),
                window.plan,
            );
        }
        true
    }

    /// Gives `bytes` of (`from`, `class`) back; may send an XON.
    pub fn free_input(
        &mut self,
        now: Time,
        (from, class): (PortId, u8),
        (bytes, buffer): (u32, InputBuffer),
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(from, class);
        let source = &mut self.ingress[index].source;
        let action: Action = source.on_release(now, bytes, buffer.xon);
        self.request_pfc(now, from, class, action, window);
    }
}
