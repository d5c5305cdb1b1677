//! Keys that flows of every kind have.

use std::ops::Range;
use unpause_protocols::names::Names;
use unpause_text::error::{Checked, Problem};
use unpause_text::name_list::NameList;
use unpause_text::quantity::{DataRate, Duration, Size};

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_protocols::units::Rate;
use unpause_sim::traffic::{
    Connections, Ending, FlowSettings, Matching, Pool, PriorityBySize, Transport,
};

use super::context::Context;
use crate::sections::extra_delay::ExtraDelayKey;
use crate::text::checks;
use crate::text::keys::{Keys, WithDefault, Written};
use crate::text::kind::{HasKind, Kind, OneOf};

type SizeClasses = Vec<SizeClass>;

/// Keys of every kind.
#[derive(Keys)]
#[keys("traffic")]
pub(crate) struct Common {
    /// name of the entry in results
    pub(crate) name: Spanned<String>,
    /// run only under these schemes
    #[key(unset = "all")]
    pub(crate) schemes: Written<NameList>,
    /// priority of the data packets
    #[key(default = FlowSettings::default().priority)]
    pub(crate) priority: WithDefault<u8>,
    /// other priorities for smaller flows, see below
    #[key(unset = "none")]
    pub(crate) priority_by_size: Written<SizeClasses>,
    /// upper limit of a flow's sending rate, including headers, preamble and gap
    #[key(unset = "line rate")]
    pub(crate) rate_limit: Written<DataRate>,
    /// RoCE and UDP flows: rate at which the application offers frames, including headers, preamble and gap; a frame that cannot be sent in time is sent at the latest when the next one is due
    #[key(unset = "always a frame")]
    pub(crate) offered: Written<DataRate>,
    /// start when the flows of these entries that end at this flow's sender have ended; `start` and other times are relative to that
    #[key(unset = "own start")]
    pub(crate) after: Written<NameList>,
    /// `"delivered"`: a flow ends when its receiver has all of it, `"acknowledged"`: when its sender knows that
    pub(crate) after_end: WithDefault<OneOf<Ending>>,
    /// `"all"`: a flow waits for all flows that end at its sender, `"each"`: the n-th flow of the entry waits for the n-th of the one in `after`
    pub(crate) after_match: WithDefault<OneOf<Matching>>,
    /// each flow starts later by a random time up to this, another one with each seed
    pub(crate) jitter: WithDefault<Duration>,
    /// whether flows obey the scheme's congestion control; if not, they obey PFC only (and use RoCE)
    #[key(default = true)]
    pub(crate) controlled: WithDefault<bool>,
    /// TCP needs a window law in the scheme; UDP is open loop: frames at `rate_limit` or `offered`, no ACKs, and what is lost is lost
    #[key(unset = "by the scheme")]
    pub(crate) transport: Written<OneOf<Transport>>,
    /// [window law](#congestion-controls) of these flows, which are TCP under every scheme: with its defaults, or with the scheme's parameters if the scheme has the same; what switches do is up to the scheme
    #[key(unset = "that of the scheme")]
    pub(crate) tcp: Written<String>,
    /// delay of the data packets at the receiving host
    #[key(unset = "that of `[host]`")]
    pub(crate) extra_delay: Written<ExtraDelayKey>,
    /// TCP: `"new"`: each flow opens a connection; `"pool"`: it uses the entry's oldest idle connection between the two hosts, or a further one that is already open; a connection keeps window, RTT estimate, source port and extra delay
    #[key(from = "`\"pool\"`: HKUST-SING's TrafficGenerator")]
    pub(crate) connections: WithDefault<OneOf<ConnectionsName>>,
    /// a pooled connection that has been idle for longer than its retransmission timeout restarts with at most the initial window
    #[key(default = true, from = "RFC 5681, Linux")]
    pub(crate) slow_start_after_idle: WithDefault<bool>,
    /// sample these flows into `flow_series`
    #[key(default = FlowSettings::default().recorded)]
    pub(crate) record: WithDefault<bool>,
    /// put these flows first in every summary: their goodput during a burst of other traffic and the time to recover, or their slowdown if they have a size; flows without a size are also sampled, as by `record`
    pub(crate) watch: WithDefault<bool>,
}

/// An entry of `priority_by_size`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizeClass {
    pub upto: Spanned<Size>,
    pub priority: Spanned<u8>,
}

impl HasKind for SizeClass {
    fn kind() -> Kind {
        Kind::table("table")
    }
}

