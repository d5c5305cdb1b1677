//! Incasts of random senders.

use std::ops::Range;

use unpause_sim::traffic::{self, FlowSettings, TrafficSpec};

use super::arrivals::{ONE_EVENT, events, stops_after_start};
use super::context::Context;
use super::kind::Kind;
use crate::text::checks::at_least_one;
use crate::text::keys::keys;
use unpause_text::error::{Checked, Problem};
use unpause_text::name_list::NameList;
use unpause_text::quantity::{Duration, Size};

keys! {
    /// Its keys.
    pub(super) Incast at "traffic" for () {
        ! senders: u32 "number of senders in an event";
        max_senders: u32 = ["`senders`"] "the number of senders is random, from `senders` up to this";
        from: NameList = ["all hosts"] "hosts of which the senders are drawn";
        to: NameList = ["all hosts"] "hosts of which the receiver is drawn";
        size: Size = ["required, or `cdf`"] "payload of each flow, above zero except over TCP";
        cdf: String = ["none"]
            "instead of `size`: distribution from which each flow's size is drawn, a name from `unpause list` or the path of a file";
        start: Duration = ["`\"0s\"`"] "time of the first event, or from which random ones are drawn";
        stop: Duration = ["end of the run"] "no event starts from this time on" idle ONE_EVENT;
        interval: Duration = ["one event"] "time between events";
        mean_interval: Duration = ["none"] "instead of `interval`: mean of random times between events, exponentially distributed";
        events: u64 = ["no limit"] "largest number of events" idle ONE_EVENT;
    }
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
