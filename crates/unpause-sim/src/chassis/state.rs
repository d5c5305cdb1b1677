//! The state of every switch, and the interface of a switch model.

use std::fmt::Debug;

use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::egress::balance::Balance;
use super::ingress::{Ingress, PauseSource};
use super::inputs::Inputs;
use super::outputs::Outputs;
use super::pfc::Pfc;
use super::records::recorder::Recorder;
use super::records::sampler::Sampler;
use super::timer::Timer;
use crate::engine::heap::Heap;
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::fabric::rng;
use crate::fabric::{NodeId, PortId};
use crate::outcome::results::LossPlace;
use crate::plan::Plan;

/// A switch: the chassis, which all switches have, and in it the [`Model`], in which they differ.
///
/// The chassis has the [`Outputs`] (ports, egress queues with their congestion points, schedulers), the [`Inputs`], PAUSE in both
/// directions ([`Pfc`]), timers, samples and totals. The model has what is between an ingress port and an egress queue, and decides
/// what memory a packet takes.
///
/// 1. The model's own constructor calls [`Chassis::new`]. [`Chassis::first_event`] says when the switch first has something to do.
/// 2. [`run`](crate::engine::window::NodeModel::run) is called for each window in which it has something to do. It takes all packets
///    that arrive in the window, and handles events in order of time. At one instant these are arrivals by port, ports that
///    become free by port, [`Model::step`], PAUSEs that take effect, timers ([`Model::on_timer`] among them), sampling.
/// 3. Between windows, when a link changes: [`Outputs::set_speed`]; or [`Outputs::set_link`], and when all ends of links that
///    change have had that, [`Chassis::on_link`], which may send.
/// 4. [`finish`](crate::engine::window::NodeModel::finish) at the end: last samples, [`Model::finish`], totals.
///
/// | a model calls | to |
/// |---|---|
/// | [`Chassis::way`], [`Chassis::next_hop`] | find where a packet goes; without a path `way` counts it as lost |
/// | [`Chassis::enqueue`], [`Chassis::offer`] | hand a packet to its egress queue; `offer` first drops it if that is of a lossy class and has no place |
/// | [`Chassis::pass`], [`Chassis::join`] | do the two halves of `enqueue`, if it admits the packet in between |
/// | [`Outputs::is_closed`], [`Chassis::lose_at_port`] | see that the wire of a port has failed, or a watchdog drops what goes there; drop the packet |
/// | [`Chassis::discard`] | drop a packet for which it has no room |
/// | [`Chassis::request_pfc`], [`Chassis::note_xoff`] | send XOFF or XON, now or when the port is free; record why |
/// | [`InputBuffer::take`](super::InputBuffer::take), [`InputBuffer::free`](super::InputBuffer::free) | count at an input buffer of fixed size, which does all of that |
/// | [`Chassis::set_timer`] | be called again |
/// | [`Inputs::watch`], [`Inputs::accuse`] | ask the congestion point of an input, and make its CNM |
/// | [`Window::take_credits`], [`Chassis::free_credits`] | count a packet that came by credits |
#[derive(Debug, Show)]
pub struct Chassis<M: Model> {
    /// The node.
    #[show(skip)]
    pub id: NodeId,
    /// Ports and egress queues.
    #[show(nested)]
    pub outputs: Outputs,
    /// Its ingress ports.
    #[show(nested)]
    pub inputs: Inputs<M::PauseSource>,
    /// Timers of its own, of links, and of the model.
    #[show(nested)]
    pub(super) timers: Heap,
    /// Which classes have PFC, and frames that take effect later.
    #[show(nested)]
    pub pfc: Pfc,
    /// How it chooses among next hops, unless a hash does.
    #[show(refuse_if = balance.is_some())]
    pub(super) balance: Option<Box<Balance>>,
    /// Its loop over events is the slow one: it has watchdogs, links send again, or no hash chooses among next hops.
    #[show(skip)]
    pub(super) slow_path: bool,
    /// Samples of its ports.
    #[show(nested)]
    pub(super) sampler: Sampler,
    /// The record of why it sent PAUSE, if the run asks for it.
    #[show(refuse_if = causes.is_some())]
    pub(super) causes: Option<Box<Recorder>>,
    /// The node's random stream.
    #[show(by = rng::show(rng, visitor))]
    pub rng: Xoshiro256PlusPlus,
    /// Its model.
    #[show(nested)]
    pub model: M,
}

/// How a packet goes through a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Port by which it came in.
    pub from: PortId,
    /// Port by which it goes out.
    pub to: PortId,
    /// Its class.
    pub class: u8,
}

/// Where a packet is that comes to its egress queue.
#[derive(Clone, Copy, Debug)]
pub enum Coming<'a> {
    /// At this place of those that the switch has taken from its inbox.
    Taken(u32),
    /// With who has it.
    Here(&'a Packet),
}

