//! What flows of a host wait for while its NIC is paused. Nothing here runs unless it is asked for.

use unpause_protocols::units::Time;

use super::flow::sender::Sender;
use super::nic::item::Item;
use super::state::Host;
use crate::outcome::causes::Expiry;
use crate::outcome::held_back::{Egress, HeldBack, Pause, bytes_in};
use crate::plan::Plan;

impl Host {
    /// A PFC frame for `class` has taken effect, which had been paused since `since`, or not.
    #[cold]
    #[inline(never)]
    pub(super) fn note_frame(
        &mut self,
        now: Time,
        class: u8,
        pause: Time,
        since: Option<Time>,
        plan: &Plan<'_>,
    ) {
        if pause > Time::ZERO {
            let sent = plan.pause_sent(now, self.id, self.number);
            self.nic.stopped_by[usize::from(class)] = sent;
            let priority = plan.classes.priority(class);
            let place = (self.number, priority);
            let last = self
                .expiries
                .iter_mut()
                .rfind(|it| (it.port, it.priority) == place);
            if let Some(last) = last {
                last.next_sent.get_or_insert(sent);
            }
        } else {
            self.note_go(now, class, since);
        }
    }

    /// The PAUSE that stopped `class` has run out.
    #[cold]
    #[inline(never)]
    pub(super) fn note_expiry(&mut self, now: Time, class: u8, plan: &Plan<'_>) {
        self.expiries.push(Expiry {
            time: now,
            node: self.id,
            port: self.number,
            priority: plan.classes.priority(class),
            sent: self.nic.stopped_by[usize::from(class)],
            next_sent: None,
        });
    }

    /// `class` has been paused since `since` and may go on. Flows that are in turn would have shared the link;
    /// none is counted for more than its own rate allows.
    #[cold]
    #[inline(never)]
    pub(super) fn note_go(&mut self, now: Time, class: u8, since: Option<Time>) {
        let Some(since) = since.filter(|since| *since < now) else {
            return;
        };
        let sent = self.nic.stopped_by[usize::from(class)];
        let ready = &self.nic.classes[usize::from(class)].ready;
        let each = self.nic.end.transmitter.speed.bytes_in(now - since) / ready.len().max(1) as u64;
        if self.nic.waits.is_empty() {
            self.nic
                .waits
                .resize_with(self.nic.classes.len(), HeldBack::default);
        }
        let held = &mut self.nic.waits[usize::from(class)];
        held.on_go(Pause {
            start: since,
            end: now,
            sent,
            each,
        });
        for handle in ready {
            let slot = match handle.item() {
                Item::Roce(slot) => slot,
                Item::Tcp(slot) => {
                    if let Some(flow) = self.tcp.flow_of(slot) {
                        held.whole(2 * slot as usize + 1, flow, None);
                    }
                    continue;
                }
                Item::Replies(_) | Item::Acks(_) => continue,
            };
            let place = 2 * slot as usize;
            let Some(sender) = self.senders.get(slot as usize) else {
                continue;
            };
            let start = allowed_since(sender);
            if start <= since {
                held.whole(place, sender.flow, Some(sender.rate()));
            } else if start < now {
                let allowed = bytes_in(sender.rate(), now - start);
                held.part(sender.flow, start, each.min(allowed));
            }
        }
    }

    /// What flows have waited for.
    pub(super) fn take_waits(&mut self, plan: &Plan<'_>) -> impl Iterator<Item = Egress> {
        let (node, port, classes) = (self.id, self.number, &plan.classes);
        let held = std::mem::take(&mut self.nic.waits).into_iter().zip(0..);
        held.filter_map(move |(held, class)| held.of(node, port, classes.priority(class)))
    }
}

/// Since when the rate limiter has allowed a flow's next packet. Each ACK moves [`Sender::next_start`] on to when it
/// came, which counts here only if it may have opened a window.
fn allowed_since(sender: &Sender) -> Time {
    if sender.windowed {
        return sender.next_start;
    }
    let paced = match sender.burst_over && sender.burst_bytes > 0 {
        true => sender.burst_start.saturating_add(sender.spacing()),
        false => Time::ZERO,
    };
    paced.max(sender.available)
}
