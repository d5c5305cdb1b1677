//! Input buffers of a fixed size for each (port, class), with PFC at fixed thresholds.

use unpause_protocols::flow_control::pfc::{self, Action};
use unpause_protocols::units::Time;

use super::causes::Counted;
use super::state::{Chassis, Model, Way};
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

    /// Takes `bytes` for a packet that comes in at `switch`; may send an XOFF. If there is no room, the packet is dropped and
    /// counted.
    pub fn take<M: Model<PauseSource = pfc::Ingress>>(
        self,
        switch: &mut Chassis<M>,
        now: Time,
        (packet, bytes): (&Packet, u32),
        way: Way,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let Way { from, to, class } = way;
        let lossless = window.plan.classes.is_lossless(class);
        let (index, queue) = (switch.index(from, class), switch.index(to, class));
        let ingress = &mut switch.inputs.ingress[index];
        let totals = &mut switch.inputs.totals[index];
        if ingress.source.bytes() + u64::from(bytes) > self.bytes {
            if lossless {
                totals.count_drop(packet);
            }
            switch.discard(queue, packet, window);
            return false;
        }
        let xoff = if lossless { self.xoff } else { u64::MAX };
        let params = &window.plan.config.switch.pfc.params;
        let was_off = ingress.source.is_xoff();
        let pause = ingress.pause;
        let action = ingress.source.on_admit(now, bytes, xoff, pause, params);
        ingress.note_admission();
        if action != Action::None {
            totals.pause_events += u64::from(!was_off);
            switch.request_pfc(now, from, class, action, window);
            let counted = Counted::Before(Some((packet, to)));
            switch.note_xoff(now, from, class, counted, window.plan);
        }
        true
    }

    /// Gives `bytes` of (`from`, `class`) back; may send an XON.
    pub fn free<M: Model<PauseSource = pfc::Ingress>>(
        self,
        switch: &mut Chassis<M>,
        now: Time,
        (from, class, bytes): (PortId, u8, u32),
        window: &mut Window<'_, '_>,
    ) {
        let index = switch.index(from, class);
        let source = &mut switch.inputs.ingress[index].source;
        let action: Action = source.on_release(now, bytes, self.xon);
        switch.request_pfc(now, from, class, action, window);
    }
}
