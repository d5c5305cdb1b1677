//! Rates, buffers, PAUSE and lossless priorities stay within what the configuration allows.

use std::collections::BTreeMap;

use unpause_protocols::congestion_control::Settings as _;
use unpause_protocols::congestion_point;
use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{
    Config, FullQueue, Memory, NodeId, PfcThreshold, Shaper, SwitchModel, SwitchOverride,
    WatchdogAction,
};
use unpause_sim::results::{PortRecord, Results, flow};
use unpause_sim::traffic::Transport;

use super::facts::{Answer, fast, is_host, is_set_otherwise, is_slow, largest, ports, shaper};

/// PAUSEs of one queue follow one another, end with the run, and add up to its paused time. What a priority sends
/// and what it is held take no more than the run; a frame under way at the end counts in full.
pub fn pauses(config: &Config, results: &Results) -> Answer {
    if config.switch.lossless == 0 && results.ports.iter().any(|p| p.pause_events > 0) {
        return Err("a PAUSE where no priority is lossless".into());
    }
    held_and_sent(config, results)?;
    if !config.probes.pauses {
        return match results.pauses.first() {
            Some(pause) => Err(format!("{pause:?} although no PAUSE is recorded")),
            None => Ok(()),
        };
    }
    let mut queues: BTreeMap<_, (Time, u64)> = BTreeMap::new();
    for pause in &results.pauses {
        let place = (pause.node, pause.port, pause.priority);
        let in_order = pause.obeyed <= pause.start && pause.start <= pause.end;
        if !in_order || pause.end > results.totals.simulated {
            return Err(format!("{pause:?} ends before it starts or after the run"));
        }
        let maps = |it: &SwitchOverride| it.pfc_to_queue.is_some();
        let mapped = config.switch.overrides.iter().any(maps);
        if !mapped && config.switch.lossless >> pause.priority & 1 == 0 {
            return Err(format!("{pause:?} of a priority that is not lossless"));
        }
        let queue = queues.entry(place).or_insert((Time::ZERO, 0));
        if pause.obeyed < queue.0 {
            return Err(format!("{pause:?} starts before the one before ends"));
        }
        queue.0 = pause.end;
        queue.1 += (pause.end - pause.start).as_ps();
    }
    let mut matched = 0;
    for port in &results.ports {
        let place = (port.node, port.port, port.priority);
        let recorded = queues.get(&place).map_or(0, |queue| queue.1);
        matched += usize::from(recorded > 0);
        if port.paused.as_ps() != recorded {
            return Err(format!(
                "{place:?} was paused for {}, its records say {recorded} ps",
                port.paused
            ));
        }
    }
    if queues.values().filter(|queue| queue.1 > 0).count() == matched {
        Ok(())
    } else {
        Err("a queue was paused that has no row in ports".into())
    }
}

fn held_and_sent(config: &Config, results: &Results) -> Answer {
    let links: BTreeMap<_, _> = ports(config)
        .iter()
        .map(|port| ((port.node, port.number), port.speed))
        .collect();
    let simulated = results.totals.simulated.as_ps();
    for row in &results.ports {
        // ACKs that no PAUSE stops leave during a pause.
        if row.paused == Time::ZERO || is_host(config, row.node) && !config.host.pause_acks {
            continue;
        }
        let bytes = row.tx_bytes.saturating_sub(largest(config));
        let sent = links[&(row.node, row.port)].time_for(bytes).as_ps();
        if row.paused.as_ps() + sent > simulated {
            return Err(format!(
                "({}, {}) of priority {} was held for {} and sent for {sent} ps, of {simulated} ps",
                row.node, row.port, row.priority, row.paused
            ));
        }
    }
    Ok(())
}

/// A port sends no more than its link carries; a frame under way at the end counts in full.
pub fn rates(config: &Config, results: &Results) -> Answer {
    let mut sent: BTreeMap<_, u64> = BTreeMap::new();
    for port in &results.ports {
        *sent.entry((port.node, port.port)).or_default() += port.tx_bytes;
    }
    let simulated = results.totals.simulated.as_ps();
    for port in ports(config) {
        let place = (port.node, port.number);
        let bytes = sent.get(&place).copied().unwrap_or(0);
        let least = port.speed.time_for(bytes.saturating_sub(largest(config)));
        if least.as_ps() > simulated {
            return Err(format!(
                "{place:?} sent {bytes} B in {simulated} ps at {:?}",
                port.speed
            ));
        }
    }
    Ok(())
}