/// A switch model: how packets get from ingress ports to egress queues.
///
/// A method that may send, receives the whole switch; the model itself is its field `model`. About a packet the chassis calls:
///
/// 1. [`receive`](Self::receive) when it has arrived; PFC frames and updates of credits do not come here. With
///    [`GOES_AT_ONCE`](Self::GOES_AT_ONCE) it is [`receive_on`](Self::receive_on), with the way already found, except for CNMs and
///    in a switch with watchdogs, link-level retry or another choice of paths than a hash: such a model has both. The
///    model counts the packet at its ingress, asks for PAUSE if [`Ingress::source`] says so, and drops it, keeps it or
///    hands it to [`Chassis::enqueue`], sooner or later.
/// 2. [`lets_pass`](Self::lets_pass), if nothing keeps the packet from being sent at once and its congestion point need not be
///    asked. If true, it is sent.
/// 3. Otherwise one of these: [`joined`](Self::joined), if [`JOINS`](Self::JOINS), when the congestion point has admitted it; or
///    [`refused`](Self::refused), which is the last call, when its queue is closed or has no place, or the congestion point
///    drops it.
/// 4. [`left`](Self::left), the last call: it is being sent, or it was dropped in its queue, or lost with the link. The queue no
///    longer counts it. The model gives its memory back, which may send XON.
///
/// `left` and `refused` may come before `enqueue` returns. A packet that [`Chassis::pass`] sends for the model itself gets
/// no `left`. With `JOINS`, `enqueue` never sends a packet past `joined`.
///
/// What has a time of its own is in [`next_time`](Self::next_time), never in the past, and in [`step`](Self::step), which is called
/// when that is due, until it is later; or in timers ([`on_timer`](Self::on_timer)).
///
/// A new model writes `PauseSource`, `receive` and `left`, and a constructor for a variant of `SwitchModel` and of `Node`. It gets
/// queues, schedulers, congestion points, PAUSE obeyed and repeated, samples, totals and failures of links. If packets
/// wait in the model, it also writes [`held_data_packets`](Self::held_data_packets), which the check at the end of a run counts;
/// [`counted_before`](Self::counted_before), for the causes of PAUSE; and [`waiting_before`](Self::waiting_before), for
/// deadlocks.
pub trait Model: Debug + Show + Sized {
    /// Who decides on PAUSE at an (ingress port, class).
    type PauseSource: PauseSource;
    /// Packets go where routing says as soon as they come in; [`Model::receive_on`] takes them.
    const GOES_AT_ONCE: bool = false;
    /// [`Model::joined`] does something.
    const JOINS: bool = false;

