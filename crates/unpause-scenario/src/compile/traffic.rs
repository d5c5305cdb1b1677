//! `[[traffic]]`: one kind of table for each kind of traffic.

use std::ops::Range;

use serde_spanned::Spanned;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::traffic::{
    Arrivals, Burst, BurstFlows, FlowSettings, FlowSpec, Incast, Interval, OnOff, Permutation,
    Poisson, Receivers, TrafficSpec,
};

use super::context::Context;
use super::flow_settings::{settings, without_priorities};
use super::kinds::{
    BurstKind, COMMON_KEYS, Common, FileKind, FlowKind, IncastKind, KINDS, OnOffKind,
    PermutationKind, PoissonKind,
};
use crate::text::checks::{at_least_one, both, positive, size_bytes};
use crate::text::document::{Table, read, split_off, take_string};
use crate::text::error::{Checked, Problem, nearest};
use crate::text::quantity::Duration;

/// One entry, ready to run.
pub(super) struct Entry {
    pub name: Spanned<String>,
    pub spec: TrafficSpec,
    /// For the reader of the result.
    pub note: Option<String>,
}

/// Reads one `[[traffic]]` table.
pub(super) fn entry(mut table: Table<'_>, context: &Context<'_>) -> Checked<Entry> {
    let span = table.span();
    let kind = take_string(&mut table, "kind")?;
    let common: Common = read(split_off(&mut table, &COMMON_KEYS), &[])?;
    let Some(kind) = kind else {
        let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
        return Problem::new(format!("traffic `{}` has no `kind`", common.name.get_ref()))
            .at(span, "in this entry")
            .help(format!("set it to one of: {}", kinds.join(", ")))
            .err();
    };
    let settings = settings(&common, context)?;
    let sizes = ["size", "cdf"].map(|key| table.get_ref().contains_key(key));
    without_priorities(&kind, sizes.contains(&true), &common)?;
    let keys = &COMMON_KEYS;
    let mut note = None;
    let spec = match kind.get_ref().as_str() {
        "flow" => flow(&read(table, keys)?, &settings, context)?,
        "burst" => burst(&read(table, keys)?, settings, span, context)?,
        "on-off" => on_off(&read(table, keys)?, settings, context)?,
        "poisson" => poisson(&read(table, keys)?, settings, span, context)?,
        "incast" => incast(&read(table, keys)?, settings, span, context)?,
        "permutation" => permutation(&read(table, keys)?, settings, span, context)?,
        "file" => {
            let file: FileKind = read(table, keys)?;
            let read = context
                .files
                .flows(&file.file, &settings, context.topology)?;
            if read.ignored > 0 {
                note = Some(format!(
                    "{} has {} lines like flows after the number of flows that its first line says; \
                     they were not read",
                    file.file.get_ref(),
                    read.ignored
                ));
            }
            TrafficSpec::Flows(read.flows)
        }
        other => {
            let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
            return Problem::new(format!("unknown kind of traffic \"{other}\""))
                .at(kind.span(), "here")
                .help_if(nearest(other, &kinds))
                .err();
        }
    };
    let spec = if takes_part(&common, context)? {
        spec
    } else {
        TrafficSpec::Flows(Vec::new())
    };
    Ok(Entry {
        name: common.name,
        spec,
        note,
    })
}

fn takes_part(common: &Common, context: &Context<'_>) -> Checked<bool> {
    let Some(schemes) = &common.schemes else {
        return Ok(true);
    };
    for name in &schemes.get_ref().0 {
        if !context.schemes.contains(name) {
            let names: Vec<&str> = context.schemes.iter().map(String::as_str).collect();
            return Problem::new(format!("there is no scheme `{name}`"))
                .at(schemes.span(), "here")
                .help_if(nearest(name, &names))
                .err();
        }
    }
    Ok(schemes
        .get_ref()
        .0
        .iter()
        .any(|name| name == context.scheme))
}

fn flow(kind: &FlowKind, settings: &FlowSettings, context: &Context<'_>) -> Checked<TrafficSpec> {
    let (from, to) = (
        context.names.host_list(&kind.from)?,
        context.names.host_list(&kind.to)?,
    );
    let start = time(&kind.start, Time::ZERO);
    let size_bytes = match &kind.size {
        Some(size) => Some(size_bytes(size, settings.transport)?),
        None => None,
    };
    let mut flows = Vec::new();
    for src in &from {
        for dst in &to {
            context.differ(*src, *dst, &kind.from.span(), &kind.to.span())?;
            flows.push(FlowSpec {
                group: 0,
                src: *src,
                dst: *dst,
                size_bytes,
                start,
                stop: time(&kind.stop, Time::NEVER),
                priority: settings.priority_of(size_bytes),
                rate_limit: settings.rate_limit,
                offered: settings.offered,
                controlled: settings.controlled,
                recorded: settings.recorded,
                source_port: kind.source_port.unwrap_or(0),
                transport: settings.transport,
                extra_delay: settings.extra_delay,
            });
        }
    }
    stops_after_start(&kind.start, &kind.stop)?;
    Ok(TrafficSpec::Flows(flows))
}