/// A shaped port or queue sends no more than its rate and its burst allow, and one frame.
pub fn shapers(config: &Config, results: &Results) -> Answer {
    let simulated = results.totals.simulated;
    let most = |it: &Shaper| it.rate.bytes_in(simulated) + it.burst_bytes + largest(config);
    let mut of_ports: BTreeMap<_, u64> = BTreeMap::new();
    // PFC frames come from behind the shapers, and are no data or control frames of a row.
    for row in results
        .ports
        .iter()
        .filter(|port| !is_host(config, port.node))
    {
        let place = (row.node, row.port);
        *of_ports.entry(place).or_default() += row.tx_bytes;
        let is_control = row.priority == config.host.control_priority;
        let own = shaper(config, place, Some(row.priority)).filter(|_| !is_control);
        if own.is_some_and(|own| row.tx_bytes > most(&own)) {
            let queue = (row.node, row.port, row.priority);
            return Err(format!(
                "queue {queue:?} sent {} B through {own:?}",
                row.tx_bytes
            ));
        }
    }
    for (place, bytes) in of_ports {
        let own = shaper(config, place, None);
        if own.is_some_and(|own| bytes > most(&own)) {
            return Err(format!("port {place:?} sent {bytes} B through {own:?}"));
        }
    }
    Ok(())
}

/// No queue and no ingress ever held more than there is room for.
pub fn buffers(config: &Config, results: &Results) -> Answer {
    let switch = &config.switch;
    for port in results.ports.iter().filter(|p| !is_host(config, p.node)) {
        let lossless = switch.lossless >> port.priority & 1 == 1;
        if is_set_otherwise(config, port.node) {
            continue;
        }
        let (queue, ingress) = match &switch.model {
            SwitchModel::SharedBuffer => {
                let all = switch.buffer_bytes.unwrap_or(u64::MAX);
                // Trimmed packets wait in a queue with a limit of its own.
                let trimming = switch.trimming.as_ref();
                let trimmed = trimming.map_or(0, |trimming| trimming.control_queue_bytes);
                let queue = if lossless {
                    all
                } else {
                    all.min(switch.lossy_queue_bytes.max(trimmed))
                };
                (queue, all)
            }
            SwitchModel::Pipeline(pipeline) => match pipeline.memory {
                Memory::Dedicated {
                    ingress_bytes,
                    egress_bytes,
                } => (egress_bytes, ingress_bytes),
                Memory::Shared {
                    queue_bytes,
                    pool_bytes,
                    queue_share_bytes,
                    port_share_bytes,
                } => {
                    let share = pool_bytes.min(queue_share_bytes).min(port_share_bytes);
                    (queue_bytes + share, u64::MAX)
                }
            },
            SwitchModel::Cioq(cioq) => (cioq.output_buffer_bytes, cioq.input_buffer_bytes),
            SwitchModel::InputQueued(model) => {
                (model.output_buffer_bytes, model.input_buffer_bytes)
            }
        };
        for (what, most, room) in [
            ("an egress queue", port.max_queue_bytes, queue),
            ("an ingress", port.max_ingress_bytes, ingress),
        ] {
            if most > room {
                return Err(format!(
                    "{what} of {:?} held {most} B, there is room for {room} B",
                    (port.node, port.port, port.priority)
                ));
            }
        }
    }
    Ok(())
}

/// Lossless priorities lose nothing where headroom and pause time are what they must be.
pub fn lossless(config: &Config, results: &Results) -> Answer {
    if !has_headroom(config)
        || results
            .storms
            .iter()
            .any(|storm| storm.action == WatchdogAction::Forward)
    {
        return Ok(());
    }
    // A receive buffer may be written too small.
    let slow = config.host.slow_receiver.as_ref();
    let is_written = slow.is_some_and(|slow| slow.buffer_bytes.is_some());
    let is_small = |node| is_written && is_slow(config, node);
    // After a storm a switch sends again, though the host that caused it may not have said XON.
    let stormed = |at: &&PortRecord| {
        let all = ports(config);
        let mut causes = results.storms.iter().filter_map(|storm| {
            let place = (storm.node, storm.port);
            all.iter().find(|it| (it.node, it.number) == place)
        });
        causes.any(|cause| cause.peer == at.node)
    };
    let kept = results.ports.iter().filter(|port| !is_small(port.node));
    for port in kept.filter(|port| !stormed(port)) {
        let dropped = match config.switch.lossless >> port.priority & 1 {
            1 => port.dropped_packets + port.headroom_dropped_packets,
            _ => 0,
        };
        if dropped > 0 {
            return Err(format!(
                "lossless {:?} dropped {dropped} packets, with headroom",
                (port.node, port.port, port.priority)
            ));
        }
    }
    Ok(())
}

