//! Bursts to one host.

use serde_spanned::Spanned;
use std::ops::Range;
use unpause_text::error::Checked;
use unpause_text::name_list::NameList;
use unpause_text::quantity::{Duration, Size};

use unpause_sim::traffic::{BurstFlows, FlowSettings, Pairs, Pattern, TrafficSpec};

use super::arrivals::{ONE_EVENT, events, stops_after_start};
use super::context::Context;
use super::kind::Kind;
use crate::text::checks::{at_least_one, both};
use crate::text::keys::{Keys, WithDefault, Written};

/// Its keys.
#[derive(Keys)]
#[keys("traffic")]
pub(super) struct Burst {
    /// senders
    from: Spanned<NameList>,
    /// the receiver, one host
    to: Spanned<NameList>,
    /// payload of each flow, above zero except over TCP
    #[key(unset = "required, or `cdf`")]
    size: Written<Size>,
    /// instead of `size`: distribution from which each flow's size is drawn, a name from `unpause list` or the path of a file
    #[key(unset = "none")]
    cdf: Written<String>,
    /// flows of each sender in an event
    #[key(default = 1)]
    flows_per_host: WithDefault<u32>,
    /// instead of `flows_per_host`: flows of all senders together in an event
    #[key(unset = "none")]
    flows: Written<u32>,
    /// time of the first event, or from which random ones are drawn
    start: WithDefault<Duration>,
    /// no event starts from this time on
    #[key(unset = "end of the run", idle = ONE_EVENT)]
    stop: Written<Duration>,
    /// time between events
    #[key(unset = "one event")]
    interval: Written<Duration>,
    /// instead of `interval`: mean of random times between events, exponentially distributed
    #[key(unset = "none")]
    mean_interval: Written<Duration>,
    /// largest number of events
    #[key(unset = "no limit", idle = ONE_EVENT)]
    events: Written<u64>,
}

impl Kind for Burst {
    const NAME: &'static str = "burst";
    const WHAT: &'static str = "all of `from` send to one host at the same time, `flows_per_host` flows each or `flows` in total: only at `start`, every `interval`, or after random times of `mean_interval` on average";

    fn spec(
        &self,
        flow: FlowSettings,
        context: &Context<'_>,
        entry: Range<usize>,
    ) -> Checked<TrafficSpec> {
        let (from, to) = context.many_to_one(&self.from, &self.to)?;
        let flows = match (self.flows_per_host.get(), self.flows.get()) {
            (Some(each), Some(all)) => return both("flows_per_host", each, "flows", all),
            (Some(each), None) => {
                BurstFlows::PerHost(at_least_one("flows_per_host", each, "at least 1")?)
            }
            (None, Some(all)) => BurstFlows::InAll(at_least_one("flows", all, "at least 1")?),
            (None, None) => BurstFlows::PerHost(1),
        };
        stops_after_start(&self.start, &self.stop)?;
        let arrivals = events(
            &self.start,
            &self.stop,
            &self.interval,
            &self.mean_interval,
            &self.events,
        )?;
        let size = context
            .files
            .size(&self.size, &self.cdf, flow.transport, entry)?;
        let pairs = Pairs::Burst { from, to, flows };
        Ok(TrafficSpec::Pattern(Pattern {
            flow,
            ..Pattern::new(pairs, size, arrivals)
        }))
    }
}
