//! Where the time of flows and messages went.

use std::collections::BTreeMap;

use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::results::{DelayRecord, FlowRecord, Results};

use super::facts::Answer;

/// Each flow with a size and each message has a record, the parts of which add up: of one that is complete to its FCT less that of the
/// flow alone, of another, with the time that it was sent, to the time until the end of the run. Where links do not change, each part
/// of what is complete has a cause.
pub fn delays(config: &Config, results: &Results) -> Answer {
    if !config.probes.causes {
        return Ok(());
    }
    let explains = config.events.is_empty();
    let mut records: BTreeMap<_, &DelayRecord> = BTreeMap::new();
    for record in &results.delays {
        records.insert((record.flow, record.message), record);
    }
    if records.len() < results.delays.len() {
        return Err("several delays of one flow or message".into());
    }
    let has_bytes = |flow: &&FlowRecord| flow.size_bytes.is_some_and(|size| size > 0);
    for flow in results.flows.iter().filter(has_bytes) {
        let (takes, alone) = match (flow.fct, flow.ideal_fct) {
            (Some(fct), Some(alone)) => (fct, alone),
            // Its path is not known.
            (Some(_), None) => continue,
            (None, _) => (results.totals.simulated - flow.start, Time::ZERO),
        };
        let Some(record) = records.remove(&(flow.id, None)) else {
            return Err(format!("no delays of flow {}: {flow:?}", flow.id));
        };
        if flow.fct.is_some() == record.sending.is_some() {
            return Err(format!("not of a flow that ended so: {record:?}, {flow:?}"));
        }
        adds_up(record, (takes, alone), explains)?;
    }
    for message in &results.messages {
        let Some(alone) = message.ideal else {
            continue;
        };
        let key = (message.flow, Some(message.number));
        let Some(record) = records.remove(&key) else {
            return Err(format!("no delays of {message:?}"));
        };
        adds_up(record, (message.end - message.start, alone), explains)?;
    }
    let unknown = |flow: &FlowRecord| flow.size_bytes != Some(0);
    match records.values().find(|it| {
        let flow = results.flows.binary_search_by_key(&it.flow, |flow| flow.id);
        it.message.is_some() || flow.is_ok_and(|at| unknown(&results.flows[at]))
    }) {
        Some(record) => Err(format!("delays of nothing that there was: {record:?}")),
        None => Ok(()),
    }
}

/// The parts of what took so long, and so long alone.
fn adds_up(record: &DelayRecord, (takes, alone): (Time, Time), explains: bool) -> Answer {
    let more = takes.saturating_sub(alone);
    let sum = record.total() + record.sending.unwrap_or_default();
    if sum != more {
        return Err(format!("delays add up to {sum}, not {more}: {record:?}"));
    }
    if explains && record.sending.is_none() && record.other > Time::ZERO {
        return Err(format!("not explained: {record:?} of {more}"));
    }
    Ok(())
}
