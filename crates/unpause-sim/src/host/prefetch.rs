//! Prefetching of what hosts will touch in a window, before they run. A round reads what the round before has prefetched.

use std::mem::offset_of;

use super::machine::Machine;
use super::machine::nics::Nics;
use super::nic::item::{Handle, Item};
use super::state::Host;
use crate::engine::window::Window;
use crate::fabric::packet::Kind;
use crate::prefetch::{prefetch, prefetch_first, prefetch_front};

/// A round of prefetching.
pub type Round = fn(&Host, &Window<'_, '_>);

/// All rounds, in order.
pub const ROUNDS: [Round; 4] = [
    |host, _| prefetch_host(host),
    prefetch_link,
    prefetch_packets,
    prefetch_flows,
];

/// Bytes of a host that most packets touch.
const FRONT: usize = offset_of!(Host, machine) + offset_of!(Machine, nics) + Nics::FRONT;

/// Prefetches what packets touch of a host.
pub fn prefetch_host(host: &Host) {
    prefetch_front::<FRONT, _>(host);
}

/// Prefetches its link, and what is first in its heaps and queues.
fn prefetch_link(host: &Host, window: &Window<'_, '_>) {
    let machine = &host.machine;
    let nic = machine.nics.nic();
    window.inboxes.prefetch(machine.id);
    window.inboxes.prefetch(nic.end.transmitter.peer);
    window.calendar.prefetch(nic.end.transmitter.peer);
    machine.timers.prefetch();
    nic.pacing.prefetch();
    prefetch_first(&nic.classes);
}

/// Prefetches what arrives, where it will put what it sends, and who sends next.
fn prefetch_packets(host: &Host, window: &Window<'_, '_>) {
    let nic = host.machine.nics.nic();
    window.inboxes.prefetch_packets(host.machine.id);
    window.inboxes.prefetch_push(nic.end.transmitter.peer);
    if let Some(entry) = nic.pacing.peek()
        && let Item::Roce(slot) = Handle::of(entry).item()
    {
        prefetch_sender(host, slot);
    }
    for class in &nic.classes {
        prefetch_first(class.ready.as_slices().0);
    }
}

/// Prefetches the flow of the packet that arrives first.
fn prefetch_flows(host: &Host, window: &Window<'_, '_>) {
    let Some(packet) = window.inboxes.first(host.machine.id) else {
        return;
    };
    match packet.kind {
        Kind::Data => {
            if let Some(receiver) = host.receivers.flows.get(packet.slot as usize) {
                prefetch(receiver);
            }
        }
        Kind::Ack => prefetch_sender(host, packet.slot),
        _ => {}
    }
}

fn prefetch_sender(host: &Host, slot: u32) {
    if let Some(sender) = host.senders.flows.get(slot as usize) {
        prefetch(sender);
    }
}
