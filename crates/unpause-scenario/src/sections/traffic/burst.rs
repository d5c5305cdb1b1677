//! Bursts to one host.

use std::ops::Range;

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_sim::traffic::{self, BurstFlows, FlowSettings, TrafficSpec};

use super::arrivals::{events, stops_after_start};
use super::context::Context;
use super::kind::Kind;
use crate::text::checks::{at_least_one, both};
use crate::text::error::Checked;
use crate::text::name_list::NameList;
use crate::text::quantity::{Duration, Size};

/// Its keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Burst {
    from: Spanned<NameList>,
    to: Spanned<NameList>,
    size: Option<Spanned<Size>>,
    cdf: Option<Spanned<String>>,
    flows_per_host: Option<Spanned<u32>>,
    flows: Option<Spanned<u32>>,
    start: Option<Spanned<Duration>>,
    stop: Option<Spanned<Duration>>,
    interval: Option<Spanned<Duration>>,
    mean_interval: Option<Spanned<Duration>>,
    events: Option<Spanned<u64>>,
}

impl Kind for Burst {
    const NAME: &'static str = "burst";
    const KEYS: &'static str = "`from`, `to`, `size` or `cdf`, `flows_per_host` = 1 or `flows`, `start`, \
        `stop`, `interval` or `mean_interval`, `events`";
    const WHAT: &'static str = "all of `from` send to one host at the same time, `flows_per_host` flows each or `flows` in total: only at `start`, every `interval`, or after random times of `mean_interval` on average";

    fn spec(
        &self,
        flow: FlowSettings,
        context: &Context<'_>,
        entry: Range<usize>,
    ) -> Checked<TrafficSpec> {
        let (from, to) = context.many_to_one(&self.from, &self.to)?;
        let flows = match (&self.flows_per_host, &self.flows) {
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
