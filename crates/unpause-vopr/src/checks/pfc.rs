//! PAUSE follows what an ingress holds: XON comes when it is empty, and what it holds is what waits.

use std::collections::{BTreeMap, BTreeSet};

use unpause_protocols::flow_control::pfc;
use unpause_protocols::loss_recovery::llr;
use unpause_protocols::units::Time;
use unpause_sim::config::{
    Config, FullQueue, NodeId, PfcThreshold, PortId, SwitchModel, SwitchOverride,
};
use unpause_sim::results::{PacketKind, PauseRecord, PortSample, Results};

use super::facts::{
    Answer, Port, fast, is_host, is_lossless, largest, maps_classes, ports, records_all,
};

type Queue = (NodeId, PortId, u8);

/// In a shared buffer, what the ingresses of a switch hold of a lossless priority is what waits at its
/// egresses, at every instant at which all of its ports are sampled.
pub fn held(config: &Config, results: &Results) -> Answer {
    if !matches!(config.switch.model, SwitchModel::SharedBuffer) || maps_classes(config) {
        return Ok(());
    }
    let mut all: BTreeMap<NodeId, bool> = BTreeMap::new();
    for port in ports(config) {
        let is_sampled = config.probes.ports.contains(&(port.node, port.number));
        *all.entry(port.node).or_insert(true) &= is_sampled && !is_host(config, port.node);
    }
    let mut sums: BTreeMap<(Time, NodeId, u8), (u64, u64)> = BTreeMap::new();
    for sample in &results.port_series {
        let lossless = is_lossless(config, sample.node, sample.priority);
        if lossless && all.get(&sample.node) == Some(&true) {
            let sum = sums.entry((sample.time, sample.node, sample.priority));
            let sum = sum.or_default();
            sum.0 += sample.ingress_bytes;
            sum.1 += sample.queue_bytes;
        }
    }
    match sums.iter().find(|(_, (ingress, egress))| ingress != egress) {
        None => Ok(()),
        Some(((time, node, priority), (ingress, egress))) => Err(format!(
            "at {time} the ingresses of switch {node} hold {ingress} B of priority {priority}, {egress} B \
             wait at its egresses"
        )),
    }
}

/// Packets that arrived at a switch or were made there have left, were dropped, or are still there: at the end of the
/// run no ingress holds more than that.
pub fn emptied(config: &Config, results: &Results) -> Answer {
    if !records_all(config) {
        return Ok(());
    }
    let mut held: BTreeMap<NodeId, i64> = BTreeMap::new();
    let ports = ports(config);
    let peers: BTreeMap<_, NodeId> = ports
        .iter()
        .map(|port| ((port.node, port.number), port.peer))
        .collect();
    let end = results.totals.simulated;
    for packet in results.packets.iter().filter(|p| p.kind != PacketKind::Pfc) {
        *held.entry(packet.node).or_default() -= 1;
        if packet.arrival < end {
            let peer = peers[&(packet.node, packet.port)];
            *held.entry(peer).or_default() += 1;
        }
    }
    for row in &results.ports {
        let held = held.entry(row.node).or_default();
        *held += row.cnm_packets as i64;
        *held -= row.dropped_packets as i64;
    }
    let cell = match &config.switch.model {
        SwitchModel::Cioq(cioq) => u64::from(cioq.cell_bytes),
        _ => 1,
    };
    // In whole cells.
    let most = largest(config).div_ceil(cell) * cell;
    let mut ingress: BTreeMap<NodeId, u64> = BTreeMap::new();
    for sample in results.port_series.iter().filter(|row| row.time == end) {
        *ingress.entry(sample.node).or_default() += sample.ingress_bytes;
    }
    for (node, bytes) in ingress.into_iter().filter(|it| !is_host(config, it.0)) {
        let packets = held.get(&node).copied().unwrap_or(0);
        if i128::from(bytes) > i128::from(packets) * i128::from(most) {
            return Err(format!(
                "at the end switch {node} has {packets} packets, its ingresses hold {bytes} B"
            ));
        }
    }
    Ok(())
}

