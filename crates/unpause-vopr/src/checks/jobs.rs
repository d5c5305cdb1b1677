//! Jobs: messages come in order and in time, and ranks go on when they may.

use std::collections::BTreeMap;

use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::jobs::{
    Completion, CriticalPaths, MessageRecord, Over, RankIteration, SegmentKind,
};
use unpause_sim::results::{PacketKind, PacketRecord, Results, flow};

use super::facts::Answer;

/// A job fails when a connection of one of its ranks gives up. From when the others stop, no rank ends an iteration, no message is
/// posted, and no host sends data of the job.
pub fn failures(config: &Config, results: &Results) -> Answer {
    for failure in &results.job_failures {
        let flow = flow(&results.flows, failure.flow);
        if flow.is_none_or(|flow| flow.gave_up_at != Some(failure.at)) {
            return Err(format!("no connection gave up: {failure:?}"));
        }
        let own = |entry: u16| entry == failure.entry;
        let iteration = |it: &&RankIteration| own(it.entry) && it.end > failure.stops;
        if let Some(it) = results.rank_iterations.iter().find(iteration) {
            return Err(format!("{failure:?}, but later {it:?}"));
        }
        let message = |it: &&MessageRecord| own(it.entry) && it.start > failure.stops;
        if let Some(it) = results.messages.iter().find(message) {
            return Err(format!("{failure:?}, but later {it:?}"));
        }
        // Links with retry send packets again.
        let sent = |it: &&PacketRecord| {
            it.kind == PacketKind::Data
                && it.node == it.src
                && it.time > failure.stops
                && config.switch.retry.is_none()
                && self::flow(&results.flows, it.flow).is_some_and(|flow| own(flow.group))
        };
        if let Some(it) = results.packets.iter().find(sent) {
            return Err(format!("{failure:?}, but later {it:?}"));
        }
    }
    let gave_up = results.flows.iter().filter(|flow| flow.gave_up);
    for flow in gave_up {
        let is_job = config.jobs.iter().any(|job| job.entry == flow.group);
        let fails = results.job_failures.iter().any(|it| it.entry == flow.group);
        if is_job && !fails {
            return Err(format!("its job goes on: {flow:?}"));
        }
    }
    Ok(())
}

/// Messages of a connection come one after the other, no sooner than they were sent, and are all that it has delivered.
pub fn messages(config: &Config, results: &Results) -> Answer {
    let mut by_connection: BTreeMap<u32, Vec<&MessageRecord>> = BTreeMap::new();
    for message in &results.messages {
        by_connection.entry(message.flow).or_default().push(message);
    }
    for flow in &results.flows {
        let job = config.jobs.iter().find(|job| job.entry == flow.group);
        let Some(job) = job.filter(|job| job.records_messages) else {
            continue;
        };
        let own = by_connection.remove(&flow.id).unwrap_or_default();
        let bytes: u64 = own.iter().map(|it| it.bytes).sum();
        if bytes > flow.delivered_bytes || flow.size_bytes.is_some() {
            return Err(format!("messages have {bytes} B: {flow:?}"));
        }
        for (number, message) in own.iter().enumerate() {
            let ends = (job.host(message.from), job.host(message.to));
            if message.number as usize != number || ends != (flow.src, flow.dst) {
                return Err(format!("no message {number} of {flow:?}: {message:?}"));
            }
        }
        if let Some(pair) = own
            .windows(2)
            .find(|window| window[0].end > window[1].end || window[0].start > window[1].start)
        {
            return Err(format!("out of order: {pair:?}"));
        }
        if let Some(message) = own.iter().find(|it| it.end <= it.start) {
            return Err(format!("sooner than sent: {message:?}"));
        }
        let waits = job.completion == Completion::Acknowledged;
        // One of its own connection may wait for others.
        let may_wait = waits || job.over == Over::Messages;
        let fits = |it: &&MessageRecord| {
            if it.received > it.end {
                may_wait
            } else {
                it.received == it.end && !waits
            }
        };
        if let Some(message) = own.iter().copied().find(|it| !fits(it)) {
            return Err(format!("counts at another time: {message:?}"));
        }
        if job.over == Over::Messages && own.len() > 1 {
            return Err(format!("{} messages over {flow:?}", own.len()));
        }
    }
    match by_connection.into_values().flatten().next() {
        Some(message) => Err(format!("of no connection: {message:?}")),
        None => Ok(()),
    }
}