/// True where lossless priorities may lose packets whatever the headroom.
fn may_lose(config: &Config) -> bool {
    let switch = &config.switch;
    // ACKs that no PAUSE stops go on filling the ingress.
    let fills = !config.host.pause_acks;
    // Headroom that ports share may be too small for all of them, and nothing is for a host that continues sending.
    let shared = switch.pfc.headroom_pool_bytes.is_some();
    let differs = !switch.overrides.is_empty() || !config.host.ignores_pause.is_empty();
    // WRED drops what is not ECN-capable, of lossless priorities, too.
    let drops = matches!(
        config.scheme.congestion_point,
        congestion_point::Config::Faults(_) | congestion_point::Config::Wred(_)
    );
    fills || shared || differs || drops
}

fn has_headroom(config: &Config) -> bool {
    if may_lose(config) {
        return false;
    }
    let switch = &config.switch;
    let framing = u64::from(config.fabric.framing_bytes);
    let frame = largest(config);
    let links = &config.fabric.links;
    // A refresh must be there before the PAUSE has run out, behind one frame at worst.
    let lasts = |link: &unpause_sim::config::Link| {
        let pause = switch.pfc.params.pause_duration(link.rate);
        let refresh = switch.pfc.params.refresh_interval(pause);
        let late = link.rate.time_for(frame + 64 + framing);
        // By the clocks of both ends.
        let off = 2 * config.host.clock_tolerance.of_value(pause.as_ps());
        let late = late.saturating_add(Time::from_ps(off));
        pause.is_never() || pause > refresh.saturating_add(late)
    };
    if !links.iter().all(lasts) {
        return false;
    }
    let needed = links.iter().map(|link| {
        pfc::headroom(
            fast(config, link.rate, 3),
            link.delay,
            frame,
            64 + framing,
            switch.pfc.reaction,
        )
    });
    let needed = needed.max().unwrap_or(0);
    match (&switch.model, switch.pfc.threshold) {
        (SwitchModel::SharedBuffer, _) => {
            let pfc = &switch.pfc;
            // There headroom takes the frame that crosses XOFF, too.
            let crossing = match pfc.threshold {
                PfcThreshold::Reserved { .. } => frame,
                _ => 0,
            };
            let own = pfc.headroom_delays.is_some() || !pfc.headrooms.is_empty();
            switch.buffer_bytes.is_none()
                && !own
                && pfc
                    .headroom_bytes
                    .is_none_or(|bytes| bytes >= needed + crossing)
        }
        (SwitchModel::Cioq(cioq), PfcThreshold::Static { xoff_bytes, .. }) => {
            let cell = u64::from(cioq.cell_bytes);
            // Frames count in whole units: the smallest, of 64 bytes, may take one each.
            let in_units = (needed + frame).div_ceil(64) * 64_u64.div_ceil(cell) * cell;
            cioq.input_buffer_bytes >= xoff_bytes + in_units
        }
        (SwitchModel::InputQueued(model), PfcThreshold::Static { xoff_bytes, .. }) => {
            model.input_buffer_bytes >= xoff_bytes + needed + frame
        }
        // What finds no room at an exit stays in the processor, which stops, and counts at its ingress.
        (SwitchModel::Pipeline(pipeline), _) if pipeline.full_queue == FullQueue::Stop => {
            match pipeline.memory {
                Memory::Dedicated { ingress_bytes, .. } => {
                    ingress_bytes >= pipeline.ingress.xoff + frame + needed
                }
                Memory::Shared { .. } => false,
            }
        }
        // The exits drop by design.
        _ => false,
    }
}

/// No flow from a host is faster: the rate of the fastest link, or of all links of the host, if it sprays over them.
fn fastest(config: &Config, host: NodeId) -> Rate {
    let links = config.fabric.links.iter();
    let own = links
        .clone()
        .filter(|link| link.a == host || link.b == host);
    let all = if config.host.sprays() {
        Rate::from_bps(own.map(|link| link.rate.as_bps()).sum())
    } else {
        Rate::ZERO
    };
    fast(config, links.map(|link| link.rate).fold(all, Rate::max), 1)
}

