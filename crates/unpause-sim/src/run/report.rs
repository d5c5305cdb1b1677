//! From what nodes recorded to sorted results.

use std::collections::{BTreeMap, HashMap};

use unpause_protocols::units::Time;

use crate::engine::log::{Counts, FlowEnd, Log, MessageAck, MessageEnd, MessageStart, SenderEnd};
use crate::host::flow::window::PathOf;
use crate::jobs::JobFailure;
use crate::outcome::losses::{LossKey, Losses};
use crate::outcome::results::{
    Deadlock, FlowRecord, FlowSample, LossRecord, MessageRecord, PortRecord, Results, Stuck,
    Totals, Windows,
};
use crate::outcome::series::in_order;
use crate::plan::Plan;
use crate::run::delays;
use crate::run::ideal_fct::IdealFct;
use crate::run::operations::operations;
use crate::run::provenance;
use crate::run::shard::ShardEnd;

/// How a run ended, which all threads know alike.
#[derive(Debug, Default)]
pub struct End {
    /// When.
    pub at: Time,
    /// Windows until then.
    pub windows: u64,
    /// The deadlock that ended it, if it did not run to its end.
    pub deadlock: Option<Deadlock>,
    /// Data packets that went to another shard and never came.
    pub lost_data_packets: u64,
}

/// Sorts what was recorded, and checks that nothing got lost.
pub fn results(plan: &Plan<'_>, ends: Vec<ShardEnd>, end: End) -> Results {
    let (mut log, held) = merged(ends);
    let counts = log.counts;
    check(plan, &counts, held, end.lost_data_packets);
    let flow_series = flow_series(&mut log);
    let (waiting, late) = place_followers(&mut log, plan, end.at);
    let Log {
        mut flows,
        senders,
        pauses,
        mut ports,
        causes,
        waits,
        expiries,
        delays,
        port_series,
        histograms,
        mut packets,
        message_starts,
        message_ends,
        message_acks,
        message_timeouts,
        rank_iterations,
        job_failures,
        collectives,
        job_links,
        losses,
        storms,
        ..
    } = log;
    flows.sort_unstable_by_key(|flow| flow.id);
    let (causes, victims) = provenance::told(plan, causes, &waits, &expiries, &flows);
    let messages = (message_starts, message_ends, message_acks);
    let messages = self::messages(plan, messages, message_timeouts, &flows);
    let collectives = operations(plan, collectives, &flows);
    let loses = counts.dropped_packets + counts.trimmed_packets + end.lost_data_packets > 0;
    let ends = flows;
    let flows = records(plan, &ends, senders, end.at);
    let delays = delays::records(plan, delays, (&ends, &flows), &messages, (end.at, loses));
    packets.sort_by_key(|packet| (packet.time, packet.node, packet.port));
    let totals = Totals {
        flows_waiting: waiting,
        windows: Windows(end.windows),
        ..totals(&counts, end.at, (&ports, &flows))
    };
    ports.sort_unstable_by_key(|port| (port.node, port.port, port.priority));
    Results {
        flows,
        ports,
        pauses: sorted(pauses, |it| (it.start, it.node, it.port, it.priority)),
        causes,
        victims,
        delays,
        port_series: in_order(port_series),
        histograms: sorted(histograms, |it| (it.time, it.node, it.port)),
        flow_series,
        packets,
        messages,
        rank_iterations: sorted(rank_iterations, |it| (it.entry, it.iteration, it.rank)),
        job_failures: first_of_each(job_failures),
        collectives,
        job_links: job_links.records(&plan.ports),
        losses: lost(plan, losses),
        storms: sorted(storms, |it| (it.detected, it.node, it.port, it.priority)),
        late,
        link_changes: plan.epochs.told(&plan.ports),
        deadlock: end.deadlock,
        totals,
    }
}

/// In the order of a key that tells all apart.
fn sorted<T, K: Ord>(mut all: Vec<T>, key: impl Fn(&T) -> K) -> Vec<T> {
    all.sort_unstable_by_key(key);
    all
}

/// The first failure of each job, by entry.
fn first_of_each(mut failures: Vec<JobFailure>) -> Vec<JobFailure> {
    failures.sort_unstable();
    failures.dedup_by_key(|it| it.entry);
    failures
}