/// Ranks run through their iterations one after the other, each no sooner than it could have computed, and when all
/// messages of it have come.
pub fn ranks(config: &Config, results: &Results) -> Answer {
    let mut before: BTreeMap<(u16, u32), &RankIteration> = BTreeMap::new();
    let mut last: BTreeMap<(u16, u32, u32), Time> = BTreeMap::new();
    for it in &results.messages {
        let end = last.entry((it.entry, it.iteration, it.to)).or_default();
        *end = (*end).max(it.received);
    }
    for it in &results.rank_iterations {
        let job = config.jobs.iter().find(|job| job.entry == it.entry);
        let start = job.map_or(Time::NEVER, |job| job.start);
        let (number, expected) = match before.insert((it.entry, it.rank), it) {
            Some(before) => (before.iteration + 1, before.end),
            None => (0, start),
        };
        if it.iteration != number || it.start != expected {
            return Err(format!("expected number {number} at {expected}: {it:?}"));
        }
        if it.end < it.start + it.computed {
            return Err(format!("sooner than computed: {it:?}"));
        }
        let came = last.get(&(it.entry, it.iteration, it.rank));
        if came.is_some_and(|came| *came > it.end) {
            return Err(format!("a message came after that: {it:?}"));
        }
    }
    Ok(())
}

/// The critical path of each iteration leads from its beginning to its end without a gap, and each message on it ends when it came.
pub fn critical(config: &Config, results: &Results) -> Answer {
    let mut iterations: BTreeMap<(u16, u32), Vec<&RankIteration>> = BTreeMap::new();
    for it in &results.rank_iterations {
        let key = (it.entry, it.iteration);
        iterations.entry(key).or_default().push(it);
    }
    for job in &config.jobs {
        let (ranks, messages) = (&results.rank_iterations, &results.messages);
        let Some(paths) = CriticalPaths::new(config.seed, job, ranks, messages) else {
            continue;
        };
        let own = iterations.range((job.entry, 0)..=(job.entry, u32::MAX));
        for ((_, number), ranks) in own.filter(|it| it.1.len() == job.hosts.len()) {
            let start = ranks
                .iter()
                .map(|rank| rank.start)
                .min()
                .unwrap_or_default();
            let last = ranks
                .iter()
                .max_by_key(|rank| rank.end)
                .expect("it has ranks");
            let Some(path) = paths.path(*number, (start, last.end), last.rank) else {
                return Err(format!("no critical path: {:?}", ranks[0]));
            };
            let mut now = start;
            for segment in &path {
                let message = segment.message;
                let ends = match segment.kind {
                    SegmentKind::Message => [message.map(|message| message.end); 2],
                    // Its sender waited for the ACK, or its receiver did, which is told at another time.
                    SegmentKind::Acknowledgement => [
                        message.and_then(|message| message.acknowledged),
                        message.map(|message| message.received),
                    ],
                    _ => [Some(segment.end); 2],
                };
                let is_next = segment.start == now && segment.end > now;
                if !is_next
                    || !ends.contains(&Some(segment.end))
                    || segment.ideal() > Some(segment.takes())
                {
                    return Err(format!("expected a segment from {now} on: {segment:?}"));
                }
                now = segment.end;
            }
            if now != last.end {
                return Err(format!("a critical path ends at {now}: {last:?}"));
            }
        }
    }
    Ok(())
}
