//! Flows that something lost has left waiting for what did not come before the end.

use unpause_protocols::loss_recovery::Config as LossRecovery;
use unpause_protocols::units::Time;
use unpause_sim::results::{Awaits, FlowRecord, Stuck};

use crate::run::cut_off::CutOff;
use crate::run::measured::Measured;
use crate::warnings::timeouts;
use unpause_text::count::counted;

/// What flows wait for, after "has been", by [`place`].
pub const WAITS: [&str; 4] = [
    "in a TCP retransmission timeout",
    "waiting for an ACK until its timeout",
    "waiting for credit from its receiver",
    "waiting for its NIC",
];

/// Place among [`WAITS`].
pub fn place(awaits: Awaits) -> usize {
    match awaits {
        Awaits::Timer { .. } => 0,
        Awaits::Ack => 1,
        Awaits::Credit => 2,
        Awaits::Nic => 3,
    }
}

/// A message and what to do, for each entry of traffic with such flows.
pub fn of(measured: &Measured) -> Vec<(String, String)> {
    let Measured { run, results, .. } = measured;
    let drops = results.ports.iter().any(|port| port.dropped_packets > 0);
    let has_lost = drops || !results.losses.is_empty();
    let mut found = Vec::new();
    let is_timer = |awaits: Awaits| matches!(awaits, Awaits::Timer { .. });
    let timer = Awaits::Timer { due: Time::NEVER };
    for awaits in [Awaits::Credit, Awaits::Ack, Awaits::Nic, timer] {
        // Credit may be late though nothing is lost.
        if !has_lost && awaits != Awaits::Credit {
            continue;
        }
        let same = |it: &Stuck| it.awaits == awaits || (is_timer(it.awaits) && is_timer(awaits));
        for (group, name) in run.names.traffic.iter().enumerate() {
            let stuck = |flow: &FlowRecord| flow.stuck.filter(same);
            let of_group = |flow: &&FlowRecord| usize::from(flow.group) == group;
            let flows = results.flows.iter().filter(of_group);
            let mut flows = flows.filter_map(|flow| Some((flow, stuck(flow)?.since)));
            if let Some((flow, since)) = flows.next() {
                let others = flows.count();
                found.push(said(measured, awaits, name, (flow, since), others));
            }
        }
    }
    found
}

/// That `flow` of traffic `name` and this many `others` are stuck.
fn said(
    measured: &Measured,
    awaits: Awaits,
    name: &str,
    (flow, since): (&FlowRecord, Time),
    others: usize,
) -> (String, String) {
    let run = &measured.run;
    let (src, dst) = (run.names.name(flow.src), run.names.name(flow.dst));
    let others = match others {
        0 => String::new(),
        1 => "; so has 1 other".to_owned(),
        others => format!("; so have {others} others"),
    };
    let (what, how, help) = match awaits {
        Awaits::Timer { .. } => return timer(measured, name, (flow, since), &others),
        Awaits::Ack => (
            "an ACK",
            "all that it may send has been sent",
            awaits_ack(measured, flow),
        ),
        Awaits::Credit => (
            "credit from its receiver",
            "which it has asked for",
            awaits_credit(measured, flow),
        ),
        Awaits::Nic => (
            "its NIC",
            "whose timer was used by another flow that waits for an ACK",
            "HPCC's simulator, which this NIC models, does the same: set a shorter host.retransmit_timeout, or nic = \"own\""
                .to_owned(),
        ),
    };
    let timeouts = match flow.timeouts {
        0 => String::new(),
        1 => " after 1 timeout".to_owned(),
        several => format!(" after {several} timeouts"),
    };
    let message = format!(
        "flow {} of traffic `{name}` ({src}->{dst}) has been waiting for {what} since {since}{timeouts}, {how}{others}",
        flow.id
    );
    (message, help)
}

/// That a TCP flow waits for its retransmission timer.
fn timer(
    measured: &Measured,
    name: &str,
    (flow, since): (&FlowRecord, Time),
    others: &str,
) -> (String, String) {
    let run = &measured.run;
    let (src, dst) = (run.names.name(flow.src), run.names.name(flow.dst));
    let due = match flow.stuck.map(|it| it.awaits) {
        Some(Awaits::Timer { due }) => due,
        _ => Time::NEVER,
    };
    let after = match flow.timeouts {
        0 => String::new(),
        timeouts => format!(" after {}", counted(timeouts, "timeout")),
    };
    let wait = due.saturating_sub(since);
    let message = format!(
        "flow {} of traffic `{name}` ({src}->{dst}) has been in a TCP retransmission timeout since {since}{after}: it sends again at {due}, {wait} later{others}",
        flow.id
    );
    if CutOff::new(measured).separates(flow.src, flow.dst) {
        return (message, NO_PATH.to_owned());
    }
    let min = run.config.host.tcp.recovery.rto.min;
    let help = format!(
        "too few later segments arrived to show the loss, so only the timer does: a shorter tcp.min_rto (now {min}), or a queue that does not drop the last segments of a flow; a longer duration shows when they end"
    );
    (message, help)
}

const NO_PATH: &str = "no path joins its hosts at the end, because links are down: its packets arrive only when these return";

/// Advice for a flow that waits for credit.
fn awaits_credit(measured: &Measured, flow: &FlowRecord) -> String {
    if CutOff::new(measured).separates(flow.src, flow.dst) {
        return NO_PATH.to_owned();
    }
    let receiver = measured.run.names.name(flow.dst);
    format!(
        "{receiver} grants no more than its link carries, to its flows in turn: fewer flows to it at a time wait less; if requests or pulls are lost (table losses), repair that link"
    )
}

/// Advice for a flow that waits for an ACK.
fn awaits_ack(measured: &Measured, flow: &FlowRecord) -> String {
    let config = &measured.run.config;
    if CutOff::new(measured).separates(flow.src, flow.dst) {
        return NO_PATH.to_owned();
    }
    let (keys, again) = (
        timeouts::with_values(config),
        config.host.nak_interval.is_none()
            && matches!(config.scheme.loss_recovery, LossRecovery::GoBackN),
    );
    let set = match flow.timeouts {
        0 => format!("set {keys} shorter than the run"),
        _ => format!("set a shorter {keys}, or a longer duration"),
    };
    let again = match again {
        true => "; with host.nak_interval receivers also report a resent packet that is lost again",
        false => "",
    };
    format!(
        "if an ACK, the last packet or a resent packet was lost, only the timeout recovers: {set}{again}"
    )
}