/// Over which connections the flows of an entry go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum ConnectionsName {
    New,
    Pool,
}

/// The settings of all flows of an entry. Whatever depends on the scheme is checked if the entry takes
/// `part` in it. Flows that are `endless` have no size.
pub(super) fn settings(
    common: &Common,
    part: bool,
    endless: bool,
    context: &Context<'_>,
) -> Checked<FlowSettings> {
    let mut settings = FlowSettings::default();
    if let Some(priority) = common.priority.get() {
        settings.priority = data_priority(priority, context)?;
    }
    if let Some(classes) = common.priority_by_size.get() {
        settings.by_size = by_size(classes, context)?;
    }
    settings.transport = transport(common, part, context)?;
    let is_tcp = part && settings.transport == Transport::Tcp;
    if let Some(offered) = common.offered.peek().filter(|_| is_tcp) {
        return Problem::new("`offered` has no effect")
            .at(offered.span(), format!("these flows are TCP in scheme `{}`", context.scheme))
            .help("remove it, set transport = \"roce\" or \"udp\", or leave this entry out of that scheme by `schemes`")
            .err();
    }
    settings.connections = connections(common, part, settings.transport, context)?;
    if let Some(first) = context.first_priority().filter(|_| is_tcp) {
        pias_alone(common)?;
        settings.priority = first;
    }
    settings.extra_delay = context
        .delays
        .of_entry(&common.extra_delay, context.files)?;
    for (key, rate, slot) in [
        ("rate_limit", &common.rate_limit, &mut settings.rate_limit),
        ("offered", &common.offered, &mut settings.offered),
    ] {
        if let Some(rate) = Written::get(rate) {
            if rate.get_ref().0 == Rate::ZERO {
                return Problem::new(format!("`{key}` is zero"))
                    .at(rate.span(), "nothing would be sent")
                    .err();
            }
            *slot = Some(rate.get_ref().0);
        }
    }
    settings.controlled = *common.controlled.value() && settings.transport != Transport::Udp;
    settings.recorded = *common.record.value();
    settings.recorded |= *common.watch.value() && endless;
    Ok(settings)
}

/// Over which connections the flows of an entry go.
fn connections(
    common: &Common,
    part: bool,
    transport: Transport,
    context: &Context<'_>,
) -> Checked<Connections> {
    let pool = |name: &&Spanned<OneOf<_>>| name.get_ref().0 == ConnectionsName::Pool;
    let Some(pool) = common.connections.get().filter(pool) else {
        return match common.slow_start_after_idle.peek() {
            None => Ok(Connections::New),
            Some(key) => Problem::new("`slow_start_after_idle` has no effect")
                .at(key.span(), "no connection outlives its flow")
                .help("remove it, or add connections = \"pool\"")
                .err(),
        };
    };
    if part && transport != Transport::Tcp {
        return Problem::new("`connections` has no effect")
            .at(pool.span(), format!("these flows are not TCP in scheme `{}`", context.scheme))
            .help("remove it, set transport = \"tcp\", or leave this entry out of that scheme by `schemes`")
            .err();
    }
    let slow_start_after_idle = *common.slow_start_after_idle.value();
    Ok(Connections::Pool(Pool::new(slow_start_after_idle)))
}

/// PIAS tags every segment of a TCP flow: no other key may.
fn pias_alone(common: &Common) -> Checked<()> {
    let priority = common.priority.peek().map(|it| ("priority", it.span()));
    let by_size = common.priority_by_size.peek();
    let by_size = by_size.map(|it| ("priority_by_size", it.span()));
    let Some((key, span)) = priority.or(by_size) else {
        return Ok(());
    };
    Problem::new(format!("`{key}` has no effect"))
        .at(span, "[pias] gives the segments of TCP flows theirs")
        .help("remove it, or [pias]")
        .err()
}