/// Sums over nodes, ports and flows.
fn totals(counts: &Counts, at: Time, (ports, flows): (&[PortRecord], &[FlowRecord])) -> Totals {
    Totals {
        simulated: at,
        packet_hops: counts.packet_hops,
        events: counts.events,
        data_packets: counts.data_packets,
        delivered_packets: counts.delivered_packets,
        dropped_packets: counts.dropped_packets,
        trimmed_packets: counts.trimmed_packets,
        marked_packets: ports.iter().map(|port| port.marked_packets).sum(),
        notifications: counts.notifications,
        unrecorded_hops: counts.unrecorded_hops,
        pause_frames: ports.iter().map(|port| port.pause_frames).sum(),
        flows_started: counts.flows_started,
        flows_completed: flows.iter().filter(|flow| flow.fct.is_some()).count() as u64,
        ..Totals::default()
    }
}

/// The records of all shards in one, and the number of data packets that they hold.
fn merged(ends: Vec<ShardEnd>) -> (Log, u64) {
    let mut log = Log::default();
    let mut held = 0;
    for end in ends {
        log.merge(end.log);
        held += end.held_data_packets;
    }
    (log, held)
}

/// The records of messages, from both ends, that came over these flows; those that have not come are left out.
fn messages(
    plan: &Plan<'_>,
    (mut starts, mut ends, mut acks): (Vec<MessageStart>, Vec<MessageEnd>, Vec<MessageAck>),
    mut timeouts: Vec<(u32, Time)>,
    flows: &[FlowEnd],
) -> Vec<MessageRecord> {
    timeouts.sort_unstable();
    starts.sort_unstable_by_key(|it| (it.flow, it.number));
    ends.sort_unstable_by_key(|it| (it.flow, it.number));
    acks.sort_unstable_by_key(|it| (it.flow, it.number));
    let (mut starts, mut acks) = (starts.iter().peekable(), acks.iter().peekable());
    let flows: HashMap<u32, &FlowEnd> = if ends.is_empty() {
        HashMap::new()
    } else {
        flows.iter().map(|it| (it.id, it)).collect()
    };
    let mut ideal = IdealFct::default();
    let mut ideal_of = |flow: u32, bytes: u64| {
        let alone = FlowEnd {
            size_bytes: Some(bytes),
            ..**flows.get(&flow)?
        };
        ideal.of(&alone, plan)
    };
    let record = |it: &MessageEnd| {
        let key = (it.flow, it.number);
        while starts.next_if(|it| (it.flow, it.number) < key).is_some() {}
        while acks.next_if(|it| (it.flow, it.number) < key).is_some() {}
        let start = starts.next().expect("what has come has been sent");
        debug_assert_eq!((start.flow, start.number), key);
        let before = |time| timeouts.partition_point(|timeout| *timeout <= (it.flow, time));
        MessageRecord {
            entry: it.entry,
            iteration: it.iteration,
            phase: it.phase,
            step: it.step,
            channel: it.channel,
            slice: it.slice,
            from: it.from,
            to: it.to,
            flow: it.flow,
            number: it.number,
            bytes: it.bytes,
            start: start.start,
            end: it.end,
            received: it.received,
            acknowledged: acks
                .next_if(|it| (it.flow, it.number) == key)
                .map(|it| it.at),
            timeouts: (before(it.end) - before(start.start)) as u32,
            ideal: ideal_of(it.flow, it.bytes),
        }
    };
    ends.iter().map(record).collect()
}

/// Losses, each with the change that they began with.
fn lost(plan: &Plan<'_>, losses: Losses) -> Vec<LossRecord> {
    let mut all: BTreeMap<_, LossRecord> = BTreeMap::new();
    for (key, lost) in losses.0 {
        let LossKey {
            changes,
            node,
            port,
            priority,
            place,
        } = key;
        let at = plan.ports.of(node).start + u32::from(port);
        let since = plan.epochs.since(changes, place, at);
        let record = LossRecord {
            since,
            node,
            port,
            priority,
            place,
            packets: 0,
            bytes: 0,
            data_packets: 0,
        };
        let sum = all
            .entry((since, node, port, priority, place))
            .or_insert(record);
        sum.packets += lost.packets;
        sum.bytes += lost.bytes;
        sum.data_packets += lost.data_packets;
    }
    all.into_values().collect()
}

