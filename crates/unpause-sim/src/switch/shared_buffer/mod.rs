//! Output-queued switch with a shared buffer.
//!
//! A packet that is admitted is in its egress queue at once. PFC accounting is per (ingress port, lossless
//! class): a packet counts at its ingress from reception until it starts to leave.

mod admission;
mod memory;
mod own_settings;
mod trimming;

use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use crate::chassis::{Chassis, Coming, Counted, Ingress, Model, PauseSource, Way, culprit};
use crate::config::PfcThreshold;
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId};
use crate::plan::Plan;
use memory::{Account, LossyLimit, Pool, Shift};
use own_settings::{OwnSettings, Terms};

/// The shared buffer.
#[derive(Debug, Show)]
pub struct SharedBuffer {
    // The headroom in use is that of all accounts.
    #[show(same = pool.used)]
    pool: Pool,
    #[show(skip)]
    threshold: PfcThreshold,
    /// Where ports or priorities differ: their settings.
    #[show(skip)]
    own_settings: Option<Box<OwnSettings>>,
    /// Bit c set: class c has PFC here.
    #[show(skip)]
    lossless: u8,
    /// Largest lossy queue through which a packet passes that finds it empty.
    #[show(skip)]
    lossy_bytes: u64,
    /// Largest lossy queue.
    #[show(skip)]
    lossy: LossyLimit,
    /// Largest control queue.
    #[show(skip)]
    control_bytes: u64,
}

/// Shared memory, beside headroom, of a switch with dynamic thresholds when no buffer is given.
const DEFAULT_DYNAMIC_POOL_BYTES: u64 = 12_000_000;

impl SharedBuffer {
    /// An empty switch.
    pub fn switch(id: NodeId, plan: &Plan<'_>) -> Chassis<Self> {
        let config = &plan.config.switch;
        let own = plan.switch_settings(id);
        let is_lossless = |class: u8| own.lossless >> class & 1 == 1;
        let (overrides, transmitters) = (plan.overrides(id), plan.ports.transmitters_of(id));
        let source = |port: PortId, class| {
            let transmitter = &transmitters[usize::from(port)];
            if config.cbfc.is_some() {
                return Account::with_credits();
            }
            let place = (port, plan.classes.priority(class));
            let shift = overrides.at(place, |it| it.shift);
            let shift = shift.unwrap_or(plan.pfc_shift(transmitter.speed));
            let headroom = if is_lossless(class) {
                plan.headroom_at(id, place)
            } else {
                0
            };
            Account::new(headroom, Shift::new(shift))
        };
        let own_settings = OwnSettings::new(id, plan);
        let headroom_pool = config.pfc.headroom_pool_bytes;
        let headroom_pool = headroom_pool.filter(|_| !plan.config.has_lossless_nvlink(id));
        let model = Self {
            pool: Pool {
                size: pool_bytes(id, plan),
                used: 0,
                headroom_size: headroom_pool.unwrap_or(u64::MAX),
                headroom_used: 0,
            },
            threshold: if config.cbfc.is_some() || own_settings.is_some() {
                memory::ELSEWHERE
            } else {
                own.threshold
            },
            own_settings,
            lossless: own.lossless,
            lossy_bytes: match config.lossy_shift {
                None => own.lossy_queue_bytes,
                // How long it may be changes: each packet is looked at.
                Some(_) => 0,
            },
            lossy: LossyLimit {
                bytes: own.lossy_queue_bytes,
                shift: config.lossy_shift.map(Shift::new),
            },
            control_bytes: control_bytes(plan),
        };
        // There is no input buffer here: what a congestion point at an input watches is the memory that PFC
        // counts for it.
        let has_points = !plan.config.fabric.is_nvswitch(id);
        let watched = |class| has_points && is_lossless(class);
        Chassis::new(id, plan, source, watched, model)
    }
}

/// Largest control queue: with trimming it has a limit of its own.
fn control_bytes(plan: &Plan<'_>) -> u64 {
    let config = &plan.config.switch;
    let trimming = config.trimming.map(|it| it.control_queue_bytes);
    trimming.unwrap_or(config.lossy_queue_bytes)
}

