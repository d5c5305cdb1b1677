//! Prefetching of what the packets of a window will touch, before they are taken: in a large fabric none of it is in the cache, and
//! misses that overlap cost little more than one.

use super::outputs::Outputs;
use super::state::{Chassis, Model};
use crate::engine::arrivals::NO_WAY;
use crate::engine::window::Window;
use crate::fabric::packet::Kind;
use crate::prefetch::prefetch;

/// Packets that are prefetched together.
const BLOCK: usize = 16;

/// Prefetches what ports need that become free in the window, and the first packets.
#[inline(never)]
pub fn first_block<M: Model>(switch: &Chassis<M>, window: &mut Window<'_, '_>) {
    let outputs = &switch.outputs;
    let free = || outputs.ready.before(window.end).map(usize::from);
    free().for_each(|port| prefetch(&outputs.ports[port]));
    free().for_each(|port| queue(outputs, port, window));
    for port in free() {
        if let Some(queue) = outputs.next_queue(port) {
            queue.packets.prefetch();
        }
        window
            .inboxes
            .prefetch_push(outputs.ports[port].end.transmitter.peer);
    }
    from(switch, 0, window);
}

/// Before packet `at` is taken: when a block begins, prefetches what the next one needs.
#[inline(always)]
pub fn block<M: Model>(switch: &Chassis<M>, at: usize, window: &mut Window<'_, '_>) {
    if at.is_multiple_of(BLOCK) {
        from(switch, at + BLOCK, window);
    }
}

/// Looks up the ways of a block of packets and prefetches what is there, in rounds: what a round reads, the round before has
/// prefetched.
#[inline(never)]
fn from<M: Model>(switch: &Chassis<M>, first: usize, window: &mut Window<'_, '_>) {
    let (outputs, inputs) = (&switch.outputs, &switch.inputs);
    let plan = window.plan;
    for (place, _) in window.arrivals.block(first, BLOCK) {
        let packet = window.inboxes.at(place);
        window.routing.prefetch(packet);
        let class = plan.classes.of(packet.priority());
        prefetch(&inputs.ingress[outputs.index(packet.ingress, class)]);
    }
    let way_on = window.routing.from(switch.id);
    for (place, way) in window.arrivals.block(first, BLOCK) {
        let packet = window.inboxes.at(place);
        *way = NO_WAY;
        if let Some(to) = way_on.of(packet).filter(|_| packet.kind != Kind::Pfc) {
            let class = plan.classes.of(packet.priority());
            prefetch(&outputs.ports[usize::from(to)]);
            prefetch(&outputs.queues[outputs.index(to, class)]);
            *way = to;
        }
    }
    for (_, way) in window.arrivals.block(first, BLOCK) {
        if let Some(port) = outputs.ports.get(usize::from(*way)) {
            window.inboxes.prefetch(port.end.transmitter.peer);
            window.calendar.prefetch(port.end.transmitter.peer);
        }
    }
    for (_, way) in window.arrivals.block(first, BLOCK) {
        if let Some(port) = outputs.ports.get(usize::from(*way)) {
            window.inboxes.prefetch_push(port.end.transmitter.peer);
        }
    }
}

fn queue(outputs: &Outputs, port: usize, window: &Window<'_, '_>) {
    if let Some(queue) = outputs.next_queue(port) {
        prefetch(queue);
    }
    window
        .inboxes
        .prefetch(outputs.ports[port].end.transmitter.peer);
}
