//! Incasts of random senders.

use serde_spanned::Spanned;
use std::ops::Range;
use unpause_text::error::{Checked, Problem};
use unpause_text::name_list::NameList;
use unpause_text::quantity::{Duration, Size};

use unpause_sim::traffic::{FlowSettings, Pairs, Pattern, TrafficSpec};

use super::arrivals::{ONE_EVENT, events, stops_after_start};
use super::context::Context;
use super::kind::Kind;
use crate::text::checks::at_least_one;
use crate::text::keys::{Keys, WithDefault, Written};

/// Its keys.
#[derive(Keys)]
#[keys("traffic")]
pub(super) struct Incast {
    /// number of senders in an event
    senders: Spanned<u32>,
    /// the number of senders is random, from `senders` up to this
    #[key(unset = "`senders`")]
    max_senders: Written<u32>,
    /// hosts of which the senders are drawn
    #[key(unset = "all hosts")]
    from: Written<NameList>,
    /// hosts of which the receiver is drawn
    #[key(unset = "all hosts")]
    to: Written<NameList>,
    /// payload of each flow, above zero except over TCP
    #[key(unset = "required, or `cdf`")]
    size: Written<Size>,
    /// instead of `size`: distribution from which each flow's size is drawn, a name from `unpause list` or the path of a file
    #[key(unset = "none")]
    cdf: Written<String>,
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

impl Kind for Incast {
    const NAME: &'static str = "incast";
    const WHAT: &'static str =
        "at each event, `senders` random hosts of `from` send to one random host of `to`";

    fn spec(
        &self,
        flow: FlowSettings,
        context: &Context<'_>,
        entry: Range<usize>,
    ) -> Checked<TrafficSpec> {
        let (from, to) = (
            context.hosts_or_all(&self.from)?,
            context.hosts_or_all(&self.to)?,
        );
        context.any_to_any(&from, &to, &self.from, &self.to, &entry)?;
        stops_after_start(&self.start, &self.stop)?;
        let least = at_least_one("senders", &self.senders, "at least 1")?;
        let most = self.max_senders.value().copied().unwrap_or(least);
        let most_place = self.max_senders.get().unwrap_or(&self.senders).span();
        if most < least {
            return Problem::new("`max_senders` is below `senders`")
                .at(most_place, format!("at least {least}"))
                .err();
        }
        let available = from.len() - usize::from(from.iter().any(|host| to.contains(host)));
        if most as usize > available {
            return Problem::new(format!("an incast of {most} senders"))
                .at(
                    most_place,
                    format!("only {available} hosts can send to a receiver"),
                )
                .err();
        }
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
        let senders = (least, most);
        let pairs = Pairs::Incast { from, to, senders };
        Ok(TrafficSpec::Pattern(Pattern {
            flow,
            ..Pattern::new(pairs, size, arrivals)
        }))
    }
}
