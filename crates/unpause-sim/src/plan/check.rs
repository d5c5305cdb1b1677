//! Requirements that a configuration must meet to be run.

use unpause_protocols::flow_control::pfc::PauseTime;
use unpause_protocols::units::{Rate, Time};

use super::{cbfc, credits, jobs, model, overrides, paths, recovery, retry, slow_hosts, trimming};
use crate::config::invalid::{Invalid, Subject, bytes};
use crate::config::{
    Config, DelayedAck, FrameErrors, HostConfig, MIN_FRAME_BYTES, MOST_ALPHA_SHIFT, PfcConfig,
    PfcThreshold, Probes, TcpConfig,
};
use crate::fabric::clocks::MOST_TOLERANCE;
use crate::fabric::{Link, NodeKind, PRIORITIES, check_rate};
use crate::traffic::{ExtraDelay, TrafficSpec, Transport};

/// The largest preamble and gap, bytes.
const MOST_FRAMING: u32 = 1 << 20;
/// Of a dynamic threshold.
const SHIFTS: std::ops::RangeInclusive<i32> = -MOST_ALPHA_SHIFT..=32;

/// A frame of a payload and a header: fields and bytes.
fn check_frame(payload: (&'static str, u32), header: (&'static str, u32)) -> Result<(), Invalid> {
    if payload.1 == 0 {
        return Err(Invalid::zero(payload.0).label("nothing would be carried"));
    }
    if payload.1.saturating_add(header.1) <= u32::from(u16::MAX) {
        return Ok(());
    }
    let (larger, smaller) = if header.1 > payload.1 {
        (header, payload)
    } else {
        (payload, header)
    };
    let invalid = Invalid::new(larger.0, "a frame has at most 65535 bytes");
    Err(invalid
        .label(bytes(larger.1.into()))
        .and(smaller.0, bytes(smaller.1.into())))
}

