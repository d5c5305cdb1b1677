//! Congestion points at the ingress of the shared-buffer switch.
//!
//! There is no input buffer here: what such a point watches is the memory that PFC counts for its (ingress
//! port, class), so only lossless classes have one. Who holds that memory is found by looking through the
//! egress queues, at a sample only.

use rand_core::Rng;
use unpause_protocols::congestion_point::qcn::Selection;
use unpause_protocols::congestion_point::{self, CongestionPoint, Verdict};
use unpause_protocols::units::Time;

use super::SharedBuffer;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::packet::Packet;
use crate::plan::Plan;
use crate::switch::culprit;
use crate::switch::egress::{view, watches_inputs};

/// The congestion points of `ports` ingress ports; none if they stand elsewhere.
pub(super) fn points<R: Rng>(ports: usize, plan: &Plan<'_>, rng: &mut R) -> Vec<CongestionPoint> {
    let scheme = &plan.config.scheme.congestion_point;
    if !watches_inputs(scheme) {
        return Vec::new();
    }
    let none = congestion_point::Config::None;
    let classes = (0..ports).flat_map(|_| 0..plan.classes.count() as u8);
    classes
        .map(|class| {
            let config = if plan.classes.is_lossless(class) {
                scheme
            } else {
                &none
            };
            CongestionPoint::new(config, rng)
        })
        .collect()
}

impl SharedBuffer {
    /// A packet has been admitted, and is not in its queue yet.
    #[cold]
    #[inline(never)]
    pub(super) fn watch_input(
        &mut self,
        now: Time,
        packet: &Packet,
        from: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(from, class);
        let held = congestion_point::Queue {
            bytes: self.ingress[index].pfc.bytes(),
            packets: 0,
        };
        let point = &mut self.input_points[index];
        let verdict = point.on_enqueue(now, &view(packet), held, &mut self.rng);
        let Verdict::Notify(message) = verdict else {
            return;
        };
        let congestion_point::Config::Qcn(params) = &window.plan.config.scheme.congestion_point
        else {
            return;
        };
        let queues = self.queues.iter().skip(usize::from(class));
        let of_class = queues.step_by(self.classes);
        let own = |other: &&Packet| other.ingress == from;
        let waiting = of_class.flat_map(|queue| queue.packets.iter().filter(own));
        let frames: Vec<Packet> = waiting.chain([packet]).copied().collect();
        let accused = match params.mode.selection() {
            Selection::Arrived => Some(*packet),
            Selection::Largest => culprit::largest(frames.iter()),
            Selection::RandomUnit => culprit::random(frames.iter(), &mut self.rng),
        };
        if let Some(accused) = accused {
            self.ingress[index].cnm_packets += 1;
            self.forward_cnm(now, &accused, message, from, window);
        }
    }
}
