//! A permutation of hosts.

use std::ops::Range;
use unpause_text::error::Checked;
use unpause_text::name_list::NameList;
use unpause_text::quantity::{Duration, Size};

use unpause_protocols::units::Time;
use unpause_sim::traffic::{Arrivals, FlowSettings, Pairs, Pattern, TrafficSpec};

use super::arrivals::time;
use super::context::Context;
use super::kind::Kind;
use crate::text::keys::{Keys, WithDefault, Written};

/// Its keys.
#[derive(Keys)]
#[keys("traffic")]
pub(super) struct Permutation {
    /// hosts that each send a flow and receive one
    #[key(unset = "all hosts")]
    from: Written<NameList>,
    /// payload of each flow, above zero except over TCP; without it and `cdf`, flows last until the end of the run
    #[key(unset = "endless")]
    size: Written<Size>,
    /// instead of `size`: distribution from which each flow's size is drawn, a name from `unpause list` or the path of a file
    #[key(unset = "none")]
    cdf: Written<String>,
    /// when the flows start
    start: WithDefault<Duration>,
}

impl Kind for Permutation {
    const NAME: &'static str = "permutation";
    const WHAT: &'static str = "each host sends one flow and receives one; a flow without a size lasts until the end of the run";

    fn spec(
        &self,
        flow: FlowSettings,
        context: &Context<'_>,
        entry: Range<usize>,
    ) -> Checked<TrafficSpec> {
        let hosts = context.hosts_or_all(&self.from)?;
        context.any_to_any(&hosts, &hosts, &self.from, &self.from, &entry)?;
        let size = match (self.size.peek(), self.cdf.peek()) {
            (None, None) => None,
            _ => Some(
                context
                    .files
                    .size(&self.size, &self.cdf, flow.transport, entry)?,
            ),
        };
        let start = time(&self.start, Time::ZERO);
        Ok(TrafficSpec::Pattern(Pattern {
            pairs: Pairs::permutation(hosts),
            size,
            lifetime: Time::NEVER,
            arrivals: Arrivals::once(start),
            flow,
        }))
    }
}
