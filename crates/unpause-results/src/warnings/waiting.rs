//! Flows that never started, since others that they follow had not ended, or had ended too late.

use unpause_protocols::units::Time;
use unpause_sim::followers::Followers;
use unpause_sim::results::FlowRecord;

use crate::run::measured::Measured;
use crate::warnings::foreseen::Foreseen;
use crate::warnings::stuck::{WAITS, place};
use unpause_text::count::size;

/// A message for each entry of traffic with such flows.
pub fn of(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    if results.totals.flows_waiting == 0 {
        return Vec::new();
    }
    let Ok(followers) = Followers::of(&run.config) else {
        return Vec::new();
    };
    let of_entry = |entry: u16| {
        let all = followers
            .flows
            .iter()
            .filter(|(flow, _)| flow.group == entry);
        let started = results.flows.iter().filter(|flow| flow.group == entry);
        (all.count(), started.count())
    };
    let mut found = Vec::new();
    for following in &run.config.following {
        let (all, started) = of_entry(following.entry);
        let starts: Vec<Time> = results
            .late
            .iter()
            .filter(|(id, _)| {
                let flow = followers.get(*id);
                flow.is_some_and(|it| it.group == following.entry)
            })
            .map(|(_, start)| *start)
            .collect();
        let name = |entry: &u16| run.names.traffic[usize::from(*entry)].as_str();
        let after: Vec<&str> = following.after.iter().map(name).collect();
        let after = after.join("`, `");
        let entry = name(&following.entry);
        let waiting = all.saturating_sub(started + starts.len());
        if waiting > 0 {
            let gave_up =
                |flow: &&FlowRecord| flow.gave_up && following.after.contains(&flow.group);
            let help = match results.flows.iter().filter(gave_up).count() {
                0 => "a longer duration helps, unless the flows that they follow are stuck, or stopped sending before their size"
                    .to_owned(),
                _ => format!(
                    "flows of `{after}` that gave up never end: a longer duration helps only if all wait for others"
                ),
            };
            found.push(warning(
                format!(
                    "{waiting} of {all} flows of traffic `{entry}` never started, because flows of `{after}` that they follow had not ended{}",
                    first_left(measured, &following.after)
                ),
                &help,
            ));
        }
        if let Some(first) = starts.iter().min() {
            found.push(warning(
                format!(
                    "{} of {all} flows of traffic `{entry}` never started: the flows that they follow had ended, but their own start, {first} at the earliest, is after the end of the run at {}",
                    starts.len(),
                    results.totals.simulated
                ),
                "set a longer duration or an earlier start",
            ));
        }
    }
    found
}

/// The first flow of these entries that had not ended, and what it waited for.
fn first_left(measured: &Measured, entries: &[u16]) -> String {
    let Measured { run, results, .. } = measured;
    let is_left = |flow: &&FlowRecord| entries.contains(&flow.group) && flow.fct.is_none();
    // One that is known to wait says more than one that still sends.
    let says = |flow: &&FlowRecord| (!flow.gave_up && flow.stuck.is_none(), flow.id);
    let left = results.flows.iter().filter(is_left);
    let Some(flow) = left.min_by_key(says) else {
        return String::new();
    };
    let did = match (flow.gave_up_at, flow.stuck, flow.size_bytes) {
        (Some(at), ..) => format!("gave up at {at}"),
        (None, Some(it), _) => format!("has been {} since {}", WAITS[place(it.awaits)], it.since),
        (None, None, Some(bytes)) => {
            let delivered = size(flow.delivered_bytes);
            format!("had delivered {delivered} of {}", size(bytes))
        }
        (None, None, None) => "has no end".to_owned(),
    };
    let names = &run.names;
    format!(
        ": flow {} of `{}` ({}->{}) {did}",
        flow.id,
        names.traffic[usize::from(flow.group)],
        names.name(flow.src),
        names.name(flow.dst)
    )
}

fn warning(message: String, help: &str) -> Foreseen {
    Foreseen {
        kind: "waiting-flows",
        message,
        help: help.to_owned(),
        key: Vec::new(),
    }
}