/// Shared memory of switch `id`, headroom not counted.
pub fn pool_bytes(id: NodeId, plan: &Plan<'_>) -> u64 {
    let own = plan.switch_settings(id);
    let transmitters = plan.ports.transmitters_of(id);
    let classes = plan.classes.count() as u8;
    let reserved_headroom = plan.reserved_headroom(id);
    let lossless = u64::from(own.lossless.count_ones());
    let lossy = u64::from(classes) - lossless;
    match (own.buffer_bytes, own.threshold) {
        (Some(bytes), _) => bytes.saturating_sub(reserved_headroom),
        (None, PfcThreshold::Static { xoff_bytes, .. }) => {
            let data = lossy.saturating_sub(1);
            let lossy = data.saturating_mul(own.lossy_queue_bytes);
            let lossy = lossy.saturating_add(control_bytes(plan));
            let per_port = lossy.saturating_add(lossless * (xoff_bytes + plan.mtu_wire_bytes));
            per_port.saturating_mul(transmitters.len() as u64)
        }
        (None, PfcThreshold::Dynamic { .. } | PfcThreshold::Reserved { .. }) => {
            DEFAULT_DYNAMIC_POOL_BYTES
        }
    }
}

impl SharedBuffer {
    /// Buffer space for a packet on these terms; may send an XOFF.
    #[inline(always)]
    fn admit(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        terms: Terms,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let Way { from, to, class } = way;
        let group = terms.group;
        if switch.model.lossless >> group & 1 == 0 {
            let size = u64::from(packet.bytes);
            let index = switch.index(to, class);
            let queue = &switch.outputs.queues[index];
            let most = match (terms.most, class == window.plan.classes.control) {
                (Some(most), _) => most,
                (None, true) => switch.model.control_bytes,
                (None, false) => switch.model.lossy.of(&switch.model.pool),
            };
            let fits = queue.bytes + size <= most && switch.outputs.has_place(index);
            return fits && switch.model.pool.take(size);
        }
        let params = &window.plan.config.switch.pfc.params;
        let bytes = u32::from(packet.bytes);
        let index = switch.index(from, group);
        let ingress = &mut switch.inputs.ingress[index];
        let pool = &mut switch.model.pool;
        let was_off = ingress.source.is_xoff();
        match ingress.take(now, bytes, pool, terms.threshold, params) {
            Some(Action::None) => true,
            None => {
                switch.inputs.totals[index].count_drop(packet);
                false
            }
            Some(_) if window.plan.config.switch.cbfc.is_some() => {
                window.take_credits((switch.id, from), class, packet);
                true
            }
            // Beyond XOFF it has headroom left, as a switch that sends PAUSE would.
            Some(_) if switch.pfc.never_sends || switch.pfc.is_off(index) => true,
            Some(action) => {
                switch.inputs.totals[index].pause_events += u64::from(!was_off);
                switch.request_pfc(now, from, group, action, window);
                let counted = Counted::Queues(Some((packet, to)));
                switch.note_xoff(now, from, group, counted, window.plan);
                true
            }
        }
    }

    /// Puts the packet into its queue, if there is room.
    #[inline(never)]
    fn take_in(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let terms = Terms {
            group: way.class,
            threshold: switch.model.threshold,
            most: None,
        };
        if switch.model.own_settings.is_some() {
            Self::take_in_by_own_settings(switch, now, packet, way, window);
        } else if switch.outputs.is_closed(way.to, way.class) {
            switch.lose_at_port(packet, way, window);
        } else if Self::admit(switch, now, packet, way, terms, window) {
            if switch.inputs.are_watched() {
                Self::accuse_at_input(switch, now, packet, way, window);
            }
            switch.join(now, packet, way, window);
        } else {
            Self::refuse(switch, now, packet, way, window);
        }
    }