/// A PAUSE is repeated, or ended by an XON, before it has run out: half of it after the last one, and behind
/// a frame under way.
pub fn refresh(config: &Config, results: &Results) -> Answer {
    let pfc = &config.switch.pfc;
    let several = config.switch.lossless.count_ones() > 1;
    // With several priorities, arrivals of one can hold up the XON of another.
    if !records_all(config) || (several && pfc.params.mode == pfc::PauseMode::Ns3Rdma) {
        return Ok(());
    }
    // While a small replay buffer is full, a port sends nothing; one that does not wait for the round trip of its link may be
    // sending old frames again.
    if config
        .switch
        .retry
        .is_some_and(|retry| retry.buffer_bytes.is_some() || retry.replay_timer.is_some())
    {
        return Ok(());
    }
    let framing = u64::from(config.fabric.framing_bytes);
    let frames = largest(config) + 16 * (64 + framing);
    let ports: BTreeMap<(NodeId, PortId), Port> = ports(config)
        .into_iter()
        .map(|port| ((port.node, port.number), port))
        .collect();
    // A port in a storm sends no PAUSE.
    let storms = results.storms.iter();
    let stormy: BTreeSet<Queue> = storms
        .map(|storm| (storm.node, storm.port, storm.priority))
        .collect();
    let mut due: BTreeMap<Queue, Time> = BTreeMap::new();
    let late = |(node, port, priority): Queue, due: Time| {
        let what = format!(
            "the PAUSE of priority {priority} that switch {node} has sent by port {port} is neither repeated \
             nor ended by {due}"
        );
        Err(what)
    };
    for packet in &results.packets {
        let Some(frame) = packet.pfc else { continue };
        let port = ports[&(packet.node, packet.port)];
        for priority in (0..8).filter(|it| frame.priorities >> it & 1 == 1) {
            let queue = (packet.node, packet.port, priority);
            if stormy.contains(&queue) {
                continue;
            }
            if let Some(due) = due.remove(&queue).filter(|due| *due < packet.time) {
                return late(queue, due);
            }
            if frame.pause > Time::ZERO {
                let repeated = packet
                    .time
                    .saturating_add(pfc.params.refresh_interval(frame.pause));
                let behind = port.speed.time_for(frames);
                due.insert(queue, repeated.saturating_add(behind));
            }
        }
    }
    let mut due = due.into_iter();
    match due.find(|(_, due)| *due < results.totals.simulated) {
        Some((queue, due)) => late(queue, due),
        None => Ok(()),
    }
}

/// A PAUSE ends soon after the ingress that asked for it is empty, unless it asks again.
pub fn xon(config: &Config, results: &Results) -> Answer {
    // CaPFC pauses for queues at egresses.
    let by_egress = match &config.switch.model {
        SwitchModel::Pipeline(pipeline) => matches!(pipeline.full_queue, FullQueue::Capfc(_)),
        _ => false,
    };
    // A port that does not wait for the round trip of its link may be sending old frames again.
    let retry = config.switch.retry;
    let replays = retry.is_some_and(|retry| retry.replay_timer.is_some());
    // There PAUSE for one priority stops the queue of another.
    let mut overrides = config.switch.overrides.iter();
    let maps = overrides.any(|it| it.pfc_to_queue.is_some());
    if by_egress || replays || maps || !config.probes.pauses {
        return Ok(());
    }
    let mut series: BTreeMap<Queue, Vec<&PortSample>> = BTreeMap::new();
    for sample in &results.port_series {
        let queue = (sample.node, sample.port, sample.priority);
        series.entry(queue).or_default().push(sample);
    }
    let mut pauses: BTreeMap<Queue, Vec<&PauseRecord>> = BTreeMap::new();
    for pause in &results.pauses {
        let queue = (pause.node, pause.port, pause.priority);
        pauses.entry(queue).or_default().push(pause);
    }
    let both = ports(config);
    // Ends of a link stand side by side.
    for pair in both.chunks(2) {
        let [a, b] = pair else { continue };
        for (asks, obeys) in [(a, b), (b, a)] {
            // Behind a frame, and PFC frames for other priorities.
            let frames = largest(config) + 16 * (64 + u64::from(config.fabric.framing_bytes));
            let within = asks.speed.time_for(frames).as_ps() + asks.delay_ps;
            let within = within + config.switch.pfc.reaction.as_ps() + 1;
            let within = within + held_by_retry(config, asks).as_ps();
            for priority in 0..8 {
                let samples = series.get(&(asks.node, asks.number, priority));
                let paused = pauses.get(&(obeys.node, obeys.number, priority));
                for pause in paused.into_iter().flatten() {
                    outlasts(
                        pause,
                        samples.map_or(&[][..], Vec::as_slice),
                        Time::from_ps(within),
                    )?;
                }
            }
        }
    }
    Ok(())
}

