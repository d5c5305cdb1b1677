//! Where the time of flows and messages went: from what was recorded along the packets that may have ended them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use unpause_protocols::units::Time;

use super::ideal_fct::IdealFct;
use crate::config::Qdisc;
use crate::engine::log::FlowEnd;
use crate::outcome::delays::{
    Arrival, DelayRecord, Departure, Held, Hold, QueueWait, Rest, Traces, total,
};
use crate::outcome::results::{Awaits, FlowRecord, MessageRecord};
use crate::plan::Plan;
use crate::traffic::Transport;

/// What is recorded of one flow, each in order of time.
struct Own<'a> {
    departures: &'a [Departure],
    arrivals: &'a [Arrival],
    waits: &'a [QueueWait],
}

/// A packet that was traced from its sender on.
struct Traced<'a> {
    departure: &'a Departure,
    arrival: Option<&'a Arrival>,
    waits: Vec<&'a QueueWait>,
}

/// The records of a run.
struct Records<'a> {
    plan: &'a Plan<'a>,
    traces: &'a Traces,
    ideal: IdealFct,
    /// When the run ended.
    end: Time,
    /// Packets were lost in it.
    loses: bool,
}

/// The record of each flow with a size and of each message that were traced, by flow and message. Packets were lost in the run if it
/// `loses`.
pub fn records(
    plan: &Plan<'_>,
    mut traces: Traces,
    (ends, flows): (&[FlowEnd], &[FlowRecord]),
    messages: &[MessageRecord],
    (end, loses): (Time, bool),
) -> Vec<DelayRecord> {
    if !plan.config.probes.causes {
        return Vec::new();
    }
    traces
        .departures
        .sort_unstable_by_key(|it| (it.flow, it.at, it.number));
    traces
        .arrivals
        .sort_unstable_by_key(|it| (it.flow, it.at, it.number));
    traces
        .waits
        .sort_unstable_by_key(|it| (it.flow, it.joined, it.number));
    let postings: HashMap<(u32, u32), Held> = traces
        .postings
        .iter()
        .map(|it| ((it.flow, it.message), traces.held(it.held)))
        .collect();
    let rests: HashMap<u32, &Rest> = traces.rests.iter().map(|it| (it.flow, it)).collect();
    let ends: HashMap<u32, &FlowEnd> = ends.iter().map(|it| (it.id, it)).collect();
    let mut records = Records {
        plan,
        traces: &traces,
        ideal: IdealFct::default(),
        end,
        loses,
    };
    let mut found = Vec::new();
    for flow in flows.iter().filter(|flow| flow.size_bytes.is_some()) {
        let own = own(&traces, flow.id);
        let Some(known) = ends.get(&flow.id) else {
            continue;
        };
        found.extend(match flow.fct {
            Some(_) => records.complete(known, &own),
            None => {
                let rest = rests.get(&flow.id).copied();
                Some(records.unfinished((known, flow), rest, &own))
            }
        });
    }
    for message in messages {
        let own = own(&traces, message.flow);
        let before = postings.get(&(message.flow, message.number));
        if let (Some(known), Some(before)) = (ends.get(&message.flow), before) {
            found.extend(records.message(known, (message, before), &own));
        }
    }
    found.sort_unstable_by_key(|record| (record.flow, record.message));
    found
}

/// What was recorded of a flow.
fn own(traces: &Traces, flow: u32) -> Own<'_> {
    Own {
        departures: &traces.departures[range(&traces.departures, flow, |it| it.flow)],
        arrivals: &traces.arrivals[range(&traces.arrivals, flow, |it| it.flow)],
        waits: &traces.waits[range(&traces.waits, flow, |it| it.flow)],
    }
}

/// The places of a flow in what is sorted by flow.
fn range<T>(all: &[T], flow: u32, of: impl Fn(&T) -> u32) -> Range<usize> {
    let start = all.partition_point(|it| of(it) < flow);
    start..start + all[start..].partition_point(|it| of(it) == flow)
}

