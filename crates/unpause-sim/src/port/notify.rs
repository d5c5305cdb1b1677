//! Congestion notification messages, and the congestion points that stand at inputs.

use unpause_protocols::congestion_point::{self, Verdict};
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model};
use super::egress::view;
use super::ingress::PauseSource;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;
use crate::plan::Plan;

impl<M: Model> Chassis<M> {
    /// Sends the source of `sampled`, which came in by port `from`, what a congestion point has to say.
    pub(super) fn notify(
        &mut self,
        now: Time,
        sampled: &Packet,
        message: QcnFeedback,
        from: PortId,
        window: &mut Window<'_, '_>,
    ) {
        window.log.counts.notifications += 1;
        let cnm = cnm(sampled, message, window.plan);
        M::send_cnm(self, now, &cnm, from, window);
    }

    /// True if congestion points stand at inputs.
    #[inline]
    pub fn watches_inputs(&self) -> bool {
        !self.input_points.is_empty()
    }

    /// The congestion point of ingress `index` sees a packet, which the ingress has counted; answers what
    /// it has to say.
    #[cold]
    #[inline(never)]
    pub fn watch_input(&mut self, now: Time, packet: &Packet, index: usize) -> Option<QcnFeedback> {
        let held = congestion_point::Queue {
            bytes: self.ingress[index].source.bytes(),
            packets: 0,
        };
        let point = &mut self.input_points[index];
        match point.on_enqueue(now, &view(packet), held, &mut self.rng) {
            Verdict::Notify(message) => Some(message),
            Verdict::Pass | Verdict::MarkCe | Verdict::Drop | Verdict::Record => None,
        }
    }

    /// The CNM for the source of `culprit` from the congestion point of ingress `index`; it is counted.
    pub fn accuse(
        &mut self,
        culprit: &Packet,
        message: QcnFeedback,
        index: usize,
        window: &mut Window<'_, '_>,
    ) -> Packet {
        self.ingress_totals[index].cnm_packets += 1;
        window.log.counts.notifications += 1;
        cnm(culprit, message, window.plan)
    }
}

/// The CNM for the source of `sampled`.
fn cnm(sampled: &Packet, message: QcnFeedback, plan: &Plan<'_>) -> Packet {
    let priority = plan.config.host.control_priority;
    Packet {
        flow: sampled.flow,
        src: sampled.dst,
        dst: sampled.src,
        slot: sampled.aux,
        source_port: sampled.source_port,
        ..Packet::from_notification(&Notification::Qcn(message), priority)
    }
}
