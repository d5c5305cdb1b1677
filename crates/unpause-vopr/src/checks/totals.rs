//! Packets, flows, marks and notifications: what is counted twice agrees.

use unpause_protocols::congestion_point;
use unpause_sim::config::{Config, Qdisc};
use unpause_sim::results::{PortRecord, Results};
use unpause_sim::traffic::Transport;

use super::facts::{Answer, sprays};

fn sum(results: &Results, value: fn(&PortRecord) -> u64) -> u64 {
    results.ports.iter().map(value).sum()
}

/// Nothing is delivered, dropped, marked or paused more often than it was sent.
pub fn conservation(config: &Config, results: &Results) -> Answer {
    let totals = &results.totals;
    let arrived = totals.delivered_packets + totals.dropped_packets + totals.trimmed_packets;
    if arrived > totals.data_packets {
        return Err(format!(
            "{arrived} data packets delivered, dropped or trimmed of {} sent",
            totals.data_packets
        ));
    }
    for (what, in_ports, in_all) in [
        (
            "marked packets",
            sum(results, |p| p.marked_packets),
            totals.marked_packets,
        ),
        (
            "PAUSE frames",
            sum(results, |p| p.pause_frames),
            totals.pause_frames,
        ),
        (
            "flows started",
            results.flows.len() as u64,
            totals.flows_started,
        ),
    ] {
        if in_ports != in_all {
            return Err(format!("{what}: {in_ports} row by row, {in_all} in all"));
        }
    }
    let lost: u64 = results.losses.iter().map(|loss| loss.data_packets).sum();
    let storms = results.storms.iter();
    let lost = lost + storms.map(|storm| storm.dropped_data_packets).sum::<u64>();
    let trimmed = sum(results, |p| p.trimmed_packets);
    if trimmed != totals.trimmed_packets {
        return Err(format!(
            "{} data packets trimmed, {trimmed} in the rows of ports",
            totals.trimmed_packets
        ));
    }
    if sum(results, |p| p.dropped_packets) + sum(results, |p| p.headroom_dropped_packets) + lost
        < totals.dropped_packets
    {
        return Err(format!(
            "{} data packets dropped, fewer in the rows of ports",
            totals.dropped_packets
        ));
    }
    if sum(results, |p| p.tx_packets) > totals.packet_hops {
        return Err(format!(
            "ports sent more packets than {} hops",
            totals.packet_hops
        ));
    }
    if results.deadlock.is_none() && totals.simulated != config.stop {
        return Err(format!(
            "ended at {} without a deadlock, not at {}",
            totals.simulated, config.stop
        ));
    }
    Ok(())
}

/// Every flow delivers what it has to, and is complete when it has.
pub fn flows(config: &Config, results: &Results) -> Answer {
    let mut completed = 0;
    let mut packets = 0;
    let mut next = 0;
    let mut missing = 0;
    for flow in &results.flows {
        let id = flow.id;
        if id < next {
            return Err(format!("flow {id} in the row of flow {next}"));
        }
        missing += u64::from(id - next);
        next = id + 1;
        completed += u64::from(flow.fct.is_some());
        packets += flow.retransmitted_packets;
        if let Some(size) = flow.size_bytes {
            if flow.delivered_bytes > size {
                return Err(format!(
                    "flow {id} delivered {} B of {size} B",
                    flow.delivered_bytes
                ));
            }
            if size > 0 && flow.fct.is_some() != (flow.delivered_bytes == size) {
                return Err(format!(
                    "flow {id} delivered {} B of {size} B, and its FCT is {:?}",
                    flow.delivered_bytes, flow.fct
                ));
            }
        } else if flow.fct.is_some() {
            return Err(format!("flow {id} has no size and an FCT"));
        }
        let over = flow
            .fct
            .is_some_and(|fct| flow.start + fct > results.totals.simulated);
        if over || flow.start >= results.totals.simulated {
            return Err(format!("flow {id} starts or ends after the run"));
        }
    }
    // Jitter may put off a flow beyond the end of the run.
    if missing > results.totals.flows_waiting && config.jitters.is_empty() {
        return Err(format!(
            "{missing} flows have no row, and {} wait for others",
            results.totals.flows_waiting
        ));
    }
    if completed != results.totals.flows_completed {
        return Err(format!(
            "{completed} flows with an FCT, {} completed",
            results.totals.flows_completed
        ));
    }
    // A segment counts as sent again when it is made; in a queue of the host's it may wait beyond the end of the run.
    let at_once = config.host.tcp.qdisc != Qdisc::Pfifo;
    if at_once && packets > results.totals.data_packets {
        return Err(format!(
            "{packets} packets sent again of {} sent",
            results.totals.data_packets
        ));
    }
    Ok(())
}

