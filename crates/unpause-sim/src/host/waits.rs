//! The time that flows of a host wait while its NIC is paused. Used only where causes are recorded.

use slab::Slab;
use unpause_protocols::units::{Rate, Time};

use super::flow::sender::Sender;
use super::nic::Nic;
use super::nic::item::Item;
use super::tcp;
use crate::outcome::held_back::{Egress, HeldBack, Pause, bytes_in};
use crate::plan::Plan;

/// The flows that a host sends, by RoCE and by TCP.
type Flows<'a> = (&'a Slab<Sender>, &'a Slab<tcp::sender::Sender>);

/// `class` of a NIC was paused from `since` to `now`, and resumes. Flows that are in turn would have shared the link; none is counted
/// for more than it had, nor for more than its own rate, its source or its window allows.
pub(super) fn note_go(
    nic: &mut Nic,
    class: u8,
    (since, now): (Time, Time),
    (senders, tcp): Flows<'_>,
    plan: &Plan<'_>,
) {
    let sent = nic.stopped_by[usize::from(class)];
    let ready = &nic.classes[usize::from(class)].ready;
    let each = nic.end.transmitter.speed.bytes_in(now - since) / ready.len().max(1) as u64;
    if nic.waits.is_empty() {
        nic.waits.resize_with(nic.classes.len(), HeldBack::default);
    }
    let held = &mut nic.waits[usize::from(class)];
    held.on_go(Pause {
        start: since,
        end: now,
        sent,
        each,
    });
    for handle in ready {
        let (place, waiting) = match handle.item() {
            Item::Roce(slot) => {
                let sender = senders.get(slot as usize);
                (2 * slot as usize, sender.map(Waiting::of))
            }
            Item::Tcp(slot) => {
                let sender = tcp.get(slot as usize);
                let waiting = sender.map(|sender| Waiting::of_tcp(sender, plan));
                (2 * slot as usize + 1, waiting)
            }
            Item::Replies(_) | Item::Acks(_) => continue,
        };
        if let Some(waiting) = waiting {
            waiting.note(held, place, (since, now, each));
        }
    }
}

/// Takes the records of the pauses of a NIC.
pub(super) fn take_waits(nic: &mut Nic, plan: &Plan<'_>) -> impl Iterator<Item = Egress> {
    let ((node, port), classes) = (plan.ports.place(nic.port), &plan.classes);
    let held = std::mem::take(&mut nic.waits).into_iter().zip(0..);
    held.filter_map(move |(held, class)| held.of(node, port, classes.priority(class)))
}

/// A flow that is in turn at a paused NIC.
struct Waiting {
    flow: u32,
    /// When its rate limiter begins to allow a packet.
    start: Time,
    /// When its source stops it.
    stop: Time,
    /// The rate at which it could send, if not that of the link.
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
            sender
                .window
                .and_then(|window| window.rate(sender.rate(), packet)),
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

    /// Notes that it waited in a pause in which each flow could have sent `each` bytes.
    fn note(&self, held: &mut HeldBack, place: usize, (since, now, each): (Time, Time, u64)) {
        if self.start >= now {
            return;
        }
        let start = self.start.max(since);
        let allowed_in = |span| self.rate.map_or(u64::MAX, |rate| bytes_in(rate, span));
        let most = each.min(allowed_in(now - start));
        let bytes = self.until_stop(most, start, now).min(self.left);
        if start == since && bytes == most {
            held.whole(place, self.flow, self.rate);
        } else {
            held.part(self.flow, start, bytes);
        }
    }

    /// The part of `bytes`, which it could have sent from `start` to `end`, before it is stopped.
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
    let paced = if sender.burst_over && sender.burst_bytes > 0 {
        sender.burst_start.saturating_add(sender.spacing())
    } else {
        Time::ZERO
    };
    paced.max(sender.available)
}