    /// The congestion point of an input sees a packet that has been admitted, and is not in its queue yet.
    /// Who holds the memory is found by looking through the egress queues.
    #[cold]
    #[inline(never)]
    fn accuse_at_input(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let index = switch.index(way.from, way.class);
        let Some(message) = switch.inputs.watch(now, packet, index, &mut switch.rng) else {
            return;
        };
        let of_class = switch.outputs.queues.iter().skip(usize::from(way.class));
        let of_class = of_class.step_by(switch.outputs.classes);
        let own = |other: &&Packet| other.ingress == way.from;
        let waiting = of_class.flat_map(|queue| queue.packets.iter().filter(own));
        let frames: Vec<Packet> = waiting.chain([packet]).copied().collect();
        let selection = switch.inputs.selection;
        if let Some(culprit) = culprit::choose(selection, packet, frames.iter(), &mut switch.rng) {
            let cnm = switch.inputs.accuse(&culprit, message, index, window);
            Self::receive(switch, now, &cnm, way.from, window);
        }
    }
}

impl Model for SharedBuffer {
    type PauseSource = Account;
    const COUNTS_QUEUES: bool = true;
    const GOES_AT_ONCE: bool = true;

    /// Finds the egress.
    fn receive(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        from: PortId,
        window: &mut Window<'_, '_>,
    ) {
        if let Some(way) = switch.way(now, packet, from, window) {
            Self::take_in(switch, now, packet, way, window);
        }
    }

    /// Puts the packet through its queue, or into it, if there is room.
    #[inline(always)]
    fn receive_on(
        switch: &mut Chassis<Self>,
        now: Time,
        place: u32,
        way: Way,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let size = u64::from(window.inboxes.at(place).bytes);
        let passes = switch.pass(now, size, Coming::Taken(place), way, window);
        if !passes {
            let packet = *window.inboxes.at(place);
            Self::take_in(switch, now, &packet, way, window);
        }
        !passes
    }

    /// It takes memory and gives it back at once.
    #[inline(always)]
    fn lets_pass(
        &self,
        (ingress, index): (&mut [Ingress<Account>], usize),
        size: u64,
        class: u8,
        _plan: &Plan<'_>,
    ) -> bool {
        let pool = &self.pool;
        let lossy_bytes = if self.lossless >> class & 1 == 1 {
            None
        } else {
            Some(self.lossy_bytes)
        };
        pool.used + size <= pool.size
            && ingress[index].passes(size, lossy_bytes, pool, &self.threshold)
    }

    fn xoff_with(switch: &Chassis<Self>, index: usize, free: u64) -> Option<u64> {
        let model = &switch.model;
        let threshold = match &model.own_settings {
            Some(it) => it.threshold(index),
            None => model.threshold,
        };
        let source = &switch.inputs.ingress[index].source;
        source.xoff_with(&model.pool, threshold, free)
    }

    /// The buffer is free again, which may send an XON.
    // Always: a call costs 2 % of all instructions.
    #[inline(always)]
    fn left(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let Way { from, class, .. } = way;
        let bytes = u32::from(packet.bytes);
        let SharedBuffer {
            pool,
            threshold,
            lossless,
            own_settings,
            ..
        } = &mut switch.model;
        // Of a lossy class an account holds nothing. Which it is cannot be foreseen, and is not asked.
        if matches!(threshold, PfcThreshold::Reserved { .. }) {
            if own_settings.is_some() {
                return Self::left_by_own_settings(switch, now, packet, way, window);
            }
            if *lossless >> class & 1 == 0 {
                return pool.give(u64::from(bytes));
            }
            if window.plan.config.switch.cbfc.is_some() {
                let index = from as usize * switch.outputs.classes + class as usize;
                switch.inputs.ingress[index].source.release_credits(bytes);
                return switch.free_credits(now, packet, way, window);
            }
        }
        let index = from as usize * switch.outputs.classes + class as usize;
        let source = &mut switch.inputs.ingress[index].source;
        let action = source.release(now, bytes, pool, threshold);
        if action != Action::None {
            switch.request_pfc(now, from, class, action, window);
        }
    }
}
