//! Where the time of flows went.

use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::results::{self, Results};

use super::facts::Answer;

/// Each completed flow with bytes has a record, the parts of which add up to its FCT less that of the flow alone. Where links do not
/// change and no frame is sent again over a link, each part has a cause.
pub fn delays(config: &Config, results: &Results) -> Answer {
    if !config.probes.causes {
        return Ok(());
    }
    let complete = results.flows.iter().filter(|flow| flow.fct.is_some());
    let known = complete.filter(|flow| flow.ideal_fct.is_some() && flow.size_bytes != Some(0));
    let explains = config.events.is_empty() && config.switch.retry.is_none();
    let mut records = results.delays.iter();
    for flow in known {
        let Some(delay) = records.next().filter(|delay| delay.flow == flow.id) else {
            return Err(format!("no delays of flow {}, which is complete", flow.id));
        };
        let fct = flow.fct.unwrap_or_default();
        let more = fct.saturating_sub(flow.ideal_fct.unwrap_or_default());
        if delay.total() != more {
            return Err(format!(
                "delays add up to {}, not {more}: {delay:?}",
                delay.total()
            ));
        }
        if explains && delay.other > Time::ZERO {
            return Err(format!("not explained: {delay:?} of {more}"));
        }
    }
    match records.next() {
        Some(delay) if results::flow(&results.flows, delay.flow).is_none() => {
            Err(format!("delays of flow {}, which never was", delay.flow))
        }
        Some(delay) => Err(format!(
            "delays of flow {}, which is not complete",
            delay.flow
        )),
        None => Ok(()),
    }
}
