//! Where the time of completed flows went: from what was recorded along the packets that may have ended them.

use std::cmp::Reverse;
use std::collections::HashMap;

use unpause_protocols::units::Time;

use super::ideal_fct::IdealFct;
use crate::config::Qdisc;
use crate::engine::log::FlowEnd;
use crate::outcome::delays::{Arrival, DelayRecord, Departure, Hold, QueueWait, Traces};
use crate::plan::Plan;
use crate::traffic::Transport;

/// The record of each flow that is complete and has packets that were traced, by flow.
pub fn records(plan: &Plan<'_>, traces: &Traces, flows: &[FlowEnd]) -> Vec<DelayRecord> {
    let mut ends: HashMap<u32, &Arrival> = HashMap::new();
    let complete: HashMap<u32, &FlowEnd> = flows
        .iter()
        .filter(|flow| flow.fct.is_some())
        .map(|flow| (flow.id, flow))
        .collect();
    for arrival in &traces.arrivals {
        let in_time = complete
            .get(&arrival.flow)
            .and_then(|flow| Some(flow.start + flow.fct?))
            .is_some_and(|end| arrival.at <= end);
        if !in_time {
            continue;
        }
        let last = ends.entry(arrival.flow).or_insert(arrival);
        if (arrival.at, arrival.number) > (last.at, last.number) {
            *last = arrival;
        }
    }
    let is_last = |flow: u32, number: u8, at: Time| {
        let end = ends.get(&flow);
        end.is_some_and(|end| end.number == number && at < end.at)
    };
    // Numbers repeat: the last packet of this number that left before the arrival is the one.
    let mut departures: HashMap<u32, &Departure> = HashMap::new();
    for departure in &traces.departures {
        if !is_last(departure.flow, departure.number, departure.at) {
            continue;
        }
        let last = departures.entry(departure.flow).or_insert(departure);
        if departure.at > last.at {
            *last = departure;
        }
    }
    let mut waits: HashMap<u32, Vec<&QueueWait>> = HashMap::new();
    for wait in &traces.waits {
        let began = departures
            .get(&wait.flow)
            .is_some_and(|departure| departure.at < wait.joined);
        if began && is_last(wait.flow, wait.number, wait.left) {
            waits.entry(wait.flow).or_default().push(wait);
        }
    }
    let mut ideal = IdealFct::default();
    let mut records: Vec<DelayRecord> = departures
        .iter()
        .filter_map(|(id, departure)| {
            let flow = complete.get(id)?;
            let path = waits.get(id).map_or(&[][..], Vec::as_slice);
            let packet = (*departure, *ends.get(id)?, path);
            record(plan, flow, packet, &mut ideal)
        })
        .collect();
    records.sort_unstable_by_key(|record| record.flow);
    records
}

/// The record of a flow, from the packet that ended it; `None` if its path is not known.
fn record(
    plan: &Plan<'_>,
    flow: &FlowEnd,
    (departure, arrival, waits): (&Departure, &Arrival, &[&QueueWait]),
    ideal: &mut IdealFct,
) -> Option<DelayRecord> {
    let fct = flow.fct?;
    let alone = ideal.of(flow, plan)?;
    let of_packet = ideal.of_frame(flow, departure.wire_bytes.into(), plan)?;
    let held = |hold: Hold| departure.held[hold as usize];
    let mut record = DelayRecord {
        flow: flow.id,
        turn: held(Hold::Turn),
        rate: held(Hold::Rate),
        window: held(Hold::Window),
        pause: held(Hold::Pause),
        credit: held(Hold::Credit),
        loss: held(Hold::Nack) + held(Hold::Trim) + held(Hold::Resend),
        timeout: held(Hold::Timeout),
        ..DelayRecord::default()
    };
    let mut in_queues = Time::ZERO;
    let mut paused = Time::ZERO;
    for wait in waits {
        let time = wait.left - wait.joined;
        in_queues += time;
        paused += wait.paused;
        let behind = time - wait.paused;
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
    let on_the_way = arrival.at - departure.at;
    let rest = on_the_way.saturating_sub(of_packet + in_queues);
    let fifo = flow.transport == Transport::Tcp && plan.config.host.tcp.qdisc == Qdisc::Pfifo;
    if fifo {
        record.turn += rest;
    } else {
        record.switches = rest;
    }
    let after = (flow.start + fct).saturating_sub(arrival.at);
    record.receiver = after.saturating_sub(flow.extra_delay);
    record.pause += paused;
    record.settle(fct.saturating_sub(alone));
    record.share_own_queue(paused);
    if departure.again {
        // The flow alone would have ended with its last packet, sent once.
        record.loss += std::mem::take(&mut record.other);
    }
    Some(record)
}
