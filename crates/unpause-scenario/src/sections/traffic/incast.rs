//! Incasts of random senders.

use std::ops::Range;

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_sim::traffic::{self, FlowSettings, TrafficSpec};

use super::arrivals::{events, stops_after_start};
use super::context::Context;
use super::kind::Kind;
use crate::text::checks::at_least_one;
use crate::text::error::{Checked, Problem};
use crate::text::name_list::NameList;
use crate::text::quantity::{Duration, Size};

/// Its keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Incast {
    from: Option<Spanned<NameList>>,
    to: Option<Spanned<NameList>>,
    senders: Spanned<u32>,
    max_senders: Option<Spanned<u32>>,
    size: Option<Spanned<Size>>,
    cdf: Option<Spanned<String>>,
    start: Option<Spanned<Duration>>,
    stop: Option<Spanned<Duration>>,
    interval: Option<Spanned<Duration>>,
    mean_interval: Option<Spanned<Duration>>,
    events: Option<Spanned<u64>>,
}

impl Kind for Incast {
    const NAME: &'static str = "incast";
    const KEYS: &'static str = "`from` = all, `to` = all, `senders`, `max_senders` = `senders`, `size` or \
        `cdf`, `start`, `stop`, `interval` or `mean_interval`, `events`";
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
        let most = self
            .max_senders
            .as_ref()
            .map_or(least, |most| *most.get_ref());
        let most_place = self.max_senders.as_ref().unwrap_or(&self.senders).span();
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
        Ok(TrafficSpec::Incast(traffic::Incast {
            from,
            to,
            senders: (least, most),
            size,
            arrivals,
            flow,
        }))
    }
}
