//! Senders that pause.

use serde_spanned::Spanned;
use std::ops::Range;
use unpause_text::error::Checked;
use unpause_text::name_list::NameList;
use unpause_text::quantity::Duration;

use unpause_protocols::units::Time;
use unpause_sim::traffic::{Arrivals, BurstFlows, FlowSettings, Pairs, Pattern, TrafficSpec};

use super::arrivals::{stops_after_start, time};
use super::context::Context;
use super::kind::Kind;
use crate::text::checks::positive;
use crate::text::keys::{Keys, WithDefault, Written};

/// Its keys.
#[derive(Keys)]
#[keys("traffic")]
pub(super) struct OnOff {
    /// senders
    from: Spanned<NameList>,
    /// the receiver, one host
    to: Spanned<NameList>,
    /// for how long they send
    on: Spanned<Duration>,
    /// for how long they then pause
    off: Spanned<Duration>,
    /// when they first send
    start: WithDefault<Duration>,
    /// when they stop
    #[key(unset = "end of the run")]
    stop: Written<Duration>,
}

impl Kind for OnOff {
    const NAME: &'static str = "on-off";
    const WHAT: &'static str =
        "all of `from` send to one host for `on`, pause for `off`, and so on";

    fn spec(
        &self,
        flow: FlowSettings,
        context: &Context<'_>,
        _entry: Range<usize>,
    ) -> Checked<TrafficSpec> {
        let (from, to) = context.many_to_one(&self.from, &self.to)?;
        stops_after_start(&self.start, &self.stop)?;
        let on = positive("on", &self.on)?;
        let period = on.saturating_add(positive("off", &self.off)?);
        let flows = BurstFlows::PerHost(1);
        Ok(TrafficSpec::Pattern(Pattern {
            pairs: Pairs::Burst { from, to, flows },
            size: None,
            lifetime: on,
            arrivals: Arrivals {
                stop: time(&self.stop, Time::NEVER),
                ..Arrivals::every(period, time(&self.start, Time::ZERO))
            },
            flow,
        }))
    }
}
