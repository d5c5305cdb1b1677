//! How the flows of a host get their turn at the NIC: in the round-robin of their class, or behind their rate limiter until that
//! allows a packet; at the NIC of HPCC's simulator, by its [list](super::nic::flow_list::FlowList).

use std::collections::BTreeMap;

use unpause_protocols::units::{LinkSpeed, Time};

use super::nic::item::{Handle, Item};
use super::state::Host;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::plan::Plan;

impl Host {
    /// The NIC at hand looks for something to send.
    pub(super) fn on_nic(&mut self, now: Time, window: &mut Window<'_, '_>) {
        self.machine.nics.wait_until(now);
        let nic = self.machine.nics.nic_mut();
        let alone = if nic.pacing.next_time() <= now {
            self.release_paced(now, window)
        } else {
            None
        };
        let nic = self.machine.nics.nic_mut();
        if !nic.control.is_empty() {
            let packet = nic.control.pop();
            let class = window.plan.classes.of(packet.priority());
            nic.transmit(now, class, &packet, window);
        } else if let Some(handle) = alone.or_else(|| self.next_to_send(now, window)) {
            let machine = &mut self.machine;
            match handle.item() {
                Item::Roce(slot) => self.senders.send(now, slot, machine, window),
                Item::Tcp(slot) => self.tcp.send_segment(now, slot, machine, window),
                Item::Replies(class) => {
                    let qdisc = self.tcp.qdisc;
                    machine.nics.nic_mut().send_reply(now, class, qdisc, window);
                }
                Item::Acks(class) => machine.nics.nic_mut().send_waiting_ack(now, class, window),
            }
        }
        self.set_nic(now);
    }

    /// Sets when the NIC at hand looks again for something to send.
    #[inline(always)]
    fn set_nic(&mut self, now: Time) {
        let nic = self.machine.nics.nic_mut();
        nic.set_next_of(now, &self.senders.flows);
    }

    /// The next flow or reply to send when the port is free and no control packets wait.
    #[inline]
    fn next_to_send(&mut self, now: Time, window: &mut Window<'_, '_>) -> Option<Handle> {
        match self.next_ready(now, window) {
            None if self.machine.nics.nic().in_list => self.next_in_list(now, window),
            next => next,
        }
    }

    #[cold]
    fn next_in_list(&mut self, now: Time, window: &mut Window<'_, '_>) -> Option<Handle> {
        let nic = self.machine.nics.nic_mut();
        let (next, over) = nic.list.next(now, &mut self.senders.flows, &nic.end);
        for slot in over {
            self.senders.forget(slot, window.log);
        }
        next.map(|slot| Item::Roce(slot).handle())
    }

    /// Moves flows whose rate limiters allow a packet now into the round-robin. Answers the flow that may send if it is the only
    /// one: it needs no place there.
    fn release_paced(&mut self, now: Time, window: &mut Window<'_, '_>) -> Option<Handle> {
        loop {
            let pacing = &mut self.machine.nics.nic_mut().pacing;
            if pacing.next_time() > now {
                return None;
            }
            let entry = pacing.pop()?;
            let handle = Handle::of(entry);
            let machine = &mut self.machine;
            match handle.item() {
                Item::Roce(slot) => {
                    let flow = (entry.key(), entry.time());
                    if self.senders.release(now, slot, flow, machine) {
                        return Some(handle);
                    }
                }
                Item::Tcp(slot) => self.tcp.release(now, slot, machine, window),
                Item::Replies(_) | Item::Acks(_) => unreachable!("no rate limiter holds them back"),
            }
        }
    }

    /// The flow or reply whose turn it is in the round-robin, if it may send.
    fn next_ready(&mut self, now: Time, window: &mut Window<'_, '_>) -> Option<Handle> {
        loop {
            let machine = &mut self.machine;
            let nic = machine.nics.nic_mut();
            if nic.has_link_credits {
                nic.check_credits(now, window);
            }
            let (handle, class) = nic.next_ready()?;
            let may_send = match handle.item() {
                Item::Roce(slot) => self.senders.may_send(now, slot, machine, window.log),
                Item::Tcp(slot) => self.tcp.may_send(now, slot, class, machine, window),
                Item::Replies(_) | Item::Acks(_) => true,
            };
            if may_send {
                return Some(handle);
            }
        }
    }

    /// The wire behind a NIC fails or returns.
    pub fn set_link(&mut self, now: Time, nic: PortId, up: bool) {
        let senders = &self.senders.flows;
        self.machine.at(nic, |machine| {
            let nic = machine.nics.nic_mut();
            if up {
                nic.end.busy_until = now;
                nic.set_next_of(now, senders);
                nic.wake(now);
            } else {
                nic.end.busy_until = Time::NEVER;
                nic.at = Time::NEVER;
            }
        });
    }

    /// The wire behind a NIC has another speed from the next frame on.
    pub fn set_speed(&mut self, nic: PortId, speed: LinkSpeed) {
        self.machine.nics.set_speed(nic, speed);
    }

    /// The routes at this place of the plan hold from now on. Flows that wait at a NIC for their turn or their rate limiter move to the
    /// one by which their packets leave now. Packets that have been made stay.
    #[cold]
    pub fn follow_routes(&mut self, now: Time, routes: usize, window: &mut Window<'_, '_>) {
        if !self.has_several_nics() {
            return;
        }
        let before = self.nics_of_flows(window.plan);
        self.machine.nics.routes = routes;
        let mut moved = self.nics_of_flows(window.plan);
        moved.retain(|item, nics| before[item] != *nics && !nics.is_empty());
        let machine = &mut self.machine;
        for nic in 0..machine.nics.count() {
            machine.at(nic, |machine| {
                machine.nics.nic_mut().remove(&moved);
                machine.nics.wait_until(now);
            });
        }
        for (item, nics) in moved {
            match item {
                Item::Roce(slot) => {
                    let next = self.senders.nic_of(slot, &machine.nics, window.plan);
                    let sender = &mut self.senders.flows[slot as usize];
                    machine.at(next.unwrap_or(nics[0]), |machine| {
                        machine.nics.nic_mut().add_moved(sender, slot);
                    });
                }
                Item::Tcp(slot) => {
                    let tcp = &mut self.tcp;
                    machine.at(nics[0], |machine| tcp.add_moved(now, slot, machine, window));
                }
                // They belong to no flow.
                Item::Replies(_) | Item::Acks(_) => {}
            }
        }
        for nic in 0..machine.nics.count() {
            machine.at(nic, |machine| {
                let nic = machine.nics.nic_mut();
                nic.set_next_of(now, &self.senders.flows);
                nic.wake(now);
            });
        }
    }

    /// The NICs by which packets of each flow that this host sends may leave: several, or none, if it is sprayed.
    fn nics_of_flows(&self, plan: &Plan<'_>) -> BTreeMap<Item, Vec<PortId>> {
        let nics = &self.machine.nics;
        let roce = self.senders.nics_of_flows(nics, plan);
        let roce = roce.map(|(slot, nics)| (Item::Roce(slot), nics));
        let tcp = self.tcp.senders.iter().map(|(slot, sender)| {
            let flow = (sender.flow, sender.spec.source_port);
            let nic = nics.towards(sender.spec.dst, flow, false, plan);
            (Item::Tcp(slot as u32), vec![nic])
        });
        roce.chain(tcp).collect()
    }
}
