//! Messages of a program that drives a scenario.

use std::ops::Range;
use unpause_text::error::{Checked, Problem};

use unpause_protocols::units::Time;
use unpause_sim::config::PRIORITIES;
use unpause_sim::traffic::{FlowSettings, FlowSpec, TrafficSpec, Transport};

use super::context::Context;

/// The name of the driver's messages in results.
const NAME: &str = "session";

/// Messages of a program that drives a scenario.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Driver {
    /// Priority of messages, unless they have the default.
    pub priority: Option<u8>,
    /// Sample them into `flow_series`.
    pub record: bool,
}

impl Driver {
    /// The entry of its messages: a flow that stands for them and never starts. The file has entries of these `names`, and
    /// stands at `whole`.
    pub fn entry(
        &self,
        names: &[String],
        whole: Range<usize>,
        context: &Context<'_>,
    ) -> Checked<(String, TrafficSpec)> {
        if names.iter().any(|name| name == NAME) {
            return Problem::new(format!("an entry of `traffic` has the name `{NAME}`"))
                .at(whole, "in this file")
                .help("give it another name: results call the messages of the driver so")
                .err();
        }
        let [src, dst, ..] = *context.names.hosts() else {
            return Problem::new("fewer than two hosts")
                .at(whole, "in this file")
                .help("a program that drives a fabric sends from one host to another")
                .err();
        };
        let settings = FlowSettings {
            priority: self.priority(whole, context)?,
            recorded: self.record,
            transport: context.transport,
            extra_delay: context.delays.of_host(),
            ..FlowSettings::default()
        };
        let never = FlowSpec {
            start: Time::NEVER,
            size_bytes: Some(1),
            ..settings.flow(src, dst)
        };
        Ok((NAME.to_owned(), TrafficSpec::Flows(vec![never])))
    }

    fn priority(&self, whole: Range<usize>, context: &Context<'_>) -> Checked<u8> {
        let of_pias = context
            .first_priority()
            .filter(|_| context.transport == Transport::Tcp);
        if let (Some(_), Some(priority)) = (of_pias, self.priority) {
            return Problem::new(format!("priority {priority} for messages has no effect"))
                .at(whole, "[pias] gives the segments of TCP flows theirs")
                .help("leave it out")
                .err();
        }
        let default = FlowSettings::default().priority;
        let priority = of_pias.or(self.priority).unwrap_or(default);
        if usize::from(priority) >= PRIORITIES {
            return Problem::new(format!("priority {priority} for messages"))
                .at(whole, "of this file")
                .help("priorities are 0 to 7")
                .err();
        }
        if priority == context.host.control_priority {
            return Problem::new(format!("priority {priority} carries control frames"))
                .at(whole, "messages cannot use it")
                .help("choose another priority for messages, or set host.control_priority")
                .err();
        }
        Ok(priority)
    }
}
