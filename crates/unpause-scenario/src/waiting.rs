//! Flows that never started, since others that they follow had not ended.

use unpause_sim::followers::Followers;

use crate::foreseen::Foreseen;
use crate::measured::Measured;

/// A message for each entry of traffic with such flows.
pub(crate) fn of(measured: &Measured) -> Vec<Foreseen> {
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
        let waiting = all.saturating_sub(started);
        if waiting == 0 {
            continue;
        }
        let name = |entry: &u16| run.names.traffic[usize::from(*entry)].as_str();
        let after: Vec<&str> = following.after.iter().map(name).collect();
        let message = format!(
            "{waiting} of {all} flows of traffic `{}` never started: flows of `{}` that they follow had not ended",
            name(&following.entry),
            after.join("`, `")
        );
        found.push(Foreseen {
            kind: "waiting-flows",
            message,
            help: "a longer duration helps, unless what they follow is stuck".to_owned(),
            key: Vec::new(),
        });
    }
    found
}
