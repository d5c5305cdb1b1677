//! What flows of a host wait for while its NIC is paused. Nothing here runs unless it is asked for.

use unpause_protocols::units::{Rate, Time};

use super::state::Host;
use super::tcp::TCP;
use crate::causes::{Expiry, Wait};
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
            let sent = plan.pause_sent(now, self.id, 0);
            self.stopped_by[usize::from(class)] = sent;
            let priority = plan.classes.priority(class);
            let last = self.expiries.iter_mut().rfind(|it| it.priority == priority);
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
            port: 0,
            priority: plan.classes.priority(class),
            sent: self.stopped_by[usize::from(class)],
            next_sent: None,
        });
    }

    /// `class` has been paused since `since` and may go on. Flows that are in turn would have shared the link;
    /// none is counted for more than its own rate allows.
    #[cold]
    #[inline(never)]
    pub(super) fn note_go(&mut self, now: Time, class: u8, since: Option<Time>, plan: &Plan<'_>) {
        let Some(since) = since.filter(|since| *since < now) else {
            return;
        };
        let sent = self.stopped_by[usize::from(class)];
        let ready = &self.classes[usize::from(class)].ready;
        let each = self.transmitter.speed.bytes_in(now - since) / ready.len().max(1) as u64;
        for &slot in ready {
            let (flow, start, bytes) = if slot & TCP != 0 {
                let Some(flow) = self.tcp.flow_of(slot & !TCP) else {
                    continue;
                };
                (flow, since, each)
            } else {
                let Some(sender) = self.senders.get(slot as usize) else {
                    continue;
                };
                let start = sender.next_start.max(since).min(now);
                let allowed = bytes_in(sender.rate(), now - start);
                (sender.flow, start, each.min(allowed))
            };
            self.waits.push(Wait {
                start,
                end: now,
                node: self.id,
                port: 0,
                priority: plan.classes.priority(class),
                flow,
                bytes,
                sent,
            });
        }
    }
}

/// Bytes that go in `span` at `rate`.
fn bytes_in(rate: Rate, span: Time) -> u64 {
    let bits = u128::from(rate.as_bps()) * u128::from(span.as_ps()) / 1_000_000_000_000;
    (bits / 8) as u64
}