impl<'a> Own<'a> {
    /// The last packet, of a message if one is named, that arrived until `end`.
    fn last(&self, end: Time, message: Option<u32>) -> Option<Traced<'a>> {
        let until = self.arrivals.partition_point(|it| it.at <= end);
        self.arrivals[..until].iter().rev().find_map(|arrival| {
            // Numbers repeat: the last packet of this number that left before the arrival is the one.
            let left = self.departures.partition_point(|it| it.at < arrival.at);
            let before = self.departures[..left].iter().rev();
            let departure = before.into_iter().find(|it| it.number == arrival.number)?;
            let is_own = message.is_none_or(|message| departure.message == message);
            is_own.then(|| self.traced(departure, Some(arrival)))
        })
    }

    /// The packet that left last, which may not have arrived.
    fn last_sent(&self) -> Option<Traced<'a>> {
        let departure = self.departures.last()?;
        let mut late = self.arrivals.iter().filter(|it| it.at > departure.at);
        let arrival = late.find(|it| it.number == departure.number);
        Some(self.traced(departure, arrival))
    }

    /// A packet with its waits.
    fn traced(&self, departure: &'a Departure, arrival: Option<&'a Arrival>) -> Traced<'a> {
        let from = self.waits.partition_point(|it| it.joined <= departure.at);
        let waits = self.waits[from..].iter();
        let until = arrival.map_or(Time::NEVER, |arrival| arrival.at);
        let is_own = |wait: &&QueueWait| wait.number == departure.number && wait.left < until;
        Traced {
            departure,
            arrival,
            waits: waits.filter(is_own).collect(),
        }
    }
}

/// Adds the waits of a packet in queues: for how long in all, and how much of that queues were paused.
fn add_waits(record: &mut DelayRecord, waits: &[&QueueWait]) -> (Time, Time) {
    let (mut in_queues, mut paused) = (Time::ZERO, Time::ZERO);
    for wait in waits {
        let time = wait.left - wait.joined;
        in_queues += time;
        paused += wait.paused;
        record.retry += wait.resent;
        let behind = time - wait.paused - wait.resent;
        let own = u128::from(behind.as_ps()) * u128::from(wait.own_bytes)
            / u128::from(wait.ahead_bytes.max(1));
        let own = Time::from_ps(own as u64);
        record.own_queue += own;
        record.queue += behind - own;
        // Of equal ones, the first on its way.
        let longest = record.longest.as_ref();
        let key = |wait: &QueueWait| (wait.left - wait.joined, Reverse(wait.joined));
        if longest.is_none_or(|longest| key(wait) > key(longest)) {
            record.longest = Some(**wait);
        }
    }
    record.pause += paused;
    (in_queues, paused)
}