fn burst(
    kind: &BurstKind,
    flow: FlowSettings,
    span: Range<usize>,
    context: &Context<'_>,
) -> Checked<TrafficSpec> {
    let (from, to) = context.many_to_one(&kind.from, &kind.to)?;
    let flows = match (&kind.flows_per_host, &kind.flows) {
        (Some(each), Some(all)) => return both("flows_per_host", each, "flows", all),
        (Some(each), None) => {
            BurstFlows::PerHost(at_least_one("flows_per_host", each, "at least 1")?)
        }
        (None, Some(all)) => BurstFlows::InAll(at_least_one("flows", all, "at least 1")?),
        (None, None) => BurstFlows::PerHost(1),
    };
    stops_after_start(&kind.start, &kind.stop)?;
    let arrivals = events(
        &kind.start,
        &kind.stop,
        &kind.interval,
        &kind.mean_interval,
        &kind.events,
    )?;
    let size = context
        .files
        .size(&kind.size, &kind.cdf, flow.transport, span)?;
    Ok(TrafficSpec::Burst(Burst {
        from,
        to,
        flows,
        size,
        arrivals,
        flow,
    }))
}

fn on_off(kind: &OnOffKind, flow: FlowSettings, context: &Context<'_>) -> Checked<TrafficSpec> {
    let (from, to) = context.many_to_one(&kind.from, &kind.to)?;
    stops_after_start(&kind.start, &kind.stop)?;
    Ok(TrafficSpec::OnOff(OnOff {
        from,
        to,
        on: positive("on", &kind.on)?,
        off: positive("off", &kind.off)?,
        start: time(&kind.start, Time::ZERO),
        stop: time(&kind.stop, Time::NEVER),
        flow,
    }))
}

fn poisson(
    kind: &PoissonKind,
    flow: FlowSettings,
    span: Range<usize>,
    context: &Context<'_>,
) -> Checked<TrafficSpec> {
    let from = context.hosts_or_all(&kind.from)?;
    let to = match (&kind.permutation, &kind.to) {
        (Some(permutation), Some(to)) if *permutation.get_ref() => {
            return both("permutation", permutation, "to", to);
        }
        (Some(permutation), None) if *permutation.get_ref() => Receivers::Permutation,
        _ => Receivers::Any(context.hosts_or_all(&kind.to)?),
    };
    let to = match (&kind.outside_leaf, to) {
        (Some(outside), Receivers::Permutation) if *outside.get_ref() => {
            let permutation = kind.permutation.as_ref().expect("it has been read");
            return both("permutation", permutation, "outside_leaf", outside);
        }
        (Some(outside), Receivers::Any(to)) if *outside.get_ref() => Receivers::BehindOtherSwitch {
            to,
            switch_of: context.switch_of(),
        },
        (_, to) => to,
    };
    let receivers = match &to {
        Receivers::Any(hosts) | Receivers::BehindOtherSwitch { to: hosts, .. } => hosts.as_slice(),
        Receivers::Permutation => &from,
    };
    context.any_to_any(&from, receivers, &kind.from, &kind.to, &span)?;
    let size = context
        .files
        .size(&kind.size, &kind.cdf, flow.transport, span.clone())?;
    stops_after_start(&kind.start, &kind.stop)?;
    let senders_per_event = if kind.synchronised {
        from.len() as f64
    } else {
        1.0
    };
    let bits_per_event = size.mean() * 8.0 * senders_per_event;
    let events_per_second = match (&kind.load, &kind.rate, &kind.mean_interval) {
        (Some(load), Some(rate), _) => return both("load", load, "rate", rate),
        (Some(load), _, Some(interval)) => return both("load", load, "mean_interval", interval),
        (_, Some(rate), Some(interval)) => return both("rate", rate, "mean_interval", interval),
        (Some(load), None, None) => {
            if load.get_ref().num == 0 {
                return Problem::new("`load` is zero")
                    .at(load.span(), "nothing would be sent")
                    .err();
            }
            let capacity = context.capacity(&kind.load_of, &from, receivers)?;
            load.get_ref().as_f64() * capacity / bits_per_event
        }
        (None, Some(rate), None) => {
            if rate.get_ref().0 == Rate::ZERO {
                return Problem::new("`rate` is zero")
                    .at(rate.span(), "nothing would be sent")
                    .err();
            }
            rate.get_ref().0.as_bps() as f64 / bits_per_event
        }
        (None, None, Some(interval)) => 1.0 / positive("mean_interval", interval)?.as_secs_f64(),
        (None, None, None) => {
            return Problem::new("how much traffic is not said")
                .at(span, "in this entry")
                .help(
                    "set one of: load = 0.5 (share of the senders' links, or what load_of says), rate = \"12Gbps\" \
                     (payload of all senders together), mean_interval = \"10us\"",
                )
                .err();
        }
    };
    if let (Some(of), None) = (&kind.load_of, &kind.load) {
        return Problem::new("`load_of` has no effect")
            .at(of.span(), "there is no `load`")
            .help("remove it, or say how much traffic there is by `load`")
            .err();
    }
    let arrivals = Arrivals {
        stop: time(&kind.stop, Time::NEVER),
        max_flows: kind.flows.as_ref().map(|flows| *flows.get_ref()),
        ..Arrivals::poisson(events_per_second, time(&kind.start, Time::ZERO))
    };
    let synchronised = kind.synchronised;
    Ok(TrafficSpec::Poisson(Poisson {
        from,
        to,
        size,
        synchronised,
        arrivals,
        flow,
    }))
}

