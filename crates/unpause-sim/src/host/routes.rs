//! Flows of a host with several NICs that leave by another one when routes change.

use std::collections::BTreeMap;

use unpause_protocols::units::Time;

use super::item::{Handle, Item};
use super::sender::Pace;
use super::state::{Host, Nic};
use crate::engine::heap::Heap;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::plan::Plan;

impl Host {
    /// The routes at this place of the plan hold from now on. Flows that wait at a NIC for their turn or their rate limiter go to
    /// the one by which their packets leave now. Packets that have been made stay.
    #[cold]
    pub fn follow_routes(&mut self, now: Time, routes: usize, window: &mut Window<'_, '_>) {
        if !self.has_several_nics() {
            return;
        }
        let before = self.nics_of_flows(window.plan);
        self.routes = routes;
        let mut moved = self.nics_of_flows(window.plan);
        // A sprayed flow may wait at another NIC than the one that it would be put to now.
        moved.retain(|item, nic| before[item] != *nic || self.is_sprayed(*item));
        for nic in 0..self.nics() {
            self.turn_to(nic);
            self.nic.remove(&moved);
            self.nic.end.busy_until = self.nic.end.busy_until.max(now);
        }
        for (item, nic) in moved {
            self.turn_to(nic);
            match item {
                Item::Roce(slot) => self.queue_again(slot),
                Item::Tcp(slot) => self.queue_tcp_again(now, slot, window),
                // They are of no flow.
                Item::Replies(_) | Item::Acks(_) => {}
            }
        }
        for nic in 0..self.nics() {
            self.turn_to(nic);
            self.set_nic(now);
            if self.hpcc_nic {
                self.look(now);
            }
        }
    }

    /// The NIC of each flow that this host sends.
    fn nics_of_flows(&self, plan: &Plan<'_>) -> BTreeMap<Item, PortId> {
        let roce = self.senders.iter().filter_map(|(slot, _)| {
            let slot = slot as u32;
            Some((Item::Roce(slot), self.nic_of_sender(slot, plan)?))
        });
        let tcp = self.tcp.senders.iter().map(|(slot, it)| {
            let flow = (it.flow, it.spec.source_port);
            let nic = self.nic_towards(it.spec.dst, flow, false, plan);
            (Item::Tcp(slot as u32), nic)
        });
        roce.chain(tcp).collect()
    }

    /// A flow that waited at another NIC waits at this one.
    fn queue_again(&mut self, slot: u32) {
        if self.hpcc_nic {
            return self.nic.list.push(slot);
        }
        let sender = &mut self.senders[slot as usize];
        if sender.pace != Pace::Idle {
            sender.pace = Pace::Idle;
            self.enqueue(slot);
        }
    }
}

impl Nic {
    /// These flows wait here no more.
    fn remove(&mut self, flows: &BTreeMap<Item, PortId>) {
        let in_list = |slot: &u32| flows.contains_key(&Item::Roce(*slot));
        for (class, it) in self.classes.iter_mut().enumerate() {
            it.ready
                .retain(|handle| !flows.contains_key(&handle.item()));
            if it.ready.is_empty() {
                self.end.backlog &= !(1 << class);
            }
        }
        let places = self.list.iter().zip(0..);
        let gone = places.filter(|(slot, place)| *place <= self.served && in_list(slot));
        self.served = self.served.saturating_sub(gone.count());
        self.list.retain(|slot| !in_list(slot));
        let mut pacing = Heap::default();
        while let Some(entry) = self.pacing.pop() {
            if !flows.contains_key(&Handle::of(entry).item()) {
                pacing.push(entry);
            }
        }
        self.pacing = pacing;
    }
}
