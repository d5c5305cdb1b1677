//! The part of a host that all of its flows share.

pub mod agenda;
pub mod nics;

use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::timer::Timer;
use crate::engine::batch::FlowStart;
use crate::engine::heap::Heap;
use crate::engine::log::Log;
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId, rng};
use crate::plan::Plan;
use crate::traffic::{Ending, FlowSpec};
use agenda::Agenda;
use nics::Nics;

/// The part of a host that all of its flows share: NICs, timers, rare events and random numbers. It knows of no flow.
///
/// [`Host`](super::Host) hands it to its senders, receivers, TCP connections and ranks whenever one of them has an event. They may
/// assume that the [NIC at hand](Nics::nic) is the one that the event is about. For a part that is about another NIC, they call
/// [`Self::at`], which comes back.
#[derive(Debug, Show)]
#[repr(C)]
pub struct Machine {
    #[show(skip)]
    pub id: NodeId,
    /// Some packet may be delayed, changed or recorded on arrival: a flow has an extra delay, the host is slow for some time, data
    /// carry pull targets or use credits of a link, or causes are recorded.
    #[show(skip)]
    pub delays: bool,
    /// The time of the first rare event.
    #[show(skip = "follows from `agenda`")]
    pub rare_at: Time,
    #[show(nested)]
    pub timers: Heap,
    #[show(nested)]
    pub nics: Nics,
    // Fields that few packets touch.
    #[show(nested)]
    pub agenda: Agenda,
    #[show(by = rng::show(rng, visitor))]
    pub rng: Xoshiro256PlusPlus,
}

impl Machine {
    /// A machine at rest.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> Self {
        let nics = Nics::new(id, plan);
        let has_buffer = (0..nics.count()).any(|nic| nics.get(nic).buffer.is_some());
        Self {
            id,
            delays: has_buffer
                || plan.config.probes.causes
                || plan.config.scheme.credits.is_some()
                || plan.config.switch.cbfc.is_some(),
            rare_at: Time::NEVER,
            timers: Heap::default(),
            nics,
            agenda: Agenda::new(id, plan),
            rng: rng::of_node(plan.config.seed, id),
        }
    }

    /// An event about `nic` begins.
    #[inline]
    pub fn turn_to(&mut self, nic: PortId) {
        self.nics.turn_to(nic);
    }

    /// Has `act` done with another NIC at hand.
    #[inline(always)]
    pub fn at<T>(&mut self, nic: PortId, act: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.nics.number();
        self.nics.turn_to(nic);
        let result = act(self);
        self.nics.turn_to(before);
        result
    }

    /// Computes the time of the first rare event again.
    pub fn set_rare(&mut self) {
        self.rare_at = self.agenda.next_time();
    }

    /// Adds a flow that this host will start.
    pub fn schedule(&mut self, start: FlowStart) {
        self.agenda.schedule(start);
        self.set_rare();
    }

    /// Samples from the start of this flow on, if it is recorded.
    pub fn sample_from(&mut self, spec: &FlowSpec) {
        self.agenda.sample_from(spec);
        self.set_rare();
    }

    /// A flow has ended here: schedules the flows that waited for this end.
    #[inline]
    pub fn end_flow(&mut self, now: Time, flow: u32, ending: Ending, log: &mut Log) {
        if self.agenda.waiting.is_some() {
            self.agenda.end_flow(now, flow, ending, log);
            self.set_rare();
        }
    }

    /// The first timer of the ranks is due at `at`.
    pub fn set_rank(&mut self, at: Time) {
        self.agenda.set_rank(at);
        self.set_rare();
    }

    /// Sets timers for NICs that may have to resend.
    #[cold]
    #[inline(never)]
    pub fn take_wakes(&mut self, window: &mut Window<'_, '_>) {
        for (due, nic) in window.take_wakes() {
            let entry = Timer::Retry { nic }.entry(due, nic.into());
            self.timers.push(entry);
        }
    }

    /// The timer of the NIC at hand is due, which may have to resend.
    #[cold]
    pub fn send_again(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let place = (self.id, self.nics.number());
        let busy_until = window.send_again(now, place);
        let nic = self.nics.nic_mut();
        if busy_until > nic.end.busy_until {
            nic.end.busy_until = busy_until;
            nic.at = nic.at.max(busy_until);
        }
        if !window.wires.credits.are_unused() {
            for class in 0..nic.classes.len() as u8 {
                if window.plan.classes.is_lossless(class) {
                    nic.resume(now, class, window);
                }
            }
        }
    }

    /// A data packet has arrived: its link's credits are free again.
    #[cold]
    pub fn take_credits(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let class = window.plan.classes.of(packet.priority());
        if window.wires.credits.lets_pass(class) {
            return;
        }
        let at = (self.id, packet.ingress);
        window.take_credits(at, class, packet);
        let due = window.free_credits(now, at, class, packet);
        self.arm_update(due, packet.ingress);
    }

    /// Sets the timer for the next update of a NIC's credits, if there is one.
    fn arm_update(&mut self, due: Option<Time>, nic: PortId) {
        if let Some(due) = due {
            let entry = Timer::CreditUpdate { nic }.entry(due, nic.into());
            self.timers.push(entry);
        }
    }

    /// The timer for an update of a NIC's credits is due.
    #[cold]
    pub fn send_update(&mut self, now: Time, nic: PortId, window: &mut Window<'_, '_>) {
        let due = window.send_update(now, (self.id, nic));
        self.arm_update(due, nic);
    }

    /// An update of a link's credits has arrived.
    #[cold]
    pub fn on_update(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let class = window.plan.classes.of(packet.priority());
        window.on_update((self.id, packet.ingress), class, packet);
        self.nics.nic_mut().resume(now, class, window);
    }
}
