//! Flows between named hosts.

use std::ops::Range;

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_protocols::units::Time;
use unpause_sim::traffic::{FlowSettings, FlowSpec, TrafficSpec};

use super::arrivals::{stops_after_start, time};
use super::context::Context;
use super::kind::Kind;
use crate::limits;
use crate::text::checks::size_bytes;
use crate::text::error::{Checked, Problem};
use crate::text::name_list::NameList;
use crate::text::quantity::{Duration, Size};

/// Its keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Flow {
    from: Spanned<NameList>,
    to: Spanned<NameList>,
    size: Option<Spanned<Size>>,
    start: Option<Spanned<Duration>>,
    stop: Option<Spanned<Duration>>,
    source_port: Option<u16>,
}

impl Kind for Flow {
    const NAME: &'static str = "flow";
    const KEYS: &'static str = "`from`, `to`, `size`, `start`, `stop`, `source_port` = 0";
    const WHAT: &'static str = "a flow from each of `from` to each of `to`; without `size` it sends until \
        `stop`";

    fn spec(
        &self,
        flow: FlowSettings,
        context: &Context<'_>,
        _entry: Range<usize>,
    ) -> Checked<TrafficSpec> {
        let (from, to) = (
            context.names.host_list(&self.from)?,
            context.names.host_list(&self.to)?,
        );
        let start = time(&self.start, Time::ZERO);
        let size_bytes = match &self.size {
            Some(size) => Some(size_bytes(size, flow.transport)?),
            None => None,
        };
        let count = from.len() as u64 * to.len() as u64;
        if count > limits::FLOWS {
            return Problem::new(format!("{count} flows"))
                .at(self.from.span(), format!("{} senders", from.len()))
                .at(self.to.span(), format!("{} receivers each", to.len()))
                .help(format!("at most {} are possible", limits::FLOWS))
                .err();
        }
        let mut flows = Vec::new();
        for src in &from {
            for dst in &to {
                context.differ(*src, *dst, &self.from.span(), &self.to.span())?;
                flows.push(FlowSpec {
                    size_bytes,
                    start,
                    stop: time(&self.stop, Time::NEVER),
                    priority: flow.priority_of(size_bytes),
                    source_port: self.source_port.unwrap_or(0),
                    ..flow.flow(*src, *dst)
                });
            }
        }
        stops_after_start(&self.start, &self.stop)?;
        Ok(TrafficSpec::Flows(flows))
    }
}
