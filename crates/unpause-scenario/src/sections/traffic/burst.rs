//! Bursts to one host.

use std::ops::Range;

use unpause_sim::traffic::{self, BurstFlows, FlowSettings, TrafficSpec};

use super::arrivals::{ONE_EVENT, events, stops_after_start};
use super::context::Context;
use super::kind::Kind;
use crate::text::checks::{at_least_one, both};
use crate::text::keys::keys;
use unpause_text::error::Checked;
use unpause_text::name_list::NameList;
use unpause_text::quantity::{Duration, Size};

keys! {
    /// Its keys.
    pub(super) Burst at "traffic" for () {
        ! from: NameList "senders";
        ! to: NameList "the receiver, one host";
        size: Size = ["required, or `cdf`"] "payload of each flow, above zero except over TCP";
        cdf: String = ["none"]
            "instead of `size`: distribution from which each flow's size is drawn, a name from `unpause list` or the path of a file";
        flows_per_host: u32 = ["`1`"] "flows of each sender in an event";
        flows: u32 = ["none"] "instead of `flows_per_host`: flows of all senders together in an event";
        start: Duration = ["`\"0s\"`"] "time of the first event, or from which random ones are drawn";
        stop: Duration = ["end of the run"] "no event starts from this time on" idle ONE_EVENT;
        interval: Duration = ["one event"] "time between events";
        mean_interval: Duration = ["none"] "instead of `interval`: mean of random times between events, exponentially distributed";
        events: u64 = ["no limit"] "largest number of events" idle ONE_EVENT;
    }
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
        Ok(TrafficSpec::Burst(traffic::Burst {
            from,
            to,
            flows,
            size,
            arrivals,
            flow,
        }))
    }
}
