//! What flows of a host wait for while its NIC is paused. Nothing here runs unless it is asked for.

use unpause_protocols::units::{Rate, Time};

use super::flow::sender::Sender;
use super::nic::item::Item;
use super::state::Host;
use super::tcp;
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
            self.note_go(now, class, since, plan);
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
    /// none is counted for more than it had, nor for more than its own rate, its source or its window allows.
    #[cold]
    #[inline(never)]
    pub(super) fn note_go(&mut self, now: Time, class: u8, since: Option<Time>, plan: &Plan<'_>) {
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
            let (place, waiting) = match handle.item() {
                Item::Roce(slot) => {
                    let sender = self.senders.get(slot as usize);
                    (2 * slot as usize, sender.map(Waiting::of))
                }
                Item::Tcp(slot) => {
                    let sender = self.tcp.senders.get(slot as usize);
                    let found = sender.map(|sender| Waiting::of_tcp(sender, plan));
                    (2 * slot as usize + 1, found)
                }
                Item::Replies(_) | Item::Acks(_) => continue,
            };
            if let Some(waiting) = waiting {
                waiting.note(held, place, (since, now, each));
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

/// A flow that is in turn at a paused NIC.
struct Waiting {
    flow: u32,
    /// From when its rate limiter allows a packet.
    start: Time,
    /// When it is stopped.
    stop: Time,
    /// What it could send at, if not at the rate of the link.
    rate: Option<Rate>,
    /// Bytes on the wire that it had left.
    left: u64,
}

impl Waiting {
    fn of(sender: &Sender) -> Self {
        let packet = u64::from(sender.packet_bytes);
        let rates = [
            Some(sender.rate()),
            sender.offered,
            sender.window.and_then(|it| it.rate(sender.rate(), packet)),
        ];
        Self {
            flow: sender.flow,
            start: allowed_since(sender),
            stop: sender.stop,
            rate: rates.into_iter().flatten().min(),
            left: u64::from(sender.recovery.left()) * packet,
        }
    }

    /// A TCP connection. Its window would have grown, and is no bound.
    fn of_tcp(sender: &tcp::sender::Sender, plan: &Plan<'_>) -> Self {
        Self {
            flow: sender.flow,
            start: Time::ZERO,
            stop: sender.spec.stop,
            rate: sender.spec.rate_limit,
            left: sender.left(plan),
        }
    }

    /// Notes that it waited in a pause in which `each` flow could have sent that much.
    fn note(&self, held: &mut HeldBack, place: usize, (since, now, each): (Time, Time, u64)) {
        if self.start >= now {
            return;
        }
        let start = self.start.max(since);
        let allowed_in = |span| self.rate.map_or(u64::MAX, |rate| bytes_in(rate, span));
        let most = each.min(allowed_in(now - start));
        let bytes = self.until_stop(most, start, now).min(self.left);
        match start == since && bytes == most {
            true => held.whole(place, self.flow, self.rate),
            false => held.part(self.flow, start, bytes),
        }
    }

    /// Of `bytes` that it could have sent from `start` to `end`, those before it is stopped.
    fn until_stop(&self, bytes: u64, start: Time, end: Time) -> u64 {
        if self.stop >= end {
            return bytes;
        }
        let before = self.stop.saturating_sub(start).as_ps();
        let part = u128::from(bytes) * u128::from(before) / u128::from((end - start).as_ps());
        part as u64
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