    /// A packet has come in by port `from`, or is a CNM made here.
    fn receive(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        from: PortId,
        window: &mut Window<'_, '_>,
    );
    /// A packet has come in, at this place of those taken, and this is its way; answers whether it may have given
    /// more to do.
    fn receive_on(
        _switch: &mut Chassis<Self>,
        _now: Time,
        _place: u32,
        _way: Way,
        _window: &mut Window<'_, '_>,
    ) -> bool {
        true
    }
    /// True if a packet of this many bytes that leaves at once needs no more than to be sent. It comes by the ingress with
    /// this index among all.
    #[inline(always)]
    fn lets_pass(
        &self,
        _ingress: (&mut [Ingress<Self::PauseSource>], usize),
        _size: u64,
        _class: u8,
        _plan: &Plan<'_>,
    ) -> bool {
        true
    }
    /// A packet has left its egress queue, or has gone through it.
    fn left(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    );
    /// A packet has joined its egress queue, from which it may leave at once.
    #[inline(always)]
    fn joined(
        _switch: &mut Chassis<Self>,
        _now: Time,
        _packet: &Packet,
        _way: Way,
        _window: &mut Window<'_, '_>,
    ) {
    }
    /// A packet that was to join its egress queue has been dropped.
    fn refused(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        Self::left(switch, now, packet, way, window);
    }
    /// Sends a CNM about a packet that came in by port `from`: as if it had come in by it, too.
    fn send_cnm(
        switch: &mut Chassis<Self>,
        now: Time,
        cnm: &Packet,
        from: PortId,
        window: &mut Window<'_, '_>,
    ) {
        Self::receive(switch, now, cnm, from, window);
    }
    /// When to call [`Model::step`].
    #[inline(always)]
    fn next_time(&self) -> Time {
        Time::NEVER
    }
    /// Does what is due now, one thing at a time.
    fn step(_switch: &mut Chassis<Self>, _now: Time, _window: &mut Window<'_, '_>) {}
    /// A timer set by [`Chassis::set_timer`] is due.
    fn on_timer(
        _switch: &mut Chassis<Self>,
        _now: Time,
        _number: u32,
        _window: &mut Window<'_, '_>,
    ) {
    }
    /// The run is over.
    fn finish(_switch: &mut Chassis<Self>, _now: Time, _plan: &Plan<'_>) {}
    /// Data packets in the switch that are in no egress queue.
    fn held_data_packets(&self) -> u64 {
        0
    }
    /// How often egress queue `index` has stopped the whole switch, and for how long.
    fn stalls(&self, _index: usize) -> (u64, Time) {
        (0, Time::ZERO)
    }
    /// Adds the packets that ingress (`from`, `class`) counts and that are in no egress queue, with the
    /// egress that each waits for; none if they wait for the switch itself.
    fn counted_before(
        _switch: &Chassis<Self>,
        _from: PortId,
        _class: u8,
        _plan: &Plan<'_>,
        _found: &mut Vec<(Option<PortId>, Packet)>,
    ) {
    }
    /// XOFF of the (ingress port, class) with this index if this many bytes more of the memory were free; none where
    /// that makes no difference.
    fn xoff_with(_switch: &Chassis<Self>, _index: usize, _free: u64) -> Option<u64> {
        None
    }
    /// Whether an ingress counts packets that are in egress queues.
    const COUNTS_QUEUES: bool = false;
    /// Adds the (ingress port, priority) of packets that wait for egress queue `index` outside it.
    fn waiting_before(
        _switch: &Chassis<Self>,
        _index: usize,
        _plan: &Plan<'_>,
        _found: &mut Vec<(PortId, u8)>,
    ) {
    }
}

impl<M: Model> Chassis<M> {
    /// A switch at rest. `source` makes what decides on PAUSE at a port, for a class;
    /// if the scheme watches inputs, those of `watched` classes have a congestion point.
    pub fn new(
        id: NodeId,
        plan: &Plan<'_>,
        source: impl Fn(PortId, u8) -> M::PauseSource,
        watched: impl Fn(u8) -> bool,
        model: M,
    ) -> Self {
        let mut rng = rng::of_node(plan.config.seed, id);
        let outputs = Outputs::new(id, plan, &mut rng);
        let inputs = Inputs::new(id, plan, source, watched, &mut rng);
        let (pfc, balance) = (Pfc::new(id, plan), Balance::of(plan));
        let mut timers = Heap::default();
        if let Some(watchdogs) = &pfc.watchdogs {
            timers.push(watchdogs.next(Time::ZERO));
        }
        let slow_path =
            pfc.watchdogs.is_some() || balance.is_some() || plan.config.switch.retry.is_some();
        let causes = plan.config.probes.causes;
        let causes = causes.then(|| Box::new(Recorder::new(outputs.queues.len())));
        Self {
            id,
            outputs,
            inputs,
            timers,
            pfc,
            balance,
            slow_path,
            sampler: Sampler::new(id, plan),
            causes,
            rng,
            model,
        }
    }

    /// When it first has something to do.
    pub fn first_event(&self) -> Time {
        self.sampler.next_time().min(self.timers.next_time())
    }

    /// The place of (`port`, `class`) among queues and ingress.
    #[inline]
    pub fn index(&self, port: PortId, class: u8) -> usize {
        self.outputs.index(port, class)
    }

    /// Has [`Model::on_timer`] called at `due`; of simultaneous timers those with smaller numbers come first,
    /// among them those of PFC by the place of their (port, class).
    pub fn set_timer(&mut self, due: Time, number: u32) {
        self.timers.push(Timer::Model.entry(due, number));
    }

    /// The way of a packet that has come in by `from`; if there is none, it is lost.
    #[inline(always)]
    pub fn way(
        &mut self,
        now: Time,
        packet: &Packet,
        from: PortId,
        window: &mut Window<'_, '_>,
    ) -> Option<Way> {
        let Some(to) = self.next_hop(now, packet, window) else {
            window.lose((self.id, from), LossPlace::Switch, packet);
            return None;
        };
        let class = window.plan.classes.of(packet.priority());
        Some(Way { from, to, class })
    }

    /// The port by which a packet continues that comes now, if there is a path.
    #[inline(always)]
    pub fn next_hop(
        &mut self,
        now: Time,
        packet: &Packet,
        window: &Window<'_, '_>,
    ) -> Option<PortId> {
        match self.balance {
            None => window.routing.way(self.id, packet),
            Some(_) => self.balanced(now, packet, window),
        }
    }

    #[inline(never)]
    fn balanced(&mut self, now: Time, packet: &Packet, window: &Window<'_, '_>) -> Option<PortId> {
        let Balance::Packets(balance) = &mut **self.balance.as_mut()? else {
            return window.routing.next_hop(self.id, packet);
        };
        let choices = window.routing.choices(self.id, packet.dst);
        let class = window.plan.classes.of(packet.priority());
        let queues = &self.outputs.queues;
        balance.choose(now, choices, (packet, class), queues, &mut self.rng)
    }
}