/// How long the replay buffer of a port may hold an XON up: after each frame until that is acknowledged. The acknowledgement may
/// have to keep its distance from the one before.
fn held_by_retry(config: &Config, asks: &Port) -> Time {
    let retry = config.switch.retry;
    if retry.is_none_or(|retry| retry.buffer_bytes.is_none()) {
        return Time::ZERO;
    }
    let spacing = u64::from(llr::Params::default().message_spacing_bytes);
    let answer = asks.speed.time_for(spacing + llr::MESSAGE_BYTES);
    let each = answer + Time::from_ps(2 * asks.delay_ps);
    // PFC frames for other priorities may be sent before it.
    if config.switch.lossless.count_ones() > 1 {
        each * 17
    } else {
        each
    }
}

/// An error if the pause continues although the ingress was empty long enough, and asked for nothing.
fn outlasts(pause: &PauseRecord, samples: &[&PortSample], within: Time) -> Answer {
    let from = samples.partition_point(|sample| sample.time <= pause.obeyed);
    for (at, empty) in samples.iter().enumerate().skip(from) {
        let late = empty.time.saturating_add(within);
        if late >= pause.end {
            break;
        }
        if empty.ingress_bytes > 0 {
            continue;
        }
        let again = samples[at..].iter().find(|sample| sample.time >= late);
        if again.is_some_and(|again| again.pause_frames == empty.pause_frames) {
            return Err(format!(
                "{pause:?} goes on after {late}, although the ingress that asked for it was empty at {}",
                empty.time
            ));
        }
    }
    Ok(())
}

/// True if a switch is set otherwise than the others in more than headroom.
fn has_other_thresholds(config: &Config, node: NodeId) -> bool {
    let overrides = config.switch.overrides.iter();
    let mut own = overrides.filter(|it| it.switches.contains(&node));
    own.any(|it| {
        let rest = SwitchOverride {
            headroom_bytes: None,
            ..it.clone()
        };
        rest.of_switch() || rest.of_places()
    })
}

/// With a fixed XOFF, an ingress holds no more than XOFF, the frame that crosses it, and headroom.
pub fn beyond_xoff(config: &Config, results: &Results) -> Answer {
    let switch = &config.switch;
    if switch.cbfc.is_some() {
        return Ok(());
    }
    let (SwitchModel::SharedBuffer, PfcThreshold::Static { xoff_bytes, .. }) =
        (&switch.model, switch.pfc.threshold)
    else {
        return Ok(());
    };
    let framing = u64::from(config.fabric.framing_bytes);
    let frame = largest(config);
    let delays: BTreeMap<(NodeId, PortId), _> = ports(config)
        .into_iter()
        .zip(config.fabric.links.iter().flat_map(|link| [link, link]))
        .map(|(port, link)| ((port.node, port.number), link))
        .collect();
    for row in results
        .ports
        .iter()
        .filter(|row| !is_host(config, row.node) && !has_other_thresholds(config, row.node))
    {
        let Some(link) = delays.get(&(row.node, row.port)) else {
            continue;
        };
        let formula = || {
            pfc::headroom(
                fast(config, link.rate, 3),
                link.delay,
                frame,
                64 + framing,
                switch.pfc.reaction,
            )
        };
        let fast = fast(config, link.rate, 1);
        let bytes = |delays: u32| fast.bytes_in(link.delay) * u64::from(delays);
        let headroom = switch.pfc.headroom_bytes.unwrap_or_else(formula);
        let headroom = switch.pfc.headroom_delays.map_or(headroom, bytes);
        let own = switch.overrides.iter().rev();
        let mut own = own.filter(|it| it.applies(row.node, row.port, row.priority));
        let headroom = own.find_map(|it| it.headroom_bytes).unwrap_or(headroom);
        let most = xoff_bytes + frame + headroom;
        if switch.lossless >> row.priority & 1 == 1 && row.max_ingress_bytes > most {
            return Err(format!(
                "ingress {:?} held {} B, XOFF, a frame and headroom are {most} B",
                (row.node, row.port, row.priority),
                row.max_ingress_bytes
            ));
        }
    }
    Ok(())
}