/// Gives flows that waited for others the start that they had; the ends of their waits are known to their senders
/// alone. Those that have not started are left out; answers how many, and which of them wait for nothing but a start after
/// the end of the run.
fn place_followers(log: &mut Log, plan: &Plan<'_>, end: Time) -> (u64, Vec<(u32, Time)>) {
    let mut late: Vec<(u32, Time)> = log.released.clone();
    late.retain(|(_, start)| *start >= end);
    late.sort_unstable();
    let waiting = plan.followers.flows.len() - log.released.len() + late.len();
    let released: HashMap<u32, Time> = log.released.drain(..).collect();
    log.flows.retain_mut(|flow| {
        if !plan.followers.has(flow.id) {
            return true;
        }
        let Some(start) = released.get(&flow.id).filter(|start| **start < end) else {
            return false;
        };
        // Until here it counted from the start of the run.
        let completed = flow.fct.map(|fct| flow.start + fct);
        flow.fct = completed.map(|at| at - *start);
        flow.start = *start;
        true
    });
    (waiting as u64, late)
}

/// The records of flows, which are sorted by number, from both ends.
fn records(
    plan: &Plan<'_>,
    flows: &[FlowEnd],
    mut senders: Vec<SenderEnd>,
    end: Time,
) -> Vec<FlowRecord> {
    senders.sort_unstable_by_key(|sender| sender.flow);
    let mut senders = senders.iter().peekable();
    let mut ideal = IdealFct::default();
    let record = |flow: &FlowEnd| {
        while senders.next_if(|it| it.flow < flow.id).is_some() {}
        let sender = senders.next_if(|it| it.flow == flow.id).copied();
        let mut sender = sender.unwrap_or_default();
        sender.stuck = sender.stuck.and_then(|it| long(it, flow, plan, end));
        record(flow, &sender, ideal.of(flow, plan))
    };
    flows.iter().map(record).collect()
}

/// Base RTTs for which a flow has to hear nothing to count as stuck: full buffers on its path add less. 12 MB of one at 100 Gb/s are
/// 80 round trips of 12 us.
const PATIENCE: u64 = 100;

/// A wait at the end of the run, if it is long.
fn long(stuck: Stuck, flow: &FlowEnd, plan: &Plan<'_>, end: Time) -> Option<Stuck> {
    let path = PathOf::between(flow.src, flow.dst, flow.source_port, plan)?;
    (end.saturating_sub(stuck.since) > path.rtt * PATIENCE).then_some(stuck)
}

/// The record of a flow, from both ends.
fn record(flow: &FlowEnd, sender: &SenderEnd, ideal_fct: Option<Time>) -> FlowRecord {
    FlowRecord {
        id: flow.id,
        group: flow.group,
        src: flow.src,
        dst: flow.dst,
        priority: flow.priority,
        size_bytes: flow.size_bytes,
        start: flow.start,
        fct: flow.fct,
        ideal_fct,
        delivered_bytes: flow.delivered_bytes,
        retransmitted_packets: sender.retransmitted,
        transport: flow.transport,
        extra_delay: flow.extra_delay,
        timeouts: sender.timeouts,
        gave_up: sender.gave_up,
        gave_up_at: sender.gave_up_at,
        notifications: sender.notifications,
        acknowledged: sender.acknowledged,
        stuck: sender.stuck,
        source_port: flow.source_port,
        destination_port: flow.destination_port,
    }
}

/// Checks that nothing got lost but what is known to be.
fn check(plan: &Plan<'_>, counts: &Counts, held: u64, lost: u64) {
    assert_eq!(
        counts.data_packets,
        counts.delivered_packets + counts.dropped_packets + counts.trimmed_packets + held + lost,
        "every data packet is delivered, dropped, trimmed or under way"
    );
    debug_assert!(
        counts.dropped_packets + counts.trimmed_packets + lost > 0
            || counts.sequence_errors == 0
            || plan.sprays()
            || !plan.epochs.is_empty(),
        "packets of a flow stay in order on one path"
    );
}

/// Joins what senders and receivers sampled. A receiver that has completed keeps its last value.
fn flow_series(log: &mut Log) -> Vec<FlowSample> {
    let mut delivered = std::mem::take(&mut log.receiver_series);
    delivered.sort_unstable();
    let mut senders = std::mem::take(&mut log.sender_series);
    senders.sort_unstable_by_key(|sample| (sample.time, sample.flow));
    let mut latest: HashMap<u32, u64> = HashMap::new();
    let mut at = 0;
    senders
        .iter()
        .map(|sample| {
            while let Some(&(time, flow, bytes)) = delivered.get(at)
                && time <= sample.time
            {
                latest.insert(flow, bytes);
                at += 1;
            }
            FlowSample {
                time: sample.time,
                flow: sample.flow,
                controller_rate: sample.rate,
                cwnd_bytes: sample.cwnd_bytes,
                sent_bytes: sample.sent_bytes,
                delivered_bytes: latest.get(&sample.flow).copied().unwrap_or(0),
                notifications: sample.notifications,
            }
        })
        .collect()
}