/// A RoCE flow gives up when it has timed out more often than it may in a row, at the last of these timeouts, and not
/// before they can have passed.
pub fn retries(config: &Config, results: &Results) -> Answer {
    for flow in results.flows.iter().filter(|flow| flow.gave_up) {
        if flow.transport == Transport::Tcp {
            continue;
        }
        let (Some(retries), Some(at)) = (config.host.retry_count, flow.gave_up_at) else {
            return Err(format!("flow {} gave up, and need not", flow.id));
        };
        if flow.timeouts <= u64::from(retries) {
            return Err(format!(
                "flow {} gave up after {} timeouts, {retries} retries are allowed",
                flow.id, flow.timeouts
            ));
        }
        if at < flow.start || at > results.totals.simulated {
            return Err(format!("flow {} gave up at {at}", flow.id));
        }
    }
    Ok(())
}

/// No flow is faster than alone. Packets that are sprayed can be.
pub fn no_faster_than_ideal(config: &Config, results: &Results) -> Answer {
    if sprays(config) {
        return Ok(());
    }
    for flow in &results.flows {
        if let (Some(fct), Some(ideal)) = (flow.fct, flow.ideal_fct)
            && fct < ideal
        {
            return Err(format!(
                "flow {} ({:?}) took {fct}, alone it would take {ideal}",
                flow.id, flow.transport
            ));
        }
    }
    Ok(())
}

/// Notifications that reached senders were sent, and to RoCE flows only.
pub fn notifications(_: &Config, results: &Results) -> Answer {
    let sent = results.totals.notifications;
    let arrived: u64 = results.flows.iter().map(|flow| flow.notifications).sum();
    if arrived > sent {
        return Err(format!("{arrived} notifications arrived of {sent} sent"));
    }
    let of_switches = sum(results, |p| p.cnm_packets);
    if of_switches > sent {
        return Err(format!(
            "{of_switches} CNMs sent among {sent} notifications"
        ));
    }
    let to_tcp = |flow: &&unpause_sim::results::FlowRecord| {
        flow.transport == Transport::Tcp && flow.notifications > 0
    };
    match results.flows.iter().find(to_tcp) {
        Some(flow) => Err(format!("TCP flow {} got a notification", flow.id)),
        None => Ok(()),
    }
}

/// Only a congestion point that marks does; only that of QCN sends CNMs.
pub fn marks(config: &Config, results: &Results) -> Answer {
    use congestion_point::Config as Point;
    let point = &config.scheme.congestion_point;
    let marks = !matches!(point, Point::None | Point::Qcn(_) | Point::Faults(_));
    if !marks && results.totals.marked_packets > 0 {
        return Err(format!(
            "{} packets marked by a congestion point that does not mark",
            results.totals.marked_packets
        ));
    }
    let cnm = sum(results, |p| p.cnm_packets);
    if !matches!(point, Point::Qcn(_)) && cnm > 0 {
        return Err(format!("{cnm} CNMs without QCN"));
    }
    Ok(())
}

/// A deadlock needs a cycle of buffers that wait for one another.
pub fn deadlock(config: &Config, results: &Results) -> Answer {
    let Some(deadlock) = &results.deadlock else {
        return Ok(());
    };
    match unpause_sim::dependency::buffer_dependency_cycle(config) {
        Ok(None) => Err(format!(
            "a deadlock of {} queues began at {} where no buffers wait in a cycle",
            deadlock.cycle.len(),
            deadlock.began
        )),
        _ => Ok(()),
    }
}
