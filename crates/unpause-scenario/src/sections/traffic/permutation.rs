//! A permutation of hosts.

use std::ops::Range;

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_protocols::units::Time;
use unpause_sim::traffic::{self, FlowSettings, TrafficSpec};

use super::arrivals::time;
use super::context::Context;
use super::kind::Kind;
use crate::text::error::Checked;
use crate::text::name_list::NameList;
use crate::text::quantity::{Duration, Size};

/// Its keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Permutation {
    from: Option<Spanned<NameList>>,
    size: Option<Spanned<Size>>,
    cdf: Option<Spanned<String>>,
    start: Option<Spanned<Duration>>,
}

impl Kind for Permutation {
    const NAME: &'static str = "permutation";
    const KEYS: &'static str = "`from` = all, `size` or `cdf`, `start`";
    const WHAT: &'static str = "each host sends one flow and receives one; a flow without a size lasts until the end of the run";

    fn spec(
        &self,
        flow: FlowSettings,
        context: &Context<'_>,
        entry: Range<usize>,
    ) -> Checked<TrafficSpec> {
        let hosts = context.hosts_or_all(&self.from)?;
        context.any_to_any(&hosts, &hosts, &self.from, &self.from, &entry)?;
        let size = match (&self.size, &self.cdf) {
            (None, None) => None,
            _ => Some(
                context
                    .files
                    .size(&self.size, &self.cdf, flow.transport, entry)?,
            ),
        };
        let start = time(&self.start, Time::ZERO);
        Ok(TrafficSpec::Permutation(traffic::Permutation {
            hosts,
            size,
            start,
            flow,
        }))
    }
}
