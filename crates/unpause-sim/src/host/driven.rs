//! A host of a run that is driven: when flows may end here, and an instant of it up to where flows start.
//!
//! Flows end when a packet arrives, or when one does that was held back, as a timer: before flows start that start at the
//! same instant. So whoever drives the run can be told of the end of a flow, and start another one there and then.

use std::collections::BTreeSet;

use unpause_protocols::units::Time;

use super::flow::gates::Waiting;
use super::state::Host;
use crate::engine::window::Window;
use crate::fabric::NodeId;
use crate::fabric::packet::{ALL, Kind, Packet};
use crate::traffic::Ending;

impl Host {
    /// Adds to `found` when flows may end here before `until`, for which whoever drives the run waits: with `arriving`,
    /// all that comes before then. A host that [holds back](Self::holds_back) packets knows only the first such instant.
    pub fn ends(&self, arriving: &[Packet], until: Time, found: &mut BTreeSet<(Time, NodeId)>) {
        let Some(waiting) = &self.waiting else {
            return;
        };
        if waiting.watched.is_empty() {
            return;
        }
        if self.delays {
            let first = arriving.first().map_or(Time::NEVER, |packet| packet.time);
            let next = self.timers.next_time().min(first);
            if next < until {
                found.insert((next, self.id));
            }
            return;
        }
        let due = arriving.partition_point(|packet| packet.time < until);
        let arriving = &arriving[..due];
        let segments = arriving.iter().filter(|it| it.kind == Kind::Segment);
        let bytes = segments.map(|packet| u64::from(packet.bytes)).sum();
        let packets = arriving.len() as u64;
        let may_end = |packet: &&Packet| self.may_end(packet, (bytes, packets), waiting);
        let ends = arriving.iter().filter(may_end);
        found.extend(ends.map(|packet| (packet.time, self.id)));
    }

    /// True if packets may be held back here. For how long is known only when they arrive.
    pub fn holds_back(&self) -> bool {
        self.delays
    }

    /// True if the flow of `packet` may end when that arrives, with this many bytes of segments that arrive about then, and so
    /// many packets in total.
    fn may_end(&self, packet: &Packet, (bytes, arriving): (u64, u64), waiting: &Waiting) -> bool {
        let (flow, slot) = (packet.flow, packet.slot as usize);
        let (may, ending) = match packet.kind {
            Kind::Data => {
                let receiver = self.receivers.get(slot).filter(|it| it.flow == flow);
                let ends = receiver.is_some_and(|it| match &self.selective {
                    None => it.recovery.ends_with(packet.seq),
                    Some(selective) => selective
                        .missing(slot, &it.recovery)
                        .is_some_and(|missing| u64::from(missing) <= arriving),
                });
                (ends, Ending::Delivered)
            }
            Kind::Datagram => {
                let receiver = self.receivers.get(slot).filter(|it| it.flow == flow);
                let ends = receiver.is_some_and(|it| u64::from(it.recovery.missing()) <= arriving);
                (ends, Ending::Delivered)
            }
            Kind::Ack => {
                let sender = self.senders.get(slot).filter(|it| it.flow == flow);
                let ends = sender.is_some_and(|it| it.ends_at(packet.seq));
                (ends, Ending::Acknowledged)
            }
            Kind::Segment => {
                let receiver = self.tcp.receivers.get(slot).filter(|it| it.flow == flow);
                let ends = receiver.is_some_and(|it| it.may_complete(bytes));
                (ends, Ending::Delivered)
            }
            Kind::SynAck => (true, Ending::Acknowledged),
            Kind::TcpAck => {
                let receiver = self.tcp.receivers.get(slot).filter(|it| it.flow == flow);
                if receiver.is_some_and(|it| it.is_complete()) {
                    return waiting.watched.contains_key(&(flow, Ending::Delivered));
                }
                let sender = self.tcp.senders.get(slot).filter(|it| it.flow == flow);
                let ends = sender.is_some_and(|it| packet.is(ALL) || it.ends_at(packet.seq));
                (ends, Ending::Acknowledged)
            }
            _ => return false,
        };
        may && waiting.watched.contains_key(&(flow, ending))
    }

    /// Executes what is due at `now` before flows start: timers and arrivals. There is nothing before.
    pub fn run_instant(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let several = self.has_several_nics();
        if several {
            window.inboxes.sort(self.id);
        }
        loop {
            let timer = self.timers.next_time();
            debug_assert!(
                timer >= now && window.inboxes.head(self.id) >= now,
                "host {} was to be here before",
                self.id
            );
            if timer == now {
                window.log.counts.events += 1;
                if several {
                    self.turn_to_timer(window.plan);
                }
                self.on_timer(now, window);
            } else if window.inboxes.head(self.id) == now {
                window.log.counts.events += 1;
                let packet = window.inboxes.pop(self.id);
                if several {
                    self.turn_to_packet(&packet, window.plan);
                }
                self.on_arrival(now, &packet, window);
            } else {
                return window.inboxes.close(self.id);
            }
        }
    }
}