/// The transport of the flows of an entry: as written, else TCP if the scheme controls that.
/// Flows that obey PFC only are RoCE. An entry without a `part` in the scheme may be TCP whatever that has.
fn transport(common: &Common, part: bool, context: &Context<'_>) -> Checked<Transport> {
    let uncontrolled = common.controlled.peek().filter(|it| !*it.get_ref());
    if let Some(law) = common.tcp.get() {
        return by_law(law, common, uncontrolled);
    }
    let Some(said) = common.transport.get() else {
        return Ok(match uncontrolled {
            Some(_) => Transport::Roce,
            None if !part => Transport::Tcp,
            None => context.transport,
        });
    };
    match said.get_ref().0 {
        Transport::Roce => return Ok(Transport::Roce),
        Transport::Udp => return udp(common, said),
        Transport::Tcp => {}
    }
    if part && context.law.is_none() {
        return Problem::new(format!("scheme `{}` has no TCP", context.scheme))
            .at(said.span(), "needs the law of a congestion window")
            .help(
                "set tcp = \"dctcp\" here or in that [[scheme]] (or newreno, ecn-tcp, cubic), or leave this entry \
                 out of it by `schemes`",
            )
            .err();
    }
    is_controlled(uncontrolled, said.span())?;
    Ok(Transport::Tcp)
}

/// UDP obeys no congestion control, whatever the scheme has.
fn udp(common: &Common, said: &Spanned<OneOf<Transport>>) -> Checked<Transport> {
    let Some(controlled) = common.controlled.peek() else {
        return Ok(Transport::Udp);
    };
    if !*controlled.get_ref() {
        return Problem::new("`controlled` has no effect")
            .at(controlled.span(), "UDP obeys no congestion control anyway")
            .at(said.span(), "these flows are UDP")
            .help("remove it")
            .err();
    }
    Problem::new("UDP obeys no congestion control")
        .at(controlled.span(), "cannot be switched on")
        .at(said.span(), "by this transport")
        .help("remove `controlled`, or set transport = \"roce\"")
        .err()
}

/// The same of flows with a window law of their own.
fn by_law(
    law: &Spanned<String>,
    common: &Common,
    uncontrolled: Option<&Spanned<bool>>,
) -> Checked<Transport> {
    let other = |it: &&Spanned<OneOf<Transport>>| it.get_ref().0 != Transport::Tcp;
    if let Some(said) = common.transport.get().filter(other) {
        return Problem::new("only TCP flows have a window law")
            .at(said.span(), "the transport")
            .at(law.span(), "is for TCP")
            .help("remove one of the two")
            .err();
    }
    is_controlled(uncontrolled, law.span())?;
    Ok(Transport::Tcp)
}

/// Refuses `controlled = false` of flows that are TCP because of what is said at `by`.
fn is_controlled(uncontrolled: Option<&Spanned<bool>>, by: Range<usize>) -> Checked<()> {
    let Some(uncontrolled) = uncontrolled else {
        return Ok(());
    };
    Problem::new("TCP is always controlled")
        .at(uncontrolled.span(), "cannot be switched off")
        .at(by, "these flows are TCP")
        .help("remove `controlled`, or set transport = \"roce\"")
        .err()
}

fn by_size(classes: &Spanned<Vec<SizeClass>>, context: &Context<'_>) -> Checked<PriorityBySize> {
    let mut found = Vec::new();
    for class in classes.get_ref() {
        let priority = data_priority(&class.priority, context)?;
        found.push((class.upto.get_ref().0, priority));
    }
    PriorityBySize::new(&found).or_else(|reason| {
        Problem::new(format!("`priority_by_size`: {reason}"))
            .at(classes.span(), "here")
            .help("from the smallest `upto` to the largest; larger flows have `priority`")
            .err()
    })
}

/// Priorities that flows do not take from this entry: their sizes are not known, or the file says them.
pub(super) fn without_priorities(
    kind: &Spanned<String>,
    from_file: bool,
    sized: bool,
    common: &Common,
) -> Checked<()> {
    let by_size = common.priority_by_size.peek();
    let by_size = by_size
        .filter(|_| from_file || !sized)
        .map(|it| ("priority_by_size", it.span()));
    let priority = common.priority.peek().filter(|_| from_file);
    let Some((key, span)) = priority.map(|it| ("priority", it.span())).or(by_size) else {
        return Ok(());
    };
    Problem::new(format!("`{key}` has no effect"))
        .at(span, "here")
        .at(
            kind.span(),
            if from_file {
                "the file says the priority of each flow"
            } else {
                "these flows have no size"
            },
        )
        .help("remove it")
        .err()
}

/// A priority that is not that of control frames.
pub(crate) fn data_priority(value: &Spanned<u8>, context: &Context<'_>) -> Checked<u8> {
    let priority = checks::data_priority(value)?;
    if priority == context.host.control_priority {
        return Problem::new(format!("priority {priority} carries control frames"))
            .at(value.span(), "data cannot use it")
            .help("choose another priority, or set host.control_priority")
            .err();
    }
    Ok(priority)
}