/// Refuses times of zero.
fn check_times(times: &[(&'static str, Time)]) -> Result<(), Invalid> {
    match times.iter().find(|(_, time)| *time == Time::ZERO) {
        Some((field, _)) => Err(Invalid::zero(field).label("must be above zero")),
        None => Ok(()),
    }
}

/// Refuses numbers of zero, with what they would mean.
fn check_numbers(numbers: &[(&'static str, u32, &str)]) -> Result<(), Invalid> {
    match numbers.iter().find(|(_, number, _)| *number == 0) {
        Some((field, _, why)) => Err(Invalid::zero(field).label(*why)),
        None => Ok(()),
    }
}

fn check_tcp(tcp: &TcpConfig) -> Result<(), Invalid> {
    const NONE: &str = "at least 1, or \"none\"";
    let law = &tcp.recovery;
    check_frame(
        ("host.tcp.recovery.mss", law.mss),
        ("host.tcp.header_bytes", tcp.header_bytes),
    )?;
    let delayed = tcp.delayed_ack.unwrap_or(DelayedAck {
        every: 1,
        timeout: Time::from_ms(1),
    });
    check_numbers(&[
        (
            "host.tcp.recovery.initial_window",
            law.initial_window,
            "nothing could be sent",
        ),
        (
            "host.tcp.recovery.max_burst",
            law.max_burst.unwrap_or(1),
            NONE,
        ),
        (
            "host.tcp.recovery.dupack_threshold",
            law.duplicate_threshold,
            NONE,
        ),
        ("host.tcp.delayed_ack", delayed.every, NONE),
        (
            "host.tcp.syn_tries",
            tcp.syn_tries,
            "a connection needs a SYN",
        ),
    ])?;
    check_times(&[
        ("host.tcp.recovery.min_rto", law.rto.min),
        ("host.tcp.recovery.max_rto", law.rto.max),
        ("host.tcp.recovery.initial_rtt", law.rto.initial_rtt),
        ("host.tcp.syn_timeout", tcp.syn_timeout),
        ("host.tcp.delayed_ack_timeout", delayed.timeout),
    ])?;
    if law.rto.max < law.rto.min {
        let invalid = Invalid::new("host.tcp.recovery.max_rto", "`max_rto` is below `min_rto`");
        return Err(invalid
            .label(law.rto.max.to_string())
            .and("host.tcp.recovery.min_rto", law.rto.min.to_string()));
    }
    if tcp.buffer_bytes > 1 << 30 {
        let invalid = Invalid::new("host.tcp.buffer_bytes", "`buffer` is more than 1GiB");
        return Err(invalid.label("TCP's numbers wrap after 4 GiB"));
    }
    if tcp.buffer_bytes < u64::from(law.mss) {
        let message = "`buffer` is less than a segment";
        let invalid = Invalid::new("host.tcp.buffer_bytes", message);
        let segment = format!("a segment has {}", bytes(law.mss.into()));
        return Err(invalid
            .label(bytes(tcp.buffer_bytes))
            .and("host.tcp.recovery.mss", segment));
    }
    let Some(tags) = &tcp.tags else {
        return Ok(());
    };
    let out_of_range = |priority: &&u8| usize::from(**priority) >= PRIORITIES;
    let message = match tags.priorities.iter().find(out_of_range) {
        Some(priority) => format!("there is no priority {priority}"),
        None if tags.priorities.is_empty() => "tags need a priority for each level".to_owned(),
        None => return Ok(()),
    };
    Err(Invalid::new("host.tcp.tags.priorities", message))
}

fn check_pfc(pfc: &PfcConfig) -> Result<(), Invalid> {
    match pfc.params.pause_time {
        PauseTime::Quanta(0) => {
            return Err(Invalid::zero("switch.pfc.pause_quanta").label("0 means resume"));
        }
        PauseTime::Absolute(time) => check_times(&[("switch.pfc.pause_time", time)])?,
        PauseTime::Quanta(_) => {}
    }
    match pfc.threshold {
        PfcThreshold::Static {
            xoff_bytes,
            xon_bytes,
        } if xon_bytes > xoff_bytes => Err(Invalid::new("switch.pfc.xon", "XON is above XOFF")
            .label(format!("resume at {}", bytes(xon_bytes)))
            .and(
                "switch.pfc.xoff",
                format!("pause above {}", bytes(xoff_bytes)),
            )
            .help("set `xon` at or below `xoff`; two frames below it is the default")),
        PfcThreshold::Dynamic { shift, .. } | PfcThreshold::Reserved { shift, .. } => {
            let each = pfc.shifts.iter().map(|(_, shift)| *shift);
            match each.chain([shift]).find(|it| !SHIFTS.contains(it)) {
                None => Ok(()),
                Some(shift) if shift > 0 => Err(Invalid::new(
                    "switch.pfc.dynamic_shift",
                    "`dynamic_shift` is more than 32",
                )),
                Some(_) => Err(Invalid::new(
                    "switch.pfc.dynamic_shift",
                    "the threshold is more than 256 times what is free",
                )),
            }
        }
        _ => Ok(()),
    }
}

fn check_probes(probes: &Probes, links_of: &[u32]) -> Result<(), Invalid> {
    for (field, ports) in [
        ("probes.ports", &probes.ports),
        ("probes.packets", &probes.packets),
    ] {
        let has = |(node, port): &(u32, u16)| {
            let links = links_of.get(*node as usize);
            links.is_some_and(|&links| u32::from(*port) < links)
        };
        if let Some((node, port)) = ports.iter().find(|port| !has(port)) {
            let message = format!("there is no port {port} of node {node} to probe");
            return Err(Invalid::new(field, message));
        }
    }
    let deadlock = probes.deadlock.unwrap_or_default();
    let histogram = probes.histogram.map_or(probes.interval, |it| it.interval);
    check_times(&[
        ("probes.interval", probes.interval),
        (
            "probes.flow_interval",
            probes.flow_interval.unwrap_or(probes.interval),
        ),
        ("probes.histogram", histogram),
        ("probes.deadlock", deadlock.interval),
        ("probes.deadlock_hold", deadlock.hold),
    ])?;
    if let Some(flows) = probes.flow_interval
        && !flows.as_ps().is_multiple_of(probes.interval.as_ps())
    {
        let message = format!(
            "`flow_interval` is no multiple of `interval`, {}",
            probes.interval
        );
        let invalid = Invalid::new("probes.flow_interval", message);
        return Err(invalid.help("flows are sampled together with ports, but less often"));
    }
    if let Some(histogram) = probes.histogram
        && !histogram
            .report
            .as_ps()
            .is_multiple_of(histogram.interval.as_ps())
    {
        return Err(Invalid::new(
            "probes.histogram",
            "reports are no multiples of the interval",
        ));
    }
    Ok(())
}

/// Every delay that is to be drawn has something to be drawn from.
fn check_delays(config: &Config) -> Result<(), Invalid> {
    let known = config.host.extra_delays.len();
    let check = |delay: ExtraDelay| match delay {
        ExtraDelay::Drawn(from) if usize::from(from) >= known => {
            let message = format!("there is no distribution {from} of extra delays");
            Err(Invalid::new("host.extra_delays", message))
        }
        _ => Ok(()),
    };
    for spec in &config.traffic {
        match spec {
            TrafficSpec::Flows(flows) => flows.iter().try_for_each(|f| check(f.extra_delay))?,
            generated => generated
                .settings()
                .map_or(Ok(()), |f| check(f.extra_delay))?,
        }
    }
    Ok(())
}

/// Checks the links, and counts those of each node.
fn check_links(config: &Config) -> Result<Vec<u32>, Invalid> {
    let invalid = |subject, message: &str| Err(Invalid::new("fabric.links", message).of(subject));
    let kinds = &config.fabric.nodes;
    let mut links_of = vec![0u32; kinds.len()];
    for (index, link) in config.fabric.links.iter().enumerate() {
        let subject = Subject::Link(index);
        let ends = [link.a, link.b].map(|node| node as usize);
        if ends.iter().any(|node| *node >= kinds.len()) || link.a == link.b {
            return invalid(subject, "does not join two nodes");
        }
        if let Err(why) = check_rate(link.rate) {
            return invalid(subject, &format!("has {}: {why}", link.rate));
        }
        if link.delay == Time::ZERO {
            return invalid(subject, "has no delay");
        }
        if ends.iter().all(|node| kinds[*node] == NodeKind::Host) {
            return invalid(subject, "joins two hosts; put a switch between them");
        }
        for node in ends {
            links_of[node] += 1;
        }
    }
    for ((kind, links), node) in kinds.iter().zip(&links_of).zip(0..) {
        if *kind == NodeKind::Host && *links == 0 {
            return invalid(Subject::Host(node), "has no link");
        }
        if *links > u32::from(u16::MAX) {
            return invalid(Subject::Switch(node), "has more than 65535 links");
        }
    }
    Ok(links_of)
}

/// A setting by link rate must cover every rate of a switch's ports.
fn check_rates(config: &Config) -> Result<(), Invalid> {
    let pfc = &config.switch.pfc;
    let rates = |all: &mut dyn Iterator<Item = Rate>| all.collect::<Vec<_>>();
    for (field, rates) in [
        (
            "switch.pfc.dynamic_shift",
            rates(&mut pfc.shifts.iter().map(|it| it.0)),
        ),
        (
            "switch.pfc.headroom",
            rates(&mut pfc.headrooms.iter().map(|it| it.0)),
        ),
        (
            "scheme",
            rates(&mut config.scheme.congestion_points.iter().map(|it| it.0)),
        ),
    ] {
        // NVSwitches have no congestion points.
        let counts = |link: &Link| {
            let ends = [link.a, link.b];
            field != "scheme" || !ends.iter().any(|node| config.fabric.is_nvswitch(*node))
        };
        let lacks = |link: &&Link| counts(link) && !rates.is_empty() && !rates.contains(&link.rate);
        if let Some(link) = config.fabric.links.iter().find(lacks) {
            let message = format!("no value for links of {}", link.rate);
            let invalid = Invalid::new(field, message).label("by link rate");
            return Err(
                invalid.help("give a value for every rate that the fabric has, or one for all")
            );
        }
    }
    Ok(())
}

/// Refuses changes of links that are not there, failures beside hosts that send PAUSE, and errors that cannot be.
fn check_events(config: &Config) -> Result<(), Invalid> {
    let events = &config.events;
    let links = config.fabric.links.len();
    if let Some(event) = events.links.iter().find(|event| event.link >= links) {
        let message = format!("there is no link {}", event.link);
        return Err(Invalid::new("events.links", message));
    }
    for event in &events.rates {
        let why = match config.fabric.links.get(event.link) {
            None => format!("there is no link {}", event.link),
            Some(link) if event.rate > link.rate => {
                format!("{} where the fabric has {}", event.rate, link.rate)
            }
            Some(_) => match check_rate(event.rate) {
                Err(why) => format!("{}: {why}", event.rate),
                Ok(()) => continue,
            },
        };
        return Err(Invalid::new("events.rates", why));
    }
    for event in &events.errors {
        let why = match event.errors {
            _ if event.link >= links => format!("there is no link {}", event.link),
            FrameErrors::Frames(share) if !(0.0..=1.0).contains(&share) => {
                format!("{share} is no share of frames")
            }
            FrameErrors::Bits(ber) if !(0.0..=0.5).contains(&ber) => {
                format!("{ber} is no bit error ratio")
            }
            FrameErrors::Codewords {
                interleave,
                codeword_errors,
                ..
            } if interleave == 0 || !(0.0..=1.0).contains(&codeword_errors) => {
                format!("{interleave} codewords, of which {codeword_errors} cannot be corrected")
            }
            _ => continue,
        };
        return Err(Invalid::new("events.errors", why));
    }
    Ok(())
}

fn check_nics(host: &HostConfig) -> Result<(), Invalid> {
    if host.min_frame_bytes > MIN_FRAME_BYTES {
        let invalid = Invalid::new("host.min_frame_bytes", "`min_frame` is above Ethernet's");
        return Err(invalid.label("64 B at most"));
    }
    if host.clock_tolerance > MOST_TOLERANCE {
        let message = "`clock_tolerance` is above 1000 ppm";
        return Err(Invalid::new("host.clock_tolerance", message)
            .label("links of one rate would no longer count as such")
            .help("IEEE 802.3 allows 100ppm"));
    }
    Ok(())
}

/// The conditions that the engine relies on.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    check_delays(config)?;
    if config.uses(Transport::Tcp) {
        check_tcp(&config.host.tcp)?;
    }
    let links_of = check_links(config)?;
    slow_hosts::check(config, &links_of)?;
    check_events(config)?;
    jobs::check(config)?;
    let host = &config.host;
    check_frame(
        ("host.payload_bytes", host.payload_bytes),
        ("host.header_bytes", host.header_bytes),
    )?;
    check_numbers(&[
        (
            "host.ack_every",
            host.ack_every,
            "at least 1: an ACK for each data packet",
        ),
        (
            "host.ack_bytes",
            host.ack_bytes.into(),
            "at least 1 B, to take time on a wire",
        ),
    ])?;
    check_nics(host)?;
    check_times(&[("host.retransmit_timeout", host.retransmit_timeout)])?;
    if config.fabric.framing_bytes > MOST_FRAMING {
        let invalid = Invalid::new("fabric.framing_bytes", "`framing` is more than 1MiB");
        return Err(invalid.label(bytes(config.fabric.framing_bytes.into())));
    }
    let control = host.control_priority;
    if usize::from(control) >= PRIORITIES {
        let message = format!("there is no priority {control}");
        let invalid = Invalid::new("host.control_priority", message);
        return Err(invalid.label("priorities are 0 to 7"));
    }
    let switch = &config.switch;
    if switch.lossless >> control & 1 == 1 {
        let message = format!("priority {control} carries control frames");
        return Err(Invalid::new("switch.lossless", message)
            .label("must not be lossless: PAUSE would stop ACKs and CNPs")
            .help("choose another priority, or set host.control_priority"));
    }
    if switch.lossy_queue_packets == Some(0) {
        let zero = Invalid::zero("switch.lossy_queue_packets");
        return Err(zero.label("nothing could wait"));
    }
    check_pfc(&switch.pfc)?;
    check_rates(config)?;
    if config.stop == Time::ZERO || config.stop.is_never() {
        let invalid = Invalid::new("stop", "the duration must be above zero");
        return Err(invalid.label("must be above zero"));
    }
    check_probes(&config.probes, &links_of)?;
    recovery::check(config).and_then(|()| credits::check(config, &links_of))?;
    paths::check(config).and_then(|()| trimming::check(config))?;
    cbfc::check(config).and_then(|()| retry::check(config))?;
    overrides::check(config).and_then(|()| model::check(config, &links_of))
}
