//! Flows between named hosts.

use serde_spanned::Spanned;
use std::ops::Range;
use unpause_text::error::{Checked, Problem};
use unpause_text::limits;
use unpause_text::name_list::NameList;
use unpause_text::quantity::{Duration, Size};

use unpause_protocols::units::Time;
use unpause_sim::traffic::{FlowSettings, FlowSpec, TrafficSpec};

use super::arrivals::{stops_after_start, time};
use super::context::Context;
use super::kind::Kind;
use crate::text::checks::size_bytes;
use crate::text::keys::{Keys, WithDefault, Written};

/// Its keys.
#[derive(Keys)]
#[keys("traffic")]
pub(super) struct Flow {
    /// senders
    from: Spanned<NameList>,
    /// receivers: each sender has a flow to each of them
    to: Spanned<NameList>,
    /// payload of each flow, above zero except over TCP; without it, flows send until `stop`
    #[key(unset = "endless")]
    size: Written<Size>,
    /// when the flows start
    start: WithDefault<Duration>,
    /// when the flows stop sending
    #[key(unset = "end of the run")]
    stop: Written<Duration>,
    /// source port of the flows, which ECMP hashes with their addresses
    source_port: WithDefault<u16>,
}

impl Kind for Flow {
    const NAME: &'static str = "flow";
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
        let size_bytes = match self.size.get() {
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
        let source_port = *self.source_port.value();
        let stop = time(&self.stop, Time::NEVER);
        let mut flows = Vec::new();
        for src in &from {
            for dst in &to {
                context.differ(*src, *dst, &self.from.span(), &self.to.span())?;
                flows.push(FlowSpec {
                    size_bytes,
                    start,
                    stop,
                    priority: flow.priority_of(size_bytes),
                    source_port,
                    ..flow.flow(*src, *dst)
                });
            }
        }
        stops_after_start(&self.start, &self.stop)?;
        Ok(TrafficSpec::Flows(flows))
    }
}