impl Records<'_> {
    /// The record of a flow that is complete; `None` if its path is not known.
    fn complete(&mut self, flow: &FlowEnd, own: &Own<'_>) -> Option<DelayRecord> {
        let end = flow.start + flow.fct?;
        let more = flow.fct?.saturating_sub(self.ideal.of(flow, self.plan)?);
        let last = own.last(end, None)?;
        let held = self.traces.held(last.departure.held);
        let mut record = DelayRecord::at_sender(flow.id, &held);
        self.add_way(&mut record, flow, (&last, end), more);
        Some(record)
    }

    /// The record of a message that was posted when its connection had spent `before`.
    fn message(
        &mut self,
        connection: &FlowEnd,
        (message, before): (&MessageRecord, &Held),
        own: &Own<'_>,
    ) -> Option<DelayRecord> {
        let more = (message.end - message.start).saturating_sub(message.ideal?);
        let last = own.last(message.end, Some(message.number))?;
        let mut held = self.traces.held(last.departure.held);
        for (time, before) in held.iter_mut().zip(before) {
            *time = time.saturating_sub(*before);
        }
        let mut record = DelayRecord::at_sender(connection.id, &held);
        record.message = Some(message.number);
        // Those of earlier messages: its own count as time that it takes alone.
        let sent = held[Hold::Send as usize];
        self.add_way(&mut record, connection, (&last, message.end), more);
        let others = std::mem::take(&mut record.other);
        record.turn += others.min(sent);
        record.other = others.saturating_sub(sent);
        Some(record)
    }

    /// Adds the way of the last packet of a flow or message, which was there at `end`. Makes the sum of the parts `more`.
    fn add_way(
        &mut self,
        record: &mut DelayRecord,
        flow: &FlowEnd,
        (last, end): (&Traced<'_>, Time),
        more: Time,
    ) {
        let departure = last.departure;
        let arrival = last.arrival.map_or(end, |arrival| arrival.at);
        let alone = self.frame_alone(flow, departure);
        let (in_queues, paused) = add_waits(record, &last.waits);
        let rest = (arrival - departure.at).saturating_sub(alone + in_queues);
        self.add_rest(record, flow, rest);
        let after = end.saturating_sub(arrival);
        record.receiver = after.saturating_sub(flow.extra_delay);
        record.settle(more);
        record.share_own_queue(paused);
        if self.sends_again() {
            // Others of its own flow waited for that before it joined them.
            record.retry += std::mem::take(&mut record.own_queue);
        }
        if departure.again {
            // The flow alone would have ended with its last packet, sent once.
            record.loss += std::mem::take(&mut record.other);
        }
    }

    /// How long a packet takes alone.
    fn frame_alone(&mut self, flow: &FlowEnd, departure: &Departure) -> Time {
        let bytes = departure.wire_bytes.into();
        let takes = self.ideal.of_frame(flow, bytes, self.plan);
        takes.unwrap_or_default()
    }

    /// Whether links send frames again.
    fn sends_again(&self) -> bool {
        let config = self.plan.config;
        config.switch.retry.is_some() && !config.events.errors.is_empty()
    }

    /// Adds the time on the way that no queue explains.
    fn add_rest(&self, record: &mut DelayRecord, flow: &FlowEnd, rest: Time) {
        let fifo = self.plan.config.host.tcp.qdisc == Qdisc::Pfifo;
        if flow.transport == Transport::Tcp && fifo {
            record.turn += rest;
        } else if self.sends_again() {
            record.retry += rest;
        } else {
            record.switches += rest;
        }
    }

    /// The record of a flow that did not finish. Its sender knows the rest of it, unless it has nothing to do with it any more.
    fn unfinished(
        &mut self,
        (known, flow): (&FlowEnd, &FlowRecord),
        rest: Option<&Rest>,
        own: &Own<'_>,
    ) -> DelayRecord {
        let so_far = self.end.saturating_sub(flow.start);
        let last = own.last_sent();
        let (held, is_sent) = match (rest, &last) {
            (Some(rest), _) => (self.traces.held(rest.held), rest.sent.is_some()),
            (None, Some(last)) => (self.traces.held(last.departure.held), true),
            // Its sender has not begun with it.
            (None, None) => (Held::default(), false),
        };
        let mut record = DelayRecord::at_sender(flow.id, &held);
        let mut sending = held[Hold::Send as usize];
        if is_sent {
            let since = so_far.saturating_sub(total(&held));
            sending += self.on_the_way(&mut record, known, last.as_ref(), since);
        } else if let Some(stuck) = flow.stuck {
            let waited = record.window.min(self.end.saturating_sub(stuck.since));
            let part = match stuck.awaits {
                // It waits for an ACK that does not come.
                Awaits::Ack | Awaits::Timer { .. } if self.loses => Some(&mut record.timeout),
                Awaits::Credit => Some(&mut record.credit),
                _ => None,
            };
            if let Some(part) = part {
                *part += waited;
                record.window = record.window - waited;
            }
        }
        record.settle(so_far.saturating_sub(sending));
        record.sending = Some(so_far - record.total());
        record
    }

    /// Adds the time `since` a flow has sent all, with its last packet; answers how long that was on links.
    fn on_the_way(
        &mut self,
        record: &mut DelayRecord,
        flow: &FlowEnd,
        last: Option<&Traced<'_>>,
        since: Time,
    ) -> Time {
        let Some(last) = last else {
            record.timeout += since;
            return Time::ZERO;
        };
        let (in_queues, _) = add_waits(record, &last.waits);
        let left = since.saturating_sub(in_queues);
        let flight = self.frame_alone(flow, last.departure).min(left);
        let left = left - flight;
        let is_queued = last.waits.last().is_some_and(|wait| wait.left == self.end);
        if is_queued || last.arrival.is_none() && !self.loses {
            self.add_rest(record, flow, left);
        } else if !self.loses {
            record.receiver += left;
        } else if flow.transport == Transport::Udp {
            record.loss += left;
        } else {
            record.timeout += left;
        }
        flight
    }
}
