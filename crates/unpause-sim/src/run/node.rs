//! The kinds of nodes, and their dispatch. Another switch model is another variant.

use unpause_protocols::state_visitor::{Show, StateVisitor};
use unpause_protocols::units::{LinkSpeed, Time};

use crate::chassis::Chassis;
use crate::config::SwitchModel;
use crate::engine::window::{NodeModel, Window};
use crate::fabric::{NodeId, PortId};
use crate::host::Host;
use crate::plan::Plan;
use crate::switch::cioq::Cioq;
use crate::switch::input_queued::InputQueued;
use crate::switch::pipeline::Pipeline;
use crate::switch::shared_buffer::SharedBuffer;

/// A node of the fabric. Another switch model is another variant.
#[derive(Debug)]
pub enum Node {
    /// A NIC with flows.
    Host(Box<Host>),
    /// An output-queued switch with a shared buffer.
    SharedBuffer(Box<Chassis<SharedBuffer>>),
    /// A switch with one packet processor.
    Pipeline(Box<Chassis<Pipeline>>),
    /// A combined-input-output-queued fabric.
    Cioq(Box<Chassis<Cioq>>),
    /// A switch with a crossbar.
    InputQueued(Box<Chassis<InputQueued>>),
}

impl Node {
    /// Node `id` at rest, and when it first has something to do.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> (Self, Time) {
        if plan.is_host(id) {
            let mut host = Host::new(id, plan);
            let first = host.first_sample().min(host.find_ranks(plan));
            let first = first.min(host.first_storm(plan));
            return (Self::Host(Box::new(host)), first);
        }
        match &plan.config.switch.model {
            SwitchModel::SharedBuffer => {
                let switch = SharedBuffer::switch(id, plan);
                let first = switch.first_event();
                (Self::SharedBuffer(Box::new(switch)), first)
            }
            SwitchModel::Pipeline(config) => {
                let switch = Pipeline::switch(id, config, plan);
                let first = switch.first_event();
                (Self::Pipeline(Box::new(switch)), first)
            }
            SwitchModel::Cioq(config) => {
                let switch = Cioq::switch(id, config, plan);
                let first = switch.first_event();
                (Self::Cioq(Box::new(switch)), first)
            }
            SwitchModel::InputQueued(config) => {
                let switch = InputQueued::switch(id, config, plan);
                let first = switch.first_event();
                (Self::InputQueued(Box::new(switch)), first)
            }
        }
    }
    /// The model behind.
    pub fn model(&mut self) -> &mut dyn NodeModel {
        match self {
            Self::Host(host) => host.as_mut(),
            Self::SharedBuffer(switch) => switch.as_mut(),
            Self::Pipeline(switch) => switch.as_mut(),
            Self::Cioq(switch) => switch.as_mut(),
            Self::InputQueued(switch) => switch.as_mut(),
        }
    }

    /// The wire behind port `local` fails or returns; what follows from that, [`Self::on_link`] does.
    pub fn set_link(&mut self, now: Time, local: PortId, up: bool) {
        match self {
            Self::Host(host) => host.set_link(now, local, up),
            Self::SharedBuffer(switch) => switch.outputs.set_link(local, up),
            Self::Pipeline(switch) => switch.outputs.set_link(local, up),
            Self::Cioq(switch) => switch.outputs.set_link(local, up),
            Self::InputQueued(switch) => switch.outputs.set_link(local, up),
        }
    }

    /// The wire behind port `local` has another speed: of the next frame, since the one in transmission ends as planned.
    pub fn set_speed(&mut self, local: PortId, speed: LinkSpeed) {
        match self {
            Self::Host(host) => host.set_speed(local, speed),
            Self::SharedBuffer(switch) => switch.outputs.set_speed(local, speed),
            Self::Pipeline(switch) => switch.outputs.set_speed(local, speed),
            Self::Cioq(switch) => switch.outputs.set_speed(local, speed),
            Self::InputQueued(switch) => switch.outputs.set_speed(local, speed),
        }
    }

    /// A direction of the link of port `local` has failed or returned, the one in which this node sends if there is a
    /// `wire`, which says which.
    pub fn on_link(
        &mut self,
        now: Time,
        local: PortId,
        wire: Option<bool>,
        window: &mut Window<'_, '_>,
    ) {
        match self {
            Self::Host(host) => host.restart_pfc(now, local, window),
            Self::SharedBuffer(switch) => switch.on_link(now, local, wire, window),
            Self::Pipeline(switch) => switch.on_link(now, local, wire, window),
            Self::Cioq(switch) => switch.on_link(now, local, wire, window),
            Self::InputQueued(switch) => switch.on_link(now, local, wire, window),
        }
    }

    /// The routes at this place of the plan hold from now on.
    pub fn follow_routes(&mut self, now: Time, routes: usize, window: &mut Window<'_, '_>) {
        if let Self::Host(host) = self {
            host.follow_routes(now, routes, window);
        }
    }

    /// Shows its state.
    pub fn show<L: StateVisitor>(&mut self, plan: &Plan<'_>, visitor: &mut L) {
        match self {
            Self::Host(host) => host.show(plan, visitor),
            Self::SharedBuffer(switch) => switch.show(visitor),
            Self::Pipeline(switch) => switch.show(visitor),
            Self::Cioq(switch) => switch.show(visitor),
            Self::InputQueued(switch) => switch.show(visitor),
        }
    }

    /// [`NodeModel::run`] of the model behind.
    #[inline(always)]
    pub fn run(&mut self, window: &mut Window<'_, '_>) -> Time {
        match self {
            Self::Host(host) => host.run(window),
            Self::SharedBuffer(switch) => switch.run(window),
            Self::Pipeline(switch) => switch.run(window),
            Self::Cioq(switch) => switch.run(window),
            Self::InputQueued(switch) => switch.run(window),
        }
    }
}
