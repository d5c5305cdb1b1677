//! The parts of a switch at rest, port by port.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_point::pint::Meter;
use unpause_protocols::congestion_point::{self, CongestionPoint};

use super::egress::{Egress, Queue, watches_inputs};
use super::ingress::{Ingress, PauseSource};
use crate::fabric::ports::Transmitter;
use crate::fabric::{NodeId, PortId};
use crate::plan::{Overrides, Plan};

/// Both sides of every (port, class) of a switch.
pub(super) type Sides<S> = (Vec<Queue>, Vec<Egress>, Vec<Ingress<S>>);

/// Those of switch `id`; `looked_at` says in which classes each packet is looked at.
pub(super) fn sides<S>(
    id: NodeId,
    plan: &Plan<'_>,
    looked_at: u8,
    source: impl Fn(PortId, u8) -> S,
    rng: &mut Xoshiro256PlusPlus,
) -> Sides<S>
where
    S: PauseSource,
{
    let transmitters = plan.ports.transmitters_of(id);
    let (ports, overrides) = (transmitters.len(), plan.overrides(id));
    let places = ports * plan.classes.count();
    let mut queues = Vec::with_capacity(places);
    let mut egress = Vec::with_capacity(places);
    let mut ingress = Vec::with_capacity(places);
    for (number, transmitter) in (0..).zip(transmitters) {
        let rate = transmitter.speed.rate();
        let pause = plan.config.switch.pfc.params.pause_duration(rate);
        for class in 0..plan.classes.count() as u8 {
            let own = (&overrides, number);
            let rest = Egress::new(class, own, (rate, transmitter.peer), plan, rng);
            let looks = looked_at >> class & 1 == 1;
            queues.push(Queue::new(ports, &rest.congestion_point, looks, plan));
            egress.push(rest);
            ingress.push(Ingress::new(source(number, class), pause));
        }
    }
    (queues, egress, ingress)
}

/// Bit c set: each packet of class c is looked at.
pub(super) fn looked_at(overrides: &Overrides<'_>, plan: &Plan<'_>) -> u8 {
    match plan.config.switch.cbfc {
        _ if overrides.differ_within() => u8::MAX,
        Some(_) => plan.classes.lossless,
        None => 0,
    }
}

/// PINT's meters of these ports; none if it is not used.
pub(super) fn meters(transmitters: &[Transmitter], plan: &Plan<'_>) -> Vec<Meter> {
    let congestion_point::Config::Pint(params) = &plan.config.scheme.congestion_point else {
        return Vec::new();
    };
    let meter = |it: &Transmitter| Meter::new(params, it.speed.rate());
    transmitters.iter().map(meter).collect()
}

/// The congestion points of `ports` ingress ports; none if they stand elsewhere.
pub(super) fn input_points<R: Rng>(
    ports: usize,
    plan: &Plan<'_>,
    watched: impl Fn(u8) -> bool,
    rng: &mut R,
) -> Vec<CongestionPoint> {
    let scheme = &plan.config.scheme.congestion_point;
    if !watches_inputs(scheme) {
        return Vec::new();
    }
    let none = congestion_point::Config::None;
    let classes = (0..ports).flat_map(|_| 0..plan.classes.count() as u8);
    let config = |class| if watched(class) { scheme } else { &none };
    classes
        .map(|class| CongestionPoint::new(config(class), rng))
        .collect()
}