/// Samples lie within the run, never decrease, and rates keep to their limits.
pub fn series(config: &Config, results: &Results) -> Answer {
    let least = least_rate(config);
    let mut before: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
    for sample in &results.flow_series {
        let Some(flow) = flow(&results.flows, sample.flow) else {
            return Err(format!(
                "a sample of flow {}, which did not start",
                sample.flow
            ));
        };
        let inside = sample.time >= flow.start && sample.time <= results.totals.simulated;
        if !inside || sample.time <= config.probes.start {
            return Err(format!(
                "flow {} is sampled at {}",
                sample.flow, sample.time
            ));
        }
        let now = (
            sample.sent_bytes,
            sample.delivered_bytes,
            sample.notifications,
        );
        let last = before.insert(sample.flow, now).unwrap_or_default();
        if now.0 < last.0 || now.1 < last.1 || now.2 < last.2 {
            return Err(format!(
                "counters of flow {} went back at {}",
                sample.flow, sample.time
            ));
        }
        if now.1 > flow.delivered_bytes || now.1 > now.0 || now.2 > flow.notifications {
            return Err(format!(
                "flow {} had {now:?} bytes sent, delivered and notifications at {}, in the end {} and {}",
                sample.flow, sample.time, flow.delivered_bytes, flow.notifications
            ));
        }
        if (flow.transport == Transport::Tcp) != sample.controller_rate.is_none() {
            return Err(format!("flow {} has the wrong kind of sample", sample.flow));
        }
        let fastest = fastest(config, flow.src);
        if let Some(rate) = sample.controller_rate
            && (rate > fastest
                || rate == Rate::ZERO
                || fast(config, rate, 2) < least.min(limit(config, flow.group)))
        {
            return Err(format!(
                "flow {} is at {rate}, not from {least} to {fastest}",
                sample.flow
            ));
        }
    }
    port_series(config, results)
}

/// The least rate of any controller, the line rate of the slowest link included.
fn least_rate(config: &Config) -> Rate {
    let fastest = Rate::from_bps(u64::MAX);
    let least = config.scheme.roce.least_rate().unwrap_or(fastest);
    let slowest = config.fabric.links.iter().map(|link| link.rate).min();
    slowest.map_or(least, |rate| rate.min(least))
}

/// The least `rate_limit` of an entry's flows.
fn limit(config: &Config, entry: u16) -> Rate {
    use unpause_sim::traffic::TrafficSpec;
    let spec = &config.traffic[usize::from(entry)];
    let none = Rate::from_bps(u64::MAX);
    match spec {
        TrafficSpec::Flows(flows) => flows.iter().filter_map(|f| f.rate_limit).min(),
        generated => generated.settings().and_then(|flow| flow.rate_limit),
    }
    .unwrap_or(none)
}

fn port_series(config: &Config, results: &Results) -> Answer {
    let mut before: BTreeMap<_, (Time, u64, u64, Time)> = BTreeMap::new();
    for sample in &results.port_series {
        let place = (sample.node, sample.port, sample.priority);
        let last = before.get(&place).copied().unwrap_or_default();
        let now = (
            sample.time,
            sample.tx_bytes,
            sample.pause_frames,
            sample.paused,
        );
        let step = config.probes.interval.as_ps();
        if !sample.time.as_ps().is_multiple_of(step)
            || sample.time <= config.probes.start
            || sample.time > results.totals.simulated
        {
            return Err(format!("{place:?} is sampled at {}", sample.time));
        }
        if now.0 <= last.0 || now.1 < last.1 || now.2 < last.2 || now.3 < last.3 {
            return Err(format!(
                "counters of {place:?} went back at {}",
                sample.time
            ));
        }
        before.insert(place, now);
    }
    let rows: BTreeMap<_, _> = results
        .ports
        .iter()
        .map(|port| ((port.node, port.port, port.priority), port))
        .collect();
    for (place, (time, bytes, frames, paused)) in before {
        let (tx, xoff, total) = rows.get(&place).map_or((0, 0, Time::ZERO), |row| {
            (row.tx_bytes, row.pause_frames, row.paused)
        });
        if bytes > tx || frames > xoff || paused > total {
            return Err(format!("{place:?} had more at {time} than in the end"));
        }
    }
    Ok(())
}
