//! The input side of a switch.

use rand_core::Rng;
use unpause_protocols::congestion_point::qcn::Selection;
use unpause_protocols::congestion_point::{self, CongestionPoint, Verdict};
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::egress::{view, watches_inputs};
use super::ingress::{Ingress, IngressTotals, PauseSource, culprit};
use super::timer::Timer;
use crate::engine::heap::Heap;
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId};
use crate::plan::Plan;

/// Every (ingress port, class) of a switch, by port, then class, and the congestion points that stand there.
///
/// The switch model counts packets in `ingress` and the chassis repeats PAUSE. Congestion points at inputs, which only QCN can
/// have, are the model's business, too: after it has counted a packet it calls [`Inputs::watch`], and if that answers, it chooses
/// a culprit by [`Inputs::selection`] and sends the CNM that [`Inputs::accuse`] makes.
#[derive(Debug, Show)]
pub struct Inputs<S: PauseSource> {
    /// The ingress of each port and class.
    #[show(nested)]
    pub ingress: Vec<Ingress<S>>,
    /// Totals of each.
    #[show(nested)]
    pub totals: Vec<IngressTotals>,
    /// Congestion points; none if the scheme has none at inputs.
    #[show(refuse_if = !points.is_empty())]
    points: Vec<CongestionPoint>,
    /// Whom they accuse.
    #[show(skip)]
    pub selection: Selection,
}

impl<S: PauseSource> Inputs<S> {
    /// The inputs of switch `id`, which hold nothing. `source` makes what decides on PAUSE at a port, for a class; if the scheme
    /// watches inputs, those of `watched` classes have a congestion point.
    pub fn new<R: Rng>(
        id: NodeId,
        plan: &Plan<'_>,
        source: impl Fn(PortId, u8) -> S,
        watched: impl Fn(u8) -> bool,
        rng: &mut R,
    ) -> Self {
        let classes = plan.classes.count() as u8;
        let transmitters = plan.ports.transmitters_of(id);
        let mut ingress = Vec::with_capacity(transmitters.len() * usize::from(classes));
        for (port, transmitter) in (0..).zip(transmitters) {
            let rate = transmitter.speed.rate();
            let pause = plan.config.switch.pfc.params.pause_duration(rate);
            let of_port = (0..classes).map(|class| Ingress::new(source(port, class), pause));
            ingress.extend(of_port);
        }
        let scheme = &plan.config.scheme.congestion_point;
        let ports = if watches_inputs(scheme) {
            transmitters.len()
        } else {
            0
        };
        let none = congestion_point::Config::None;
        let config = |class| if watched(class) { scheme } else { &none };
        let points = (0..ports).flat_map(|_| 0..classes);
        Self {
            totals: vec![IngressTotals::default(); ingress.len()],
            ingress,
            points: points
                .map(|class| CongestionPoint::new(config(class), rng))
                .collect(),
            selection: culprit::selection(plan),
        }
    }

    /// True if congestion points stand at inputs.
    #[inline]
    pub fn are_watched(&self) -> bool {
        !self.points.is_empty()
    }

    /// The congestion point of ingress `index` sees a packet, which the ingress has counted; returns its feedback, if any.
    #[cold]
    #[inline(never)]
    pub fn watch<R: Rng>(
        &mut self,
        now: Time,
        packet: &Packet,
        index: usize,
        rng: &mut R,
    ) -> Option<QcnFeedback> {
        let held = congestion_point::Queue {
            bytes: self.ingress[index].source.bytes(),
            packets: 0,
        };
        match self.points[index].on_enqueue(now, &view(packet), held, rng) {
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
        self.totals[index].cnm_packets += 1;
        notification(culprit, message, window)
    }

    /// Sets the timer for the next PAUSE of ingress `index`, if one is to be repeated.
    pub fn arm_refresh(&mut self, index: usize, timers: &mut Heap) {
        let due = self.ingress[index].source.next_timer();
        let totals = &mut self.totals[index];
        if !due.is_never() && totals.timer_at.is_none_or(|at| due < at) {
            totals.timer_at = Some(due);
            timers.push(Timer::Refresh.entry(due, index as u32));
        }
    }
}

/// The CNM for the source of `sampled`; the run counts it.
pub fn notification(sampled: &Packet, message: QcnFeedback, window: &mut Window<'_, '_>) -> Packet {
    window.log.counts.notifications += 1;
    let priority = window.plan.config.host.control_priority;
    Packet {
        flow: sampled.flow,
        src: sampled.dst,
        dst: sampled.src,
        slot: sampled.aux,
        source_port: sampled.source_port,
        ..Packet::from_notification(&Notification::Qcn(message), priority)
    }
}