fn incast(
    kind: &IncastKind,
    flow: FlowSettings,
    span: Range<usize>,
    context: &Context<'_>,
) -> Checked<TrafficSpec> {
    let (from, to) = (
        context.hosts_or_all(&kind.from)?,
        context.hosts_or_all(&kind.to)?,
    );
    context.any_to_any(&from, &to, &kind.from, &kind.to, &span)?;
    stops_after_start(&kind.start, &kind.stop)?;
    let least = at_least_one("senders", &kind.senders, "at least 1")?;
    let most = kind
        .max_senders
        .as_ref()
        .map_or(least, |most| *most.get_ref());
    let most_place = kind.max_senders.as_ref().unwrap_or(&kind.senders).span();
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
        &kind.start,
        &kind.stop,
        &kind.interval,
        &kind.mean_interval,
        &kind.events,
    )?;
    let size = context
        .files
        .size(&kind.size, &kind.cdf, flow.transport, span)?;
    Ok(TrafficSpec::Incast(Incast {
        from,
        to,
        senders: (least, most),
        size,
        arrivals,
        flow,
    }))
}

fn permutation(
    kind: &PermutationKind,
    flow: FlowSettings,
    span: Range<usize>,
    context: &Context<'_>,
) -> Checked<TrafficSpec> {
    let hosts = context.hosts_or_all(&kind.from)?;
    context.any_to_any(&hosts, &hosts, &kind.from, &kind.from, &span)?;
    let size = match (&kind.size, &kind.cdf) {
        (None, None) => None,
        _ => Some(
            context
                .files
                .size(&kind.size, &kind.cdf, flow.transport, span)?,
        ),
    };
    let start = time(&kind.start, Time::ZERO);
    Ok(TrafficSpec::Permutation(Permutation {
        hosts,
        size,
        start,
        flow,
    }))
}

fn time(value: &Option<Spanned<Duration>>, default: Time) -> Time {
    value.as_ref().map_or(default, |value| value.get_ref().0)
}

fn stops_after_start(
    start: &Option<Spanned<Duration>>,
    stop: &Option<Spanned<Duration>>,
) -> Checked<()> {
    match stop {
        Some(stop) if stop.get_ref().0 <= time(start, Time::ZERO) => {
            let problem = Problem::new("it stops before it starts").at(stop.span(), "stops here");
            match start {
                Some(start) => problem.at(start.span(), "starts here"),
                None => problem,
            }
            .err()
        }
        _ => Ok(()),
    }
}

/// One event, or one in each interval.
fn events(
    start: &Option<Spanned<Duration>>,
    stop: &Option<Spanned<Duration>>,
    interval: &Option<Spanned<Duration>>,
    mean_interval: &Option<Spanned<Duration>>,
    events: &Option<Spanned<u64>>,
) -> Checked<Arrivals> {
    let start = time(start, Time::ZERO);
    let mut arrivals = match (interval, mean_interval) {
        (Some(interval), Some(mean)) => return both("interval", interval, "mean_interval", mean),
        (Some(interval), None) => Arrivals::every(positive("interval", interval)?, start),
        (None, Some(mean)) => {
            let mean = positive("mean_interval", mean)?.as_secs_f64();
            let interval = Interval::Exponential {
                events_per_second: 1.0 / mean,
            };
            Arrivals {
                interval,
                ..Arrivals::every(Time::NEVER, start)
            }
        }
        (None, None) => {
            let stop = stop.as_ref().map(|stop| ("stop", stop.span()));
            let events = events.as_ref().map(|events| ("events", events.span()));
            return match stop.or(events) {
                None => Ok(Arrivals::once(start)),
                Some((key, span)) => Problem::new(format!("`{key}` has no effect"))
                    .at(span, "there is one event, at `start`")
                    .help("set interval = \"100us\" or mean_interval, or remove it")
                    .err(),
            };
        }
    };
    arrivals.stop = time(stop, Time::NEVER);
    arrivals.max_events = events.as_ref().map(|events| *events.get_ref());
    Ok(arrivals)
}
